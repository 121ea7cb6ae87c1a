package window

import (
	"testing"
	"time"
)

// A busy machine wakes a sender too late now and then: that says nothing about the level being tried. A queue that
// runs dry makes most messages late: then the level is not being tried.
func TestStraysDoNotEndAProbe(t *testing.T) {
	for _, c := range []struct {
		name   string
		late   func(i int) bool
		climbs bool
	}{
		{"none", func(int) bool { return false }, true},
		{"one in ten", func(i int) bool { return i%10 == 5 }, true},
		{"every other", func(i int) bool { return i%2 == 1 }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctl := NewController(Config{})
			b := ctl.AddBind()
			now := virtualStart()
			for i := range 200 {
				if _, at := ctl.Next(now, b); at.After(now) {
					now = at
				}
				if c.late(i) {
					now = now.Add(50 * time.Millisecond)
				}
				ticket := ctl.OnSend(now, b)
				ctl.OnResult(now.Add(time.Millisecond), ticket, Signal{Answer: Accepted})
			}
			unused := false
			for _, d := range ctl.Decisions() {
				unused = unused || d.Reason == ReasonProbeUnused
			}
			if unused == c.climbs {
				t.Errorf("a probe ended unused: %v, want %v", unused, !c.climbs)
			}
			if pace := ctl.Snapshot(now).Pace; (pace > 10*startRate) != c.climbs {
				t.Errorf("the pace is %.1f/s; want it above %d/s: %v", pace, 10*startRate, c.climbs)
			}
		})
	}
}
