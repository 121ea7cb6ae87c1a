package window

import (
	"testing"
	"time"

	"sluice/testserver/limiter"
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
				unused = unused || d.Reason == ReasonProbeIdle
			}
			if unused == c.climbs {
				t.Errorf("a probe ended for want of messages: %v, want %v", unused, !c.climbs)
			}
			if pace := ctl.Snapshot(now).Pace; (pace > 10*startRate) != c.climbs {
				t.Errorf("the pace is %.1f/s; want it above %d/s: %v", pace, 10*startRate, c.climbs)
			}
		})
	}
}

// Bursts with pauses between find a bucket full each time. What it pays for is not the rate that the SMSC accepts: a
// level must stand in one go.
func TestBurstsDoNotFlatterAProbe(t *testing.T) {
	for seed := range uint64(3) {
		s := simulate(scenario{
			smsc: bucket(20, 20), rtt: ms(40), length: 30 * time.Minute, warm: 5 * time.Minute,
			arrivals: pulses(2.5, []limiter.Step{{At: 0, Rate: 350}, {At: 100 * time.Millisecond, Rate: 0}}),
		}, seed)
		share, ceiling := float64(s.warmRefused)/float64(s.warmSubmits), s.senders[0].c.ceiling
		t.Logf("%.2f %% refused, ceiling %.1f", 100*share, ceiling)
		if share > .01 || float64(s.taken) < .99*float64(s.arrived) {
			t.Errorf("%.2f %% refused, %d of %d taken", 100*share, s.taken, s.arrived)
		}
	}
}
