package window

import (
	"math/rand/v2"
	"testing"
	"time"

	"sluice/testserver/limiter"
)

const invalidAddress = 0x0B

// outcome sums up a run that ends with a number of messages.
type outcome struct {
	goodput float64       // answers other than refusals, over what the ceiling allowed, from 10 s to the last submit
	refused float64       // share of all submits
	took    time.Duration // from the first to the last submit
}

func runMessages(sc scenario, n int, seed uint64) outcome {
	sc.messages, sc.length = n, 10*time.Minute
	done := 0
	sc.inspect = func(now time.Time, _ *Controller, s Signal, _ Decision) {
		if s.Answer != Refused && now.Sub(virtualStart()) >= 10*time.Second {
			done++
		}
	}
	s := simulate(sc, seed)
	could := 0.0
	for at := 10 * time.Second; at < s.last; at += bin {
		could += s.capacityIn[at/bin] * bin.Seconds()
	}
	return outcome{float64(done) / could, float64(s.refused) / float64(s.submits), s.last - s.first}
}

// TestMovingCeiling is the demo: the ceiling falls to 40 %, then rises to three times that, some messages are wrong.
// What is missed is missed while the rise is found: 500 messages at 40/s are to be accepted before the next fine
// probe. A test for noise that comes between costs some seconds more.
func TestMovingCeiling(t *testing.T) {
	sc := scenario{rtt: ms(1), unordered: true, smsc: func(rnd *rand.Rand) limiter.Limiter {
		rate := limiter.Steps([]limiter.Step{{At: 0, Rate: 100}, {At: seconds(20), Rate: 40}, {At: seconds(40), Rate: 120}})
		return limiter.All(limiter.Delay(5*time.Millisecond, 20*time.Millisecond, rnd),
			limiter.Noise(limiter.TokenBucket(rate, 10, throttled), .02, rnd, invalidAddress))
	}}
	for _, tt := range []struct {
		messages int
		noiseMax float64
		goodput  float64
	}{
		{7000, 0, .80},
		{9000, 0, .85},
		{12000, 0, .88},
		{7000, .06, .76},
		{9000, .06, .81}, // 2 % of the answers are wrong addresses, and only acceptances are evidence
		{12000, .06, .85},
	} {
		sc.config.NoiseMax = tt.noiseMax
		good, refused, most := 9.0, 0.0, time.Duration(0)
		for seed := range uint64(20) {
			o := runMessages(sc, tt.messages, seed)
			good, refused, most = min(good, o.goodput), max(refused, o.refused), max(most, o.took)
		}
		t.Logf("%d messages, noise.max %v: worst of 20 seeds: goodput %.1f %%, refused %.2f %%, %.1f s", tt.messages, tt.noiseMax, 100*good, 100*refused, most.Seconds())
		if good < tt.goodput || refused > .02 {
			t.Errorf("want goodput >= %v, refused <= 2 %%", tt.goodput)
		}
	}
}

// TestFirstMessages bounds what a start from nothing costs.
func TestFirstMessages(t *testing.T) {
	for _, tt := range []struct {
		name     string
		sc       scenario
		messages int
		took     time.Duration
		refused  float64
	}{
		{"bucket of 100/s", scenario{rtt: ms(1), unordered: true, smsc: spread(bucket(100, 10), 5*time.Millisecond, 20*time.Millisecond)}, 2000, 26 * time.Second, .02},
		{"5 outstanding", scenario{rtt: ms(1), unordered: true, smsc: func(rnd *rand.Rand) limiter.Limiter {
			return limiter.All(limiter.Outstanding(5, queueFull), limiter.Delay(50*time.Millisecond, 100*time.Millisecond, rnd))
		}}, 1000, 28 * time.Second, .04},
	} {
		for _, noise := range []float64{0, .06} {
			tt.sc.config.NoiseMax = noise
			took, refused := time.Duration(0), 0.0
			for seed := range uint64(20) {
				o := runMessages(tt.sc, tt.messages, seed)
				took, refused = max(took, o.took), max(refused, o.refused)
			}
			t.Logf("%s, %d messages, noise.max %v: worst of 20 seeds %.1f s, refused %.2f %%", tt.name, tt.messages, noise, took.Seconds(), 100*refused)
			if took > tt.took || refused > tt.refused {
				t.Errorf("want at most %v and %.0f %%", tt.took, 100*tt.refused)
			}
		}
	}
}
