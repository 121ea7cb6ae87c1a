package smpp

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

// script plays the SMSC on the other end of a net.Pipe, which is unbuffered:
// one goroutine reads and one writes, so that the test itself never blocks.
type script struct {
	t    *testing.T
	conn net.Conn
	in   chan []byte // whole PDUs of the session; closed at the end of the stream
	out  chan []byte // octets for the session
}

func newScript(t *testing.T, conn net.Conn) *script {
	t.Helper()
	p, stop := startScript(t, conn)
	t.Cleanup(stop)
	return p
}

// startScript is newScript for a peer that ends before its test does.
func startScript(t *testing.T, conn net.Conn) (p *script, stop func()) {
	t.Helper()
	p = &script{t: t, conn: conn, in: make(chan []byte, 10_000), out: make(chan []byte, 10_000)}
	var loops sync.WaitGroup
	loops.Go(func() {
		defer close(p.in)
		f := newFramer(1 << 20)
		for {
			for {
				frame, err := f.next()
				if err != nil {
					t.Errorf("the session wrote a broken stream: %v", err)
					return
				}
				if frame == nil {
					break
				}
				p.in <- append([]byte(nil), frame...)
			}
			n, err := conn.Read(f.space())
			if err != nil {
				return
			}
			f.filled(n)
		}
	})
	loops.Go(func() {
		for b := range p.out {
			if _, err := conn.Write(b); err != nil {
				for range p.out { // the session is gone: swallow the rest
				}
				return
			}
		}
	})
	return p, func() {
		close(p.out)
		_ = conn.Close()
		loops.Wait()
	}
}

// send writes octets to the session.
func (p *script) send(b []byte) { p.out <- b }

func (p *script) sendHex(s string) { p.send(octets(p.t, s)) }

// sendPDU writes one PDU to the session.
func (p *script) sendPDU(status pdu.Status, sequence uint32, body pdu.Body) {
	p.t.Helper()
	p.send(encode(p.t, status, sequence, body))
}

// next returns the next PDU of the session.
func (p *script) next() pdu.Header {
	p.t.Helper()
	h, _ := p.nextFrame()
	return h
}

func (p *script) nextFrame() (pdu.Header, []byte) {
	p.t.Helper()
	select {
	case frame, ok := <-p.in:
		if !ok {
			p.t.Fatal("the session closed the connection; want another PDU")
		}
		h, err := pdu.ParseHeader(frame)
		if err != nil {
			p.t.Fatal(err)
		}
		return h, frame
	case <-time.After(time.Hour):
		p.t.Fatal("no PDU from the session within an hour of virtual time")
	}
	return pdu.Header{}, nil
}

// expect checks the command, status and sequence number of the next PDU.
func (p *script) expect(id pdu.CommandID, status pdu.Status, sequence uint32) {
	p.t.Helper()
	h := p.next()
	if h.ID != id || h.Status != status || h.Sequence != sequence {
		p.t.Fatalf("the session sent %v status %v sequence %d, want %v status %v sequence %d",
			h.ID, h.Status, h.Sequence, id, status, sequence)
	}
}

// expectHex checks all octets of the next PDU.
func (p *script) expectHex(want string) {
	p.t.Helper()
	if _, frame := p.nextFrame(); hex.EncodeToString(frame) != want {
		p.t.Fatalf("the session sent %x, want %s", frame, want)
	}
}

// submits takes n submit_sm of the session and returns their numbers.
func (p *script) submits(n int) []uint32 {
	p.t.Helper()
	var sequences []uint32
	for range n {
		h := p.next()
		if h.ID != pdu.IDSubmitSM {
			p.t.Fatalf("the session sent %v, want submit_sm", h.ID)
		}
		sequences = append(sequences, h.Sequence)
	}
	return sequences
}

// expectNothing checks that the session writes nothing for d.
func (p *script) expectNothing(d time.Duration) {
	p.t.Helper()
	select {
	case frame, ok := <-p.in:
		if ok {
			p.t.Fatalf("the session sent %x, want nothing for %v", frame, d)
		}
	case <-time.After(d):
	}
}

