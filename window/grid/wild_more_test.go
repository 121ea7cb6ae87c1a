package grid

import (
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/testserver/limiter"
)

func (t *wildTable) penalties() {
	t.each([]float64{1, 30, 150, 700}, func(w way) wildCase {
		length := []time.Duration{time.Minute, 25 * time.Second, 2 * time.Minute, time.Minute}[w.n/2]
		c := plain(w, fmt.Sprintf("penalty of %v", length), 3600, constant(w.rate), func(*rand.Rand) limiter.Limiter {
			return limiter.Penalty(bucketAt(w.rate), length)
		})
		c.warm = 1800
		if w.rate > 500 {
			c.length, c.warm = 2400, 1200
		}
		return c
	})
}

// slowAccounts dip, or share their ceiling with another sender.
func (t *wildTable) slowAccounts() {
	t.each([]float64{1, 3, 6, 10}, func(w way) wildCase {
		return along(w, "a tenth for 20 s of 3 min", 1800, depthFor(w.rate), limiter.Dips(w.rate, w.rate/10, 20*time.Second, 3*time.Minute))
	})
	t.each([]float64{4, 10}, func(w way) wildCase {
		others := limiter.Constant(0.4 * w.rate)
		name := "another sender of 40 %"
		if w.n%2 == 1 {
			others, name = limiter.Dips(0, 0.7*w.rate, time.Minute, 5*time.Minute), "another sender of 70 % for 1 min of 5"
		}
		c := plain(w, name, 1800, func(at float64) float64 { return w.rate - others(seconds(at)) }, func(r *rand.Rand) limiter.Limiter {
			return limiter.Shared(bucketAt(w.rate), others, r)
		})
		c.instant = constant(w.rate)
		for _, margin := range []float64{0.98, 0.9, 0.75, 0.6, 0.45} {
			c.best = append(c.best, oracleWith{margin: margin})
		}
		return c
	})
}

func (t *wildTable) sessionQuotas() {
	t.each([]float64{15, 80, 300, 1000}, func(w way) wildCase {
		n := []int{1024, 1000, 6000, 25_000}[w.n/2]
		return wildCase{
			name: fmt.Sprintf("%g/s, %d a session", w.rate, n), binds: w.binds, length: min(5400, 1.2e6/w.rate), could: constant(w.rate),
			best: []oracleWith{{rebind: n}},
			smsc: func(*rand.Rand) wildSMSC {
				return wildSMSC{account: bucketAt(w.rate), session: func(int) limiter.Limiter { return limiter.SessionQuota(n, throttled) }}
			},
		}
	})
}

func (t *wildTable) maintenance() {
	t.each([]float64{8, 90, 500, 5000}, func(w way) wildCase {
		length, every := time.Minute, 10*time.Minute
		if w.n%4 > 1 {
			length, every = 15*time.Second, 4*time.Minute
		}
		could := func(at float64) float64 {
			if seconds(at)%every >= every-length {
				return 0
			}
			return w.rate
		}
		c := plain(w, fmt.Sprintf("nothing for %v of %v", length, every), 3600, could, func(r *rand.Rand) limiter.Limiter {
			return limiter.All(limiter.During(limiter.Noise(limiter.All(), 1, r, throttled), length, every), bucketAt(w.rate))
		})
		switch {
		case w.rate > 1000:
			c.length = 520
		case w.rate > 100:
			c.length = 1500
		}
		c.instant = constant(w.rate)
		return c
	})
}

// moving are ceilings that grow, swing and climb in steps.
func (t *wildTable) moving() {
	t.each([]float64{200, 4000}, func(w way) wildCase {
		ramp := limiter.Ramp(w.rate/20, w.rate, 5*time.Minute)
		return along(w, "grows twentyfold in 5 min", 500, depthFor(w.rate), func(since time.Duration) float64 { return ramp(max(0, since-100*time.Second)) })
	})
	t.each([]float64{40, 800}, func(w way) wildCase {
		return along(w, "swings by 80 % in 4 min", 1000, depthFor(w.rate), limiter.Sine(w.rate, 0.8, 4*time.Minute))
	})
	t.each([]float64{25}, func(w way) wildCase {
		return along(w, "doubles each minute, four times, then starts anew", 1200, depthFor(16*w.rate), func(since time.Duration) float64 {
			return w.rate * float64(int(1)<<(int(since/time.Minute)%5))
		})
	})
}

// noiseBursts begin when nobody can know it, so that the best is to go on at the ceiling.
func (t *wildTable) noiseBursts() {
	t.each([]float64{1, 100, 800, 5000}, func(w way) wildCase {
		length := []time.Duration{time.Second, 5 * time.Second, 3 * time.Second, 2 * time.Second}[w.n%4]
		return plain(w, fmt.Sprintf("30 %% refused for %v of 30 s", length), 2*wildLength(w.rate), constant(w.rate), func(r *rand.Rand) limiter.Limiter {
			return limiter.All(limiter.During(limiter.Noise(limiter.All(), 0.3, r, throttled), length, 30*time.Second), bucketAt(w.rate))
		})
	})
}

// spacing leaves no room for jitter; the best constant pace is far below the ceiling.
func (t *wildTable) spacing() {
	t.each([]float64{1, 40, 120, 2000}, func(w way) wildCase {
		tolerance := float64(1 + w.n/2%2)
		c := plain(w, fmt.Sprintf("spaced, %g at once", tolerance), wildLength(w.rate), constant(w.rate), func(*rand.Rand) limiter.Limiter {
			return limiter.Spacing(limiter.Constant(w.rate), tolerance, throttled)
		})
		for _, margin := range []float64{0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2} {
			c.best = append(c.best, oracleWith{margin: margin})
		}
		return c
	})
}
