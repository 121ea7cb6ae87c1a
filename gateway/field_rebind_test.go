package gateway

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
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
	hosts := newHosts()
	hosts.random = seeded(seed + 17)
	a := &account{
		name: "acme", table: classify.Default(),
		cfg:   &config.Account{Bind: config.Transceiver, Address: []string{"smsc.example.net:2775"}},
		smpp:  smpp.Config{SystemID: "sluice", Password: "secret"},
		hosts: hosts, metrics: newMetrics(nil), counts: newMetrics(nil).of("acme"), log: discard(),
		gate: window.NewGate(window.NewController(window.Config{})), binds: map[window.BindID]*bind{},
	}
	a.dial = func(ctx context.Context, _ smpp.Config) (net.Conn, error) {
		near, far := net.Pipe()
		go func() { _ = s.ServeConn(context.WithoutCancel(ctx), far) }() // ends with the connection
		return near, nil
	}
	a.openFlow(binds)
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
			stop := superviseAll(t, a)
			time.Sleep(180 * time.Second)
			synctest.Wait()
			at, stats := a.keepers[0].standing(), s.Stats()
			refused := stats.BindsRefused["ESME_RALYBND"]
			if at.state != Bound || refused == 0 || refused+stats.Binds > 8 {
				t.Errorf("seed %d: %s after 180 s, %d binds refused, %d taken; want bound after at most 8",
					seed, at.state, refused, stats.Binds)
			}
			if lived := time.Since(at.since); at.state == Bound && lived > 180*time.Second-ghost {
				t.Errorf("seed %d: bound %v ago, before the ghost was gone", seed, lived)
			}
			stop()
			synctest.Wait()
			if n := s.Stats().Bound; n != 0 {
				t.Errorf("seed %d: %d sessions are bound after the stop", seed, n)
			}
		})
	}
}

// F20: rebinds in quick succession were counted and the address banned for 300 s. While TCP is refused for ten minutes,
// all binds to the host together connect fewer than 25 times, and all are bound soon after.
func TestF20RefusedConnectsAreFewForAllBindsTogether(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			s := testserver.New(testserver.Scenario{})
			a := pipeAccount(s, 4, seed)
			began := time.Now()
			var connects atomic.Int64
			serve := a.dial
			a.dial = func(ctx context.Context, cfg smpp.Config) (net.Conn, error) {
				if time.Since(began) < 10*time.Minute {
					connects.Add(1)
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
				}
				return serve(ctx, cfg)
			}
			stop := superviseAll(t, a)
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if n := connects.Load(); n == 0 || n >= 25 {
				t.Errorf("seed %d: %d connects in 10 minutes, want fewer than 25", seed, n)
			}
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			if n := s.Stats().Bound; n != len(a.keepers) {
				t.Errorf("seed %d: %d of %d binds are there 5 minutes after the outage", seed, n, len(a.keepers))
			}
			stop()
		})
	}
}

// F21: a wrong password was tried again every 10 s for ever. In ten minutes there are at most two more binds, and the
// bind says why it waits.
func TestF21WrongPasswordIsTriedTwiceInTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testserver.New(testserver.Scenario{Bind: testserver.BindRules{
			Refuse: testserver.Refusal{Status: pdu.StatusInvPaswd},
		}})
		a := pipeAccount(s, 1, 1)
		stop := superviseAll(t, a)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		at, refused := a.keepers[0].standing(), s.Stats().BindsRefused["ESME_RINVPASWD"]
		if at.state != ConfigFault || refused < 2 || refused > 3 {
			t.Errorf("%s after %d binds in 10 minutes, want config after 1 and at most 2 more", at.state, refused)
		}
		stop()
	})
}

// superviseAll runs the keepers of an account until stop, which waits for their end.
func superviseAll(t *testing.T, a *account) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var keepers sync.WaitGroup
	for _, k := range a.keepers {
		keepers.Go(func() { k.supervise(ctx) })
	}
	return func() {
		cancel()
		keepers.Wait()
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
		stop := superviseAll(t, a)
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

// Two accounts at one host: one is refused every connect for an hour, the session of the other ends once. The healthy one
// is bound again within 3 s (it was 56 s: the back-off was the host's), and so is one whose second address works.
func TestHealthyAccountIsNotHeldUpByAnother(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			s := testserver.New(testserver.Scenario{})
			ill, healthy := pipeAccount(s, 1, seed), pipeAccount(s, 1, seed)
			ill.cfg.SystemID, healthy.cfg.SystemID = "ill", "healthy"
			healthy.hosts = ill.hosts
			two := pipeAccount(s, 1, seed)
			two.hosts, two.cfg.SystemID = ill.hosts, "two"
			two.cfg.Address = []string{"smsc.example.net:2775", "smsc2.example.net:2775"}
			serve := ill.dial
			refused := func(context.Context, smpp.Config) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			}
			ill.dial = refused
			two.dial = func(ctx context.Context, cfg smpp.Config) (net.Conn, error) {
				if cfg.Address == "smsc.example.net:2775" {
					return refused(ctx, cfg)
				}
				return serve(ctx, cfg)
			}
			stopIll, stopHealthy := superviseAll(t, ill), superviseAll(t, healthy)
			time.Sleep(time.Hour)
			synctest.Wait()
			if at := healthy.keepers[0].standing(); at.state != Bound {
				t.Fatalf("seed %d: the healthy account is %s: %s", seed, at.state, at.reason)
			}
			began := time.Now()
			stopTwo := superviseAll(t, two)
			s.Disconnect(0, testserver.FIN)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			for name, a := range map[string]*account{"the healthy account": healthy, "the account with two addresses": two} {
				if at := a.keepers[0].standing(); at.state != Bound || at.since.Before(began) {
					t.Errorf("seed %d: 3 s later %s is %s since %v: %s", seed, name, at.state, at.since, at.reason)
				}
			}
			stopIll()
			stopHealthy()
			stopTwo()
		})
	}
}
