package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/testserver/limiter"
)

// This file is the controller against SMSCs, hosts and accounts that the study did not know.

// An account that sends a message a second or fewer, like most do between campaigns, and then has 50,000 to send: that
// so few came says nothing about the SMSC, so the search goes on as boldly as at a start under load.
func TestIdleThenBurst(t *testing.T) {
	const idle = 10 * time.Minute
	for _, rate := range []float64{50, 500, 5000} {
		for _, trip := range []int{10, 400} {
			most := 6 * time.Second
			if trip == 400 {
				most = 10 * time.Second
			}
			t.Run(fmt.Sprintf("%v/s, %d ms", rate, trip), func(t *testing.T) {
				t.Parallel()
				sum := time.Duration(0)
				for seed := range uint64(5) {
					burst := 50_000
					s := simulate(scenario{
						smsc: bucket(rate, rate/10), rtt: ms(trip), length: idle + 30*time.Second, warm: idle,
						arrivals: func(at time.Duration) float64 {
							switch {
							case at < idle:
								return 1
							case burst > 0:
								burst--
								return 1e6
							default:
								return 0
							}
						},
					}, seed)
					took, share := s.reached(idle), float64(s.warmRefused)/float64(s.warmSubmits)
					t.Logf("90 %% after %v, %.2f %% throttled", took, 100*share)
					if took > 15*time.Second || share > .07 || share > .03 && trip == 10 {
						t.Errorf("seed %d: 90 %% after %v, %.2f %% throttled", seed, took, 100*share)
					}
					sum += took
				}
				if sum/5 > most {
					t.Errorf("90 %% after %v in the mean, want at most %v", sum/5, most)
				}
			})
		}
	}
}

// stalls are a host that runs us only now and then: stopped for a mean of 60 ms, with a mean of 100 ms in between.
func stalls(seed uint64, until time.Duration) func(time.Duration) time.Duration {
	rnd := rand.New(rand.NewPCG(seed, 7))
	var from, to time.Duration
	return func(at time.Duration) time.Duration {
		for to <= at && at < until {
			from = to + time.Duration(rnd.ExpFloat64()*float64(100*time.Millisecond))
			to = from + time.Duration(rnd.ExpFloat64()*float64(60*time.Millisecond))
		}
		if at >= from && at < to {
			return to
		}
		return at
	}
}

// A machine too busy to run us in time: what we were late with ourselves is no want of messages, so probes only take
// longer. When it is over, the pace that made up for it is found to be too fast without a storm of refusals.
func TestBusyHost(t *testing.T) {
	for _, rate := range []float64{10, 100, 1000} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			const busy = 3 * time.Minute
			mean := 0.0
			for seed := range uint64(5) {
				s := simulate(scenario{
					smsc: bucket(rate, max(5, rate/10)), rtt: ms(10), length: busy + 10*time.Second, warm: busy, asleep: stalls(seed, busy),
				}, seed)
				good, share := s.goodput(30*time.Second, busy), float64(s.warmRefused)/float64(s.warmSubmits)
				t.Logf("goodput %.1f %%, then %.2f %% throttled", 100*good, 100*share)
				if good < .55 || share > max(.04, 6/(10*rate)) {
					t.Errorf("seed %d: goodput %.3f, afterwards %.2f %% throttled", seed, good, 100*share)
				}
				mean += good / 5
			}
			if mean < .65 {
				t.Errorf("goodput %.3f, want 0.65", mean)
			}
		})
	}
}

// figures are goodput and share of the submits refused from a time on, means of seeds 0 to n-1.
func figures(n int, sc scenario) (good, refused float64) {
	for seed := range uint64(n) {
		s := simulate(sc, seed)
		good += s.goodput(sc.warm, sc.length) / float64(n)
		refused += float64(s.warmRefused) / float64(max(1, s.warmSubmits)) / float64(n)
	}
	return good, refused
}

// Refusals that come seconds after the acceptances of the same flight: a level stands only when its messages are
// answered, so that none stands before its refusals are in.
func TestLateRefusals(t *testing.T) {
	for _, rate := range []float64{20, 100, 1000} {
		good, refused := figures(3, scenario{
			rtt: ms(20), length: 5 * time.Minute, warm: time.Minute,
			smsc: func(rnd *rand.Rand) limiter.Limiter {
				return limiter.Late(limiter.TokenBucket(limiter.Constant(rate), max(4, rate/10), throttled), time.Second, 3*time.Second, rnd)
			}, unordered: true, rate: rate,
		})
		t.Logf("%v/s: goodput %.3f, %.2f %% refused", rate, good, 100*refused)
		if good < .9 || refused > .05 {
			t.Errorf("%v/s: goodput %.3f, %.2f %% refused", rate, good, 100*refused)
		}
	}
}

