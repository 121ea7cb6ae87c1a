package window

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// The errors of a Permit's Start.
var (
	// ErrBindRemoved says that the permit's bind is gone; nothing was sent.
	ErrBindRemoved = errors.New("the bind is gone")
	// ErrPermitUsed says that the permit was started or released before.
	ErrPermitUsed = errors.New("the permit is used up")
)

// overslept is how late a timer may fire and still count as on time. A busy machine wakes us 1 to 5 ms late; were the
// next slot counted from there, every message would lose that much and the pace would sag, and the controller would
// take the sender for idle. So a start that waited for its slot is dated to the slot. The bound keeps a machine that
// was stopped for longer from catching up in a burst: what comes later counts from the real time.
const overslept = 20 * time.Millisecond

// Gate lets the messages of one account go at the controller's pace and within its windows. It is safe for concurrent
// use, and is the one place where the controller meets a clock.
//
// A message takes two steps. Acquire reserves a place: as many as a window holds are handed out in advance, so a caller
// can reserve first and fetch a message then, and has the next ones at hand when answers make room. Start, just before the write, waits for the
// pace: permits parked while there is nothing to send are no credit for a burst.
type Gate struct {
	mu         sync.Mutex
	controller *Controller
	binds      []*gateBind
	nextPlace  int    // bind that is asked first for a place
	nextStart  int    // bind that is asked first for a start
	reserved   int    // permits acquired and not started
	acquiring  line   // permits that wait for a place
	starting   int    // permits that wait to start
	unused     *place // places without a permit: as many as there ever were at once are kept
	timer      *time.Timer
	alarm      time.Time // when the timer fires; zero: not set
}

// gateBind is a bind as the gate sees it.
type gateBind struct {
	id       BindID
	reserved int
	starting line
	closed   bool      // the window, not the pace, was what its permits waited for when last looked at
	opened   time.Time // when that ended
	removed  bool
}

// NewGate makes a gate. The controller belongs to it from now on.
func NewGate(c *Controller) *Gate { return &Gate{controller: c} }

// AddBind adds a bind.
func (g *Gate) AddBind() BindID { return g.AddBindAs("") }

// AddBindAs adds a bind with a name that it has again after a rebind, see Controller.AddBindAs.
func (g *Gate) AddBindAs(name string) BindID {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := &gateBind{id: g.controller.AddBindAs(name)}
	g.binds = append(g.binds, b)
	g.pump(time.Now())
	return b.id
}

// RemoveBind forgets a bind. Its permits that wait to start fail with ErrBindRemoved, those that are acquired will,
// and whatever is released for those that were started counts as Lost.
func (g *Gate) RemoveBind(id BindID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, b := range g.binds {
		if b.id != id {
			continue
		}
		now := time.Now()
		g.binds = slices.Delete(g.binds, i, i+1)
		g.controller.RemoveBind(now, id)
		g.reserved -= b.reserved
		b.removed = true
		for s := b.starting.first; s != nil; s = b.starting.first {
			g.leave(s)
			s.finish(ErrBindRemoved)
		}
		g.pump(now)
		return
	}
}

// Configure changes what the operator knows, see Controller.Configure.
func (g *Gate) Configure(cfg Config) Decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	d := g.controller.Configure(now, cfg)
	g.pump(now)
	return d
}

// Believe makes a rate the ceiling at once, see Controller.Believe.
func (g *Gate) Believe(rate float64) Decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	d := g.controller.Believe(now, rate)
	g.pump(now)
	return d
}

// Forget drops everything learned, see Controller.Forget.
func (g *Gate) Forget() Decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	d := g.controller.Forget(now)
	g.pump(now)
	return d
}

// Snapshot reports the state, with the places reserved on each bind.
func (g *Gate) Snapshot() Snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.controller.Snapshot(time.Now())
	for i, b := range g.binds { // both lists are in the order of AddBind
		s.Binds[i].Reserved = b.reserved
	}
	return s
}

// Decisions returns the newest decisions, newest last.
func (g *Gate) Decisions() []Decision {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.controller.Decisions()
}

