package grid

import (
	"math"
	"math/rand"
	"time"

	"sluice/cmd/sluice/policy"
	"sluice/window"
)

const (
	jitter   = 0.05  // of the round trip: on the way out, evenly distributed, and half of it on the way back
	outage   = 5.0   // seconds
	perSend  = 20e-6 // seconds that the sender needs for a message
	soon     = 1e-12 // seconds that are none
	mostSent = 3_000_000
)

// outcome is what a sender, or several together, made of a cell.
type outcome struct {
	goodput   float64 // share of the capacity used after the warm-up; where messages come in, of these
	throttled float64 // share of the submits refused after the warm-up
}

// sender is one policy with its queue and its connection.
type sender struct {
	policy   policy.Policy
	start    float64
	inFlight int
	retries  []int32 // refused messages that are due, with their refusals
	waiting  int     // fresh messages, where they come in
	wakeAt   float64
	busy     float64 // until
	limited  bool    // the policy, not an empty queue, was what the next message waited for
	up       bool
	life     int32
	flying   map[int32]policy.Sent // where connections break only
	index    int32

	lastArrival, lastAnswer float64
}

// run is a cell under way.
type run struct {
	cell
	model   smsc
	rnd     *rand.Rand
	senders []*sender
	now     float64
	queue   events
	order   int64

	sent, refused         int // in all
	warmSent, warmRefused int
	taken, warmTaken      int // by the SMSC
	arrived               int // for the queues
}

// play runs a cell to its end. The same seed gives the same course.
func play(c cell, r rival, seed int64) outcome {
	rnd := rand.New(rand.NewSource(seed))
	x := &run{cell: c, rnd: rnd, model: c.smsc(rnd)}
	starts := c.senders
	if starts == nil {
		starts = []float64{0}
	}
	for i, start := range starts {
		s := &sender{policy: r.policy(c, x.model), start: start, wakeAt: math.Inf(1), up: true}
		if c.outages != nil {
			s.flying = map[int32]policy.Sent{}
		}
		x.senders = append(x.senders, s)
		kind := wake
		if c.arrivals != nil {
			kind = incoming
		}
		x.push(event{at: start, kind: kind, sender: int32(i)})
	}
	for _, at := range c.outages {
		x.push(event{at: at, kind: disconnect})
		x.push(event{at: at + outage, kind: reconnect})
	}
	for len(x.queue) > 0 && x.sent < mostSent {
		e := x.queue.pop()
		if e.at > c.length {
			x.now = c.length
			break
		}
		x.now = e.at
		x.handle(e)
	}
	return x.outcome()
}

func (x *run) push(e event) {
	x.order++
	e.order = x.order
	x.queue.push(e)
}

// clock is the time that policies are told.
func clock(at float64) time.Time {
	return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(at * 1e9))
}

func (x *run) handle(e event) {
	s := x.senders[e.sender]
	switch e.kind {
	case wake:
		if e.at >= s.wakeAt-soon {
			s.wakeAt = math.Inf(1)
		}
		x.pump(e.sender)
	case incoming:
		if rate := x.arrivals(x.now); rate > 0 {
			s.waiting++
			x.arrived++
			e.at += x.rnd.ExpFloat64() / rate
		} else {
			e.at += 0.05
		}
		x.push(e)
		x.pump(e.sender)
	case arrival:
		if e.life == s.life {
			x.arrive(s, e)
		}
	case served:
		x.model.done(x.now)
	case answered:
		if e.life == s.life {
			x.answer(s, e)
			x.pump(e.sender)
		}
	case requeue:
		s.retries = append(s.retries, e.tries)
		x.pump(e.sender)
	case disconnect:
		for _, s := range x.senders {
			s.up, s.inFlight = false, 0
			s.life++
		}
	case reconnect:
		for i, s := range x.senders {
			s.up = true
			s.policy.Reconnect(clock(x.now), s.lost())
			x.pump(int32(i))
		}
	}
}

// lost are the messages that were in flight when the connection broke, in their order.
func (s *sender) lost() (all []policy.Sent) {
	for i := range s.index {
		if m, flying := s.flying[i]; flying {
			all = append(all, m)
		}
	}
	clear(s.flying)
	return all
}

