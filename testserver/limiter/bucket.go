package limiter

import (
	"math"
	"time"
)

type bucket struct {
	clock
	rate   Curve
	burst  float64 // most tokens it holds
	floor  float64 // tokens it can owe: how far refused submits are charged
	charge bool    // a refused submit costs a token too
	status uint32

	tokens float64
	last   time.Time
}

// TokenBucket takes one token for each submit, gains rate tokens a second and holds burst of them, full at first. An
// empty bucket refuses with status and charges nothing for it. A change of the rate counts from the submit after it.
func TokenBucket(rate Curve, burst float64, status uint32) Limiter {
	return &bucket{rate: rate, burst: burst, status: status, tokens: burst}
}

// ChargingBucket is a TokenBucket that takes a token for refused submits too, until it owes floor of them: a client
// that does not slow down stays locked out.
func ChargingBucket(rate Curve, burst, floor float64, status uint32) Limiter {
	return &bucket{rate: rate, burst: burst, floor: floor, charge: true, status: status, tokens: burst}
}

// FiniteQueue puts submits into a queue of size places that is drained at the given rate, answers them at once, and
// refuses with status (0x14, ESME_RMSGQFUL) while the queue is full.
func FiniteQueue(drain Curve, size int, status uint32) Limiter {
	// Free places are tokens: a queue seen from outside is a bucket as large as the queue.
	return TokenBucket(drain, float64(size), status)
}

func (b *bucket) Arrive(now time.Time) Verdict {
	rate := b.rate(b.since(now))
	if !b.last.IsZero() {
		b.tokens = math.Min(b.burst, b.tokens+now.Sub(b.last).Seconds()*rate)
	}
	b.last = now
	if b.tokens >= 1-slack {
		b.tokens--
		return accept()
	}
	if b.charge {
		b.tokens = math.Max(-b.floor, b.tokens-1)
	}
	return refuse(b.status)
}

func (b *bucket) Done(time.Time) {}

func (b *bucket) Capacity(now time.Time) float64 { return b.rate(b.since(now)) }
