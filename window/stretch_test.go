package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/testserver/limiter"
)

// slower takes longer from a given time on, like an SMSC by day.
type slower struct {
	limiter.Limiter
	from         time.Time
	before, then time.Duration
}

func (l *slower) Arrive(now time.Time) limiter.Verdict {
	v := l.Limiter.Arrive(now)
	if now.Before(l.from) {
		v.Service += l.before
	} else {
		v.Service += l.then
	}
	return v
}

// An SMSC that takes as many messages as before but answers later gets a larger window, whatever the smallest round
// trip was in better times.
func TestWindowFollowsLaterAnswers(t *testing.T) {
	for _, then := range ms(100, 200, 300, 500, 1000) {
		for _, rate := range []float64{20, 100, 1000} {
			if raced && rate > 100 {
				continue
			}
			t.Run(fmt.Sprintf("%v %v", then, rate), func(t *testing.T) {
				t.Parallel()
				s := simulate(scenario{rtt: ms(5), length: 240 * time.Second, smsc: func(*rand.Rand) limiter.Limiter {
					return &slower{limiter.TokenBucket(limiter.Constant(rate), rate/10, throttled), virtualStart().Add(time.Minute), 20 * time.Millisecond, then}
				}}, 1)
				if good := s.goodput(150*time.Second, s.length); good < .8 {
					t.Errorf("goodput %.2f", good)
				}
			})
		}
	}
}

// An SMSC that never refuses and only queues gets no larger one by and by, however often that is tried.
func TestWindowIsNotCarriedAwayByAQueue(t *testing.T) {
	for rate, most := range map[float64]float64{10: 200, 100: 15, 1000: 25} {
		if raced && rate > 100 {
			continue
		}
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			s := simulate(scenario{rtt: ms(20), length: 30 * time.Minute, warm: 25 * time.Minute, smsc: func(*rand.Rand) limiter.Limiter {
				return limiter.LatencyOnly(limiter.Constant(rate))
			}}, 1)
			t.Logf("round trip ×%.1f", s.stretch())
			if s.stretch() > most {
				t.Errorf("round trip %.1f times the network's, want at most %v", s.stretch(), most)
			}
		})
	}
}
