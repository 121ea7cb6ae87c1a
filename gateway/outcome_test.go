package gateway

import (
	"testing"
	"time"

	"sluice/classify"
	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/pdu"
)

// testRules have a pace that keeps retry slots out of the way and a jitter of half the range.
func testRules() *rules {
	return &rules{
		account:    "acme",
		route:      routePolicy{attempts: 5, per: config.Allowance{Count: 3, Per: 10 * time.Minute}, expiresIn: 24 * time.Hour},
		unknown:    unknownPolicy{max: 1, after: time.Minute, late: 10 * time.Minute},
		slots:      &retrySlots{},
		pace:       1e6,
		random:     func() float64 { return 0.5 },
		othersPass: true,
	}
}

func answerOf(status pdu.Status) answer {
	return answer{verdict: classify.Default().Of(classify.Submit, status), status: status, messageID: "m-1"}
}

// one decides about a message of one part by its answer.
func (r *rules) one(now time.Time, l letter, a answer) queue.Outcome {
	return r.decided(now, l, []result{{part: 1, answer: a}})
}

func TestOneAnswerOfEachClass(t *testing.T) {
	for _, c := range []struct {
		name      string
		status    pdu.Status
		event     queue.EventType
		reason    string
		attempts  int
		throttles int
		final     bool
	}{
		{"ok", pdu.StatusOK, queue.EventSubmitted, "", 1, 0, true},
		{"throttle", pdu.StatusThrottled, queue.EventThrottled, reasonThrottled, 0, 1, false},
		{"queue full", pdu.StatusMsgQFull, queue.EventThrottled, reasonThrottled, 0, 1, false},
		{"retry", pdu.StatusSysErr, queue.EventRetry, reasonRetry, 1, 0, false},
		{"terminal", pdu.StatusInvDstAdr, queue.EventFailed, reasonRefused, 1, 0, true},
		{"config", pdu.StatusInvCmdID, queue.EventRetry, reasonAccountConfig, 0, 0, false},
		{"unknown", pdu.Status(0x400), queue.EventRetry, reasonUnclassified, 1, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testRules().one(at(0), letter{deadline: at(3600)}, answerOf(c.status))
			if o.Event.Type != c.event || o.Event.Reason != c.reason || o.Final != c.final {
				t.Errorf("%s (%q), final %v; want %s (%q), final %v", o.Event.Type, o.Event.Reason, o.Final, c.event, c.reason, c.final)
			}
			if o.State.Attempts != c.attempts || o.State.Throttles != c.throttles {
				t.Errorf("%d attempts and %d throttles, want %d and %d", o.State.Attempts, o.State.Throttles, c.attempts, c.throttles)
			}
			if o.Event.CommandStatus == nil || *o.Event.CommandStatus != uint32(c.status) {
				t.Errorf("command_status %v, want 0x%08X", o.Event.CommandStatus, uint32(c.status))
			}
			if c.final != o.NextAttemptAt.IsZero() {
				t.Errorf("next attempt at %v, final %v", o.NextAttemptAt, o.Final)
			}
		})
	}
}

// A 30 s wait asked at time 0 with 4 s of jitter is eligible at 34; asked to wait 30 s again there, never before 64;
// and what would miss its deadline ends at once and says by how much.
func TestAskedWaitIsNeverShortened(t *testing.T) {
	throttle := answerOf(pdu.StatusThrottled)
	throttle.verdict.Hold = 30 * time.Second
	r := testRules()
	r.random = func() float64 { return 0 } // the whole range: 500 ms doubled three times is 4 s
	l := letter{state: queue.State{Streak: 3}, deadline: at(100)}

	first := r.one(at(0), l, throttle)
	if !first.NextAttemptAt.Equal(at(34)) {
		t.Errorf("eligible at %v, want 34s", first.NextAttemptAt.Sub(at(0)))
	}
	for _, random := range []float64{0, 0.5, 0.999999} {
		r.random = func() float64 { return random }
		l.state = first.State
		second := r.one(at(34), l, throttle)
		if second.NextAttemptAt.Before(at(64)) {
			t.Errorf("eligible at %v, want 64s or later", second.NextAttemptAt.Sub(at(0)))
		}
	}
	r.random = func() float64 { return 0 }
	l.state, l.deadline = queue.State{Streak: 3}, at(32)
	late := r.one(at(0), l, throttle)
	if late.Event.Type != queue.EventExpired || late.Event.Reason != reasonWouldBeTooLate || late.Event.MissedByMillis != 2000 {
		t.Errorf("%s (%s), late by %d ms; want expired (%s), late by 2000 ms",
			late.Event.Type, late.Event.Reason, late.Event.MissedByMillis, reasonWouldBeTooLate)
	}
}

func TestThrottlesNeverUseUpAMessage(t *testing.T) {
	r, l := testRules(), letter{deadline: at(1e6)}
	for i := range 30 {
		o := r.one(at(float64(100*i)), l, answerOf(pdu.StatusThrottled))
		if o.Final || o.State.Attempts != 0 || o.State.Throttles != i+1 {
			t.Fatalf("throttle %d: final %v, %d attempts, %d throttles", i+1, o.Final, o.State.Attempts, o.State.Throttles)
		}
		if delay := o.NextAttemptAt.Sub(at(float64(100 * i))); delay > delayMost {
			t.Errorf("throttle %d: waits %v, want at most %v", i+1, delay, delayMost)
		}
		l.state = o.State
	}
}

