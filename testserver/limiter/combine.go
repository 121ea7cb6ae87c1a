package limiter

import (
	"math/rand/v2"
	"time"
)

type penalty struct {
	Limiter
	length time.Duration
	until  time.Time
	status uint32 // of the refusal that began it
}

// Penalty refuses everything for length after each refusal of inner, with the same status, and every submit that
// arrives in that time extends it: only silence ends it.
func Penalty(inner Limiter, length time.Duration) Limiter {
	return &penalty{Limiter: inner, length: length}
}

func (p *penalty) Arrive(now time.Time) Verdict {
	if now.Before(p.until) {
		p.until = now.Add(p.length)
		return refuse(p.status)
	}
	v := p.Limiter.Arrive(now)
	if v.Refuse {
		p.until, p.status = now.Add(p.length), v.Status
	}
	return v
}

type noise struct {
	Limiter
	share  float64
	rnd    *rand.Rand
	status uint32
}

// Noise refuses a share (0 to 1) of all submits with status, whatever the load; inner decides about the others. The
// status may be any: 0x0B for wrong addresses, 0x58 for refusals that do not follow the client's pace.
func Noise(inner Limiter, share float64, rnd *rand.Rand, status uint32) Limiter {
	return &noise{Limiter: inner, share: share, rnd: rnd, status: status}
}

func (n *noise) Arrive(now time.Time) Verdict {
	n.Capacity(now) // the schedule of inner starts here even if this submit does not reach it
	if n.rnd.Float64() < n.share {
		return refuse(n.status)
	}
	return n.Limiter.Arrive(now)
}

type all []Limiter

// All asks every limiter in turn; the first refusal counts, and later ones do not see that submit. Service times add
// up, those before a refusal included: a Delay placed first also delays the refusals of the others.
func All(limiters ...Limiter) Limiter { return all(limiters) }

func (a all) Arrive(now time.Time) Verdict {
	a.Capacity(now) // all schedules start together
	var service time.Duration
	for i, l := range a {
		v := l.Arrive(now)
		service += v.Service
		if v.Refuse {
			a[:i].Done(now)
			v.Service = service
			return v
		}
	}
	return Verdict{Service: service}
}

func (a all) Done(now time.Time) {
	for _, l := range a {
		l.Done(now)
	}
}

// Capacity is the least that is known.
func (a all) Capacity(now time.Time) float64 {
	least := 0.0
	for _, l := range a {
		if c := l.Capacity(now); c > 0 && (least == 0 || c < least) {
			least = c
		}
	}
	return least
}
