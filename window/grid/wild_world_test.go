package grid

import (
	"math"
	"math/rand/v2"
	"time"

	"sluice/testserver/limiter"
	"sluice/window"
)

const (
	answerTimeout = 30 * time.Second // the gateway's default response_timeout
	firstRebind   = time.Second      // from the end of a session to the first try; doubled for each one refused
	lastRebind    = 30 * time.Second
	mostWild      = 4_000_000 // submits of a run
)

// wildCase is one SMSC of the second set, the way to it, and what there is to send.
type wildCase struct {
	kind, name   string
	rtt          time.Duration
	binds        int
	length, warm float64 // seconds; what comes before warm is left out of the figures
	smsc         func(*rand.Rand) wildSMSC
	could        curve // messages per second that a perfect sender gets taken
	instant      curve // what the limits of a second or less take; nil: could
	arrivals     curve // messages per second that come in; nil: there is always one to send
	campaign     campaign
	queued       float64 // seconds: from then on there is always one to send, whatever comes in
	anyOrder     bool    // answers overtake each other
	lockout      time.Duration
	stops        stops
	drops        float64 // seconds from one loss of all connections to the next; 0: none
	dropsByPeer  bool    // the SMSC ends the sessions then
	places       bool    // limits are told when a submit is done
	lost         float64 // share of the answers that never come, whatever the pace
	best         []oracleWith
}

// campaign is many messages at once, again and again; n 0: none. Only what is taken within patience counts.
type campaign struct {
	n            int
	first, every time.Duration
	patience     time.Duration
}

// stops are the times in which our own process does not run.
type stops struct {
	length, every time.Duration // the mean length, and the mean time from one end to the next begin
	random        bool          // both are exponentially distributed
}

// wildSMSC is what an SMSC refuses, as limiters: of the account, and of each session anew.
type wildSMSC struct {
	account limiter.Limiter
	session func(bind int) limiter.Limiter
}

// wildSender decides what a world's messages do. Binds are counted from 0.
type wildSender interface {
	// due is the bind that the next message goes on now, or when to ask again; the zero time: not before something happens.
	due(now time.Time) (bind int, at time.Time, ok bool)
	// send notes the message that due has let go. It was there to be sent from since on; slot is what due said.
	send(now time.Time, bind int, slot, since time.Time) window.Ticket
	answer(now time.Time, bind int, t window.Ticket, a window.Answer)
	bound(now time.Time, bind int)
	// ended tells that a session is over, before the lost messages of it are answered. The peer ended it, or the network.
	ended(now time.Time, bind int, peer bool)
	// rebind is a session that the sender wants to end and begin anew.
	rebind(now time.Time) (bind int, ok bool)
	pace() float64
}

// wildOutcome is what a sender made of a case.
type wildOutcome struct {
	goodput    float64 // share of what a perfect sender gets taken
	refused    float64 // share of the submits
	unanswered float64 // the same
	closes     int     // sessions that the SMSC ended
	highest    float64 // pace over what the limits of a second take, at worst, from 30 s on
	locked     bool    // nothing was taken in the last quarter
}

// score is what the outcome is worth. A message without an answer costs as much as a refused one: nobody knows whether
// it was taken.
func (o wildOutcome) score() float64 {
	return min(1, o.goodput) * max(0, 1-10*(o.refused+o.unanswered))
}

type wildKind uint8

const (
	wildArrival  wildKind = iota // of a submit at the SMSC
	wildAnswer                   // of one at the sender
	wildWake                     // a message may go
	wildIncoming                 // a message for the queue
	wildCampaign                 // many
	wildRequeue                  // a refused one is due again
	wildServed                   // the SMSC is done with it
	wildEnded                    // the sender sees the end of a session
	wildBind                     // the sender tries to bind
	wildStop                     // our process stops
	wildDrop                     // all connections are lost
	wildSample
)

type wildEvent struct {
	at     time.Duration
	order  int64
	kind   wildKind
	bind   int8
	answer window.Answer
	peer   bool  // the SMSC ended the session
	own    bool  // we did
	life   int32 // of the session; an older one is gone
	flight int32 // index of the message in flight; of wildRequeue its tries
	born   time.Duration
}

func (e *wildEvent) before(f *wildEvent) bool {
	return e.at < f.at || e.at == f.at && e.order < f.order
}

// flight is a message between its submit and what became of it.
type flight struct {
	ticket window.Ticket
	number int64
	born   time.Duration // when it came
	bind   int8
	tries  int8
	used   bool
}

