package smpp

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	"sluice/smpp/pdu"
)

// stalled is a peer that answered the bind and reads nothing more by itself.
type stalled struct{ conn net.Conn }

// resume makes the peer read and write again.
func (p *stalled) resume(t *testing.T) *script { return newScript(t, p.conn) }

// bubbleStalled runs a test in virtual time with a peer that reads only what
// the test reads.
func bubbleStalled(t *testing.T, cfg Config, f func(t *testing.T, s *Session, p *stalled)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		t.Cleanup(func() { _ = far.Close() })
		go func() {
			b := make([]byte, 1024)
			if _, err := far.Read(b); err != nil {
				return
			}
			h, _ := pdu.ParseHeader(b)
			_, _ = far.Write(pdu.Header{Length: pdu.HeaderLen, ID: h.ID.Response(), Sequence: h.Sequence}.Append(nil))
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
		f(t, s, &stalled{conn: far})
	})
}
