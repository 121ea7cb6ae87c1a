package grid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"sluice/testserver/limiter"
)

const (
	throttled = 0x58
	queueFull = 0x14
)

// wildTable collects the cases of one kind.
type wildTable struct {
	kind  string
	cases []wildCase
}

// way is what a case has besides its SMSC.
type way struct {
	rate  float64
	rtt   time.Duration
	binds int
	n     int // of the case in its kind, from 0
}

// each makes a case for each rate, near and far, with 1 to 4 binds.
func (t *wildTable) each(rates []float64, make func(way) wildCase) {
	near := []time.Duration{5 * time.Millisecond, 12 * time.Millisecond, 20 * time.Millisecond, 8 * time.Millisecond}
	far := []time.Duration{300 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, 400 * time.Millisecond}
	for i, rate := range rates {
		for j, rtt := range []time.Duration{near[i%4], far[i%4]} {
			t.add(make(way{rate: rate, rtt: rtt, binds: 1 + (i+2*j)%4, n: 2*i + j}), rtt)
		}
	}
}

func (t *wildTable) add(c wildCase, rtt time.Duration) {
	c.kind = t.kind
	c.rtt = rtt
	c.name = fmt.Sprintf("%s, rtt %v, %d binds", c.name, rtt, c.binds)
	if c.warm == 0 {
		c.warm = c.length / 4
	}
	if c.best == nil {
		c.best = []oracleWith{{}}
	}
	for i := range c.best {
		c.best[i].rate, c.best[i].lead = c.could, time.Duration(0.41*float64(rtt))
	}
	t.cases = append(t.cases, c)
}

// along is the same for a bucket of that depth whose ceiling moves.
func along(w way, name string, length, depth float64, c limiter.Curve) wildCase {
	return plain(w, name, length, func(at float64) float64 { return c(seconds(at)) }, func(*rand.Rand) limiter.Limiter {
		return limiter.TokenBucket(c, depth, throttled)
	})
}

// plain is a case of one limiter for the account.
func plain(w way, name string, length float64, could curve, account func(*rand.Rand) limiter.Limiter) wildCase {
	return wildCase{
		name: fmt.Sprintf("%g/s, %s", w.rate, name), binds: w.binds, length: length, could: could,
		smsc: func(r *rand.Rand) wildSMSC { return wildSMSC{account: account(r)} },
	}
}

// bucketAt is the usual limit: a token bucket a tenth of a second deep.
func bucketAt(rate float64) limiter.Limiter {
	return limiter.TokenBucket(limiter.Constant(rate), depthFor(rate), throttled)
}

// wildLength is how long a case runs: the slower the SMSC, the longer.
func wildLength(rate float64) float64 {
	switch {
	case rate <= 10:
		return 900
	case rate <= 100:
		return 400
	case rate <= 1000:
		return 200
	default:
		return 80
	}
}

// wildCases are all kinds in their order.
func wildCases() (all []wildCase) {
	for _, k := range []struct {
		kind string
		fill func(*wildTable)
	}{
		{"1 idle, then a burst", (*wildTable).idleThenBurst},
		{"2 busy host", (*wildTable).busyHost},
		{"3 late refusals", (*wildTable).lateRefusals},
		{"3b late acceptances", (*wildTable).lateAcceptances},
		{"4 penalty that extends", (*wildTable).penalties},
		{"5 closes the session", (*wildTable).closes},
		{"6 silent above its rate", (*wildTable).silentAbove},
		{"7 unequal binds", (*wildTable).unequalBinds},
		{"8 quotas", (*wildTable).quotas},
		{"9 slow accounts", (*wildTable).slowAccounts},
		{"10 session quota", (*wildTable).sessionQuotas},
		{"11 maintenance", (*wildTable).maintenance},
		{"12 moving ceilings", (*wildTable).moving},
		{"13 bursts of noise", (*wildTable).noiseBursts},
		{"15 spacing", (*wildTable).spacing},
	} {
		t := wildTable{kind: k.kind}
		k.fill(&t)
		all = append(all, t.cases...)
	}
	return all
}

func (t *wildTable) idleThenBurst() {
	t.each([]float64{50, 300, 1000, 5000}, func(w way) wildCase {
		c := plain(w, "10 min at 1/s, then a campaign", 720, constant(w.rate), func(*rand.Rand) limiter.Limiter { return bucketAt(w.rate) })
		c.arrivals, c.queued, c.warm = constant(1), 600, 600
		return c
	})
}

