package limiter

import (
	"math/rand/v2"
	"time"
)

type outstanding struct {
	places int
	status uint32
	taken  int
}

// Outstanding refuses with status while k submits wait for their answer. It takes no time itself: combine it with
// Delay by All.
func Outstanding(k int, status uint32) Limiter {
	return &outstanding{places: k, status: status}
}

func (o *outstanding) Arrive(time.Time) Verdict {
	if o.taken >= o.places {
		return refuse(o.status)
	}
	o.taken++
	return accept()
}

func (o *outstanding) Done(time.Time) { o.taken-- }

func (o *outstanding) Capacity(time.Time) float64 { return 0 }

type delay struct {
	least, spread time.Duration
	rnd           *rand.Rand
}

// Delay takes every submit and serves it after a time between least and most, evenly distributed.
func Delay(least, most time.Duration, rnd *rand.Rand) Limiter {
	return &delay{least: least, spread: most - least, rnd: rnd}
}

func (d *delay) Arrive(time.Time) Verdict {
	service := d.least
	if d.spread > 0 {
		service += time.Duration(d.rnd.Int64N(int64(d.spread)))
	}
	return Verdict{Service: service}
}

func (d *delay) Done(time.Time) {}

func (d *delay) Capacity(time.Time) float64 { return 0 }

type latencyOnly struct {
	clock
	rate Curve
	free time.Time // when everything taken so far is served
}

// LatencyOnly never refuses: it serves one submit after the other at the given rate, and whoever sends faster only
// waits longer for the answers.
func LatencyOnly(rate Curve) Limiter {
	return &latencyOnly{rate: rate}
}

func (l *latencyOnly) Arrive(now time.Time) Verdict {
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(time.Second) / l.rate(l.since(now))))
	return Verdict{Service: l.free.Sub(now)}
}

func (l *latencyOnly) Done(time.Time) {}

func (l *latencyOnly) Capacity(now time.Time) float64 { return l.rate(l.since(now)) }
