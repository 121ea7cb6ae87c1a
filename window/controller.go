// Package window learns how fast one SMSC account may be written to, and how many messages may be in flight, from
// nothing but the answers: accepted, or refused as too much (0x58 ESME_RTHROTTLED, 0x14 ESME_RMSGQFUL).
//
// Controller decides. It is a value without clock, lock or goroutine: times and binds come in as arguments, and every
// decision comes out with its reason and numbers. Gate is the one concurrent type: it waits, hands out permits and
// takes them back with the peer's answer.
//
// Four ideas carry the controller, and a fifth, noise, has a file of its own:
//
//	ceiling   the rate the SMSC is believed to accept; the pace stays 2 % below it
//	evidence  every refusal adds one, every accepted message takes a little away; enough of it cuts the ceiling
//	probe     a climb above the ceiling, level by level, until one is refused; refusals are paid for in messages
//	hold      silence while nothing at all is accepted, broken only by single test messages
//
// One rule of causality holds them together: an answer counts only if its message was sent after the newest
// decision. So one flight gives one verdict, however many of its messages are refused.
package window

import (
	"math"
	"slices"
	"time"
)

// BindID names one bind (SMPP session) of the account. Ids are never reused.
type BindID int

// Answer is what became of one submit, as far as load is concerned.
type Answer uint8

// The answers.
const (
	Accepted Answer = iota // status 0
	Refused                // too much: 0x58, 0x14
	Other                  // any other status: says nothing about load, but the SMSC is alive, so it counts as accepted
	Lost                   // no answer: timed out or disconnected; it is no evidence of anything
)

// Signal is what the peer said about one submit.
type Signal struct {
	Answer Answer
	// Congestion is the congestion_state TLV of the answer (SMPP 5.0 section 4.8.4.18), 1 to 99; 0: absent. From 90
	// on the answer counts as refused, though it neither begins nor prolongs a hold; from 80 on no probe starts.
	Congestion uint8
	// Again says that the message was refused before: an alarm tells whether most refusals are such.
	Again bool
}

// Config is what the operator knows. The zero value is a fine start: everything is learned.
type Config struct {
	Declared   float64 // contract rate in messages per second: the start, and never exceeded; 0: unknown
	Remembered float64 // ceiling learned in an earlier life, in messages per second; 0: none; read at the start only
	MaxWindow  int     // most messages of the account that may be unanswered, on all binds together; 0: no cap
	// NoiseMax is the largest share of refusals, 0 to 1, that may be found not to follow our pace and then be ignored
	// (0.06 is a good value); 0: every refusal is taken for load.
	NoiseMax    float64
	NoiseIgnore float64 // share of refusals, 0 to 1, to ignore in any case
	ProbeBudget float64 // share of refusals that the search for a higher ceiling may cost; 0: 0.002
}

// Mode is what the controller is doing.
type Mode uint8

// The modes.
const (
	Cruise  Mode = iota // sends just below the ceiling
	Probe               // tries a higher rate
	Hold                // is silent but for single test messages
	Compare             // tests whether refusals follow the pace
)

// String is the mode's name in commands and metrics.
func (m Mode) String() string {
	switch m {
	case Cruise:
		return "cruise"
	case Probe:
		return "probe"
	case Hold:
		return "hold"
	case Compare:
		return "compare"
	default:
		return "unknown"
	}
}

const (
	startRate = 5    // messages per second while nothing is known
	slowest   = 0.05 // messages per second: the ceiling's floor
	fastest   = 1e7  // messages per second: where the clock gets too coarse for a pace
	cruise    = 0.98 // of the ceiling

	// late is how far a message may trail its slot and still count as paced, and all the time that is ever caught up.
	late = time.Millisecond

	// pause is how long nothing was sent when a bucket may have filled up.
	pause = 100 * time.Millisecond

	// arrears are all that is made up for slots that we overslept: about what the smallest buckets save up.
	arrears = 60 * time.Millisecond

	congested = 90 // congestion_state that counts as a refusal
	loaded    = 80 // congestion_state that lets no probe start
)

