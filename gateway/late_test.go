package gateway

import (
	"testing"
	"time"

	"sluice/queue"
	"sluice/testserver"
)

func exactly(d time.Duration) testserver.Span { return testserver.Between(d, d) }

// A response that comes after its submit was given up, and before the message is sent again, settles it.
func TestLateResponseSparesTheResend(t *testing.T) {
	s := startSMSC(t, testserver.Scenario{
		Faults: []testserver.Fault{{Match: testserver.Match{Nth: 1}, Kind: testserver.FaultDelay, By: exactly(1500 * time.Millisecond)}},
	})
	r := startGateway(t, t.TempDir(), s, "response_timeout: 1s\nunknown: {after: 2s}", "")
	r.publish(t, &queue.Message{ID: "m", From: "ACME", To: "+15550100", Text: "x", Receipt: true})
	final := r.await(t, 1, isFinal)[0]
	if final.Type != queue.EventSubmitted || final.Reason != reasonAcceptedLate || final.PossibleDuplicate || len(final.MessageIDs) != 1 {
		t.Errorf("final %+v, want submitted (accepted_late), no possible duplicate, one id", final)
	}
	r.awaitEmpty(t)
	if _, ok, err := r.client.LookupReceipt(t.Context(), "acme", queue.CanonicalID(final.MessageIDs[0]), newestRef); err != nil || !ok {
		t.Errorf("the receipt index does not know the message: %v, %v", ok, err)
	}
	if n := s.Stats().Submits; n != 1 {
		t.Errorf("%d submits, want 1: the message must not be sent again", n)
	}
}

// A response to the first submit that comes after the resend is journalled beside the one final, whichever of the two
// the SMSC answered first.
func TestLateResponseAfterTheResendIsTold(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second time.Duration // of the responses
	}{
		{"after the answer to the resend", 2500 * time.Millisecond, time.Millisecond},
		{"before the answer to the resend", 1500 * time.Millisecond, 800 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startSMSC(t, testserver.Scenario{Faults: []testserver.Fault{
				{Match: testserver.Match{Nth: 1}, Kind: testserver.FaultDelay, By: exactly(c.first)},
				{Match: testserver.Match{Nth: 2}, Kind: testserver.FaultDelay, By: exactly(c.second)},
			}})
			r := startGateway(t, t.TempDir(), s, "response_timeout: 1s\nunknown: {after: 1ms}", "")
			r.publish(t, &queue.Message{ID: "m", From: "ACME", To: "+15550100", Text: "x"})
			told := r.await(t, 2, func(e queue.Event) bool {
				return e.Type.Final() || e.Type == queue.EventDuplicateAccepted || e.Type == queue.EventLateResponse
			})
			if told[0].Type != queue.EventSubmitted || told[1].Type != queue.EventDuplicateAccepted {
				t.Errorf("%s, then %s; want submitted, then duplicate_accepted", told[0].Type, told[1].Type)
			}
			if told[0].MessageIDs[0] == told[1].MessageIDs[0] {
				t.Errorf("both have the message id %s", told[0].MessageIDs[0])
			}
			if n := s.Stats().Submits; n != 2 {
				t.Errorf("%d submits, want 2", n)
			}
		})
	}
}
