package queue

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// deafConn is a connection whose answers stop coming, and that lives.
type deafConn struct {
	net.Conn

	mu   sync.Mutex
	deaf bool
	end  chan struct{} // closed when the connection is
	once sync.Once
}

func (c *deafConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	deaf := c.deaf
	c.mu.Unlock()
	if deaf {
		<-c.end
	}
	return n, err
}

func (c *deafConn) Close() error {
	c.once.Do(func() { close(c.end) })
	return c.Conn.Close()
}

// A journal that looks for lost events while NATS does not answer is closed within the time that is given to it.
func TestCloseEndsARestoreThatGetsNoAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	conn := &deafConn{end: make(chan struct{})}
	c, err := Connect(t.Context(), ConnectConfig{URL: b.server.URL(), Dial: func() (net.Conn, error) {
		inner, err := new(net.Dialer).DialContext(t.Context(), "tcp", b.server.URL()[len("nats://"):])
		conn.Conn = inner
		return conn, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	j, err := c.OpenJournal(JournalConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(t.Context(), Event{Type: EventSubmitted, Seq: 1, ID: "a", Route: "main", Class: "otp"}); err != nil {
		t.Fatal(err)
	}
	conn.mu.Lock()
	conn.deaf = true
	conn.mu.Unlock()
	j.stopped.Go(func() { j.restore(time.Now()) })
	b.eventually(func() error { // it has begun
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if j.lately.restoring.Take(ctx) == nil {
			j.lately.restoring.Give()
			return errUnconfirmed
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- j.Close(ctx) }()
	select {
	case <-closed: // whatever it could not do
	case <-time.After(20 * time.Second): // the connection itself is given up after 45 s
		t.Error("the journal does not close")
	}
}
