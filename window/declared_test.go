package window

import (
	"testing"
	"time"
)

// TestHoldKeepsToDeclaredRate has an SMSC refuse everything for a while, or answer nothing: tests of a hold, and what
// follows it, are never closer together than the declared rate allows.
func TestHoldKeepsToDeclaredRate(t *testing.T) {
	for _, answer := range []Answer{Refused, Lost} {
		for _, declared := range []float64{0.5, 2, 5, 20} {
			c := NewController(Config{Declared: declared})
			id := c.AddBind()
			least := time.Duration(float64(time.Second)/declared) - late
			begin := virtualStart()
			now, last := begin, time.Time{}
			holds := 0
			for now.Sub(begin) < 5*time.Minute {
				ok, at := c.Next(now, id)
				if at.After(now) {
					now = at
				}
				if !ok && at.IsZero() {
					t.Fatalf("declared %v, answer %d: nothing may be sent at %v", declared, answer, now.Sub(begin))
				}
				if gap := now.Sub(last); gap < least {
					t.Fatalf("declared %v, answer %d: two sends are %v apart at %v in mode %v, want at least %v", declared, answer, gap, now.Sub(begin), c.mode, least)
				}
				last = now
				ticket := c.OnSend(now, id)
				now = now.Add(20 * time.Millisecond)
				s := Signal{Answer: Accepted}
				if at := now.Sub(begin) % (100 * time.Second); at > 20*time.Second && at < 60*time.Second {
					s.Answer = answer
				}
				if c.OnResult(now, ticket, s).Reason == ReasonHold {
					holds++
				}
			}
			if answer == Refused && holds < 3 {
				t.Errorf("declared %v: %d holds, want 3 at least: the test does not test", declared, holds)
			}
		}
	}
}
