package gateway

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sluice/queue"
	"sluice/smpp"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// A message that is throttled 30 times, with an outage of ten minutes in between, has used no attempt and is submitted.
func TestThrottlesAndAnOutageUseNoAttempt(t *testing.T) {
	const throttles, outage = 30, 10 * time.Minute
	const to = "15550100"
	synctest.Test(t, func(t *testing.T) {
		s := testserver.Scenario{Errors: []testserver.ErrorRule{{
			Match: testserver.Match{To: to}, Script: slices.Repeat([]pdu.Status{pdu.StatusThrottled}, throttles),
		}}}
		v := startVirtual(t, s, "")
		defer func() { v.stop() }()
		serve, down := v.dial, atomic.Bool{}
		v.dial = func(ctx context.Context, cfg smpp.Config) (net.Conn, error) {
			if down.Load() {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			}
			return serve(ctx, cfg)
		}
		v.publish(t, 1, "+"+to)
		time.Sleep(5 * time.Minute)
		down.Store(true)
		v.smsc.Disconnect(0, testserver.RST)
		before := v.smsc.Stats().Submits
		time.Sleep(outage)
		if during := v.smsc.Stats().Submits - before; during != 0 || before == 0 || before >= throttles {
			t.Fatalf("%d submits before the outage and %d during it, want a part of %d and none", before, during, throttles)
		}
		down.Store(false)
		for range 2 * throttles {
			if v.finals()[queue.EventSubmitted] == 1 {
				break
			}
			time.Sleep(time.Minute)
		}
		events := v.source.Events(1)
		if len(events) != throttles+1 {
			t.Fatalf("%d events, want %d throttles and the final", len(events), throttles)
		}
		for i, e := range events[:throttles] {
			if e.Type != queue.EventThrottled || e.Attempt != 0 || e.Throttles != i+1 {
				t.Errorf("event %d: %s, attempt %d, %d throttles; want throttled, 0, %d", i+1, e.Type, e.Attempt, e.Throttles, i+1)
			}
		}
		final := events[throttles]
		if final.Type != queue.EventSubmitted || final.Attempt != 1 || final.Throttles != throttles || final.PossibleDuplicate {
			t.Errorf("final: %s, attempt %d, %d throttles, possible duplicate %v; want submitted, 1, %d, false", final.Type,
				final.Attempt, final.Throttles, final.PossibleDuplicate, throttles)
		}
		ledger := v.smsc.Ledger()
		for i, e := range events[:throttles] {
			if ledger[i+1].Time.Before(e.NextAttemptAt) {
				t.Errorf("submit %d came %v before its time", i+2, e.NextAttemptAt.Sub(ledger[i+1].Time))
			}
		}
	})
}

// An SMSC that swallows: no message is submitted more than twice, the second time not before 60 s, and then it is set
// aside. As over 20 % of the last 50 are unanswered, the resends come one at a time, each 60 s or more after the last.
func TestASwallowingSMSCGetsEachMessageTwiceAtMost(t *testing.T) {
	const n = 30
	synctest.Test(t, func(t *testing.T) {
		v := startVirtual(t, testserver.Scenario{Faults: []testserver.Fault{{Kind: testserver.FaultSwallow}}}, "")
		defer func() { v.stop() }()
		for i := range n {
			v.publish(t, i, "+1555"+string(rune('0'+i/10))+string(rune('0'+i%10)))
		}
		for range 4 * n {
			if v.finals()[queue.EventDeferred] == n {
				break
			}
			time.Sleep(time.Minute)
		}
		if got := v.finals(); len(got) != 1 || got[queue.EventDeferred] != n {
			t.Fatalf("outcomes %v, want all %d deferred", got, n)
		}
		for _, e := range v.source.Events(0) {
			if e.Type == queue.EventDeferred && (e.Reason != reasonOutcomeUnknown || !e.PossibleDuplicate) {
				t.Errorf("%s: %s, possible duplicate %v; want %s, true", e.ID, e.Reason, e.PossibleDuplicate, reasonOutcomeUnknown)
			}
		}
		if kept := v.source.Deferred(); len(kept) != n {
			t.Errorf("%d messages wait for a person, want %d", len(kept), n)
		}
		first, submits := map[string]time.Time{}, map[string]int{}
		var resends []time.Time
		for _, r := range v.smsc.Ledger() {
			if submits[r.Destination]++; submits[r.Destination] == 1 {
				first[r.Destination] = r.Time
				continue
			}
			resends = append(resends, r.Time)
			if after := r.Time.Sub(first[r.Destination]); after < time.Minute {
				t.Errorf("%s was submitted again after %v, want 60 s or more", r.Destination, after)
			}
		}
		for to, times := range submits {
			if times != 2 {
				t.Errorf("%s was submitted %d times, want 2", to, times)
			}
		}
		for i := 1; i < len(resends); i++ {
			if gap := resends[i].Sub(resends[i-1]); gap < time.Minute {
				t.Errorf("resend %d came %v after the one before, want 60 s or more", i+1, gap)
			}
		}
	})
}
