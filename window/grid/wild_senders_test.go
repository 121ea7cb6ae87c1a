package grid

import (
	"time"

	"sluice/window"
)

// wildSluice is the controller with what the gate does around it: binds take turns, and a start that waited for its slot
// is dated to the slot, see window.Gate.
type wildSluice struct {
	controller *window.Controller
	binds      []wildBound
	next       int // bind that is asked first
}

// wildBound is a bind as the gate has it.
type wildBound struct {
	id     window.BindID
	up     bool
	closed bool      // the window, not the pace, was what the next message waited for when last looked at
	opened time.Time // when that ended
}

// The gate's own figures.
const (
	gateLate      = time.Millisecond
	gateOverslept = 20 * time.Millisecond
)

func newWildSluice(binds int, cfg window.Config) *wildSluice {
	return &wildSluice{controller: window.NewController(cfg), binds: make([]wildBound, binds)}
}

func (s *wildSluice) due(now time.Time) (bind int, at time.Time, ok bool) {
	for i := range s.binds {
		n := (s.next + i) % len(s.binds)
		b := &s.binds[n]
		if !b.up {
			continue
		}
		may, t := s.controller.Next(now, b.id)
		if !may {
			b.closed = true
			continue
		}
		if b.closed {
			b.closed, b.opened = false, now
		}
		if !t.After(now) {
			s.next = n + 1
			return n, t, true
		}
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	return 0, at, false
}

func (s *wildSluice) send(now time.Time, bind int, slot, since time.Time) window.Ticket {
	b := &s.binds[bind]
	if b.opened.After(since) {
		since = b.opened
	}
	if due := slot.Add(gateLate); since.Before(slot) && due.Before(now) && now.Sub(due) <= gateOverslept {
		now = due
	}
	return s.controller.OnSend(now, b.id)
}

func (s *wildSluice) answer(now time.Time, _ int, t window.Ticket, a window.Answer) {
	s.controller.OnResult(now, t, window.Signal{Answer: a})
}

func (s *wildSluice) bound(_ time.Time, bind int) {
	s.binds[bind] = wildBound{id: s.controller.AddBind(), up: true}
}

func (s *wildSluice) ended(now time.Time, bind int, _ bool) {
	s.controller.RemoveBind(now, s.binds[bind].id)
	s.binds[bind].up = false
}

// rebind is what the controller asks for; today it never does.
func (s *wildSluice) rebind(time.Time) (int, bool) { return 0, false }

func (s *wildSluice) pace() float64 { return s.controller.Snapshot(time.Time{}).Pace }

// oracleWith is what a sender knows that knows the SMSC.
type oracleWith struct {
	rates  []curve       // messages per second on each bind
	margin float64       // of the rate that it paces at; 0.98 when 0
	credit time.Duration // that is caught up after a stop
	rebind int           // messages after which a session is begun anew; 0: never
	window int           // messages in flight on a bind; 0: no limit
}

// wildOracle paces each bind by itself, the binds staggered.
type wildOracle struct {
	oracleWith
	binds []oracleBind
}

type oracleBind struct {
	up   bool
	slot time.Time
	sent int
	back int // answers
}

func newWildOracle(binds int, with oracleWith) *wildOracle {
	if with.margin == 0 {
		with.margin = 0.98
	}
	return &wildOracle{oracleWith: with, binds: make([]oracleBind, binds)}
}

func (o *wildOracle) due(now time.Time) (bind int, at time.Time, ok bool) {
	for i := range o.binds {
		b := &o.binds[i]
		if !b.up || o.oracleWith.rebind > 0 && b.sent >= o.oracleWith.rebind || o.window > 0 && b.sent-b.back >= o.window {
			continue
		}
		if at.IsZero() || b.slot.Before(at) {
			bind, at = i, b.slot
		}
	}
	if !at.IsZero() && !at.After(now) && o.rates[bind](now.Sub(wildTime(0)).Seconds()) <= 0 { // closed for now
		at = now.Add(50 * time.Millisecond)
	}
	return bind, at, !at.IsZero() && !at.After(now)
}

func (o *wildOracle) send(now time.Time, bind int, _, _ time.Time) window.Ticket {
	b := &o.binds[bind]
	b.sent++
	if oldest := now.Add(-o.credit); b.slot.Before(oldest) {
		b.slot = oldest
	}
	b.slot = b.slot.Add(o.interval(now, bind))
	return window.Ticket{}
}

func (o *wildOracle) interval(now time.Time, bind int) time.Duration {
	rate := o.margin * o.rates[bind](now.Sub(wildTime(0)).Seconds())
	return seconds(1 / max(1e-3, rate))
}

func (o *wildOracle) answer(_ time.Time, bind int, _ window.Ticket, _ window.Answer) {
	o.binds[bind].back++
}

func (o *wildOracle) bound(now time.Time, bind int) {
	stagger := o.interval(now, bind) * time.Duration(bind) / time.Duration(len(o.binds))
	o.binds[bind] = oracleBind{up: true, slot: now.Add(stagger)}
}

func (o *wildOracle) ended(_ time.Time, bind int, _ bool) { o.binds[bind].up = false }

func (o *wildOracle) rebind(time.Time) (int, bool) {
	for i := range o.binds {
		if b := &o.binds[i]; o.oracleWith.rebind > 0 && b.up && b.sent >= o.oracleWith.rebind && b.back >= b.sent {
			return i, true
		}
	}
	return 0, false
}

func (o *wildOracle) pace() float64 { return 0 }