// Answers that never come, at any pace, are no reason to keep a level from standing. (Where almost a third is lost on a
// near bind it is the window that starves it, in some seeds.)
func TestLostAnswersLetLevelsStand(t *testing.T) {
	for share, least := range map[float64]float64{.05: .98, .13: .98, .3: .3} {
		good, refused := figures(3, scenario{smsc: bucket(1000, 100), rtt: ms(20), length: 2 * time.Minute, warm: 30 * time.Second, lost: share})
		t.Logf("%v lost: goodput %.3f, %.2f %% refused", share, good, 100*refused)
		if good < least || refused > .01 {
			t.Errorf("%v lost: goodput %.3f, %.2f %% refused", share, good, 100*refused)
		}
	}
}

// Acceptances after seconds and refusals at once: no acceptance can be back so soon after a decision, which is no reason
// for silence.
func TestLateAcceptances(t *testing.T) {
	s := simulate(scenario{
		rtt: ms(20), length: 4 * time.Minute, warm: time.Minute, rate: 500, unordered: true,
		smsc: func(rnd *rand.Rand) limiter.Limiter {
			return limiter.All(limiter.TokenBucket(limiter.Constant(500), 50, throttled), limiter.Delay(time.Second, 3*time.Second, rnd))
		},
	}, 1)
	for _, d := range s.senders[0].c.Decisions() {
		if d.Reason == ReasonHold {
			t.Errorf("%v", d)
		}
	}
	if good := s.goodput(s.warm, s.length); good < .95 {
		t.Errorf("goodput %.3f", good)
	}
}

// A penalty of a minute that every submit extends: tests twice a minute would never end it.
func TestPenaltyOfAMinute(t *testing.T) {
	for rate, least := range map[float64]float64{10: .7, 100: .8} {
		alarmed := false
		sc := scenario{
			rtt: ms(20), length: 90 * time.Minute, warm: 30 * time.Minute,
			smsc: func(*rand.Rand) limiter.Limiter {
				return limiter.Penalty(limiter.TokenBucket(limiter.Constant(rate), max(4, rate/10), throttled), time.Minute)
			},
			inspect: func(_ time.Time, c *Controller, _ Signal, _ Decision) {
				alarmed = alarmed || c.alarm.Reason == AlarmHold
			},
		}
		good, refused := figures(2, sc)
		t.Logf("%v/s: goodput %.3f, %.2f %% refused", rate, good, 100*refused)
		if good < least || refused > .01 || !alarmed {
			t.Errorf("%v/s: goodput %.3f, %.2f %% refused, alarm %v", rate, good, 100*refused, alarmed)
		}
	}
}

// Other answers show that the SMSC lives. Only acceptances speak for a higher pace.
func TestOnlyAcceptancesLetThePaceClimb(t *testing.T) {
	for _, tt := range []struct {
		answer Answer
		climbs bool
	}{{Accepted, true}, {Other, false}, {Lost, false}} {
		c := NewController(Config{})
		b := c.AddBind()
		now := virtualStart()
		for range 500 {
			if _, at := c.Next(now, b); at.After(now) {
				now = at
			}
			c.OnResult(now.Add(time.Millisecond), c.OnSend(now, b), Signal{Answer: tt.answer})
		}
		if pace := c.Snapshot(now).Pace; (pace > 2*startRate) != tt.climbs {
			t.Errorf("answer %d: the pace is %.1f/s, want it above %d/s: %v", tt.answer, pace, 2*startRate, tt.climbs)
		}
	}
}

// A slow account with messages at half of its rate: those that come after a pause meet a bucket that has filled up, and
// must not hide that the ceiling is several times too high.
func TestSlowAndIdleFindsItsCeiling(t *testing.T) {
	for _, trip := range []int{5, 300} {
		good, refused := figures(8, scenario{
			smsc: bucket(1, 2), rtt: ms(trip), length: 30 * time.Minute, warm: 8 * time.Minute,
			arrivals: func(time.Duration) float64 { return 0.5 },
		})
		t.Logf("%d ms: goodput %.3f, %.2f %% refused", trip, good, 100*refused)
		if refused > .02 {
			t.Errorf("%d ms: %.2f %% refused, want at most 2 %%", trip, 100*refused)
		}
	}
}

// Odd refusals of an account that has next to nothing to send are no excess: acceptances after a pause speak against
// refusals after a pause.
func TestIdleWithNoiseKeepsItsCeiling(t *testing.T) {
	for seed := range uint64(4) {
		s := simulate(scenario{
			rate: 100, rtt: ms(20), length: 2 * time.Hour, config: Config{Remembered: 100},
			smsc: func(rnd *rand.Rand) limiter.Limiter {
				return limiter.All(limiter.Noise(limiter.All(), 0.01, rnd, throttled), limiter.TokenBucket(limiter.Constant(100), 10, throttled))
			},
			arrivals: func(time.Duration) float64 { return 1 },
		}, seed)
		if ceiling := s.senders[0].c.Snapshot(s.clock()).Ceiling; ceiling < 70 {
			t.Errorf("seed %d: the ceiling is %.1f/s after two hours, want at least 70/s of 100/s", seed, ceiling)
		}
	}
}