// session is one bind as the network has it.
type session struct {
	up          bool // for the sender
	open        bool // for the SMSC
	life        int32
	limits      limiter.Limiter
	lockedUntil time.Duration
	backoff     time.Duration
	lastArrival time.Duration
	lastAnswer  time.Duration
}

// world is a case under way.
type world struct {
	wildCase
	sender   wildSender
	rnd      *rand.Rand
	model    wildSMSC
	now      time.Duration
	queue    heap
	order    int64
	sessions []session
	flights  []flight
	free     []int32
	wakeAt   time.Duration
	stopped  time.Duration // until
	waiting  []waiting
	number   int64

	sent, refused, warmSent, warmRefused, warmLost, warmTaken, lastTaken, arrived int

	result wildOutcome
}

// waiting is a message in the queue.
type waiting struct {
	since, born time.Duration // when it came to be sent, and at all
	tries       int8
}

const never = time.Duration(math.MaxInt64)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// wildTime is a moment of a run, which begins at noon of 2026-01-01, UTC.
func wildTime(at time.Duration) time.Time { return time.Unix(1_767_268_800, int64(at)).UTC() }

// playWild runs a case to its end. The same seed gives the same course.
func playWild(c wildCase, sender wildSender, seed uint64) wildOutcome {
	w := &world{wildCase: c, sender: sender, rnd: rand.New(rand.NewPCG(seed, uint64(len(c.name)))), wakeAt: never}
	w.model = c.smsc(rand.New(rand.NewPCG(seed, 1)))
	w.sessions = make([]session, c.binds)
	for i := range w.sessions {
		w.sessions[i].backoff = firstRebind
		w.push(wildEvent{kind: wildBind, bind: int8(i)})
	}
	if c.arrivals != nil {
		w.push(wildEvent{kind: wildIncoming})
	}
	if c.campaign.n > 0 {
		w.push(wildEvent{at: c.campaign.first, kind: wildCampaign})
	}
	if c.queued > 0 {
		w.push(wildEvent{at: seconds(c.queued), kind: wildWake})
	}
	if c.stops.length > 0 {
		w.push(wildEvent{at: w.span(c.stops.every), kind: wildStop})
	}
	if c.drops > 0 {
		w.push(wildEvent{at: seconds(c.drops), kind: wildDrop})
	}
	w.push(wildEvent{at: 30 * time.Second, kind: wildSample})
	for len(w.queue) > 0 && w.sent < mostWild {
		e := w.queue.pop()
		if e.at > seconds(c.length) {
			w.now = seconds(c.length)
			break
		}
		w.now = e.at
		w.handle(e)
	}
	return w.outcome()
}

func (w *world) push(e wildEvent) {
	w.order++
	e.order = w.order
	w.queue.push(e)
}

// span is the length of a stop, or of the time between two.
func (w *world) span(mean time.Duration) time.Duration {
	if w.stops.random {
		return time.Duration(w.rnd.ExpFloat64() * float64(mean))
	}
	return mean
}

func (w *world) handle(e wildEvent) {
	switch e.kind { //nolint:exhaustive // the others wait until our process runs
	case wildArrival:
		w.arrive(e)
		return
	case wildServed:
		if s := &w.sessions[e.bind]; s.limits != nil {
			s.limits.Done(wildTime(w.now))
		}
		return
	case wildStop:
		w.stopped = w.now + w.span(w.stops.length)
		w.push(wildEvent{at: w.stopped + w.span(w.stops.every), kind: wildStop})
		return
	case wildDrop:
		for i := range w.sessions {
			if s := &w.sessions[i]; s.open {
				s.open = false
				w.push(wildEvent{at: w.now, kind: wildEnded, bind: int8(i), life: s.life, peer: w.dropsByPeer})
			}
		}
		w.push(wildEvent{at: w.now + seconds(w.drops), kind: wildDrop})
		return
	case wildSample:
		w.sample()
		return
	}
	if w.now < w.stopped { // all that follows is ours to do
		e.at = w.stopped
		w.push(e)
		return
	}
	switch e.kind { //nolint:exhaustive // these were handled
	case wildWake:
		if w.now >= w.wakeAt {
			w.wakeAt = never
		}
	case wildIncoming:
		w.incoming(e)
	case wildCampaign:
		for range w.campaign.n {
			w.waiting = append(w.waiting, waiting{since: w.now, born: w.now})
		}
		if w.now >= seconds(w.warm) {
			w.arrived += w.campaign.n
		}
		w.push(wildEvent{at: w.now + w.campaign.every, kind: wildCampaign})
	case wildRequeue:
		w.waiting = append(w.waiting, waiting{since: w.now, born: e.born, tries: int8(e.flight)})
	case wildAnswer:
		if !w.answered(e) {
			return
		}
	case wildEnded:
		w.ended(e)
	case wildBind:
		w.bind(e)
	}
	w.pump()
}

