package gateway

import (
	"context"
	"math/rand/v2"
	"net"
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
