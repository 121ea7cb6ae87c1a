package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
	"sluice/testserver/limiter"
	"sluice/testserver/longtest"
)

// The waits after a crash, shortened so that the test does not take minutes: what is checked does not depend on them.
const (
	crashAccount = "response_timeout: 2s, unknown: {after: 1s}"
	crashStreams = "ack_wait: 5s"
)

// someThrottled throttles one submit in a hundred, so that some are on a machine too busy to reach the limit as well.
func someThrottled() []testserver.ErrorRule {
	return []testserver.ErrorRule{{Match: testserver.Match{Every: 100}, Status: pdu.StatusThrottled}}
}

// kill -9 in the middle of 2,000 messages with throttling on: every message has one final outcome, none is lost, and
// whatever was submitted twice says so.
func TestKill9InTheMiddleLosesNothing(t *testing.T) {
	longtest.Only(t, "2,000 messages through three processes, at 400 a second and less")
	t.Parallel() // it waits more than it works
	const n = 2000
	smsc, addr := fakeSMSC(t, testserver.Scenario{
		Latency: testserver.Between(5*time.Millisecond, 20*time.Millisecond),
		// The ceiling falls while the gateway runs at it, so that many messages have been throttled when it dies.
		Limits: []testserver.Limit{{Kind: testserver.TokenBucket, Burst: 5, Rate: testserver.Steps(
			step(0, 400), step(4*time.Second, 100), step(6*time.Second, 400))}},
		Errors: someThrottled(),
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

// kill -9 while messages that were throttled before are on their way again: they too say that they may be double.
func TestKill9MarksWhatWasThrottledBefore(t *testing.T) {
	t.Parallel() // it waits more than it works
	const n = 60
	smsc, addr := fakeSMSC(t, testserver.Scenario{
		Latency: testserver.Between(time.Second, 2*time.Second), AnyOrder: true,
		Limits: []testserver.Limit{{Kind: testserver.Noise, Share: 0.4}},
	})
	d := newDaemon(t, addr, "response_timeout: 5s, unknown: {after: 1s}, noise: {max: 0}", "ack_wait: 8s")
	d.start(t)
	if _, errs, err := sluice(t, "send", "--nats", d.url(), "--file", messagesFile(t, n)); err != nil {
		t.Fatalf("send: %v: %s", err, errs)
	}
	await(t, "a message on its way again after a throttle", func() bool { return onTheirWayAgain(smsc) >= 3 })
	d.kill()
	d.start(t)
	if _, throttled := checkOutcomes(t, smsc, d.events(t, n), n); throttled == 0 {
		t.Error("nothing that was throttled before was accepted twice: the test does not test")
	}
}

// onTheirWayAgain counts the messages that the SMSC has throttled, has got again and accepted, and not answered yet.
func onTheirWayAgain(smsc *testserver.Server) int {
	throttled := map[string]bool{}
	n := 0
	for _, r := range smsc.Ledger() {
		switch {
		case r.Status == pdu.StatusThrottled:
			throttled[r.Destination] = true
		case r.Status == pdu.StatusOK && !r.Answered && throttled[r.Destination]:
			n++
		}
	}
	return n
}

// The SMSC resets the connection every 500 submits.
func TestResetEvery500SubmitsLosesNothing(t *testing.T) {
	longtest.Only(t, "2,000 messages at 400 a second and less")
	t.Parallel() // it waits more than it works
	const n = 2000
	smsc, addr := fakeSMSC(t, testserver.Scenario{
		Latency: testserver.Between(5*time.Millisecond, 20*time.Millisecond),
		Limits: []testserver.Limit{{Kind: testserver.TokenBucket, Burst: 5, Rate: testserver.Steps(
			step(0, 400), step(4*time.Second, 100), step(6*time.Second, 400))}},
		Errors: someThrottled(),
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

// trail is what the SMSC's ledger and the journal say about one message.
type trail struct {
	accepted, throttled int // by the SMSC
	finals              int
	final               queue.EventType
	marked              bool // the final says possible_duplicate
}

// checkOutcomes joins the SMSC's ledger with the journal: every message has one final outcome, which is submitted
// unless its outcome was unknown twice; what was accepted twice says so. It returns how many were accepted twice, and
// how many of these had been throttled.
func checkOutcomes(t *testing.T, smsc *testserver.Server, events []queue.Event, n int) (twice, twiceThrottled int) {
	t.Helper()
	trails := make(map[string]*trail, n)
	for i := range n {
		trails[number(i)] = &trail{}
	}
	throttles, deferred := 0, 0
	for _, r := range smsc.Ledger() {
		switch r.Status {
		case pdu.StatusOK:
			trails[r.Destination].accepted++
		case pdu.StatusThrottled:
			trails[r.Destination].throttled++
			throttles++
		}
	}
	for _, e := range events {
		if e.Type.Final() {
			m := trails[e.ID]
			m.finals++
			m.final, m.marked = e.Type, e.PossibleDuplicate
		}
	}
	for id, m := range trails {
		switch {
		case m.finals != 1:
			t.Errorf("%s has %d final events", id, m.finals)
		case m.final == queue.EventDeferred: // unknown twice: it waits for a person
			deferred++
		case m.final != queue.EventSubmitted:
			t.Errorf("%s ended %s", id, m.final)
		case m.accepted == 0:
			t.Errorf("%s ended submitted and the SMSC never accepted it: lost", id)
		}
		if m.accepted > 1 {
			twice++
			if m.throttled > 0 {
				twiceThrottled++
			}
			if !m.marked {
				t.Errorf("%s was accepted %d times and its final does not say possible_duplicate", id, m.accepted)
			}
		}
	}
	if deferred > n/20 {
		t.Errorf("%d of %d messages ended deferred", deferred, n)
	}
	if throttles == 0 {
		t.Error("nothing was throttled: the test does not test")
	}
	t.Logf("%d messages, %d throttles, %d accepted twice, %d of these throttled before, %d deferred", n, throttles, twice, twiceThrottled, deferred)
	return twice, twiceThrottled
}

// awaitSubmits waits until the SMSC has seen so many submits.
func awaitSubmits(t *testing.T, smsc *testserver.Server, n uint64) {
	t.Helper()
	await(t, "enough submits", func() bool { return smsc.Stats().Submits >= n })
}

// await polls until something has come about at the SMSC, which has no other way to tell.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not come", what)
		case <-tick.C:
		}
	}
}

func step(at time.Duration, rate float64) limiter.Step { return limiter.Step{At: at, Rate: rate} }

// kill -9 between the parts of a long text: those that are sent again have the header they had, by a process that knows
// nothing of the first one, so that the phone puts them together with what it has.
func TestKill9BetweenPartsKeepsTheHeader(t *testing.T) {
	t.Parallel() // it waits more than it works
	const parts = 5
	smsc, addr := fakeSMSC(t, testserver.Scenario{Latency: testserver.Between(300*time.Millisecond, 300*time.Millisecond)})
	d := newDaemon(t, addr, crashAccount+", window: {max: 1}", crashStreams)
	d.start(t)
	text := strings.Repeat("a", 153*(parts-1)+100)
	if _, errs, err := sluice(t, "send", "--nats", d.url(), "--to", "+15550100", "--text", text); err != nil {
		t.Fatalf("send: %v: %s", err, errs)
	}
	awaitSubmits(t, smsc, 2)
	d.kill()
	d.start(t)
	events := d.events(t, 1)
	if final := events[len(events)-1]; final.Type != queue.EventSubmitted || !final.PossibleDuplicate || final.SegmentsAccepted != parts {
		t.Errorf("final %+v, want submitted, possible duplicate, %d parts", final, parts)
	}
	keys, again := map[int]string{}, 0 // of header, text and recipient, by user_message_reference: one for each part
	for _, r := range smsc.Ledger() {
		if was, ok := keys[r.Reference]; ok {
			again++
			if was != r.Key {
				t.Errorf("part %d (submit %d) came again with another header", r.Reference, r.Number)
			}
		}
		keys[r.Reference] = r.Key
	}
	if len(keys) != parts || again == 0 {
		t.Errorf("%d parts, %d of them again; want %d and some", len(keys), again, parts)
	}
}
