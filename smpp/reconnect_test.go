package smpp

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/smpp/pdu"
)

// ending is a way in which a peer ends a session by force.
type ending struct {
	name string
	play func(c *net.TCPConn)
}

// endings are played in turn. Each is over when the connection is closed.
func endings() []ending {
	return []ending{
		{"hangs up on a submit", func(c *net.TCPConn) {
			if acceptBind(c) == nil {
				_, _ = c.Read(make([]byte, 16))
			}
		}},
		{"resets on a submit", func(c *net.TCPConn) {
			if acceptBind(c) == nil {
				_, _ = c.Read(make([]byte, 16))
			}
			_ = c.SetLinger(0)
		}},
		{"resets after the bind", func(c *net.TCPConn) {
			_ = acceptBind(c)
			_ = c.SetLinger(0)
		}},
		{"hangs up on the bind", func(c *net.TCPConn) { _, _ = c.Read(make([]byte, 1024)) }},
		{"resets on the bind", func(c *net.TCPConn) {
			_, _ = c.Read(make([]byte, 1024))
			_ = c.SetLinger(0)
		}},
		{"breaks the stream", func(c *net.TCPConn) {
			if acceptBind(c) == nil {
				_, _ = c.Read(make([]byte, 16))
				_, _ = c.Write(binary.BigEndian.AppendUint32(nil, 0x48545450))
			}
		}},
		{"unbinds and does not wait", func(c *net.TCPConn) {
			if acceptBind(c) == nil {
				_, _ = c.Write(pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDUnbind, Sequence: 9}.Append(nil))
			}
		}},
	}
}

// F39: reconnects leaked sockets and goroutines. After 1,000 sessions that the peer ended by force there is not one of
// either more than before, and each socket of ours was closed before the next was opened.
func TestF39ThousandReconnectsLeakNothing(t *testing.T) {
	const sessions = 1000
	var serving sync.WaitGroup
	var turn atomic.Int64
	ways := endings()
	addr := listen(t, func(c *net.TCPConn) {
		serving.Add(1)
		defer serving.Done()
		defer func() { _ = c.Close() }()
		ways[turn.Load()%int64(len(ways))].play(c)
	})
	cfg := testConfig()
	cfg.Address = addr
	cfg.Handler = handler{}
	sockets, goroutines := openSockets(t), goleak.IgnoreCurrent()
	bound := 0
	for i := range sessions {
		turn.Store(int64(i))
		if forcedSession(t, cfg, ways[i%len(ways)].name) {
			bound++
		}
	}
	serving.Wait()
	if n := openSockets(t); n != sockets {
		t.Errorf("%d sockets are open after %d sessions, %d before the first", n, sessions, sockets)
	}
	goleak.VerifyNone(t, goroutines) // names each with its stack
	if least := sessions * 3 / len(ways); bound < least {
		t.Errorf("%d of %d sessions were bound, want at least %d", bound, sessions, least)
	}
}

// forcedSession binds, submits once, and sees the session to its end. It reports whether there was a session.
func forcedSession(t *testing.T, cfg Config, way string) bool {
	t.Helper()
	conn, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Dial returned %v", err)
	}
	defer func() {
		if err := conn.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a peer that %s: the connection is still open: %v", way, err)
		}
	}()
	s, err := Bind(t.Context(), conn, cfg)
	if err != nil {
		return false
	}
	if _, err := s.Submit(t.Context(), message(), nil); errors.Is(err, ErrNotSent) == errors.Is(err, ErrNoResponse) {
		t.Errorf("a peer that %s: Submit returned %v, want one of the two verdicts", way, err)
	}
	<-s.Done()
	if err := s.Close(t.Context()); err == nil {
		t.Errorf("a peer that %s: Close returned nil", way)
	}
	return true
}

// openSockets counts the sockets of this process, of which Linux alone keeps a list; elsewhere it is 0.
func openSockets(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
