package gateway

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/pdu"
)

// stallable passes connections on to a server, and from stall on nothing more.
type stallable struct {
	addr string

	mu    sync.Mutex
	conns []net.Conn // both ends of each
}

func startStallable(t *testing.T, to string) *stallable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &stallable{addr: listener.Addr().String()}
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			s.mu.Lock()
			s.conns = append(s.conns, near, far)
			s.mu.Unlock()
			passing.Go(func() { s.pass(near, far) })
			passing.Go(func() { s.pass(far, near) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		passing.Wait()
	})
	return s
}

func (s *stallable) pass(to, from net.Conn) {
	octets := make([]byte, 32<<10)
	for {
		n, err := from.Read(octets)
		s.mu.Lock() // stall keeps it
		if err == nil {
			_, err = to.Write(octets[:n])
		}
		s.mu.Unlock()
		if err != nil {
			_ = to.Close()
			return
		}
	}
}

// stall holds everything back until the returned function is called.
func (s *stallable) stall() (open func()) {
	s.mu.Lock()
	return sync.OnceFunc(s.mu.Unlock)
}

// NATS answers nothing while the gateway stops: what phones have sent is given back to the SMSC, which keeps it, all of
// it, and not one message after the other as long as each may take.
func TestStopGivesBackWhatCannotBeStored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nats, err := queue.StartEmbedded(queue.EmbeddedConfig{Dir: dir, Listen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nats.Shutdown)
	between := startStallable(t, strings.TrimPrefix(nats.URL(), "nats://"))
	s := startScripted(t, silentSMSC)
	cfg := testConfig(t, dir, smsc{addr: s.addr}, "", "")
	cfg.NATS = config.NATS{URL: "nats://" + between.addr}
	g, err := New(t.Context(), cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	s.bound(t, 1)
	t.Cleanup(between.stall())
	const n = 12 // a minute, one by one
	for range n {
		s.deliver(t, receiptFrom("15550100", "id:77 stat:DELIVRD err:000"))
	}
	await(t, "all of them to be in hand", func() bool {
		session := g.accounts[0].keepers[0].session()
		return session != nil && session.Stats().Inbound == n
	})
	stop()
	if err := <-ended; err == nil {
		t.Error("the stop was a clean one: the test does not test")
	}
	for _, ack := range s.acked(t, n) {
		if ack.Status != pdu.StatusSysErr {
			t.Errorf("answered with %s, want %s", ack.Status, pdu.StatusSysErr)
		}
	}
}
