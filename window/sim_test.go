package window

import (
	"math"
	"math/rand/v2"
	"time"

	"sluice/testserver/limiter"
)

// This file is a discrete-event simulation in virtual time: senders with a Controller each, binds with their network
// delay, and one SMSC made of a limiter. The same seed gives the same run.

// statuses of the simulated answers.
const (
	throttled = 0x58
	queueFull = 0x14
	sysErr    = 0x08
)

// scenario is one SMSC, the way to it, and who sends.
type scenario struct {
	name   string
	smsc   func(rnd *rand.Rand) limiter.Limiter
	rate   float64         // capacity in messages per second where the limiter does not know it
	rtt    []time.Duration // one bind for each
	length time.Duration
	warm   time.Duration // left out of the figures; default a quarter of length

	config    Config
	senders   []time.Duration                     // start of each sender; default one at 0
	arrivals  func(t time.Duration) float64       // messages per second coming in; nil: there is always one waiting
	messages  int                                 // end when as many have an answer other than a refusal; 0: end after length
	lost      float64                             // share of answers that never come; they time out after 30 s
	local     bool                                // the network adds next to nothing to the service time
	unordered bool                                // answers may overtake each other
	down      []time.Duration                     // the connections break and are back after 5 s
	asleep    func(t time.Duration) time.Duration // when the sender, stopped at t, goes on; t if it is not; nil: never
	inspect   func(now time.Time, c *Controller, s Signal, d Decision)
}

const (
	jitter  = 0.05 // of the round trip: one way, evenly distributed, and half of it on the way back
	timeout = 30 * time.Second
	outage  = 5 * time.Second
	bin     = 100 * time.Millisecond
)

func virtualStart() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

type eventKind uint8

const (
	arrival  eventKind = iota // at the SMSC
	served                    // the SMSC is done with it
	answer                    // at the sender
	wake                      // the pace may let a message go
	incoming                  // a message for the queue
	requeue                   // a refused message is due again
	disconnect
	reconnect
)

type event struct {
	at    time.Duration
	order int64
	kind  eventKind
	from  *simSender
	bind  *simBind
	life  int // of the connection; an older one is gone
	msg   *inFlight
}

type inFlight struct {
	ticket Ticket
	signal Signal
	done   bool
}

func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.order < f.order }

// events is a heap, soonest first. It is hand-made because container/heap allocates for each event.
type events []event

func (h *events) push(e event) {
	*h = append(*h, e)
	q := *h
	for i := len(q) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q[i].before(&q[parent]) {
			return
		}
		q[i], q[parent] = q[parent], q[i]
		i = parent
	}
}