func (w *world) incoming(e wildEvent) {
	if rate := w.arrivals(w.now.Seconds()); rate > 0 {
		if w.now >= seconds(w.warm) {
			w.arrived++
		}
		w.waiting = append(w.waiting, waiting{since: w.now, born: w.now})
		e.at += seconds(w.rnd.ExpFloat64() / rate)
	} else {
		e.at += 50 * time.Millisecond
	}
	w.push(e)
}

// endless says that there is always a message to send.
func (w *world) endless() bool {
	return w.arrivals == nil && w.campaign.n == 0 || w.queued > 0 && w.now >= seconds(w.queued)
}

// pump lets go what may go.
func (w *world) pump() {
	for i, ok := w.sender.rebind(wildTime(w.now)); ok; i, ok = w.sender.rebind(wildTime(w.now)) {
		s := &w.sessions[i]
		if !s.up {
			break
		}
		s.open = false
		w.ended(wildEvent{bind: int8(i), life: s.life, own: true})
	}
	for w.sent < mostWild && (len(w.waiting) > 0 || w.endless()) {
		bind, at, ok := w.sender.due(wildTime(w.now))
		if !ok {
			if due := at.Sub(wildTime(0)); !at.IsZero() && due < w.wakeAt {
				w.wakeAt = due
				w.push(wildEvent{at: max(due, w.now), kind: wildWake})
			}
			return
		}
		w.submit(bind, at)
	}
}

func (w *world) submit(bind int, slot time.Time) {
	next := waiting{}
	if len(w.waiting) > 0 {
		next, w.waiting = w.waiting[0], w.waiting[1:]
	}
	i := w.room()
	w.number++
	w.flights[i] = flight{
		ticket: w.sender.send(wildTime(w.now), bind, slot, wildTime(next.since)), number: w.number,
		born: next.born, bind: int8(bind), tries: next.tries, used: true,
	}
	w.sent++
	if w.now >= seconds(w.warm) {
		w.warmSent++
	}
	s := &w.sessions[bind]
	s.lastArrival = max(s.lastArrival, w.now+w.trip(0.4, 0.025))
	w.push(wildEvent{at: s.lastArrival, kind: wildArrival, bind: int8(bind), life: s.life, flight: i})
}

// room finds a place for a flight.
func (w *world) room() int32 {
	if n := len(w.free); n > 0 {
		i := w.free[n-1]
		w.free = w.free[:n-1]
		return i
	}
	w.flights = append(w.flights, flight{})
	return int32(len(w.flights) - 1)
}

// trip is a share of the round trip and some jitter, another share at most.
func (w *world) trip(share, jitter float64) time.Duration {
	return time.Duration(float64(w.rtt) * (share + jitter*w.rnd.Float64()))
}

// arrive is at the SMSC.
func (w *world) arrive(e wildEvent) {
	s := &w.sessions[e.bind]
	if !s.open || e.life != s.life {
		return
	}
	var v limiter.Verdict
	if s.limits != nil {
		v = s.limits.Arrive(wildTime(w.now))
	}
	e.kind, e.answer = wildAnswer, window.Accepted
	switch {
	case v.Close:
		s.open, s.lockedUntil = false, w.now+w.lockout
		w.push(wildEvent{at: max(w.now+w.trip(0.6, 0.025), s.lastAnswer), kind: wildEnded, bind: e.bind, life: s.life, peer: true})
		w.result.closes++
		return
	case v.Silent:
		e.at, e.answer = w.now+answerTimeout, window.Lost
		w.push(e)
		return
	case v.Refuse:
		e.answer = window.Refused
	default:
		if w.places {
			w.push(wildEvent{at: w.now + v.Service, kind: wildServed, bind: e.bind})
		}
		inTime := w.campaign.n == 0 || w.now-w.flights[e.flight].born <= w.campaign.patience
		if w.now >= seconds(w.warm) && inTime {
			w.warmTaken++
		}
		if w.now.Seconds() >= w.warm+(w.length-w.warm)*2/3 {
			w.lastTaken++
		}
		if w.lost > 0 && w.rnd.Float64() < w.lost {
			e.at, e.answer = w.now+answerTimeout, window.Lost
			w.push(e)
			return
		}
	}
	e.at = w.now + v.Service + w.trip(0.6, 0.025)
	if !w.anyOrder {
		e.at = max(e.at, s.lastAnswer)
		s.lastAnswer = e.at
	}
	w.push(e)
}

