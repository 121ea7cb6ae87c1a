package gateway

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/queue"
	"sluice/testserver"
)

// A response that comes after its submit was given up, and before the message is sent again, settles it.
func TestLateResponseSparesTheResend(t *testing.T) {
	t.Parallel()
	s := startScripted(t, silentSMSC)
	r := startGateway(t, t.TempDir(), smsc{addr: s.addr}, "response_timeout: 1s\nunknown: {after: 8s}", "")
	r.publish(t, &queue.Message{ID: "m", From: "ACME", To: "+15550100", Text: "x", Receipt: true})
	r.await(t, 1, func(e queue.Event) bool { return e.Type == queue.EventUnknownOutcome })
	s.answerLate(s.seen()[0], "77")
	final := r.await(t, 1, isFinal)[0]
	if final.Type != queue.EventSubmitted || final.Reason != reasonAcceptedLate || final.PossibleDuplicate || len(final.MessageIDs) != 1 {
		t.Errorf("final %+v, want submitted (accepted_late), no possible duplicate, one id", final)
	}
	r.awaitEmpty(t) // it came back after 8 s, and was acknowledged
	if _, ok, err := r.client.LookupReceipt(t.Context(), "acme", queue.CanonicalID("77"), newestRef); err != nil || !ok {
		t.Errorf("the receipt index does not know the message: %v, %v", ok, err)
	}
	if n := len(s.seen()); n != 1 {
		t.Errorf("%d submits, want 1: the message must not be sent again", n)
	}
}

// A response to the first submit that comes after the resend is journalled beside the one final, whichever of the two
// the SMSC answered first.
func TestLateResponseAfterTheResendIsTold(t *testing.T) {
	t.Parallel()
	for name, resendFirst := range map[string]bool{
		"after the answer to the resend": true, "before the answer to the resend": false,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startScripted(t, silentSMSC)
			// A resend that is given up too would be late as well.
			r := startGateway(t, t.TempDir(), smsc{addr: s.addr}, "response_timeout: 3s\nunknown: {after: 1ms}", "")
			r.publish(t, &queue.Message{ID: "m", From: "ACME", To: "+15550100", Text: "x"})
			resend, first := s.awaitSeen(t, 2), s.seen()[0]
			told := func(n int) []queue.Event {
				return r.await(t, n, func(e queue.Event) bool {
					return e.Type.Final() || e.Type == queue.EventDuplicateAccepted || e.Type == queue.EventLateResponse
				})
			}
			order, ids := []submit{first, resend}, []string{"first", "resend"}
			if resendFirst {
				order, ids = []submit{resend, first}, []string{"resend", "first"}
			}
			for n, to := range order {
				s.answerLate(to, ids[n])
				told(n + 1)
			}
			events := told(2)
			if events[0].Type != queue.EventSubmitted || events[1].Type != queue.EventDuplicateAccepted {
				t.Errorf("%s, then %s; want submitted, then duplicate_accepted", events[0].Type, events[1].Type)
			}
			if events[0].MessageIDs[0] != ids[0] || events[1].MessageIDs[0] != ids[1] {
				t.Errorf("they have the message ids %s and %s, want %v", events[0].MessageIDs[0], events[1].MessageIDs[0], ids)
			}
			r.awaitEmpty(t)
			finals := 0
			for _, e := range r.events(t) {
				if e.Type.Final() {
					finals++
				}
			}
			if n := len(s.seen()); n != 2 || finals != 1 {
				t.Errorf("%d submits and %d finals, want 2 and 1", n, finals)
			}
		})
	}
}

// With the waits as they are by default, 30 s for an answer and 60 s before the resend: a response 5 s after the timeout
// settles the message, and it is not sent again; one to the first submit 5 s after the resend is told beside the one
// final, which says that the message may be double, whatever becomes of the resend.
func TestLateResponsesByFiveSeconds(t *testing.T) {
	const timeout, wait, jitter, late, never = 30 * time.Second, time.Minute, delayFirst, 5 * time.Second, time.Hour
	for _, c := range []struct {
		name          string
		first, second time.Duration // of the responses
		events        []queue.EventType
	}{
		{"after the timeout", timeout + late, 0, []queue.EventType{queue.EventUnknownOutcome, queue.EventSubmitted}},
		{
			"after the resend and its answer", timeout + wait + jitter + late, time.Millisecond,
			[]queue.EventType{queue.EventUnknownOutcome, queue.EventSubmitted, queue.EventDuplicateAccepted},
		},
		{
			"after the resend and before its answer", timeout + wait + jitter + late, 2 * late,
			[]queue.EventType{queue.EventUnknownOutcome, queue.EventSubmitted, queue.EventDuplicateAccepted},
		},
		{
			"after the resend, which is never answered", timeout + wait + jitter + late, never,
			[]queue.EventType{queue.EventUnknownOutcome, queue.EventSubmitted, queue.EventLateResponse},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faults := []testserver.Fault{{Match: testserver.Match{Nth: 1}, Kind: testserver.FaultDelay, By: testserver.Exactly(c.first)}}
				if c.second > 0 {
					faults = append(faults, testserver.Fault{Match: testserver.Match{Nth: 2}, Kind: testserver.FaultDelay, By: testserver.Exactly(c.second)})
				}
				v := startVirtual(t, testserver.Scenario{Faults: faults}, "")
				defer v.stop()
				v.random = func() float64 { return 0 } // the whole jitter
				v.publish(t, 1, "+15550100")
				time.Sleep(20 * time.Minute)
				var told []queue.EventType
				for _, e := range v.source.Events(1) {
					told = append(told, e.Type)
					if resent := c.second > 0; e.Type == queue.EventSubmitted && e.PossibleDuplicate != resent {
						t.Errorf("the final says possible duplicate %v, want %v", e.PossibleDuplicate, resent)
					}
				}
				if !slices.Equal(told, c.events) {
					t.Errorf("events %v, want %v", told, c.events)
				}
				ledger := v.smsc.Ledger()
				if want := min(len(c.events)-1, 2); len(ledger) != want {
					t.Fatalf("%d submits, want %d", len(ledger), want)
				}
				if len(ledger) == 2 && ledger[1].Time.Sub(ledger[0].Time) != timeout+wait+jitter {
					t.Errorf("sent again after %v, want %v", ledger[1].Time.Sub(ledger[0].Time), timeout+wait+jitter)
				}
				if n := v.source.Queued(); n != 0 {
					t.Errorf("%d messages are left in the queue", n)
				}
			})
		})
	}
}
