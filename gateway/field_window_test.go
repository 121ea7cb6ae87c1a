package gateway

import (
	"testing"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
	"sluice/window"
)

// fiveOutstanding answers the sixth submit in flight with 0x45 (ESME_RSUBMITFAIL), which the account is told to read
// as a throttle. Answers are slow, so that a slow machine has six in flight as well.
func fiveOutstanding() testserver.Scenario {
	return testserver.Scenario{
		Latency: testserver.Between(100*time.Millisecond, 200*time.Millisecond), AnyOrder: true,
		Limits: []testserver.Limit{{Kind: testserver.Outstanding, Size: 5, Status: pdu.StatusSubmitFail}},
	}
}

const submitFailThrottles = "statuses: {\"0x45\": throttle}\nrate: {declared: 500}\n"

// F06: a window that was overrun was answered with a status that is no throttle by the book, and only the rate was
// lowered. The window becomes smaller in the decision that the refusal makes, and no message loses an attempt.
func TestF06OverrunWindowIsLoweredByTheRefusal(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, fiveOutstanding())
	r := startGateway(t, t.TempDir(), s, submitFailThrottles, "")
	const n = 60
	r.publish(t, messages(n, "+1555")...)
	for _, e := range r.await(t, n, isFinal) {
		if e.Type != queue.EventSubmitted || e.Attempt != 1 {
			t.Errorf("%s: %s after %d attempts, want submitted after 1", e.ID, e.Type, e.Attempt)
		}
	}
	throttled := 0
	for _, e := range r.events(t) {
		if e.Type != queue.EventThrottled {
			continue
		}
		throttled++
		if e.Attempt != 0 || e.CommandStatus == nil || *e.CommandStatus != uint32(pdu.StatusSubmitFail) {
			t.Errorf("%s: throttled with %d attempts and status %v, want 0 and 0x45", e.ID, e.Attempt, e.CommandStatus)
		}
	}
	stats := s.Stats()
	if stats.Accepted != n || stats.Duplicated != 0 || throttled == 0 || int(stats.Refused) != throttled {
		t.Errorf("%d accepted, %d twice, %d refused, %d throttles in the journal; want %d, 0 and some of both alike",
			stats.Accepted, stats.Duplicated, stats.Refused, throttled, n)
	}
	cuts := 0
	for _, d := range r.accounts[0].gate.Decisions() {
		switch d.Reason { //nolint:exhaustive // those that a refused flight makes
		case window.ReasonProbeRefused, window.ReasonCutExcess:
			cuts++
			if d.Window >= d.WindowWas {
				t.Errorf("the window stays at %d in: %s", d.Window, d)
			}
		}
	}
	if cuts == 0 {
		t.Error("no refused flight lowered the window")
	}
}

// F06, where the operator knows the limit: with window.max 5 there is never a sixth in flight, and nothing is refused.
func TestF06WindowMaxIsNeverOverrun(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, fiveOutstanding())
	r := startGateway(t, t.TempDir(), s, submitFailThrottles+"window: {max: 5}", "")
	const n = 40
	r.publish(t, messages(n, "+1555")...)
	r.await(t, n, isFinal)
	stats := s.Stats()
	if stats.MaxOutstanding > 5 || stats.Refused != 0 || stats.Accepted != n || stats.Duplicated != 0 {
		t.Errorf("%d in flight at most, %d refused, %d accepted, %d twice; want at most 5, 0, %d and 0",
			stats.MaxOutstanding, stats.Refused, stats.Accepted, stats.Duplicated, n)
	}
}