// pump lets go what may go.
func (x *run) pump(i int32) {
	s := x.senders[i]
	for s.up && x.now >= s.start && x.sent < mostSent {
		if len(s.retries) == 0 && x.arrivals != nil && s.waiting == 0 {
			s.limited = false
			return
		}
		if due := max(s.next(x.now), s.busy); due > x.now+soon {
			s.limited = true
			if due < s.wakeAt-soon && !math.IsInf(due, 1) {
				s.wakeAt = due
				x.push(event{at: due, kind: wake, sender: i})
			}
			return
		}
		x.submit(s, i)
	}
}

// next is when the policy lets the next message go.
func (s *sender) next(now float64) float64 {
	at, may := s.policy.Next(clock(now), s.inFlight)
	switch {
	case !may:
		return math.Inf(1)
	case at.IsZero():
		return 0
	default:
		return at.Sub(clock(0)).Seconds()
	}
}

func (x *run) submit(s *sender, i int32) {
	e := event{kind: arrival, sender: i, life: s.life, index: s.index}
	if len(s.retries) > 0 {
		e.tries, s.retries = s.retries[0], s.retries[1:]
	} else {
		s.waiting--
	}
	s.inFlight++
	s.busy = x.now + perSend
	x.sent++
	if x.now >= x.warm {
		x.warmSent++
	}
	e.sent = s.policy.Send(clock(x.now), s.limited)
	if s.flying != nil {
		s.flying[s.index] = e.sent
		s.index++
	}
	e.at = max(s.lastArrival, x.now+x.rtt*0.4+x.rtt*jitter*0.5*x.rnd.Float64())
	s.lastArrival = e.at
	x.push(e)
}

// arrive is at the SMSC. Answers keep their order, but for those of outstanding, where all of the round trip is
// service.
func (x *run) arrive(s *sender, e event) {
	answer, service := x.model.arrive(x.now)
	x.push(event{at: x.now + service, kind: served, sender: e.sender})
	e.kind, e.answer = answered, answer
	e.at = x.now + service + x.rtt*0.6 + x.rtt*jitter*0.5*x.rnd.Float64()
	if _, local := x.model.(*outstanding); local {
		e.at = x.now + service + x.rtt*0.05
	} else {
		e.at = max(e.at, s.lastAnswer)
	}
	s.lastAnswer = e.at
	x.push(e)
	if _, slow := x.model.(*latencyOnly); slow && x.now+service >= x.length {
		return // will not be served
	}
	if answer == ok {
		x.taken++
		if x.now >= x.warm {
			x.warmTaken++
		}
	}
}

func (x *run) answer(s *sender, e event) {
	s.inFlight--
	delete(s.flying, e.index)
	s.policy.Answer(clock(x.now), e.sent, e.answer.signal())
	if e.answer == ok {
		return
	}
	if e.answer == refused {
		x.refused++
		if x.now >= x.warm {
			x.warmRefused++
		}
	}
	window := min(30, math.Pow(2, float64(e.tries)))
	x.push(event{at: x.now + 0.05 + x.rnd.Float64()*window, kind: requeue, sender: e.sender, tries: e.tries + 1})
}

// signal is what a policy is told.
func (s status) signal() window.Answer {
	switch s {
	case ok:
		return window.Accepted
	case refused:
		return window.Refused
	default:
		return window.Other
	}
}

func (x *run) outcome() outcome {
	var o outcome
	if x.warmSent > 0 {
		o.throttled = float64(x.warmRefused) / float64(x.warmSent)
	}
	switch {
	case x.arrivals != nil:
		o.goodput = float64(x.taken) / float64(x.arrived)
	case x.now > x.warm+1:
		o.goodput = float64(x.warmTaken) / x.could(x.warm)
	case x.sent >= mostSent: // before the warm-up was over
		o.goodput, o.throttled = float64(x.taken)/x.could(0), float64(x.refused)/float64(x.sent)
	}
	return o
}

// could is what the SMSC would have taken from a time to the end.
func (x *run) could(from float64) (sum float64) {
	const width = 0.1
	for at := from; at < x.now-slack; at += width {
		if !x.isDown(at) {
			sum += x.model.capacity(at) * min(width, x.now-at)
		}
	}
	return sum
}

func (x *run) isDown(at float64) bool {
	for _, from := range x.outages {
		if at >= from && at < from+outage {
			return true
		}
	}
	return false
}