// busyHost is a processor that is not ours half of the time. A sender that knows the bucket catches up what fits in it.
func (t *wildTable) busyHost() {
	t.each([]float64{10, 100, 600, 5000}, func(w way) wildCase {
		c := plain(w, "stopped 60 ms of 100", wildLength(w.rate)/2, constant(w.rate), func(*rand.Rand) limiter.Limiter { return bucketAt(w.rate) })
		c.stops = stops{length: 60 * time.Millisecond, every: 40 * time.Millisecond}
		if w.n%4 > 1 {
			c.name = fmt.Sprintf("%g/s, stopped 60 ms, then 100 ms not, at random", w.rate)
			c.stops = stops{length: 60 * time.Millisecond, every: 100 * time.Millisecond, random: true}
		}
		for _, part := range []float64{0, 0.3, 0.6, 0.9} {
			c.best = append(c.best, oracleWith{credit: seconds(part * depthFor(w.rate) / w.rate)})
		}
		return c
	})
}

func (t *wildTable) lateRefusals() {
	t.each([]float64{1, 60, 400, 5000}, func(w way) wildCase {
		c := plain(w, "refusals after 1 to 3 s", wildLength(w.rate), constant(w.rate), func(r *rand.Rand) limiter.Limiter {
			return limiter.Late(bucketAt(w.rate), time.Second, 3*time.Second, r)
		})
		c.anyOrder = true
		return c
	})
}

func (t *wildTable) lateAcceptances() {
	t.each([]float64{1, 60, 400, 5000}, func(w way) wildCase {
		c := plain(w, "acceptances after 1 to 3 s", wildLength(w.rate), constant(w.rate), func(r *rand.Rand) limiter.Limiter {
			return limiter.All(bucketAt(w.rate), limiter.Delay(time.Second, 3*time.Second, r))
		})
		c.anyOrder = true
		return c
	})
}

// closes are SMSCs that end the session above their rate, or beyond their window, and take no bind for a while.
func (t *wildTable) closes() {
	t.each([]float64{1, 40, 250, 1000}, func(w way) wildCase {
		lockout := []time.Duration{5 * time.Second, 30 * time.Second}[w.n/2%2]
		c := plain(w, fmt.Sprintf("closes above, no bind for %v", lockout), 1800, constant(w.rate), func(*rand.Rand) limiter.Limiter {
			return limiter.Closing(limiter.SlidingSecond(limiter.Constant(w.rate), throttled))
		})
		if w.rate > 500 {
			c.length = 1000
		}
		c.lockout = lockout
		return c
	})
	t.each([]float64{4, 20}, func(w way) wildCase {
		// Places are the session's; each is used for the service time.
		const service = 100 * time.Millisecond
		rate := w.rate * float64(w.binds) / (service.Seconds() + 1.1*w.rtt.Seconds()) // as an ack-clocked client reaches
		return wildCase{
			name: fmt.Sprintf("closes beyond %g outstanding", w.rate), binds: w.binds, length: 1200, could: constant(rate),
			instant: constant(w.rate * float64(w.binds) / service.Seconds()),
			lockout: 5 * time.Second, places: true,
			best: []oracleWith{{window: int(w.rate), margin: 2}},
			smsc: func(r *rand.Rand) wildSMSC {
				return wildSMSC{session: func(int) limiter.Limiter {
					return limiter.All(limiter.Closing(limiter.Outstanding(int(w.rate), throttled)), limiter.Delay(service*9/10, service*11/10, r))
				}}
			},
		}
	})
}

func (t *wildTable) silentAbove() {
	t.each([]float64{1, 50, 300, 5000}, func(w way) wildCase {
		length := []time.Duration{0, 10 * time.Second, 2 * time.Second, 60 * time.Second}[(w.n+w.n/4)%4]
		name := "drops what is too much"
		if length > 0 {
			name = fmt.Sprintf("silent for %v after each excess", length)
		}
		c := plain(w, name, 900, constant(w.rate), func(*rand.Rand) limiter.Limiter {
			if length == 0 {
				return limiter.Silent(bucketAt(w.rate))
			}
			return limiter.Silent(limiter.Pause(bucketAt(w.rate), length))
		})
		if w.rate > 1000 {
			c.length = 300
		}
		return c
	})
}

