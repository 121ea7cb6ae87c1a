package limiter

import (
	"math"
	"time"
)

// QuotaConfig is a number of submits in a stretch of time of any length.
type QuotaConfig struct {
	N      float64       // submits taken in each Period, 1 or more
	Period time.Duration // above 0
	// Phase is when a period begins, counted from midnight UTC on a Monday (as all lengths that divide a week count): 15 s
	// with a Period of a minute begins each a quarter past the full minute. It says nothing with Sliding.
	Phase time.Duration
	// Sliding takes no more than N in any stretch of Period; without it periods begin by the clock.
	Sliding bool
	// Charge has refused submits count too: with Sliding like accepted ones, else against the next period, whose quota
	// they use up at most.
	Charge bool
	Status uint32 // of the refusals
}

// Quota takes N submits in each period and refuses the rest.
func Quota(cfg QuotaConfig) Limiter {
	if cfg.Sliding {
		return &sliding{most: Constant(cfg.N), length: cfg.Period, status: cfg.Status, all: cfg.Charge}
	}
	return &quota{QuotaConfig: cfg}
}

type quota struct {
	QuotaConfig
	begin   time.Time // of the period at hand
	taken   float64
	charged float64 // against the next period
}

func (q *quota) Arrive(now time.Time) Verdict {
	// Truncate counts from the zero time, which was a Monday.
	if begin := now.Add(-q.Phase).Truncate(q.Period); !begin.Equal(q.begin) {
		if begin.Sub(q.begin) > q.Period {
			q.charged = 0 // they were charged to a period in which nothing came
		}
		q.begin, q.taken, q.charged = begin, q.charged, 0
	}
	if q.taken+1 <= q.N+slack {
		q.taken++
		return accept()
	}
	if q.Charge {
		q.charged = math.Min(q.N, q.charged+1)
	}
	return refuse(q.Status)
}

func (q *quota) Done(time.Time) {}

func (q *quota) Capacity(time.Time) float64 { return q.N / q.Period.Seconds() }

type sessionQuota struct {
	n, taken int
	status   uint32
}

// SessionQuota takes n submits and refuses all others for ever. Make one for each session: only another bind helps.
func SessionQuota(n int, status uint32) Limiter { return &sessionQuota{n: n, status: status} }

func (s *sessionQuota) Arrive(time.Time) Verdict {
	if s.taken >= s.n {
		return refuse(s.status)
	}
	s.taken++
	return accept()
}

func (s *sessionQuota) Done(time.Time) {}

func (s *sessionQuota) Capacity(time.Time) float64 { return 0 }

// Spacing takes a submit only when it comes at least 1/rate after the one before, a limit known as GCRA and as Jasmin's
// throughput. Tolerance is how many may come at once after a pause, 1 or more; jitter of the network breaks a spacing
// with a tolerance of 1.
func Spacing(rate Curve, tolerance float64, status uint32) Limiter {
	// The time that is left until the next may come is the token that a bucket lacks.
	return TokenBucket(rate, tolerance, status)
}
