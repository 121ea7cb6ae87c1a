package gateway

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sluice/queue"
	"sluice/testserver"
)

func TestUnknownOutcomesAreResentOneAMinuteWhileTheSMSCIsSilent(t *testing.T) {
	var s silence
	unanswered := func(n int) {
		for range n {
			s.heard(false, false)
		}
	}
	resend := func(second float64) (bool, float64) {
		ok, again := s.mayResend(at(second))
		return ok, again.Sub(at(0)).Seconds()
	}
	for range silenceOver {
		s.heard(true, false)
	}
	unanswered(silenceMost)
	if ok, _ := resend(0); !ok {
		t.Error("with 20 % unanswered, a resend has to wait")
	}
	unanswered(1)
	if ok, _ := resend(0); !ok {
		t.Error("the first resend has to wait")
	}
	if ok, again := resend(59.9); ok || again != 60 {
		t.Errorf("another after 59.9 s: %v, ask again at %v s; want no, 60", ok, again)
	}
	if ok, _ := resend(60); !ok {
		t.Error("another after 60 s has to wait")
	}
	s.heard(true, false) // an answer to a new message proves nothing about those
	if ok, _ := resend(61); ok {
		t.Error("an answer to a new message ended it")
	}
	s.heard(true, true)
	for range 3 {
		if ok, _ := resend(61); !ok {
			t.Error("a resend has to wait although one was answered")
		}
	}
}

func TestOldSilenceIsForgotten(t *testing.T) {
	var s silence
	for range 3 * silenceOver {
		s.heard(false, false)
	}
	for range silenceOver - silenceMost {
		s.heard(true, false)
	}
	for range 2 {
		if ok, _ := s.mayResend(at(0)); !ok {
			t.Error("10 of the last 50 are unanswered, and a resend has to wait")
		}
	}
}

func TestSuspectsGoOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s suspects
		if err := s.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.enter(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second one: %v", err)
		}
		s.leave()
		if err := s.enter(t.Context()); err != nil {
			t.Errorf("after the first: %v", err)
		}
	})
}

// A message that makes the SMSC hang up takes no other with it more than once, and ends deferred as poison.
func TestMessageThatMakesTheSMSCHangUpIsPoison(t *testing.T) {
	t.Parallel()
	const bad = "19990000"
	s := startSMSC(t, testserver.Scenario{
		Latency: testserver.Between(20*time.Millisecond, 40*time.Millisecond),
		Faults: []testserver.Fault{{
			Match: testserver.Match{To: bad}, Kind: testserver.FaultDisconnect, When: testserver.Before, How: testserver.RST,
		}},
	})
	r := startGateway(t, t.TempDir(), s, "unknown: {after: 10ms}\nrate: {declared: 200}\nwindow: {max: 5}", "") // few enough in flight not to look silent
	list := messages(100, "+1555")
	list[30] = &queue.Message{ID: "bad", From: "1000", To: "+" + bad, Text: "x"}
	r.publish(t, list...)
	finals := r.await(t, len(list), isFinal)
	for _, e := range finals {
		switch {
		case e.ID == "bad" && (e.Type != queue.EventDeferred || e.Reason != reasonPoison):
			t.Errorf("the bad one: %s (%s), want deferred (poison)", e.Type, e.Reason)
		case e.ID != "bad" && e.Type != queue.EventSubmitted:
			t.Errorf("%s: %s (%s), want submitted", e.ID, e.Type, e.Reason)
		}
	}
	lost := map[string]int{}
	for _, e := range r.events(t) {
		if e.Type == queue.EventUnknownOutcome && e.ID != "bad" {
			lost[e.ID]++
		}
	}
	for id, n := range lost {
		if n > 1 {
			t.Errorf("%s was taken down %d times", id, n)
		}
	}
	if len(lost) == 0 {
		t.Error("no message was in flight beside the bad one: the test does not test")
	}
	// What was written and not read yet is lost with the connection as well, and the SMSC sees it once.
	if n, most := s.Stats().Submits, uint64(len(list)+len(lost)+1); n > most {
		t.Errorf("%d submits, want at most %d: the bad one twice, and each of the %d that went down with it", n, most, len(lost))
	}
}

func TestPoisonByResets(t *testing.T) {
	r := testRules()
	r.unknown.max = 5
	l := letter{deadline: at(1e6)}
	for i := 1; i <= 2; i++ {
		o := r.decided(at(float64(i)), l, []result{{part: 1, unanswered: true, reset: true}})
		if want := fmt.Sprintf("%d resets", i); o.Final || fmt.Sprintf("%d resets", o.State.Resets) != want {
			t.Fatalf("end %d: final %v, %d resets", i, o.Final, o.State.Resets)
		}
		l.state = o.State
	}
	o := r.decided(at(3), l, []result{{part: 1, unanswered: true, reset: true}})
	if o.DeferredReason != reasonPoison {
		t.Errorf("third session that ended with it: %s (%s), want deferred (poison)", o.Event.Type, o.DeferredReason)
	}
	l.state = queue.State{Resets: 2, Unknowns: 2}
	if o := r.decided(at(3), l, []result{{part: 1, unanswered: true}}); o.DeferredReason == reasonPoison {
		t.Error("a response timeout was taken for another reset")
	}
}