// expectClosed checks that the session writes nothing more and closes.
func (p *script) expectClosed() {
	p.t.Helper()
	select {
	case frame, ok := <-p.in:
		if ok {
			p.t.Fatalf("the session sent %x, want it to close", frame)
		}
	case <-time.After(time.Hour):
		p.t.Fatal("the session did not close the connection within an hour of virtual time")
	}
}

// answer accepts a submit under an id.
func (p *script) answer(sequence uint32, id string) {
	p.t.Helper()
	p.sendPDU(pdu.StatusOK, sequence, &pdu.SubmitSMResp{MessageID: []byte(id)})
}

func octets(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func encode(t testing.TB, status pdu.Status, sequence uint32, body pdu.Body) []byte {
	t.Helper()
	b, err := pdu.Append(nil, status, sequence, body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func testConfig() Config { return Config{SystemID: "sluice", Password: "secret"} }

// bound returns a session and the script behind it, in a synctest bubble. The
// bind was sequence 1, so the first submit is number 2.
func bound(t *testing.T, cfg Config) (*Session, *script) {
	t.Helper()
	near, far := net.Pipe()
	p := newScript(t, far)
	go func() {
		if frame, ok := <-p.in; ok {
			h, _ := pdu.ParseHeader(frame)
			p.send(pdu.Header{Length: pdu.HeaderLen, ID: h.ID.Response(), Sequence: h.Sequence}.Append(nil))
		}
	}()
	s, err := Bind(t.Context(), near, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Close(ctx)
	})
	return s, p
}

// bubble runs a test with a bound session in virtual time.
func bubble(t *testing.T, cfg Config, f func(t *testing.T, s *Session, p *script)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, p := bound(t, cfg)
		f(t, s, p)
	})
}

func message() *pdu.SubmitSM {
	return &pdu.SubmitSM{
		Source:             pdu.Address{TON: 5, Addr: []byte("ACME")},
		Dest:               pdu.Address{TON: 1, NPI: 1, Addr: []byte("15550100")},
		RegisteredDelivery: 1,
		ShortMessage:       []byte("Your parcel left today."),
	}
}

// result is what a Submit returned.
type result struct {
	response Response
	err      error
}

// submit submits in the background.
func submit(ctx context.Context, s *Session, ref any) <-chan result {
	c := make(chan result, 1)
	go func() {
		r, err := s.Submit(ctx, message(), ref)
		c <- result{r, err}
	}()
	return c
}

// submitInOrder starts n submits one after the other, so that their sequence
// numbers follow the order of the results.
func submitInOrder(ctx context.Context, s *Session, n int) []<-chan result {
	var cs []<-chan result
	for i := range n {
		cs = append(cs, submit(ctx, s, i))
		synctest.Wait()
	}
	return cs
}

func wantError(t *testing.T, r result, want error) {
	t.Helper()
	if !errors.Is(r.err, want) {
		t.Fatalf("Submit returned %+v, %v; want %v", r.response, r.err, want)
	}
}

func wantAccepted(t *testing.T, r result, id string) {
	t.Helper()
	if r.err != nil || r.response.Status != pdu.StatusOK || r.response.MessageID != id {
		t.Fatalf("Submit returned %+v, %v; want message id %q", r.response, r.err, id)
	}
}

// wantEnd waits for the end of the session and checks its reason.
func wantEnd(t *testing.T, s *Session, want error) {
	t.Helper()
	<-s.Done()
	if !errors.Is(s.Err(), want) {
		t.Fatalf("the session ended with %v, want %v", s.Err(), want)
	}
}

// handler is a Handler made of functions.
type handler struct {
	deliver func(ctx context.Context, m *Inbound) pdu.Status
	late    func(l LateResponse)
}

func (h handler) Deliver(ctx context.Context, m *Inbound) pdu.Status {
	if h.deliver == nil {
		return pdu.StatusOK
	}
	return h.deliver(ctx, m)
}

func (h handler) Late(l LateResponse) {
	if h.late != nil {
		h.late(l)
	}
}