// unequalBinds have limits of their own.
func (t *wildTable) unequalBinds() {
	for i, rates := range [][]float64{
		{40, 40, 40, 4}, {15, 75}, {2, 9, 9}, {150, 600}, {300, 300, 300, 30}, {1200, 1200, 150}, {5, 1}, {1500, 1500, 1500, 250},
	} {
		total := 0.0
		for _, rate := range rates {
			total += rate
		}
		rtts := []time.Duration{10 * time.Millisecond, 250 * time.Millisecond}
		if i%3 == 2 {
			rtts = rtts[:1]
		}
		for _, rtt := range rtts {
			t.add(wildCase{
				name: fmt.Sprintf("binds of %v/s", rates), binds: len(rates), length: 1.5 * wildLength(total), could: constant(total),
				best: []oracleWith{{each: rates}},
				smsc: func(*rand.Rand) wildSMSC {
					// The account's own place decides, not the session: a bind that comes again has the limit it had.
					limits := make([]limiter.Limiter, len(rates))
					for i, rate := range rates {
						limits[i] = bucketAt(rate)
					}
					return wildSMSC{session: func(bind int) limiter.Limiter { return limits[bind] }}
				},
			}, rtt)
		}
	}
}

// quota is one of many a time, or of few, and what a second takes besides.
type quotaCase struct {
	name string
	limiter.QuotaConfig
	second float64 // messages; 0: no limit
	length float64
	rtt    time.Duration
	binds  int
	campaign
}

func (t *wildTable) quotas() {
	const near, far = 12 * time.Millisecond, 300 * time.Millisecond
	minute, ten, day := time.Minute, 10*time.Second, 24*time.Hour
	phase := 23 * time.Second
	for _, q := range []quotaCase{
		{"60 a minute", limiter.QuotaConfig{N: 60, Period: minute}, 0, 3600, near, 1, campaign{}},
		{"500 a minute", limiter.QuotaConfig{N: 500, Period: minute, Phase: phase}, 0, 3600, near, 2, campaign{}},
		{"500 a minute", limiter.QuotaConfig{N: 500, Period: minute}, 0, 3600, far, 1, campaign{}},
		{"90 in 10 s", limiter.QuotaConfig{N: 90, Period: ten}, 0, 1800, near, 3, campaign{}},
		{"90 in 10 s, refused ones charged", limiter.QuotaConfig{N: 90, Period: ten, Charge: true}, 0, 1800, far, 2, campaign{}},
		{"120/s and 3,000 a minute", limiter.QuotaConfig{N: 3000, Period: minute, Phase: phase}, 120, 3600, near, 4, campaign{}},
		{"120/s and 3,000 a minute", limiter.QuotaConfig{N: 3000, Period: minute}, 120, 3600, far, 2, campaign{}},
		{"60,000 a minute", limiter.QuotaConfig{N: 60_000, Period: minute}, 0, 1200, near, 4, campaign{}},
		{"400 in any minute", limiter.QuotaConfig{N: 400, Period: minute, Sliding: true}, 0, 3600, near, 2, campaign{}},
		{"100 in any 10 s, refused ones charged", limiter.QuotaConfig{N: 100, Period: ten, Sliding: true, Charge: true}, 0, 1800, near, 1, campaign{}},
		{"8,000 a day", limiter.QuotaConfig{N: 8000, Period: day}, 50, 4 * 86400, near, 1, campaign{}},
		{"600 an hour", limiter.QuotaConfig{N: 600, Period: time.Hour, Phase: 7 * time.Minute}, 20, 12 * 3600, far, 1, campaign{}},
		// A quota is a count, not a pace: what there is of it may go at once.
		{
			"9,000 a day, 6,000 come each morning",
			limiter.QuotaConfig{N: 9000, Period: day},
			60, 4 * 86400, near, 2,
			campaign{n: 6000, first: 20 * time.Hour, every: day, patience: 130 * time.Second},
		},
		{
			"700 an hour, 400 come each hour",
			limiter.QuotaConfig{N: 700, Period: time.Hour},
			20, 12 * 3600, far, 1,
			campaign{n: 400, first: 10 * time.Minute, every: time.Hour, patience: 30 * time.Second},
		},
	} {
		q.Status = throttled
		could := q.N / q.Period.Seconds()
		c := wildCase{
			name: q.name, binds: q.binds, length: q.length, could: constant(could), instant: constant(math.Inf(1)),
			smsc: func(*rand.Rand) wildSMSC {
				if q.second == 0 {
					return wildSMSC{account: limiter.Quota(q.QuotaConfig)}
				}
				return wildSMSC{account: limiter.All(bucketAt(q.second), limiter.Quota(q.QuotaConfig))}
			},
		}
		if q.second > 0 {
			c.instant = constant(q.second)
		}
		if c.campaign = q.campaign; c.campaign.n > 0 {
			c.could = constant(q.second)
		}
		t.add(c, q.rtt)
	}
}