// answered is false for a message that was lost with its session.
func (w *world) answered(e wildEvent) bool {
	f := &w.flights[e.flight]
	if e.life != w.sessions[e.bind].life || !f.used {
		return false
	}
	f.used = false
	w.free = append(w.free, e.flight)
	w.sender.answer(wildTime(w.now), int(e.bind), f.ticket, e.answer)
	w.count(e.answer)
	if e.answer == window.Refused && !w.endless() {
		after := 0.05 + w.rnd.Float64()*min(30, math.Pow(2, float64(f.tries)))
		w.push(wildEvent{at: w.now + seconds(after), kind: wildRequeue, flight: int32(min(f.tries+1, 10)), born: f.born})
	}
	return true
}

func (w *world) count(a window.Answer) {
	if a == window.Refused {
		w.refused++
	}
	if w.now < seconds(w.warm) {
		return
	}
	switch a {
	case window.Refused:
		w.warmRefused++
	case window.Lost:
		w.warmLost++
	case window.Accepted, window.Other:
	}
}

// ended is the end of a session at the sender.
func (w *world) ended(e wildEvent) {
	s := &w.sessions[e.bind]
	if !s.up || e.life != s.life {
		return
	}
	s.up = false
	s.life++
	w.sender.ended(wildTime(w.now), int(e.bind), e.peer)
	var lost []int32
	for i := range w.flights {
		if f := &w.flights[i]; f.used && f.bind == e.bind {
			lost = append(lost, int32(i))
		}
	}
	w.inOrder(lost)
	for _, i := range lost {
		w.flights[i].used = false
		w.free = append(w.free, i)
		w.sender.answer(wildTime(w.now), int(e.bind), w.flights[i].ticket, window.Lost)
		w.count(window.Lost)
	}
	after := s.backoff
	if e.own { // nothing is in the way of a new session: the end of the old one, a connection and the bind
		after = 50*time.Millisecond + 4*w.rtt
	}
	w.push(wildEvent{at: w.now + after, kind: wildBind, bind: e.bind})
}

func (w *world) inOrder(flights []int32) {
	for i := 1; i < len(flights); i++ {
		for j := i; j > 0 && w.flights[flights[j]].number < w.flights[flights[j-1]].number; j-- {
			flights[j], flights[j-1] = flights[j-1], flights[j]
		}
	}
}

// bind tries to bind. A round trip is not modelled: it would only be added to each.
func (w *world) bind(e wildEvent) {
	s := &w.sessions[e.bind]
	if w.now < s.lockedUntil {
		s.backoff = min(2*s.backoff, lastRebind)
		w.push(wildEvent{at: w.now + s.backoff, kind: wildBind, bind: e.bind})
		return
	}
	s.up, s.open, s.backoff, s.lastArrival, s.lastAnswer = true, true, firstRebind, 0, 0
	s.limits = w.model.account
	if w.model.session != nil {
		if s.limits = w.model.session(int(e.bind)); w.model.account != nil {
			s.limits = limiter.All(w.model.account, s.limits)
		}
	}
	w.sender.bound(wildTime(w.now), int(e.bind))
}

// sample looks at the pace, some thousand times a run and at most once a second.
func (w *world) sample() {
	limit := w.could
	if w.instant != nil {
		limit = w.instant
	}
	most := 2.5 // 5/s are no runaway
	for back := range 11 {
		most = max(most, limit(w.now.Seconds()-float64(back)))
	}
	w.result.highest = max(w.result.highest, w.sender.pace()/most)
	w.push(wildEvent{at: w.now + seconds(max(1, w.length/3000)), kind: wildSample})
}

func (w *world) outcome() wildOutcome {
	o := w.result
	if w.warmSent > 0 {
		o.refused = float64(w.warmRefused) / float64(w.warmSent)
		o.unanswered = float64(w.warmLost) / float64(w.warmSent)
	}
	could := 0.0
	for at := w.warm; at < w.length; at += 0.1 {
		could += 0.1 * w.could(at)
	}
	if (w.arrivals != nil || w.campaign.n > 0) && w.queued == 0 {
		could = min(could, float64(w.arrived))
	}
	switch {
	case w.sent < mostWild:
		o.locked = w.lastTaken == 0
	case w.now.Seconds() > w.warm: // stopped early
		could *= (w.now.Seconds() - w.warm) / (w.length - w.warm)
	default: // it ran away at once
		o.refused = float64(w.refused) / float64(w.sent)
		o.highest = math.Inf(1)
	}
	o.goodput = float64(w.warmTaken) / could
	return o
}

// heap is the events, soonest first.
type heap []wildEvent

func (h *heap) push(e wildEvent) {
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

func (h *heap) pop() wildEvent {
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
