package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
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