func TestRetriesEndAtTheCap(t *testing.T) {
	for _, c := range []struct {
		name   string
		status pdu.Status
		cap    int
	}{
		{"retry class", pdu.StatusSysErr, 5},
		{"unclassified", pdu.Status(0x400), unknownClassAttempts},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, l, now := testRules(), letter{deadline: at(1e6)}, at(0)
			for i := 1; ; i++ {
				o := r.one(now, l, answerOf(c.status))
				if o.State.Attempts != i {
					t.Fatalf("after answer %d: %d attempts", i, o.State.Attempts)
				}
				if i == c.cap {
					if o.Event.Type != queue.EventDeferred || o.DeferredReason != reasonAttempts {
						t.Errorf("attempt %d: %s (%s), want deferred (attempts)", i, o.Event.Type, o.DeferredReason)
					}
					return
				}
				if o.Final {
					t.Fatalf("attempt %d of %d ended the message: %s", i, c.cap, o.Event.Type)
				}
				l.state, now = o.State, o.NextAttemptAt
			}
		})
	}
}

func TestAttemptsAreSpreadAsTheRouteSays(t *testing.T) {
	r, l := testRules(), letter{deadline: at(1e6)}
	r.route.attempts = 100
	var tries []time.Time
	for now := at(0); len(tries) < 12; {
		tries = append(tries, now)
		o := r.one(now, l, answerOf(pdu.StatusSysErr))
		l.state, now = o.State, o.NextAttemptAt
	}
	for i := 3; i < len(tries); i++ {
		if span := tries[i].Sub(tries[i-3]); span < 10*time.Minute {
			t.Errorf("tries %d to %d lie within %v, want at most 3 in 10m", i-2, i+1, span)
		}
	}
}

func TestQueueFullForOneMessageOnlyBecomesAnAttempt(t *testing.T) {
	r, l := testRules(), letter{deadline: at(1e6)}
	for i := 1; i <= 7; i++ {
		o := r.one(at(float64(100*i)), l, answerOf(pdu.StatusMsgQFull))
		want := max(0, i-queueFullsAsThrottle)
		if o.State.Attempts != want {
			t.Errorf("refusal %d: %d attempts, want %d", i, o.State.Attempts, want)
		}
		l.state = o.State
	}
	r.othersPass, l.state = false, queue.State{QueueFulls: 20}
	if o := r.one(at(0), l, answerOf(pdu.StatusMsgQFull)); o.State.Attempts != 0 {
		t.Errorf("with nothing else passing: %d attempts, want 0", o.State.Attempts)
	}
	l.state = queue.State{QueueFulls: 5}
	if o := r.one(at(0), l, answerOf(pdu.StatusThrottled)); o.State.QueueFulls != 0 {
		t.Errorf("another status leaves a count of %d in a row, want 0", o.State.QueueFulls)
	}
}

func TestUnknownOutcome(t *testing.T) {
	r, l := testRules(), letter{deadline: at(1e6)}
	first := r.unanswered(at(0), l, reasonNoResponse)
	if first.Event.Type != queue.EventUnknownOutcome || !first.State.PossibleDuplicate || first.NextAttemptAt.Before(at(60)) {
		t.Errorf("first: %s, possible duplicate %v, eligible at %v; want unknown_outcome, true, 60s or later",
			first.Event.Type, first.State.PossibleDuplicate, first.NextAttemptAt.Sub(at(0)))
	}
	l.state = first.State
	if o := r.one(at(61), l, answerOf(pdu.StatusOK)); !o.Event.PossibleDuplicate {
		t.Error("the second submit's event does not say possible_duplicate")
	}
	second := r.unanswered(at(61), l, reasonNoResponse)
	if second.Event.Type != queue.EventDeferred || second.DeferredReason != reasonOutcomeUnknown {
		t.Errorf("second: %s (%s), want deferred (outcome_unknown)", second.Event.Type, second.DeferredReason)
	}
	r.unknown.hold = true
	if o := r.unanswered(at(0), letter{deadline: at(1e6)}, reasonNoResponse); o.NextAttemptAt.Before(at(600)) {
		t.Errorf("held: looked at again after %v, want once no late response can come (10m)", o.NextAttemptAt.Sub(at(0)))
	}
}

func TestPoisonEndsDeferred(t *testing.T) {
	r, l := testRules(), letter{deadline: at(1e6)}
	for i := 1; i <= endsThatArePoison; i++ {
		o := r.panicked(at(float64(i)), l, false)
		if i < endsThatArePoison && (o.Final || o.State.Attempts != 0) {
			t.Errorf("panic %d: final %v, %d attempts", i, o.Final, o.State.Attempts)
		}
		if i == endsThatArePoison && o.DeferredReason != reasonPoison {
			t.Errorf("panic %d: %s (%s), want deferred (poison)", i, o.Event.Type, o.DeferredReason)
		}
		l.state = o.State
	}
}

func TestTerminalIsKeptWhereTheRouteSaysSo(t *testing.T) {
	r := testRules()
	if o := r.one(at(0), letter{}, answerOf(pdu.StatusInvDstAdr)); o.DeferredReason != "" {
		t.Errorf("copied to deferred (%s) although the route does not ask for it", o.DeferredReason)
	}
	r.route.keepTerminal = true
	if o := r.one(at(0), letter{}, answerOf(pdu.StatusInvDstAdr)); o.DeferredReason != reasonTerminal {
		t.Errorf("copied as %q, want %q", o.DeferredReason, reasonTerminal)
	}
}
