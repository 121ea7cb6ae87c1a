package window

import (
	"context"
	"slices"
	"time"
)

// Permit is a place in a bind's window: a small value, a handle, whose copies are all the same permit. Once it is
// released every copy is used up, for good: its place may long be another permit's. One goroutine at a time may use
// it. The zero Permit is used up.
//
//	acquired ──Start──▶ started ──Release──▶ used up
//	    ▲                  │
//	    └────Answered──────┘   (the next part of the same message)
type Permit struct {
	place      *place
	generation uint64
	bind       BindID
}

// place is what a permit is a handle of. Places are used again, so that a permit costs no allocation: with each use
// the generation goes up, and handles of an earlier one are stale.
type place struct {
	gate       *Gate
	generation uint64
	bind       *gateBind // nil until there is one
	state      permitState
	since      time.Time // when it began to wait for its start
	ticket     Ticket

	woken          chan error // what a wait ends with: room for one, so that nobody waits to say it; nil if there was none yet
	waits          bool       // somebody is to be told
	previous, next *place     // in the line it waits in, or among the free ones
}

type permitState uint8

const (
	acquired permitState = iota // or waiting for a place
	waiting                     // to start
	started
)

// Bind is the bind that the message must be written to.
func (p Permit) Bind() BindID { return p.bind }

// Start waits until the message may be written, for the pace and, if the window has become smaller since Acquire, for
// the window; the caller writes it at once. On a bind, permits start in the order of their calls; binds take turns.
// With an error (ctx is done, ErrBindRemoved, ErrPermitUsed) nothing may be written; after ctx was done Start may be
// called again. The permit must be released in any case.
func (p Permit) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.place == nil {
		return ErrPermitUsed
	}
	s, g := p.place, p.place.gate
	g.mu.Lock()
	switch {
	case p.stale(), s.state != acquired:
		g.mu.Unlock()
		return ErrPermitUsed
	case s.bind.removed:
		g.mu.Unlock()
		return ErrBindRemoved
	}
	now := time.Now()
	s.state, s.since = waiting, now
	s.bind.starting.push(s)
	g.starting++
	g.startDue(now)
	if s.state == started {
		g.admit()
		g.mu.Unlock()
		return nil
	}
	woken := s.wait()
	g.mu.Unlock()

	select {
	case err := <-woken:
		return err
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case err := <-woken: // the start, or the end of the bind, came first
		return err
	default:
	}
	s.waits = false
	g.leave(s)
	return ctx.Err()
}

// StartNow starts without a wait for the pace or the window, for a test of a peer that answers nothing: the window is full
// of what is not answered, and an answer to the test passes all that by. The errors are those of Start.
func (p Permit) StartNow() error {
	if p.place == nil {
		return ErrPermitUsed
	}
	s, g := p.place, p.place.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case p.stale(), s.state != acquired:
		return ErrPermitUsed
	case s.bind.removed:
		return ErrBindRemoved
	}
	g.begin(s, time.Now(), false)
	g.admit()
	return nil
}

// Answered reports what the peer said to one part of a long message and keeps the permit for the next: it is as after
// Acquire, on the same bind, and Start may be called again. That part counts as answered from now on, and the next one
// waits for pace and window like any other message; but as the permit never queues for a place again, it cannot be
// kept waiting by permits that are parked without a message. On a bind that is gone the answer counts as Lost and the
// next Start fails with ErrBindRemoved. Without a start before, nothing happens.
func (p Permit) Answered(s Signal) {
	if p.place == nil {
		return
	}
	g := p.place.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.stale() || p.place.state != started {
		return
	}
	now := time.Now()
	g.result(now, p.place, s)
	p.place.state = acquired
	if b := p.place.bind; !b.removed {
		// The place was given up at the start and may be taken: then one more is reserved than the window has, and
		// admit hands out none until that is over. What may be in flight is for Start to see to.
		b.reserved++
		g.reserved++
	}
	g.pump(now)
}

// MoveTo makes it a permit for another bind, for a message that has to follow its earlier parts; the place here goes to
// others. The permit must not have been started since Acquire or Answered. It is false, and nothing changes, when that
// bind is gone. Use what is returned: the bind of the handle that it was called on is out of date.
func (p Permit) MoveTo(id BindID) (Permit, bool) {
	if p.place == nil {
		return p, false
	}
	g := p.place.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	to := slices.IndexFunc(g.binds, func(b *gateBind) bool { return b.id == id })
	if to < 0 || p.stale() || p.place.state != acquired {
		return p, false
	}
	if from := p.place.bind; !from.removed {
		from.reserved--
		g.reserved--
	}
	p.bind, p.place.bind = id, g.binds[to]
	p.place.bind.reserved++
	g.reserved++
	g.admit()
	return p, true
}

// Release gives the permit back with what the peer said. If it was not started, or was answered since, that is of no
// interest and only the place is given back. Only the first call counts.
func (p Permit) Release(s Signal) {
	if p.place == nil {
		return
	}
	g := p.place.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.stale() {
		return
	}
	now := time.Now()
	switch at := p.place; at.state {
	case started:
		g.result(now, at, s)
	case waiting: // by another goroutine, against the rules
		g.leave(at)
		at.finish(ErrPermitUsed)
		fallthrough
	case acquired:
		if !at.bind.removed {
			at.bind.reserved--
			g.reserved--
		}
	}
	g.free(p.place)
	g.pump(now)
}

// stale says that the permit was released.
func (p Permit) stale() bool { return p.generation != p.place.generation }

// result passes on the answer to what was started.
func (g *Gate) result(now time.Time, s *place, said Signal) {
	if s.bind.removed {
		said = Signal{Answer: Lost}
	}
	g.controller.OnResult(now, s.ticket, said)
}

// take makes a place ready for a permit.
func (g *Gate) take() *place {
	s := g.unused
	if s == nil {
		return &place{gate: g}
	}
	g.unused, s.next = s.next, nil
	return s
}

// free makes every handle of a place stale and keeps it for another permit.
func (g *Gate) free(s *place) {
	s.generation++
	if len(s.woken) > 0 { // not read yet, by a goroutine that broke the rules
		s.woken = nil
	}
	s.bind, s.state, s.ticket = nil, acquired, Ticket{}
	s.next, g.unused = g.unused, s
}

// handle is the permit of a place that has a bind.
func (s *place) handle() Permit {
	return Permit{place: s, generation: s.generation, bind: s.bind.id}
}

// wait returns the channel that finish writes to. Permits that need not wait have none.
func (s *place) wait() <-chan error {
	if s.woken == nil {
		s.woken = make(chan error, 1)
	}
	s.waits = true
	return s.woken
}

// finish ends a wait, if there is one.
func (s *place) finish(err error) {
	if s.waits {
		s.waits = false
		s.woken <- err
	}
}

// line is a queue of places, oldest first, that one can leave anywhere.
type line struct {
	first, last *place
}

func (l *line) push(s *place) {
	s.previous, s.next = l.last, nil
	if l.last == nil {
		l.first = s
	} else {
		l.last.next = s
	}
	l.last = s
}

func (l *line) remove(s *place) {
	if s.previous == nil {
		l.first = s.next
	} else {
		s.previous.next = s.next
	}
	if s.next == nil {
		l.last = s.previous
	} else {
		s.next.previous = s.previous
	}
	s.previous, s.next = nil, nil
}
