package gateway

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sluice/queue"
	"sluice/testserver"
)

// While an account is silent, messages with an unknown outcome are resent one a minute. When that has ended, the others
// are sent within 10 s, however long it lasted: no message sits out a wait that was set under the rule.
func TestResendsGoOnWhenTheSilenceHasEnded(t *testing.T) {
	for _, c := range []struct {
		messages int
		silent   time.Duration // what is submitted before that is swallowed
		settings string
	}{
		{30, 2 * time.Minute, ""}, // the default: the resend of a minute must not be swallowed as well
		{30, 95 * time.Second, "unknown: {max: 10}"},
		{30, 5 * time.Minute, "unknown: {max: 10}"}, // several resends of a minute are swallowed and tried again
		{30, 5*time.Minute + 30*time.Second, "unknown: {max: 10}"},
		{30, 5 * time.Minute, "unknown: {max: 10}\nbinds: 2"},
		{300, 2 * time.Minute, "unknown: {max: 10}"}, // new messages wait behind them
		{300, 5 * time.Minute, "unknown: {max: 10}"},
	} {
		t.Run(fmt.Sprintf("%d messages, %v, %s", c.messages, c.silent, c.settings), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := startVirtual(t, testserver.Scenario{Faults: []testserver.Fault{{Kind: testserver.FaultSwallow}}}, c.settings)
				defer v.stop()
				for i := range c.messages {
					v.publish(t, i, fmt.Sprintf("+1555%04d", i))
				}
				time.Sleep(c.silent)
				if err := v.smsc.SetScenario(testserver.Scenario{}); err != nil {
					t.Fatal(err)
				}
				ended := v.awaitNoSilence(t)
				time.Sleep(2 * time.Minute)
				v.checkResentWithin(t, longestPark, ended)
			})
		})
	}
}

// awaitNoSilence waits until the rule of one resend a minute has ended and returns when that was, 10 ms late at most.
func (v *virtual) awaitNoSilence(t *testing.T) time.Time {
	t.Helper()
	holds := func() bool {
		v.silence.mu.Lock()
		defer v.silence.mu.Unlock()
		return v.silence.unanswered > silenceMost
	}
	if !holds() {
		t.Fatal("the account is not silent: the test does not test")
	}
	for range 100 * 120 {
		if time.Sleep(10 * time.Millisecond); !holds() {
			return time.Now()
		}
	}
	t.Fatal("the silence does not end within 2 minutes")
	return time.Time{}
}

// checkResentWithin checks that every message whose outcome was unknown, and that was due, was sent again within a time
// after the rule had ended. It is sent once more at most by then, as it was accepted.
func (v *virtual) checkResentWithin(t *testing.T, within time.Duration, ended time.Time) {
	t.Helper()
	due := map[string]time.Time{}
	for _, e := range v.source.Events(0) {
		if e.Type == queue.EventUnknownOutcome && !e.At.After(ended) {
			due[e.ID] = e.NextAttemptAt
		}
	}
	waited, longest := 0, time.Duration(0)
	for _, e := range v.source.Events(0) {
		since, unknown := due[e.ID]
		if e.Type != queue.EventSubmitted || !unknown || !e.At.After(ended) {
			continue
		}
		waited++
		longest = max(longest, e.At.Sub(latest(since, ended)))
		delete(due, e.ID)
	}
	if waited < 5 {
		t.Errorf("%d messages waited when the rule ended: the test does not test", waited)
	}
	if longest > within {
		t.Errorf("the last of %d messages was sent %v after the rule had ended, want within %v", waited, longest, within)
	}
}
