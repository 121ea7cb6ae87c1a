package grid

import (
	"strconv"
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
			if t.IsZero() {
				continue
			}
		} else if b.closed {
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
	if due := slot.Add(gateLate); since.Before(slot) && due.Before(now) {
		if now.Sub(due) > gateOverslept {
			return s.controller.OnSendLate(now, b.id)
		}
		now = due
	}
	return s.controller.OnSend(now, b.id)
}

func (s *wildSluice) answer(now time.Time, _ int, t window.Ticket, a window.Answer) {
	s.controller.OnResult(now, t, window.Signal{Answer: a})
}

func (s *wildSluice) bound(_ time.Time, bind int) {
	s.binds[bind] = wildBound{id: s.controller.AddBindAs(strconv.Itoa(bind)), up: true}
}

func (s *wildSluice) ended(now time.Time, bind int, _ bool) {
	s.controller.RemoveBind(now, s.binds[bind].id)
	s.binds[bind].up = false
}

// rebind is what the controller asks for; today it never does.
func (s *wildSluice) rebind(time.Time) (int, bool) { return 0, false }

func (s *wildSluice) pace() float64 {
	if now := s.controller.Snapshot(time.Time{}); now.Mode != window.Hold { // in a hold the pace is what it was before
		return now.Pace
	}
	return 0
}

// oracleWith is what a sender knows that knows the SMSC.
type oracleWith struct {
	rate   curve         // messages per second of the account, at the SMSC
	each   []float64     // messages per second of each bind; nil: the account has one pace
	margin float64       // of the rate that it paces at; 0.98 when 0
	credit time.Duration // that is caught up after a stop
	rebind int           // messages after which a session is begun anew; 0: never
	window int           // messages in flight on a bind; 0: no limit
	lead   time.Duration // from here to the SMSC
}

// wildOracle paces the account, its binds in turn, or each bind by itself, staggered.
type wildOracle struct {
	oracleWith
	binds []oracleBind
	slot  time.Time
	next  int // bind that is asked first
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
	return &wildOracle{oracleWith: with, binds: make([]oracleBind, binds), slot: wildTime(0)}
}

func (o *wildOracle) due(now time.Time) (bind int, at time.Time, ok bool) {
	for i := range o.binds {
		n := (o.next + i) % len(o.binds)
		b := &o.binds[n]
		if !b.up || o.oracleWith.rebind > 0 && b.sent >= o.oracleWith.rebind || o.window > 0 && b.sent-b.back >= o.window {
			continue
		}
		slot := o.slot
		if o.each != nil {
			slot = b.slot
		}
		if at.IsZero() || slot.Before(at) {
			bind, at = n, slot
		}
	}
	return bind, at, !at.IsZero() && !at.After(now)
}

func (o *wildOracle) send(now time.Time, bind int, _, _ time.Time) window.Ticket {
	o.next = bind + 1
	b := &o.binds[bind]
	b.sent++
	if o.each != nil {
		b.slot = latest(b.slot, now.Add(-o.credit)).Add(seconds(1 / (o.margin * o.each[bind])))
		return window.Ticket{}
	}
	o.slot = o.following(latest(o.slot, now.Add(-o.credit)))
	return window.Ticket{}
}

// following is the slot after one: when the rate at the SMSC has made room for another message.
func (o *wildOracle) following(slot time.Time) time.Time {
	at := slot.Add(o.lead).Sub(wildTime(0)).Seconds()
	rate := o.margin * o.rate(at)
	if after := at + 1/rate; rate > 0 && o.margin*o.rate(after) == rate {
		return slot.Add(seconds(1 / rate))
	}
	// The rate moves: add up small parts.
	const parts = 20
	sum, begin := 0.0, at
	for sum < 1 {
		rate = o.margin * o.rate(at)
		width := 0.05
		if rate > 0 {
			width = min(width, 1/rate/parts)
		}
		sum += rate * width
		at += width
	}
	return slot.Add(seconds(at - begin))
}

func (o *wildOracle) answer(_ time.Time, bind int, _ window.Ticket, _ window.Answer) {
	o.binds[bind].back++
}

func (o *wildOracle) bound(now time.Time, bind int) {
	o.binds[bind] = oracleBind{up: true, slot: now}
	if o.each != nil {
		o.binds[bind].slot = now.Add(seconds(float64(bind) / float64(len(o.binds)) / o.each[bind]))
	}
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

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
