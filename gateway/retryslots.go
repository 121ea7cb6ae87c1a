package gateway

import (
	"sync"
	"time"
)

const (
	// retryShare is how much of the pace may be messages that come back: every fourth.
	retryShare = 4
	// lastCall is how long before its deadline a message that its retry slot would make late is tried at the latest.
	lastCall = time.Second
	// mostLooks and mostLast bound the search for a last slot, and what is remembered of them.
	mostLooks, mostLast = 4096, 20_000
)

// retrySlots spreads the messages that one account puts back, so that they return as at most a quarter of its traffic.
// JetStream serves what is due before what is new: a burst put back together would otherwise come back as one. Each
// class has a line of its own, in proportion to its weight; a strict one goes before all.
type retrySlots struct {
	mu    sync.Mutex
	lines map[string]*retryLine

	// The last slots before deadlines, counted in spans of one length.
	span time.Duration
	last map[int64]int
}

// retryLine is the slots of one class.
type retryLine struct {
	next   time.Time
	weight int // 0: strict
}

// retry is a message that is put back.
type retry struct {
	class    string
	weight   int // of the class; 0: strict
	earliest time.Time
	deadline time.Time // zero: none
}

// take returns when a message may come back, not before its earliest time, and reserves its slot. The pace is in submits
// per second. Where the slot would miss the deadline it is the last free one before it. Where none is free the message
// comes back after half of its life, 1 s at the least, and asks again: a slot delays, and never ends, a message.
func (s *retrySlots) take(now time.Time, m retry, pace float64) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	pace = max(pace, 0.05)
	line := s.line(m)
	slot := latest(line.next, now)
	at := latest(slot, m.earliest)
	if limit := m.deadline.Add(-lastCall); !m.deadline.IsZero() && at.After(limit) {
		if !m.earliest.Before(limit) {
			return m.earliest
		}
		if last, ok := s.before(limit, latest(m.earliest, now), pace); ok {
			return last
		}
		return latest(now.Add(max(m.deadline.Sub(now)/2, lastCall)), m.earliest)
	}
	line.next = slot.Add(time.Duration(retryShare / pace * s.parts(now, line) * float64(time.Second)))
	return at
}

func (s *retrySlots) line(m retry) *retryLine {
	line := s.lines[m.class]
	if line == nil {
		if s.lines == nil {
			s.lines = map[string]*retryLine{}
		}
		line = new(retryLine)
		s.lines[m.class] = line
	}
	line.weight = m.weight
	return line
}

// parts is into how many parts the slots are divided of which the line has one: by weight among those that wait.
func (s *retrySlots) parts(now time.Time, line *retryLine) float64 {
	if line.weight == 0 {
		return 1
	}
	sum := line.weight
	for _, other := range s.lines {
		if other != line && other.next.After(now) {
			sum += other.weight
		}
	}
	return float64(sum) / float64(line.weight)
}

// before finds the last free slot up to limit and not before earliest, at a quarter of the pace.
func (s *retrySlots) before(limit, earliest time.Time, pace float64) (at time.Time, ok bool) {
	span := time.Second
	for span.Seconds()*pace < retryShare {
		span *= 2
	}
	if span != s.span || len(s.last) > mostLast {
		s.span, s.last = span, map[int64]int{}
	}
	room := int(span.Seconds() * pace / retryShare)
	for n, looks := limit.UnixNano()/int64(span), 0; looks < mostLooks; n, looks = n-1, looks+1 {
		begin := time.Unix(0, n*int64(span))
		if begin.Add(span).Before(earliest) {
			break
		}
		if s.last[n] >= room {
			continue
		}
		// Counted backwards inside the span as well.
		at = begin.Add(span * time.Duration(room-s.last[n]) / time.Duration(room))
		s.last[n]++
		// The slot keeps the clock that the limit has: the wall's, which a deadline is in.
		return earlier(latest(at, earliest), limit), true
	}
	return time.Time{}, false
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
