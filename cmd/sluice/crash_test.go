package main

import (
	"context"
	"testing"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
	"sluice/testserver/limiter"
)

// The waits after a crash, shortened so that the test does not take minutes: what is checked does not depend on them.
const (
	crashAccount = "response_timeout: 2s, unknown: {after: 1s}"
	crashStreams = "ack_wait: 5s"
)

// kill -9 in the middle of 2,000 messages with throttling on: every message has one final outcome, none is lost, and
// whatever was submitted twice says so.
func TestKill9InTheMiddleLosesNothing(t *testing.T) {
	const n = 2000
	smsc, addr := fakeSMSC(t, testserver.Scenario{
		Latency: testserver.Between(5*time.Millisecond, 20*time.Millisecond),
		// The ceiling falls while the gateway runs at it, so that many messages have been throttled when it dies.
		Limits: []testserver.Limit{{Kind: testserver.TokenBucket, Burst: 5, Rate: testserver.Steps(
			step(0, 400), step(4*time.Second, 100), step(6*time.Second, 400))}},
	})
	d := newDaemon(t, addr, crashAccount, crashStreams)
	d.start(t)
	if _, errs, err := sluice(t, "send", "--nats", d.url(), "--file", messagesFile(t, n)); err != nil {
		t.Fatalf("send: %v: %s", err, errs)
	}
	awaitSubmits(t, smsc, 800)
	d.kill()
	d.start(t)
	awaitSubmits(t, smsc, 1400)
	d.kill()
	d.start(t)
	checkOutcomes(t, smsc, d.events(t, n), n)
	if err := d.stop(); err != nil {
		t.Errorf("sluice run ended with %v", err)
	}
}

// The SMSC resets the connection every 500 submits.
func TestResetEvery500SubmitsLosesNothing(t *testing.T) {
	const n = 2000
	smsc, addr := fakeSMSC(t, testserver.Scenario{
		Latency: testserver.Between(5*time.Millisecond, 20*time.Millisecond),
		Limits: []testserver.Limit{{Kind: testserver.TokenBucket, Burst: 5, Rate: testserver.Steps(
			step(0, 400), step(4*time.Second, 100), step(6*time.Second, 400))}},
		Faults: []testserver.Fault{{
			Kind: testserver.FaultDisconnect, How: testserver.RST, When: testserver.Before, Match: testserver.Match{Every: 500},
		}},
	})
	d := newDaemon(t, addr, crashAccount, crashStreams)
	d.start(t)
	if _, errs, err := sluice(t, "send", "--nats", d.url(), "--file", messagesFile(t, n)); err != nil {
		t.Fatalf("send: %v: %s", err, errs)
	}
	checkOutcomes(t, smsc, d.events(t, n), n)
}

// checkOutcomes joins the SMSC's ledger with the journal.
func checkOutcomes(t *testing.T, smsc *testserver.Server, events []queue.Event, n int) {
	t.Helper()
	accepted := map[string]int{} // by number
	throttled := 0
	for _, r := range smsc.Ledger() {
		switch r.Status {
		case pdu.StatusOK:
			accepted[r.Destination]++
		case pdu.StatusThrottled:
			throttled++
		}
	}
	finals := map[uint64]int{}
	marked := map[string]bool{}
	throttledBefore := map[string]bool{}
	outcome := map[string]queue.EventType{}
	for _, e := range events {
		if e.Type == queue.EventThrottled {
			throttledBefore[e.ID] = true
		}
		if e.PossibleDuplicate {
			marked[e.ID] = true
		}
		if e.Type.Final() {
			finals[e.Seq]++
			outcome[e.ID] = e.Type
		}
	}
	if len(finals) != n {
		t.Errorf("%d messages have a final outcome, want %d", len(finals), n)
	}
	for seq, times := range finals {
		if times != 1 {
			t.Errorf("message %d has %d final events", seq, times)
		}
	}
	twice, twiceThrottled := 0, 0
	for i := range n {
		id := number(i)
		times := accepted[id]
		// An unknown outcome twice in a row waits for a person, and says so.
		if times == 0 && outcome[id] != queue.EventDeferred {
			t.Errorf("%s ended %q and the SMSC never accepted it: lost", id, outcome[id])
		}
		if times > 1 {
			twice++
			if throttledBefore[id] {
				twiceThrottled++
			}
			if !marked[id] {
				t.Errorf("%s was accepted %d times and no event says possible_duplicate", id, times)
			}
		}
	}
	if throttled == 0 {
		t.Error("nothing was throttled: the test does not test")
	}
	t.Logf("%d messages, %d throttles, %d accepted twice and marked, %d of these throttled before", n, throttled, twice, twiceThrottled)
}

// awaitSubmits waits until the SMSC has seen so many submits.
func awaitSubmits(t *testing.T, smsc *testserver.Server, n uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for smsc.Stats().Submits < n {
		select {
		case <-ctx.Done():
			t.Fatalf("the SMSC saw %d submits, want %d", smsc.Stats().Submits, n)
		case <-tick.C:
		}
	}
}

func step(at time.Duration, rate float64) limiter.Step { return limiter.Step{At: at, Rate: rate} }
