package testserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

// reply is a PDU as a client got it, and when.
type reply struct {
	pdu.Header
	body pdu.Body
	at   time.Time
}

// client is the other end of a session: it reads all the time, so that the server never waits for it.
type client struct {
	t       *testing.T
	conn    net.Conn
	replies chan reply
	left    []byte // octets at the end of the stream that are no PDU
	seq     uint32
}

// connect serves one end of a pipe and gives the other.
func connect(t *testing.T, s *Server) *client {
	t.Helper()
	near, far := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.ServeConn(t.Context(), far) }()
	c := &client{t: t, conn: near, replies: make(chan reply, 10_000)}
	go c.read()
	t.Cleanup(func() {
		_ = near.Close()
		<-ended
	})
	return c
}

func (c *client) read() {
	defer close(c.replies)
	var octets []byte
	buffer := make([]byte, 4096)
	for {
		n, err := c.conn.Read(buffer)
		octets = append(octets, buffer[:n]...)
		for len(octets) >= pdu.HeaderLen {
			head, _ := pdu.ParseHeader(octets)
			if head.Length < pdu.HeaderLen || head.Length > 1<<20 || int(head.Length) > len(octets) {
				break
			}
			_, body, _ := pdu.Parse(append([]byte{}, octets[:head.Length]...))
			c.replies <- reply{head, body, time.Now()}
			octets = octets[head.Length:]
		}
		if err != nil {
			c.left = octets
			return
		}
	}
}

func (c *client) write(octets []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(octets); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// send writes a request with the next sequence number and returns that.
func (c *client) send(body pdu.Body) uint32 {
	c.t.Helper()
	c.seq++
	octets, err := pdu.Append(nil, pdu.StatusOK, c.seq, body)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(octets)
	return c.seq
}

// next waits for a PDU for up to an hour.
func (c *client) next() reply {
	c.t.Helper()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	select {
	case r, ok := <-c.replies:
		if !ok {
			c.t.Fatal("the connection ended instead of a PDU")
		}
		return r
	case <-timer.C:
		c.t.Fatal("no PDU within an hour")
	}
	return reply{}
}

// want is next, and insists on a command and a status.
func (c *client) want(id pdu.CommandID, status pdu.Status) reply {
	c.t.Helper()
	r := c.next()
	if r.ID != id || r.Status != status {
		c.t.Fatalf("got %v with %v, want %v with %v", r.ID, r.Status, id, status)
	}
	return r
}

// wantEnd insists that the connection ends without another PDU.
func (c *client) wantEnd() {
	c.t.Helper()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	select {
	case r, ok := <-c.replies:
		if ok {
			c.t.Fatalf("got %v with %v, want the end of the connection", r.ID, r.Status)
		}
	case <-timer.C:
		c.t.Fatal("the connection is still open after an hour")
	}
}

// wantSilence insists that nothing comes for a while.
func (c *client) wantSilence(d time.Duration) {
	c.t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case r, ok := <-c.replies:
		c.t.Fatalf("got %v (open: %v), want silence", r.ID, ok)
	case <-timer.C:
	}
}

func (c *client) bindAs(kind pdu.CommandID, systemID, password string) reply {
	c.t.Helper()
	c.send(&pdu.Bind{Command: kind, SystemID: systemID, Password: password, InterfaceVersion: 0x34})
	return c.next()
}

func (c *client) bind() *client {
	c.t.Helper()
	if r := c.bindAs(pdu.IDBindTransceiver, "sluice", "secret"); r.Status != pdu.StatusOK {
		c.t.Fatalf("bind: %v", r.Status)
	}
	return c
}

func message(to, text string) *pdu.SubmitSM {
	return &pdu.SubmitSM{
		Source: pdu.Address{TON: 5, Addr: []byte("sender")},
		Dest:   pdu.Address{TON: 1, NPI: 1, Addr: []byte(to)}, ShortMessage: []byte(text),
	}
}

// submit sends a message and waits for its response.
func (c *client) submit(to string) reply {
	c.t.Helper()
	seq := c.send(message(to, "hello"))
	r := c.next()
	if r.Sequence != seq {
		c.t.Fatalf("sequence %d, want %d", r.Sequence, seq)
	}
	return r
}

// messageID is the id in a submit_sm_resp.
func (r reply) messageID() string {
	if body, ok := r.body.(*pdu.SubmitSMResp); ok {
		return string(body.MessageID)
	}
	return fmt.Sprintf("%T", r.body)
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, sc Scenario, run func(t *testing.T, s *Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run(t, New(sc)) })
}

func TestInvalidScenarioIsReportedByServe(t *testing.T) {
	s := New(Scenario{Limits: []Limit{{}}})
	near, far := net.Pipe()
	if err := s.ServeConn(t.Context(), far); err == nil {
		t.Fatal("served")
	}
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("the connection was left open: %v", err)
	}
	if err := s.Serve(t.Context(), nil); err == nil {
		t.Fatal("served")
	}
}

func TestContextEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Scenario{})
		ctx, cancel := context.WithCancel(t.Context())
		near, far := net.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- s.ServeConn(ctx, far) }()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		_ = near.Close()
	})
}