// Controller decides how fast one SMSC account may be written to, over all its binds. It must see every submit
// (OnSend) and what became of it (OnResult), once each. It is not safe for concurrent use: see Gate.
type Controller struct {
	cfg   Config
	binds []*bind
	ids   BindID // newest id given

	shared  []*bind            // binds without a controller of their own
	known   map[string]float64 // messages per second of binds with one, by name
	account *Controller        // of one bind's own: that of the account
	skipped *bind              // it lets another bind go first, once

	mode      Mode
	ceiling   float64 // messages per second, like pace
	pace      float64
	slot      time.Time     // when the next message is due
	arrears   time.Duration // of slots that we overslept, to be made up for
	issued    int64         // newest ticket
	epoch     int64         // newest ticket at the newest decision
	decidedAt time.Time     // when that was
	born      int64         // newest ticket at the start, or when everything was forgotten

	unanswered int       // tickets without result
	full       time.Time // last time that MaxWindow let nothing start

	evidence
	search
	silence
	noise
	watch
	usual
	ledger
}

// Ticket goes with a submit from OnSend to OnResult.
type Ticket struct {
	bind   *bind
	home   *Controller // that paced it
	n, seq int64       // number in the account, in the bind
	at     time.Time
	step   float64 // of the probe it belongs to; 0: none
	paced  bool    // the pace was the limit, not an empty queue or a full window
	capped bool    // MaxWindow was the limit
	held   bool    // the bind's window was
	idle   bool    // it came after a pause

	overdue time.Duration // how late we were ourselves with a message that was there
}

// NewController starts from the declared rate, else from the remembered ceiling, else from nothing. Values that make
// no sense (negative, not finite) count as 0.
func NewController(cfg Config) *Controller {
	c := &Controller{cfg: cfg.sane()}
	c.begin(time.Time{}, c.cfg.Remembered)
	return c
}

func (cfg Config) sane() Config {
	for _, x := range []*float64{&cfg.Declared, &cfg.Remembered, &cfg.NoiseMax, &cfg.NoiseIgnore, &cfg.ProbeBudget} {
		if !(*x > 0) || math.IsInf(*x, 0) {
			*x = 0
		}
	}
	cfg.NoiseMax, cfg.NoiseIgnore = min(cfg.NoiseMax, 0.5), min(cfg.NoiseIgnore, 0.5)
	cfg.MaxWindow = max(cfg.MaxWindow, 0)
	if cfg.ProbeBudget == 0 {
		cfg.ProbeBudget = budget
	}
	return cfg
}

// begin chooses the first ceiling. The start from nothing is a probe with a bold step.
func (c *Controller) begin(now time.Time, remembered float64) {
	c.evidence, c.search, c.silence, c.noise = evidence{}, search{}, silence{}, noise{floor: c.cfg.NoiseIgnore}
	c.watch = watch{}
	c.born = c.issued
	switch {
	case c.cfg.Declared > 0:
		c.ceiling, c.step = c.cfg.Declared, fine
		c.cruise(now, ReasonDeclared, Decision{})
	case remembered > 0:
		c.ceiling, c.step = 0.95*remembered, bold
		c.cruise(now, ReasonMemory, Decision{Tried: remembered})
	default:
		c.ceiling, c.step = startRate, steepest
		c.probe(now, ReasonStart, Decision{})
	}
	c.base = c.ceiling
}

// AddBind adds a bind. All binds share the pace; each has a window for its share of it.
func (c *Controller) AddBind() BindID { return c.AddBindAs("") }

// RemoveBind forgets a bind; the others share its part of the pace. The ceiling stays: a lost connection says nothing
// about load. Results of its unanswered tickets are still expected, as Lost.
func (c *Controller) RemoveBind(now time.Time, id BindID) Decision {
	for i, b := range c.binds {
		if b.id == id {
			c.binds = slices.Delete(c.binds, i, i+1)
			if b.home != c {
				b.home.binds = nil
			}
			c.shared = slices.DeleteFunc(c.shared, func(s *bind) bool { return s == b })
			c.hears(now)
			c.record(now, ReasonDisconnect, Decision{Bind: id, Unanswered: b.unanswered})
			return c.newest()
		}
	}
	return Decision{}
}

func (c *Controller) bind(id BindID) *bind {
	for _, b := range c.binds {
		if b.id == id {
			return b
		}
	}
	return nil
}

// Next says when the bind may send its next message: at any time from at on, which may be past; not ok: not before
// another result is in, or at, if that is not zero, comes without one.
func (c *Controller) Next(now time.Time, id BindID) (ok bool, at time.Time) {
	b := c.bind(id)
	switch {
	case b == nil:
		return false, time.Time{}
	case b.home != c && c.capRoom() > 0:
		return b.home.Next(now, id)
	case c.room(b) <= 0:
		return false, c.deafAt(b)
	case c.mode == Hold:
		return true, c.quiet
	case b == c.skipped:
		return true, c.slot.Add(c.interval() - late)
	default:
		return true, c.slot.Add(-late)
	}
}

