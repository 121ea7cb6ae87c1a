package gateway

import (
	"context"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/classify"
	"sluice/gateway/config"
	"sluice/smpp"
	"sluice/smpp/pdu"
	"sluice/testserver"
	"sluice/window"
)

// pipeAccount is an account whose binds reach the fake SMSC over net.Pipe, so that all of it runs in virtual time.
func pipeAccount(s *testserver.Server, binds int, seed uint64) *account {
	a := &account{
		name: "acme", cfg: &config.Account{Bind: config.Transceiver}, table: classify.Default(),
		smpp: smpp.Config{SystemID: "sluice", Password: "secret", Address: "smsc.example.net:2775"},
		host: &hostBackoff{random: rand.New(rand.NewPCG(seed, 17)).Float64}, metrics: newMetrics(nil), log: discard(),
		gate: window.NewGate(window.NewController(window.Config{})), binds: map[window.BindID]*bind{},
	}
	a.dial = func(ctx context.Context, _ smpp.Config) (net.Conn, error) {
		near, far := net.Pipe()
		go func() { _ = s.ServeConn(context.WithoutCancel(ctx), far) }() // ends with the connection
		return near, nil
	}
	for n := range binds {
		a.keepers = append(a.keepers, newKeeper(a, n+1))
	}
	return a
}

// F17: the SMSC keeps the ghost of a lost session for two minutes and answers every bind with 0x05; clients bound each
// second, or had to be restarted. The account is bound again by itself within 180 s, after at most 8 binds.
func TestF17GhostIsWaitedForWithFewBinds(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			const ghost = 120 * time.Second
			s := testserver.New(testserver.Scenario{Bind: testserver.BindRules{
				Refuse: testserver.Refusal{Status: pdu.StatusAlreadyBound, For: ghost},
			}})
			a := pipeAccount(s, 1, seed)
			ctx, stop := context.WithCancel(t.Context())
			k := a.keepers[0]
			ended := make(chan struct{})
			go func() { k.supervise(ctx); close(ended) }()

			time.Sleep(180 * time.Second)
			synctest.Wait()
			at, stats := k.standing(), s.Stats()
			refused := stats.BindsRefused["ESME_RALYBND"]
			if at.state != Bound || refused == 0 || refused+stats.Binds > 8 {
				t.Errorf("seed %d: %s after 180 s, %d binds refused, %d taken; want bound after at most 8",
					seed, at.state, refused, stats.Binds)
			}
			if lived := time.Since(at.since); at.state == Bound && lived > 180*time.Second-ghost {
				t.Errorf("seed %d: bound %v ago, before the ghost was gone", seed, lived)
			}
			stop()
			<-ended
			synctest.Wait()
			if n := s.Stats().Bound; n != 0 {
				t.Errorf("seed %d: %d sessions are bound after the stop", seed, n)
			}
		})
	}
}

// F39 at the keeper: sessions that end by force are joined before the next connect, however often it happens. The
// bubble itself fails the test for a goroutine that is left at its end.
func TestF39ThousandRebindsLeaveNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A session that is silent for 2 s is dropped, and every third connection before its bind is answered.
		s := testserver.New(testserver.Scenario{Link: testserver.Link{Idle: 2 * time.Second}})
		a := pipeAccount(s, 3, 1)
		var mu sync.Mutex
		connects, open, most := 0, 0, 0
		serve := a.dial
		a.dial = func(ctx context.Context, cfg smpp.Config) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			connects++
			open++
			most = max(most, open)
			conn, err := serve(ctx, cfg)
			counted := &countedConn{Conn: conn, closed: func() { mu.Lock(); open--; mu.Unlock() }}
			if connects%3 == 0 {
				_ = conn.Close() // as a peer does that resets at once
			}
			return counted, err
		}
		ctx, stop := context.WithCancel(t.Context())
		var keepers sync.WaitGroup
		for _, k := range a.keepers {
			keepers.Go(func() { k.supervise(ctx) })
		}
		few := 0
		for n := 0; n < 1000; {
			time.Sleep(time.Minute)
			synctest.Wait()
			mu.Lock()
			n = connects
			mu.Unlock()
			if few == 0 && n > 10 {
				few = runtime.NumGoroutine()
			}
		}
		// Each bind may just now have a session, with its six goroutines and the peer's two, or none.
		if n := runtime.NumGoroutine(); n > few+len(a.keepers)*8 {
			t.Errorf("%d goroutines after 1000 connects, %d after ten", n, few)
		}
		stop()
		keepers.Wait()
		if open != 0 || most > len(a.keepers) {
			t.Errorf("%d connections are open at the end and were %d at a time, want 0 and at most %d", open, most, len(a.keepers))
		}
	})
}

// countedConn tells of its first close.
type countedConn struct {
	net.Conn
	once   sync.Once
	closed func()
}

func (c *countedConn) Close() error {
	c.once.Do(c.closed)
	return c.Conn.Close()
}
