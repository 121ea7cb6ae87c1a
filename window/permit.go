package window

import (
	"context"
	"time"
)

// Permit is a place in a bind's window. One goroutine at a time may use it.
type Permit struct {
	gate   *Gate
	bind   *gateBind // nil until there is a place
	state  permitState
	since  time.Time // when it began to wait for its start
	ticket Ticket
	err    error // what a wait for the start ended with

	woken          chan struct{} // closed when a wait ends
	previous, next *Permit       // in the line it waits in
}

type permitState uint8

const (
	acquired permitState = iota // or waiting for a place
	waiting                     // to start
	started
	released
)

// Bind is the bind that the message must be written to.
func (p *Permit) Bind() BindID { return p.bind.id }

// Start waits until the message may be written, for the pace and, if the window has become smaller since Acquire, for
// the window; the caller writes it at once. On a bind, permits start in the order of their calls; binds take turns.
// With an error (ctx is done, ErrBindRemoved, ErrPermitUsed) nothing may be written; after ctx was done Start may be
// called again. The permit must be released in any case.
func (p *Permit) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g := p.gate
	g.mu.Lock()
	if err := p.usable(); err != nil {
		g.mu.Unlock()
		return err
	}
	now := time.Now()
	p.state, p.since = waiting, now
	p.bind.starting.push(p)
	g.starting++
	g.pump(now)
	if p.state == started {
		g.mu.Unlock()
		return nil
	}
	woken := p.wait()
	g.mu.Unlock()

	select {
	case <-woken:
		return p.err
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.state != waiting { // the start, or the end of the bind, came first
		return p.err
	}
	g.leave(p)
	return ctx.Err()
}

func (p *Permit) usable() error {
	switch {
	case p.state != acquired:
		return ErrPermitUsed
	case p.bind.removed:
		return ErrBindRemoved
	default:
		return nil
	}
}

// Release gives the permit back with what the peer said. If it was not started that is of no interest and only the
// place is given back. Only the first call counts.
func (p *Permit) Release(s Signal) {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	switch p.state {
	case released:
		return
	case started:
		if p.bind.removed {
			s = Signal{Answer: Lost}
		}
	case waiting: // by another goroutine, against the rules
		g.leave(p)
		p.finish(ErrPermitUsed)
		fallthrough
	case acquired:
		if !p.bind.removed {
			p.bind.reserved--
			g.reserved--
		}
	}
	now := time.Now()
	if p.state == started {
		g.controller.OnResult(now, p.ticket, s)
	}
	p.state = released
	g.pump(now)
}

// wait makes the channel that finish closes. Permits that need not wait have none.
func (p *Permit) wait() <-chan struct{} {
	p.woken = make(chan struct{})
	return p.woken
}

// finish ends a wait.
func (p *Permit) finish(err error) {
	p.err = err
	if p.woken != nil {
		close(p.woken)
		p.woken = nil
	}
}

// line is a queue of permits, oldest first, that one can leave anywhere.
type line struct {
	first, last *Permit
}

func (l *line) push(p *Permit) {
	p.previous, p.next = l.last, nil
	if l.last == nil {
		l.first = p
	} else {
		l.last.next = p
	}
	l.last = p
}

func (l *line) remove(p *Permit) {
	if p.previous == nil {
		l.first = p.next
	} else {
		p.previous.next = p.next
	}
	if p.next == nil {
		l.last = p.previous
	} else {
		p.next.previous = p.previous
	}
	p.previous, p.next = nil, nil
}