// places is how many permits may be reserved on the bind and not started: a window's worth, whatever is in flight, so
// that the next messages are at hand when there is room for them; in a hold one.
func (c *Controller) places(b *bind) int {
	if b.home != c {
		return b.home.places(b)
	}
	if c.mode == Hold {
		return 1
	}
	return c.size(b)
}

// accountPlaces is the same for all binds together, their windows aside.
func (c *Controller) accountPlaces() int {
	switch {
	case c.mode == Hold && len(c.shared) == len(c.binds):
		return 1
	case c.cfg.MaxWindow > 0:
		return c.cfg.MaxWindow
	}
	return math.MaxInt
}

// room is how many more messages the bind may start before another result, whatever the pace.
func (c *Controller) room(b *bind) int {
	if b.home != c {
		return min(b.home.room(b), c.capRoom())
	}
	n := c.size(b) - b.ahead()
	if c.mode == Hold {
		n = 1
	}
	return min(n, c.accountRoom())
}

// capRoom is what MaxWindow leaves.
func (c *Controller) capRoom() int {
	if c.cfg.MaxWindow > 0 {
		return c.cfg.MaxWindow - c.unanswered
	}
	return math.MaxInt
}

// accountRoom is the same for all binds together, their windows aside.
func (c *Controller) accountRoom() int {
	n := c.capRoom()
	if c.mode == Hold {
		n = min(n, 1)
		if c.testing {
			n = 0
		}
	}
	return n
}

// OnSend issues the ticket of a message that the bind writes now. Whether the pace was what it waited for is inferred
// from the time: a message that leaves at its slot did, one that leaves later waited for something else. A caller
// that overslept a slot passes the slot's time or calls OnSendLate, see Gate.
func (c *Controller) OnSend(now time.Time, id BindID) Ticket { return c.send(now, id, false) }

// OnSendLate is OnSend for a message that was there when its slot came, while the caller was late: such messages are
// paced, and what a probe learns from them only takes as much longer. Up to 60 ms are made up for.
func (c *Controller) OnSendLate(now time.Time, id BindID) Ticket { return c.send(now, id, true) }

func (c *Controller) send(now time.Time, id BindID, overslept bool) Ticket {
	b := c.bind(id)
	if b == nil {
		return Ticket{}
	}
	if c.issued == 0 {
		c.arrive(now)
	}
	if b.home != c {
		c.unanswered++
		b.home.full = c.full
		return b.home.send(now, id, overslept)
	}
	c.listenFor(now, b)
	c.issued++
	c.unanswered++
	b.tried++
	c.skipped = nil
	b.sent++
	b.unanswered++
	behind := now.Sub(c.slot)
	t := Ticket{bind: b, home: c, n: c.issued, seq: b.sent, at: now, paced: behind <= late, idle: behind > pause}
	if overslept && !t.paced {
		t.paced, t.idle, t.overdue = true, false, behind
	}
	t.capped = !t.paced && !c.full.Before(c.slot)
	t.held = !t.paced && !b.full.Before(c.slot)
	if c.mode == Probe {
		t.step = c.step
	} else {
		c.sent[0]++
	}
	c.testing = c.mode == Hold
	if behind > late { // all that is caught up
		c.slot = now.Add(-late)
	}
	gap := c.interval() // what we overslept is made up for by a pace half as high again
	if c.arrears = min(arrears, c.arrears+t.overdue); c.arrears > 0 {
		back := min(c.arrears, gap/3)
		c.arrears -= back
		gap -= back
	}
	c.slot = c.slot.Add(gap)
	return t
}

// arrive dates what NewController decided, which had no clock.
func (c *Controller) arrive(now time.Time) {
	c.slot, c.from, c.decidedAt = now, now, now
	c.date(now)
}