func (h *events) pop() event {
	q := *h
	top, last := q[0], len(q)-1
	q[0] = q[last]
	q = q[:last]
	*h = q
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && q[child+1].before(&q[child]) {
			child++
		}
		if !q[child].before(&q[i]) {
			return top
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
}

type simBind struct {
	id                      BindID
	rtt                     time.Duration
	lastArrival, lastAnswer time.Duration
	life                    int
	up                      bool
	flying                  []*inFlight // kept where connections break only
	taken                   int
}

type simSender struct {
	c       *Controller
	binds   []*simBind
	turn    int
	start   time.Duration
	waiting int // messages in the queue, when arrivals fill it
	wakeAt  time.Duration
	taken   int // after the warm-up
}

type simulation struct {
	scenario
	rnd     *rand.Rand
	limiter limiter.Limiter
	senders []*simSender
	now     time.Duration
	queue   events
	order   int64

	submits, refused         int // in all
	warmSubmits, warmRefused int
	taken, arrived, finished int
	first, last              time.Duration // submits
	takenIn, refusedIn       []int         // per bin
	capacityIn               []float64     // messages per second, per bin
	trips                    time.Duration // sum of round trips after the warm-up
	answers                  int
}

// simulate runs a scenario to its end.
func simulate(sc scenario, seed uint64) *simulation {
	if sc.warm == 0 {
		sc.warm = sc.length / 4
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	s := &simulation{scenario: sc, rnd: rnd, limiter: sc.smsc(rnd)}
	bins := int(sc.length/bin) + 2
	s.takenIn, s.refusedIn, s.capacityIn = make([]int, bins), make([]int, bins), make([]float64, bins)
	starts := sc.senders
	if starts == nil {
		starts = []time.Duration{0}
	}
	for _, start := range starts {
		x := &simSender{c: NewController(sc.config), start: start, wakeAt: math.MaxInt64}
		for _, rtt := range sc.rtt {
			x.binds = append(x.binds, &simBind{id: x.c.AddBind(), rtt: rtt, up: true})
		}
		s.senders = append(s.senders, x)
		kind := wake
		if sc.arrivals != nil {
			kind = incoming
		}
		s.push(event{at: start, kind: kind, from: x})
		for _, t := range sc.down {
			s.push(event{at: t, kind: disconnect, from: x})
			s.push(event{at: t + outage, kind: reconnect, from: x})
		}
	}
	nextBin := time.Duration(0)
	for len(s.queue) > 0 && (sc.messages == 0 || s.finished < sc.messages) {
		e := s.queue.pop()
		if e.at > sc.length {
			break
		}
		for ; nextBin <= e.at; nextBin += bin {
			s.capacityIn[nextBin/bin] = s.capacity(nextBin)
		}
		s.now = e.at
		s.handle(e)
	}
	return s
}

func (s *simulation) capacity(at time.Duration) float64 {
	for _, d := range s.down {
		if at >= d && at < d+outage {
			return 0
		}
	}
	if s.rate > 0 {
		return s.rate
	}
	return s.limiter.Capacity(virtualStart().Add(at))
}

func (s *simulation) push(e event) {
	s.order++
	e.order = s.order
	s.queue.push(e)
}

func (s *simulation) clock() time.Time { return virtualStart().Add(s.now) }

func (s *simulation) handle(e event) {
	if s.asleep != nil && (e.kind == wake || e.kind == answer) {
		if until := s.asleep(e.at); until > e.at {
			e.at = until
			s.push(e)
			return
		}
	}
	switch e.kind {
	case wake:
		if e.at >= e.from.wakeAt {
			e.from.wakeAt = math.MaxInt64
		}
		s.send(e.from)
	case arrival:
		if e.life == e.bind.life {
			s.arrive(e)
		}
	case served:
		s.limiter.Done(s.clock())
	case answer:
		if !e.msg.done {
			s.answered(e.from, e.msg)
			s.send(e.from)
		}
	case incoming:
		if lambda := s.arrivals(s.now); lambda > 0 {
			e.from.waiting++
			s.arrived++
			e.at += time.Duration(s.rnd.ExpFloat64() / lambda * float64(time.Second))
		} else {
			e.at += 50 * time.Millisecond
		}
		s.push(e)
		s.send(e.from)
	case requeue:
		e.from.waiting++
		s.send(e.from)
	case disconnect:
		for _, b := range e.from.binds {
			b.up = false
			b.life++
			e.from.c.RemoveBind(s.clock(), b.id)
			for _, m := range b.flying {
				if !m.done {
					m.signal = Signal{Answer: Lost}
					s.answered(e.from, m)
				}
			}
			b.flying = nil
		}
	case reconnect:
		for _, b := range e.from.binds {
			b.up, b.id = true, e.from.c.AddBind()
		}
		s.send(e.from)
	}
}

// send lets go what may go: round robin over the binds.
func (s *simulation) send(x *simSender) {
	if s.now < x.start {
		return
	}
	for {
		if s.arrivals != nil && x.waiting == 0 {
			return
		}
		var chosen *simBind
		var slot time.Time
		soonest := time.Duration(math.MaxInt64)
		for i := range x.binds {
			b := x.binds[(x.turn+i)%len(x.binds)]
			if !b.up {
				continue
			}
			ok, at := x.c.Next(s.clock(), b.id)
			if !ok {
				continue
			}
			if due := at.Sub(virtualStart()); due > s.now {
				soonest = min(soonest, due)
				continue
			}
			slot = at
			chosen, x.turn = b, (x.turn+i+1)%len(x.binds)
			break
		}
		if chosen == nil {
			if soonest < x.wakeAt {
				x.wakeAt = soonest
				s.push(event{at: soonest, kind: wake, from: x})
			}
			return
		}
		x.waiting--
		s.submit(x, chosen, slot)
	}
}

func (s *simulation) submit(x *simSender, b *simBind, slot time.Time) {
	m := &inFlight{}
	if from, overdue := dated(s.clock(), slot, virtualStart().Add(-time.Hour)); s.asleep != nil && overdue {
		m.ticket = x.c.OnSendLate(from, b.id)
	} else if s.asleep != nil {
		m.ticket = x.c.OnSend(from, b.id)
	} else {
		m.ticket = x.c.OnSend(s.clock(), b.id)
	}
	if s.down != nil {
		b.flying = append(b.flying, m)
	}
	if s.submits++; s.submits == 1 {
		s.first = s.now
	}
	s.last = s.now
	if s.now >= s.warm {
		s.warmSubmits++
	}
	b.lastArrival = max(b.lastArrival, s.now+s.network(b.rtt, 0.4, jitter))
	s.push(event{at: b.lastArrival, kind: arrival, from: x, bind: b, life: b.life, msg: m})
}

func (s *simulation) network(rtt time.Duration, part, wobble float64) time.Duration {
	return time.Duration(float64(rtt) * (part + wobble/2*s.rnd.Float64()))
}

func (s *simulation) arrive(e event) {
	v := s.limiter.Arrive(s.clock())
	switch {
	case !v.Refuse && v.Service == 0:
		s.limiter.Done(s.clock())
	case !v.Refuse:
		s.push(event{at: s.now + v.Service, kind: served})
	case v.Status == throttled, v.Status == queueFull:
		e.msg.signal = Signal{Answer: Refused}
		s.refusedIn[s.now/bin]++
	default:
		e.msg.signal = Signal{Answer: Other}
	}
	if taken := s.now + v.Service; !v.Refuse && taken < s.length {
		s.taken++
		s.takenIn[taken/bin]++
		e.bind.taken++
		if taken >= s.warm {
			e.from.taken++
		}
	}
	at := s.now + v.Service + s.network(e.bind.rtt, 0.6, jitter)
	if s.local {
		at = s.now + v.Service + e.bind.rtt/20
	} else if !s.unordered {
		at = max(at, e.bind.lastAnswer)
	}
	e.bind.lastAnswer = at
	if s.lost > 0 && s.rnd.Float64() < s.lost {
		at, e.msg.signal = e.msg.ticket.at.Sub(virtualStart())+timeout, Signal{Answer: Lost}
	}
	s.push(event{at: at, kind: answer, from: e.from, bind: e.bind, msg: e.msg})
}

func (s *simulation) answered(x *simSender, m *inFlight) {
	m.done = true
	d := x.c.OnResult(s.clock(), m.ticket, m.signal)
	if s.inspect != nil {
		s.inspect(s.clock(), x.c, m.signal, d)
	}
	if s.now > s.warm && m.signal.Answer != Lost {
		s.trips += s.clock().Sub(m.ticket.at)
		s.answers++
	}
	if m.signal.Answer == Accepted || m.signal.Answer == Other {
		s.finished++
	}
	if m.signal.Answer == Refused {
		s.refused++
		if s.now >= s.warm {
			s.warmRefused++
		}
	}
	if m.signal.Answer != Accepted && s.arrivals != nil { // always one waiting otherwise
		delay := 50*time.Millisecond + time.Duration(s.rnd.Float64()*float64(time.Second))
		s.push(event{at: s.now + delay, kind: requeue, from: x})
	}
}

// goodput is what was taken between two times as a share of what could have been.
func (s *simulation) goodput(from, to time.Duration) float64 {
	taken, could := 0.0, 0.0
	for i := from / bin; i < to/bin; i++ {
		taken += float64(s.takenIn[i])
		could += s.capacityIn[i] * bin.Seconds()
	}
	return taken / could
}

// reached is how long after from 90 % of the capacity were first taken over a second, or ten messages, with next to
// no refusals; a day if never.
func (s *simulation) reached(from time.Duration) time.Duration {
	n := int(max(1, 10/s.capacityIn[from/bin]) * float64(time.Second/bin))
	for i := int(from/bin) + n; i < int(s.length/bin); i++ {
		taken, refused := 0, 0
		for j := i - n; j < i; j++ {
			taken += s.takenIn[j]
			refused += s.refusedIn[j]
		}
		enough := 0.9 * s.capacityIn[i-1] * float64(n) * bin.Seconds()
		if float64(taken) >= enough && float64(refused) <= 0.05*float64(taken+refused) {
			return time.Duration(i-n)*bin - from
		}
	}
	return 24 * time.Hour
}

// burst is the most refusals within a second.
func (s *simulation) burst() (most int) {
	n := int(time.Second / bin)
	for i := 0; i+n < len(s.refusedIn); i++ {
		sum := 0
		for _, x := range s.refusedIn[i : i+n] {
			sum += x
		}
		most = max(most, sum)
	}
	return most
}

// stretch is the mean round trip as a multiple of the network's.
func (s *simulation) stretch() float64 {
	return s.trips.Seconds() / float64(max(1, s.answers)) / s.rtt[0].Seconds()
}

// jain is the fairness between binds of the first sender: 1 if all took the same.
func (s *simulation) jain() float64 {
	sum, squares := 0.0, 0.0
	binds := s.senders[0].binds
	for _, b := range binds {
		sum += float64(b.taken)
		squares += float64(b.taken) * float64(b.taken)
	}
	return sum * sum / squares / float64(len(binds))
}
