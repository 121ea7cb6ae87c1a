package window

import (
	"strings"
	"testing"
	"time"

	"sluice/testserver/limiter"
)

// An SMSC that says nothing at all for a while after each message too many: silence answers silence, and ends a level like
// a refusal does.
func TestSilentAboveItsRate(t *testing.T) {
	for _, pause := range []time.Duration{2 * time.Second, 10 * time.Second, time.Minute} {
		l := newLanes(Config{NoiseMax: .06}, limiter.Silent(limiter.Pause(bucketOf(100), pause)))
		l.run(10 * time.Minute)
		lane := l.all[0]
		rate := l.rates(30 * time.Minute)[0]
		unanswered := 1 - rate*1800/float64(lane.tries)
		t.Logf("silent for %v: %.1f/s, %.2f %% unanswered", pause, rate, 100*unanswered)
		if rate < 65 || unanswered > .01 {
			t.Errorf("silent for %v: %.1f/s accepted, %.2f %% unanswered, want 65/s of 100 and at most 1 %%", pause, rate, 100*unanswered)
		}
		said := ""
		for _, d := range l.c.Decisions() {
			said += d.String()
		}
		if !strings.Contains(said, "none answered for 5s: silence but for tests") {
			t.Error("no decision says that nothing was answered")
		}
	}
}

// stall is an SMSC that stands still now and then, and answers later what came meanwhile.
type stall struct {
	limiter.Limiter
	every, length time.Duration
}

func (s stall) Arrive(now time.Time) limiter.Verdict {
	v := s.Limiter.Arrive(now)
	if at := now.Sub(virtualStart()) % s.every; at >= s.every-s.length {
		v.Service += s.every - at
	}
	return v
}

// Late answers end the silence, and it costs nothing: the SMSC stood still at whatever pace.
func TestStandstillIsNoExcess(t *testing.T) {
	l := newLanes(Config{}, stall{bucketOf(100), 3 * time.Minute, 12 * time.Second})
	l.run(3 * time.Minute)
	rate := l.rates(30 * time.Minute)[0]
	t.Logf("%.1f/s", rate)
	if ceiling := l.c.Snapshot(l.now).Ceiling; rate < 85 || ceiling < 90 {
		t.Errorf("%.1f/s accepted, ceiling %.1f/s, want 85 and 90 of 100/s", rate, ceiling)
	}
	if n := l.count(ReasonHold); n == 0 {
		t.Error("no hold in so long a silence")
	}
}

// A connection that hangs and is lost, again and again: nothing is answered any more, at any pace.
func TestHungConnectionIsNoExcess(t *testing.T) {
	l := newLanes(Config{}, bucketOf(100))
	l.run(time.Minute)
	for range 20 {
		l.run(2 * time.Minute)
		bucket := l.all[0].bucket
		l.all[0].bucket = limiter.Silent(limiter.Noise(limiter.All(), 1, l.rnd, throttled))
		l.run(20 * time.Second)
		l.c.RemoveBind(l.now, l.all[0].id)
		for _, f := range append(l.out, l.mute...) {
			l.c.OnResult(l.now, f.ticket, Signal{Answer: Lost})
		}
		l.out, l.mute = nil, nil
		l.all[0].id, l.all[0].bucket = l.c.AddBindAs("a"), bucket
	}
	if s := l.c.Snapshot(l.now); s.Ceiling < 90 || s.Mode == Hold {
		t.Errorf("ceiling %.1f/s, mode %v, want 90/s and no hold", s.Ceiling, s.Mode)
	}
}

// After an idle time the first messages have had no time to be answered.
func TestIdleIsNoSilence(t *testing.T) {
	c := NewController(Config{})
	b := c.AddBind()
	now := virtualStart()
	for range 20 {
		var out []Ticket
		for {
			ok, at := c.Next(now, b)
			if !ok || at.Sub(now) > time.Second {
				break
			}
			now = latest(now, at)
			out = append(out, c.OnSend(now, b))
		}
		if c.mode == Hold {
			t.Fatalf("hold with %d messages just sent", len(out))
		}
		for _, ticket := range out {
			c.OnResult(now.Add(50*time.Millisecond), ticket, Signal{})
		}
		now = now.Add(time.Minute)
	}
}