// OnResult takes what became of a message. The decision's reason is empty if nothing was decided.
func (c *Controller) OnResult(now time.Time, t Ticket, s Signal) Decision {
	if t.bind == nil {
		return Decision{}
	}
	if c.cfg.MaxWindow > 0 && c.unanswered >= c.cfg.MaxWindow {
		c.full = now
	}
	if t.bind.ahead() >= c.size(t.bind) {
		t.bind.full = now
	}
	c.unanswered--
	if t.home != c || t.bind.home != c {
		return c.resultApart(now, t, s)
	}
	t.bind.unanswered--
	if t.seq > t.bind.mark && s.Answer < Other {
		t.bind.heard++
	}
	before := c.decided
	if s.Answer != Lost {
		c.asked = time.Time{}
	}
	c.remember(now, t, s)
	c.hear(now, t, s)
	switch {
	case s.Answer == Lost:
		c.lost(now, t)
	case s.Answer == Refused, s.Congestion >= congested && c.mode != Hold: // a hold asks only whether anything is accepted
		c.refuse(now, t, s)
	default:
		c.accept(now, t, s)
	}
	if c.decided == before {
		return Decision{}
	}
	return c.newest()
}

// Configure takes over what the operator changed; Remembered is not looked at. A declared rate below the ceiling is the
// ceiling at once; one above it is climbed to, in a probe with a bold step, for nobody has seen that the SMSC accepts it:
// see Believe. A hold goes on.
func (c *Controller) Configure(now time.Time, cfg Config) Decision {
	old := c.cfg
	c.cfg = cfg.sane()
	if c.cfg.NoiseMax != old.NoiseMax || c.cfg.NoiseIgnore != old.NoiseIgnore {
		c.floor, c.undecided = c.cfg.NoiseIgnore, 0
		c.calm(now, Alarm{})
	}
	_, apart := c.apart()
	for _, b := range c.binds {
		if b.home != c {
			b.home.cfg.NoiseMax, b.home.cfg.NoiseIgnore, b.home.cfg.ProbeBudget = c.cfg.NoiseMax, c.cfg.NoiseIgnore, c.cfg.ProbeBudget
			b.home.floor, b.home.cfg.Declared = c.cfg.NoiseIgnore, c.cfg.Declared/float64(len(c.binds))
		}
	}
	d := Decision{Was: c.ceiling}
	switch {
	case c.cfg.Declared == old.Declared || c.cfg.Declared == 0:
		c.record(now, ReasonOperator, d)
	case c.cfg.Declared > c.ceiling+apart:
		c.evidence, c.step, c.owed = evidence{}, bold, 0
		if c.mode == Hold {
			c.record(now, ReasonOperator, d)
		} else {
			c.ceiling = max(c.ceiling, min(startRate, c.cfg.Declared)) // from less the climb would take minutes
			c.probe(now, ReasonOperator, d)
			if soon := now.Add(c.interval()); c.slot.After(soon) {
				c.slot = soon
			}
		}
	default:
		c.believe(now, d)
	}
	return c.newest()
}

// Believe makes the rate the ceiling at once, in messages per second and no more than is declared: for a rate that was
// found or declared before, as when the share of one of several senders grows. A hold goes on.
func (c *Controller) Believe(now time.Time, rate float64) Decision {
	d := Decision{Was: c.ceiling}
	if rate > 0 && !math.IsInf(rate, 0) {
		was := c.cfg.Declared
		if was == 0 || rate < was {
			c.cfg.Declared = rate
		}
		c.believe(now, d)
		c.cfg.Declared = was
	}
	return c.newest()
}

// believe takes the declared rate for the ceiling.
func (c *Controller) believe(now time.Time, d Decision) {
	switch c.mode {
	case Hold:
		c.ceiling, c.base = c.most(), c.most()
		c.setPace(cruise * c.ceiling)
		c.record(now, ReasonOperator, d)
	case Cruise, Probe, Compare:
		c.ceiling, c.base, c.step, c.owed = c.most(), c.most(), fine, 0
		c.evidence = evidence{}
		c.cruise(now, ReasonOperator, d)
	}
}

// Forget drops everything learned and starts again from the declared rate, or from nothing.
func (c *Controller) Forget(now time.Time) Decision {
	c.record(now, ReasonOperator, Decision{Forgot: true})
	d := c.newest()
	c.known, c.skipped, c.shared = nil, nil, slices.Clone(c.binds)
	for _, b := range c.binds {
		b.limit, b.home = 0, c
	}
	c.begin(now, 0)
	return d
}

func (c *Controller) setPace(rate float64) {
	if c.cfg.Declared > 0 {
		most := c.most()
		c.ceiling, rate = min(c.ceiling, most), min(rate, most)
	}
	c.pace = min(rate, fastest)
}

func (c *Controller) interval() time.Duration {
	return time.Duration(float64(time.Second) / c.pace)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