// Acquire waits for a place in the window of a bind, first come, first served; binds take turns. It fails only when
// ctx is done. The permit must be released.
func (g *Gate) Acquire(ctx context.Context) (Permit, error) {
	if err := ctx.Err(); err != nil {
		return Permit{}, err
	}
	g.mu.Lock()
	s := g.take()
	g.acquiring.push(s)
	g.admit()
	if s.bind != nil {
		p := s.handle()
		g.mu.Unlock()
		return p, nil
	}
	woken := s.wait()
	g.mu.Unlock()

	select {
	case err := <-woken:
		return s.handle(), err
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.bind != nil { // the place came first
		return s.handle(), <-woken
	}
	s.waits = false
	g.acquiring.remove(s)
	g.free(s)
	return Permit{}, ctx.Err()
}

// AcquireOn takes a place on a bind at once, whether or not its window has room: for a message that has to follow its
// earlier parts there, and must not wait behind permits that are parked for messages. When it may start is decided as
// for any other. It fails with ErrBindRemoved.
func (g *Gate) AcquireOn(id BindID) (Permit, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.IndexFunc(g.binds, func(b *gateBind) bool { return b.id == id })
	if at < 0 {
		return Permit{}, ErrBindRemoved
	}
	s := g.take()
	s.bind = g.binds[at]
	s.bind.reserved++
	g.reserved++
	return s.handle(), nil
}

// pump does whatever has become possible. It runs, under the lock, after everything that may have changed something,
// so that no wake-up can be lost.
func (g *Gate) pump(now time.Time) {
	g.startDue(now)
	g.admit()
}

// admit hands places to waiting permits.
func (g *Gate) admit() {
	for g.acquiring.first != nil {
		b := g.nextRoom()
		if b == nil {
			return
		}
		b.reserved++
		g.reserved++
		s := g.acquiring.first
		g.acquiring.remove(s)
		s.bind = b
		s.finish(nil)
	}
}

// nextRoom finds the next bind with a free place.
func (g *Gate) nextRoom() *gateBind {
	if g.reserved >= g.controller.accountPlaces() {
		return nil
	}
	for i := range g.binds {
		n := (g.nextPlace + i) % len(g.binds)
		if b := g.binds[n]; b.reserved == 0 || b.reserved < g.controller.places(g.controller.bind(b.id)) { // there is always one
			g.nextPlace = n + 1
			return b
		}
	}
	return nil
}

// startDue starts every permit whose time has come, several if the timer was slower than the pace, and sets the timer
// for the next one.
func (g *Gate) startDue(now time.Time) {
	for g.starting > 0 {
		b, at := g.nextDue(now)
		if b == nil {
			g.setAlarm(now, at)
			return
		}
		s := b.starting.first
		g.leave(s)
		from, overdue := dated(now, at, latest(s.since, b.opened))
		g.begin(s, from, overdue)
		s.finish(nil)
	}
}

// nextDue finds the bind whose oldest permit may start now, and since when it might. There is none: at is when that
// will change unless a permit is released before; zero: not until then.
func (g *Gate) nextDue(now time.Time) (due *gateBind, at time.Time) {
	for i := range g.binds {
		n := (g.nextStart + i) % len(g.binds)
		b := g.binds[n]
		if b.starting.first == nil {
			continue
		}
		ok, t := g.controller.Next(now, b.id)
		if !ok {
			b.closed = true
			if t.IsZero() {
				continue
			}
		} else if b.closed {
			b.closed, b.opened = false, now
		}
		if !t.After(now) {
			g.nextStart = n + 1
			return b, t
		}
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	return nil, at
}

// dated is the time a start counts from: its slot, if it has waited for that and no longer than a timer may be late.
// Else it is now, and overdue says whether it has waited for the slot.
func dated(now, at, waiting time.Time) (from time.Time, overdue bool) {
	slot := at.Add(late)
	switch {
	case !waiting.Before(at), !slot.Before(now):
		return now, false
	case now.Sub(slot) <= overslept:
		return slot, false
	default:
		return now, true
	}
}

// begin counts a permit as sent.
func (g *Gate) begin(s *place, from time.Time, overdue bool) {
	s.state = started
	s.bind.reserved--
	g.reserved--
	if overdue {
		s.ticket = g.controller.OnSendLate(from, s.bind.id)
		return
	}
	s.ticket = g.controller.OnSend(from, s.bind.id)
}

// leave takes a permit out of those that wait to start.
func (g *Gate) leave(s *place) {
	s.bind.starting.remove(s)
	s.state = acquired
	g.starting--
}

func (g *Gate) setAlarm(now, at time.Time) {
	if at.IsZero() || at.Equal(g.alarm) {
		return
	}
	g.alarm = at
	if g.timer == nil {
		g.timer = time.AfterFunc(at.Sub(now), g.ring)
		return
	}
	g.timer.Reset(at.Sub(now))
}

func (g *Gate) ring() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.alarm = time.Time{}
	g.pump(time.Now())
}
