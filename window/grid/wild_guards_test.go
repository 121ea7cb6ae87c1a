package grid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"sluice/testserver/limiter"
)

// guardWord begins the kinds that are no kinds of SMSC but what one could be taken for. They are measured and printed,
// and count in no score: no rule for a kind may make them worse.
const guardWord = "guard"

func isGuard(kind string) bool { return strings.HasPrefix(kind, guardWord) }

// wildGuards are ordinary accounts with ordinary mishaps.
func wildGuards() (all []wildCase) {
	for _, k := range []struct {
		kind string
		fill func(*wildTable)
	}{
		{"network drops", (*wildTable).networkDrops},
		{"SMSC restarts", (*wildTable).restarts},
		{"lost answers", (*wildTable).lostAnswers},
		{"equal binds with noise", (*wildTable).equalBinds},
		{"cron job, and a rival's", (*wildTable).cron},
		{"noise", (*wildTable).noise},
		{"slow and idle", (*wildTable).slowAndIdle},
	} {
		t := wildTable{kind: guardWord + " " + k.kind}
		k.fill(&t)
		all = append(all, t.cases...)
	}
	return all
}

// onBucket is a case of nothing but a bucket.
func onBucket(w way, name string, length float64) wildCase {
	return plain(w, name, length, constant(w.rate), func(*rand.Rand) limiter.Limiter { return bucketAt(w.rate) })
}

func (t *wildTable) networkDrops() {
	t.each([]float64{10, 100, 1000}, func(w way) wildCase {
		c := onBucket(w, "all connections lost every 30 s", 900)
		c.drops = 30
		return c
	})
}

// restarts end every session in order, at any pace.
func (t *wildTable) restarts() {
	t.each([]float64{20, 300}, func(w way) wildCase {
		c := onBucket(w, "the SMSC ends all sessions every 2 min", 1200)
		c.drops, c.dropsByPeer = 120, true
		return c
	})
}

func (t *wildTable) lostAnswers() {
	for _, share := range []float64{0.05, 0.13, 0.3} {
		t.each([]float64{10, 100, 1000}, func(w way) wildCase {
			c := onBucket(w, fmt.Sprintf("%.0f %% of the answers never come", 100*share), 300)
			c.lost = share
			return c
		})
	}
}

func (t *wildTable) equalBinds() {
	t.each([]float64{20, 100, 200}, func(w way) wildCase {
		w.binds = 2 + 2*(w.n%2)
		return plain(w, "2 % noise for an hour", 3600, constant(w.rate), func(r *rand.Rand) limiter.Limiter {
			return limiter.All(limiter.Noise(limiter.All(), 0.02, r, throttled), bucketAt(w.rate))
		})
	})
}

func (t *wildTable) cron() {
	t.each([]float64{100}, func(w way) wildCase {
		c := onBucket(w, "2,000 come at each full minute", 1200)
		c.arrivals = func(at float64) float64 {
			if math.Mod(at, 60) < 1 {
				return 2000
			}
			return 0
		}
		return c
	})
	t.each([]float64{100}, func(w way) wildCase {
		others := limiter.Dips(0, 0.8*w.rate, 10*time.Second, time.Minute)
		return plain(w, "another sender of 80 % for 10 s of each minute", 1200, func(at float64) float64 { return w.rate - others(seconds(at)) },
			func(r *rand.Rand) limiter.Limiter { return limiter.Shared(bucketAt(w.rate), others, r) })
	})
}

func (t *wildTable) noise() {
	for _, share := range []float64{0.01, 0.08, 0.12} {
		t.each([]float64{30, 500}, func(w way) wildCase {
			return plain(w, fmt.Sprintf("%.0f %% noise", 100*share), 900, constant(w.rate), func(r *rand.Rand) limiter.Limiter {
				return limiter.All(limiter.Noise(limiter.All(), share, r, throttled), bucketAt(w.rate))
			})
		})
	}
}

func (t *wildTable) slowAndIdle() {
	t.each([]float64{1, 5}, func(w way) wildCase {
		c := onBucket(w, "messages come at half of it", 1800)
		c.arrivals = constant(w.rate / 2)
		return c
	})
	t.each([]float64{0.5, 2}, func(w way) wildCase { return onBucket(w, "always one to send", 1800) })
}
