package limiter

import (
	"math/rand/v2"
	"time"
)

type pause struct {
	Limiter
	length time.Duration
	until  time.Time
	first  Verdict // the refusal that began it
}

// Pause refuses everything for length after a refusal of inner, as inner did. Unlike a Penalty it ends by itself.
func Pause(inner Limiter, length time.Duration) Limiter {
	return &pause{Limiter: inner, length: length}
}

func (p *pause) Arrive(now time.Time) Verdict {
	if now.Before(p.until) {
		return p.first
	}
	v := p.Limiter.Arrive(now)
	if v.Refuse {
		p.until, p.first = now.Add(p.length), v
	}
	return v
}

type instead struct {
	Limiter
	silent bool
}

// Silent leaves unanswered what inner refuses.
func Silent(inner Limiter) Limiter { return &instead{Limiter: inner, silent: true} }

// Closing ends the session where inner refuses.
func Closing(inner Limiter) Limiter { return &instead{Limiter: inner} }

func (i *instead) Arrive(now time.Time) Verdict {
	v := i.Limiter.Arrive(now)
	if v.Refuse {
		v.Silent, v.Close = i.silent, !i.silent
	}
	return v
}

type late struct {
	Limiter
	least, spread time.Duration
	rnd           *rand.Rand
}

// Late answers the refusals of inner only after a time between least and most, evenly distributed. Put a Delay behind
// a limiter (see All) to have the others late.
func Late(inner Limiter, least, most time.Duration, rnd *rand.Rand) Limiter {
	return &late{Limiter: inner, least: least, spread: most - least, rnd: rnd}
}

func (l *late) Arrive(now time.Time) Verdict {
	v := l.Limiter.Arrive(now)
	if v.Refuse {
		v.Service += l.least
		if l.spread > 0 {
			v.Service += time.Duration(l.rnd.Int64N(int64(l.spread)))
		}
	}
	return v
}

type shared struct {
	Limiter
	clock
	others Curve
	rnd    *rand.Rand
	next   time.Time // when the next submit of the others arrives
}

// slowestOthers is the least rate of other senders that is told from none, in submits per second.
const slowestOthers = 1e-3

// Shared has other senders submit to inner too, at random moments and as many a second as others says, whatever is
// answered to them.
func Shared(inner Limiter, others Curve, rnd *rand.Rand) Limiter {
	return &shared{Limiter: inner, others: others, rnd: rnd}
}

func (s *shared) Arrive(now time.Time) Verdict {
	if s.next.IsZero() {
		s.next = now
		s.wait()
	}
	for s.next.Before(now) {
		if s.others(s.since(s.next)) >= slowestOthers && !s.Limiter.Arrive(s.next).Refuse {
			s.Done(s.next)
		}
		s.wait()
	}
	return s.Limiter.Arrive(now)
}

// wait finds the next arrival: where there are no others, it is looked again a tenth of a second later.
func (s *shared) wait() {
	rate := s.others(s.since(s.next))
	if rate < slowestOthers {
		s.next = s.next.Add(100 * time.Millisecond)
		return
	}
	s.next = s.next.Add(max(1, time.Duration(s.rnd.ExpFloat64()/rate*float64(time.Second))))
}

// Capacity is what the others leave.
func (s *shared) Capacity(now time.Time) float64 {
	return max(0, s.Limiter.Capacity(now)-s.others(s.since(now)))
}

type during struct {
	Limiter
	clock
	length, every time.Duration
}

// During asks inner only in the last length of every period; at other times it takes everything.
func During(inner Limiter, length, every time.Duration) Limiter {
	return &during{Limiter: inner, length: length, every: every}
}

func (d *during) Arrive(now time.Time) Verdict {
	if !d.acts(now) {
		return accept()
	}
	return d.Limiter.Arrive(now)
}

func (d *during) acts(now time.Time) bool {
	return d.since(now)%d.every >= d.every-d.length
}

// Done must not reach inner for what it did not see; so inner must be one that keeps no places.
func (d *during) Done(time.Time) {}

// Capacity is unknown while inner is not asked.
func (d *during) Capacity(now time.Time) float64 {
	if !d.acts(now) {
		return 0
	}
	return d.Limiter.Capacity(now)
}
