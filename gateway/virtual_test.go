package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/queue/memory"
	"sluice/smpp"
	"sluice/testserver"
	"sluice/window"
)

// virtual is an account with its real window, rules and session, on a queue in memory, and a fake SMSC at the other end
// of a pipe. It lives in a synctest bubble, where an hour takes seconds.
type virtual struct {
	*account
	gateway *Gateway
	source  *memory.Source
	smsc    *testserver.Server

	refuses atomic.Bool // connections
	conn    atomic.Pointer[net.Conn]

	stop func() // waits until what is in flight is settled and the session unbound
}

// startVirtual binds the account and lets it send. extra is YAML under the account.
func startVirtual(t *testing.T, sc testserver.Scenario, extra string) *virtual {
	t.Helper()
	return startLogged(t, sc, extra, discard())
}

// startLogged is startVirtual with a log.
func startLogged(t *testing.T, sc testserver.Scenario, extra string, log *slog.Logger) *virtual {
	t.Helper()
	return virtualGateway(t, extra, log).startVirtual(t, "acme", testserver.New(sc), nil)
}

// startServed is startLogged with whatever serves the other end of a pipe until that is closed.
func startServed(t *testing.T, serve func(net.Conn), extra string, log *slog.Logger) *virtual {
	t.Helper()
	return virtualGateway(t, extra, log).startServed(t, "acme", serve, nil)
}

// virtualGateway has one account, acme.
func virtualGateway(t *testing.T, extra string, log *slog.Logger) *Gateway {
	t.Helper()
	cfg, err := config.Decode([]byte("accounts:\n  acme:\n    address: \"127.0.0.1:1\"\n    system_id: sluice\n    password: secret\n" + indent(extra)))
	if err != nil {
		t.Fatal(err)
	}
	return &Gateway{cfg: cfg, log: log, metrics: newMetrics(nil), presence: &presence{kick: make(chan struct{}, 1)}}
}

// startVirtual binds an account of the gateway and lets it send, from a queue of its own when there is none.
func (g *Gateway) startVirtual(t *testing.T, name string, smsc *testserver.Server, source *memory.Source) *virtual {
	t.Helper()
	v := g.startServed(t, name, func(conn net.Conn) { _ = smsc.ServeConn(context.Background(), conn) }, source) // ends with the session
	v.smsc = smsc
	return v
}

func (g *Gateway) startServed(t *testing.T, name string, serve func(net.Conn), source *memory.Source) *virtual {
	t.Helper()
	hosts := newHosts()
	hosts.random = seeded(7)
	a, lanes, err := g.newAccount(name, g.cfg.Accounts[name], hosts)
	if err != nil {
		t.Fatal(err)
	}
	a.gate = window.NewGate(window.NewController(configuredWindow(a.cfg)))
	a.flow.share("", time.Now().Add(1000*time.Hour), a.cfg.Binds) // it has no other instances to ask
	if source == nil {
		source = memory.New(memory.Config{Lanes: lanes})
	}
	v := &virtual{account: a, gateway: g, source: source}
	a.intake, a.random = turns{source, lanes}, seeded(7)

	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	a.dial = func(context.Context, smpp.Config) (net.Conn, error) {
		if v.refuses.Load() {
			return nil, errors.New("connection refused")
		}
		near, far := net.Pipe()
		v.conn.Store(&near)
		running.Go(func() { serve(far) })
		return near, nil
	}
	g.accounts = append(g.accounts, a)
	running.Go(func() { a.keepers[0].supervise(ctx) })
	running.Go(func() { a.pump(ctx) })
	v.stop = func() {
		cancel()
		running.Wait()
		a.carrying.Wait()
	}
	synctest.Wait()
	return v
}

// refuse ends the session and refuses connections, or lets them in again.
func (v *virtual) refuse(refuses bool) {
	if v.refuses.Store(refuses); refuses {
		_ = (*v.conn.Load()).Close()
	}
}

// turns is a queue whose lanes are asked only while it is the account's turn. Like a pull request, a question that is
// out when the turn ends is answered for up to 2 s more.
type turns struct {
	*memory.Source

	lanes []queue.IntakeLane
}

func (i turns) Next(ctx context.Context) (queue.Job, error) {
	for {
		if open := i.lanes[0].Open; open != nil && !open() {
			if !pause(ctx, 100*time.Millisecond) {
				return nil, ctx.Err()
			}
			continue
		}
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		job, err := i.Source.Next(short)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return job, err
		}
	}
}

// seeded is a source of numbers in [0, 1) for several goroutines.
func seeded(seed uint64) func() float64 {
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(seed, 0))
	return func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return rnd.Float64()
	}
}

// publish adds one message of that number to the queue.
func (v *virtual) publish(t *testing.T, n int, to string) {
	t.Helper()
	m := &queue.Message{ID: fmt.Sprintf("m-%d", n), From: "1000", To: to, Text: "hello"}
	if _, _, err := v.source.Publish(context.Background(), "main", "normal", m); err != nil {
		t.Fatal(err)
	}
}

// finals counts the final outcomes in the journal.
func (v *virtual) finals() map[queue.EventType]int {
	n := map[queue.EventType]int{}
	for _, e := range v.source.Events(0) {
		if e.Type.Final() {
			n[e.Type]++
		}
	}
	return n
}
