package gateway

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"sluice/classify"
	"sluice/gateway/config"
	"sluice/queue"
	"sluice/queue/crashpoint"
	"sluice/queue/turn"
	"sluice/smpp"
	"sluice/smpp/pdu"
	"sluice/window"
)

// delivery is one message between its permit and its settlement.
type delivery struct {
	account *account
	bind    *bind
	job     queue.Job
	msg     *queue.Message
	rules   rules
	letter  letter
	parts   []*segment // still to be submitted
	results []result   // of those that were
	unclear bool       // a PDU may have reached the SMSC, and nothing was heard of it
	probe   bool       // it tests an account that is failing or silent
	slotted bool       // its next part has its slot in the account's climb

	atWork turn.Turn // taken until the queue has the outcome, or will not get one from here; and for a late response

	// Room for what nearly every message has one of.
	onePart    [1]*segment
	oneSegment segment
	oneResult  [1]result
	ends       lasting
}

// segment is one submit_sm of a message.
type segment struct {
	delivery *delivery
	number   int // from 1
	sm       *pdu.SubmitSM
}

// deliver follows one message from the queue to its outcome; read it from top to bottom. The permit is released the
// moment the SMSC has spoken, before anything touches NATS; then the journal gets the event, and last the queue its
// acknowledgement. The parts of a long message go one after the other under the same permit.
func (a *account) deliver(permit window.Permit, b *bind, job queue.Job) {
	a.deliverAs(permit, b, job, false, false)
}

func (a *account) deliverAs(permit window.Permit, b *bind, job queue.Job, probe, slotted bool) {
	a.counts.inFlight.Inc()
	defer a.counts.inFlight.Dec()
	d := &delivery{account: a, bind: b, job: job, probe: probe, slotted: slotted}
	_ = d.atWork.Take(context.Background()) // nobody else knows of it yet
	defer d.atWork.Give()
	d.parts, d.results = d.onePart[:0], d.oneResult[:0]
	defer d.recovered(permit)

	if end := d.prepare(time.Now()); end != nil {
		permit.Release(window.Signal{})
		end()
		return
	}
	permit = d.follow(permit)
	leave, err := d.enter()
	if err == nil {
		defer leave(a)
	}

	for n := 0; n < len(d.parts); {
		if err != nil || d.start(permit) != nil {
			break // the bind ended, or the deadline came
		}
		if n == 0 && d.job.Cancelled() {
			permit.Release(window.Signal{Answer: window.Lost})
			break
		}
		p := d.parts[n]
		resp, err := d.submit(p)
		if errors.Is(err, smpp.ErrNotSent) {
			permit.Release(window.Signal{Answer: window.Lost})
			d.bind.end(err) // the session takes no more: nothing else is to be pulled for it
			break
		}
		crashpoint.At(crashpoint.AfterResponse)
		now := time.Now()
		res, signal := d.judge(now, p, resp, err)
		a.heard(now, d, &res, &resp) // before the next may start: what stops the account stops that one too
		if res.ours != 0 {
			permit.Answered(signal) // the same part goes again, without what was refused
			continue
		}
		n++
		if d.results = append(d.results, res); res.stops() || n == len(d.parts) {
			permit.Release(signal)
		} else {
			permit.Answered(signal)
		}
		if res.stops() {
			break
		}
	}
	permit.Release(window.Signal{})

	switch now := time.Now(); {
	case len(d.results) > 0:
		d.settle(d.completed().decided(now, d.letter, d.results))
	case d.job.Cancelled():
		d.settle(d.rules.cancelled(d.letter))
	case d.late(now):
		d.settle(d.rules.expired(now, d.letter))
	default:
		a.giveBack(job, time.Time{})
	}
}

// prepare decodes and encodes the message. When it is not to be submitted now, prepare returns what ends its delivery.
func (d *delivery) prepare(now time.Time) (end func()) {
	a := d.account
	d.letter = letter{state: a.faults.taken(d.job.State()), bind: d.bind.name}
	d.letter.parts = d.letter.state.Segments
	if d.letter.state.Unexplained { // whatever becomes of it now, it may have been accepted
		d.letter.state.PossibleDuplicate = true
	}
	d.rules = rules{
		account: a.name, route: a.routes[d.job.Route()], unknown: a.unknown, slots: &a.slots, random: a.random,
		class: d.job.Class(), weight: a.weights[d.job.Route()+"."+d.job.Class()],
	}
	settle := func(o queue.Outcome) func() { return func() { d.settle(o) } }
	if d.job.Cancelled() {
		return settle(d.rules.cancelled(d.letter))
	}
	if err := d.decode(); err != nil {
		return settle(d.unreadable(err))
	}
	st := &d.letter.state
	switch {
	case d.late(now):
		return settle(d.rules.expired(now, d.letter))
	case st.Unexplained:
		return settle(d.completed().unanswered(now, d.letter, reasonUnexplained))
	case st.Unknowns > 0 && d.rules.unknown.hold:
		return settle(d.rules.deferred(&d.letter, reasonOutcomeUnknown))
	case st.Unknowns > 0:
		if ok, again := a.silence.mayResend(now); !ok {
			return func() { a.giveBack(d.job, earlier(again, now.Add(silencePark))) }
		}
	}
	if d.passOver() {
		return func() { a.giveBack(d.job, now.Add(passedOverFor)) }
	}
	e, refused := a.encode(d.job, d.msg, d.left(now))
	switch {
	case refused != nil:
		return settle(d.rules.unsendable(d.letter, refused.reason, refused.detail))
	case len(st.Accepted) > 0 && st.Segments != len(e.parts):
		return settle(d.rules.resplit(d.letter, len(e.parts)))
	}
	d.divide(&e)
	return nil
}

// decode reads the message and what it says about its own handling.
func (d *delivery) decode() error {
	msg, err := d.job.Message()
	if err != nil {
		return err
	}
	d.msg = msg
	d.letter.deadline = msg.Deadline(d.job.Published(), d.rules.route.expiresIn)
	switch msg.IfUnknown {
	case queue.UnknownHold:
		d.rules.unknown.hold = true
	case queue.UnknownRetry:
		d.rules.unknown.hold = false
	}
	return nil
}

// unreadable is what becomes of a message that decode has found a fault in.
func (d *delivery) unreadable(err error) queue.Outcome {
	var unknownField *queue.UnknownFieldError
	var malformed *queue.MalformedError
	switch {
	case errors.As(err, &unknownField):
		o := d.rules.deferred(&d.letter, reasonUnknownField)
		o.Event.Detail = err.Error()
		return o
	case errors.As(err, &malformed) && malformed.Field != "":
		return d.rules.unsendable(d.letter, reasonMalformed, malformed.Field+": "+malformed.Fault)
	case errors.As(err, &malformed):
		return d.rules.unsendable(d.letter, reasonMalformed, malformed.Fault)
	}
	return d.rules.unsendable(d.letter, reasonMalformed, err.Error())
}

// divide makes the parts that the SMSC has not taken yet.
func (d *delivery) divide(e *encoded) {
	st := &d.letter.state
	d.letter.parts, d.letter.onAir = len(e.parts), e.onAir
	if len(e.parts) > 1 {
		st.Segments = len(e.parts)
	}
	for i, sm := range e.parts {
		taken := func(s queue.Segment) bool { return s.Part == i+1 }
		if !slices.ContainsFunc(st.Accepted, taken) {
			p := &d.oneSegment
			if len(d.parts) > 0 {
				p = new(segment)
			}
			*p = segment{delivery: d, number: i + 1, sm: sm}
			d.parts = append(d.parts, p)
		}
	}
}

// follow moves a message of which parts were taken to the bind that they went over, while that lives: some SMSCs join
// only what comes over one.
func (d *delivery) follow(permit window.Permit) window.Permit {
	st := &d.letter.state
	if len(st.Accepted) == 0 || st.Bind == d.bind.name {
		return permit
	}
	if b := d.account.liveNamed(st.Bind); b != nil {
		if moved, ok := permit.MoveTo(b.id); ok {
			d.bind, d.letter.bind = b, b.name
			return moved
		}
	}
	return permit
}

// enter waits for the turn of the message: until the journal keeps up, and for a message that was in flight when
// things broke until it can do so without harm to others. leave ends the turn.
func (d *delivery) enter() (leave func(*account), err error) {
	a := d.account
	ctx := d.lasting()
	defer ctx.end()
	st := &d.letter.state
	if st.Ends+st.Resets >= endsForAlone {
		return (*account).leaveAlone, a.settling.enterAlone(ctx)
	}
	if st.Resets == 0 {
		return (*account).leaveSettling, a.settling.enter(ctx, a.mostUnsettled())
	}
	if err := a.suspects.enter(ctx); err != nil {
		return nil, err
	}
	if err := a.settling.enter(ctx, a.mostUnsettled()); err != nil {
		a.suspects.leave()
		return nil, err
	}
	return func(a *account) { a.settling.leave(); a.suspects.leave() }, nil
}

func (a *account) leaveAlone()    { a.settling.leaveAlone() }
func (a *account) leaveSettling() { a.settling.leave() }

// lasting ends when nothing more may be submitted on the bind, and when the message may wait no longer.
func (d *delivery) lasting() *lasting {
	ctx := d.account.pulling(d.bind)
	if d.probe {
		ctx = *d.bind.probe.Load()
	}
	d.ends = lasting{Context: ctx, deadline: d.letter.deadline}
	return &d.ends
}

// mostUnsettled is how many messages may be between the decision to submit them and their settlement.
func (a *account) mostUnsettled() int {
	_, pace, window := a.gate.Size()
	return mostUnsettled(pace, window)
}

// start waits for the pace and the window, and no longer than the message may wait or the bind lives.
func (d *delivery) start(permit window.Permit) error {
	ctx := d.lasting()
	defer ctx.end()
	a := d.account
	if !d.probe && !d.slotted {
		if err := a.awaitClimb(ctx); err != nil {
			return err
		}
	}
	d.slotted = false
	if err := d.begin(ctx, permit); err != nil {
		return err
	}
	now := time.Now()
	closed := a.flow.isClosed(now)
	if d.probe {
		closed = !a.flow.mayProbe(now)
	}
	if closed || ctx.Err() != nil { // it was closed, or the bind ended, while the permit waited
		permit.Release(window.Signal{Answer: window.Lost})
		return errHeldBack
	}
	a.faults.offered(now)
	return nil
}

// errHeldBack says that the account was stopped just before a submit.
var errHeldBack = errors.New("nothing may be submitted now")

// submit writes the PDU of one part, without what the account withholds, and waits for its answer, the response timeout
// or the end of the session.
func (d *delivery) submit(p *segment) (smpp.Response, error) {
	a := d.account
	d.unclear = true
	if d.letter.state.PossibleDuplicate {
		a.metrics.duplicates.WithLabelValues(a.name).Inc()
	}
	resp, err := d.bind.session.Submit(context.Background(), d.stripped(p.sm), p) // bounded by ResponseTimeout
	if err == nil || errors.Is(err, smpp.ErrNotSent) {
		d.unclear = false
	}
	return resp, err
}

// judge looks up what an answer means, for the message and for the window.
func (d *delivery) judge(now time.Time, p *segment, resp smpp.Response, err error) (result, window.Signal) {
	a := d.account
	if err != nil {
		a.counts.unanswered.Inc()
		return result{part: p.number, unanswered: true, reset: !errors.Is(err, smpp.ErrTimeout)}, window.Signal{Answer: window.Lost}
	}
	v := a.classify(resp)
	res := result{part: p.number, answer: answer{v, resp.Status, cleanMessageID(resp.MessageID)}}
	res.ours = d.refusedAddition(p, v, resp.Status)
	return res, d.signal(now, v, resp)
}

// classify looks the answer up in the account's table.
func (a *account) classify(resp smpp.Response) classify.Verdict {
	phase := classify.Submit
	if resp.Nack {
		phase = classify.Nack
	}
	v := a.table.Of(phase, resp.Status)
	if v.Class == classify.Config && resp.Status == pdu.StatusInvCmdID && a.lastAccepted.get().After(a.blamed.get()) {
		v.Class = classify.Retry // submits were accepted: one is no news of the account, see notAllowed
	}
	return v
}

// notAllowed takes a 0x03 (operation not known or not allowed) after submits that were accepted. One is its message's:
// something in it that the SMSC cannot read. A run of them, over several recipients and with nothing accepted between, is
// the account's, whose rights have changed.
func (a *account) notAllowed(now time.Time, v classify.Verdict, d *delivery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	shaped := v
	shaped.Class, shaped.Shape = classify.Terminal, v.Class != classify.OK
	if v.Class == classify.OK {
		shaped.Class = classify.OK
	}
	var escalate bool
	if a.refusedCommands, escalate = a.refusedCommands.Observe(shaped, d.msg.From, d.msg.To, ""); escalate {
		a.blamed.set(now)
		v.Class = classify.Config
		for _, b := range a.binds {
			b.end(&configError{verdict: v})
		}
	}
}

// signal is all that the window learns of an answer. A refusal that is one recipient's affair is no evidence of load.
func (d *delivery) signal(now time.Time, v classify.Verdict, resp smpp.Response) window.Signal {
	a := d.account
	s := window.Signal{Answer: window.Other, Congestion: uint8(min(max(resp.Congestion, 0), 99)), Again: d.letter.state.Throttles > 0}
	switch v.Class {
	case classify.OK:
		s.Answer = window.Accepted
		a.destinations.accepted(d.msg.Dest().Digits)
	case classify.Throttle:
		perDestination := resp.Status == pdu.StatusMsgQFull && a.cfg.QueueFull == config.QueueFullDestination
		if !a.destinations.ownAffair(now, d.msg.Dest().Digits, a.lastAccepted.get()) && !perDestination {
			s.Answer = window.Refused
			a.heldBack(now, v)
		}
	case classify.Retry, classify.Unknown: // nothing was taken: the pace must not rise by it
		s.Answer = window.Lost
	case classify.Terminal, classify.Config:
	}
	return s
}

// heard lets an answer have its effect on the account: a config status stops it, and so does a run of refusals of the
// shape of messages; a bind-wide status renews the bind.
func (a *account) heard(now time.Time, d *delivery, res *result, resp *smpp.Response) {
	a.silence.heard(!res.unanswered, d.letter.state.Unknowns > 0)
	d.rules.othersPass = a.faults.ownFault(now)
	a.temporary(now, d, res)
	d.rules.provisional = a.faults.inRun(now)
	if res.unanswered {
		a.faults.unanswered(now)
		if !res.reset {
			d.bind.deaf(now, a.log, a.smpp.ResponseTimeout+a.unknown.after)
		}
		return
	}
	v := res.verdict
	a.spoke(now, v.Class, resp.RTT)
	a.counts.submits[v.Class].Inc()
	a.shares.add(now, v.Class == classify.Throttle)
	a.counts.latency.Observe(resp.RTT.Seconds())
	if res.ours != 0 {
		a.withhold(res.ours, res.answer)
		return // it speaks neither against the message nor against the account
	}
	switch {
	case v.Class == classify.OK:
		a.lastAccepted.set(now)
	case v.Class == classify.Config:
		a.blamed.set(now)
		a.misconfigured(v)
	case v.Scope == classify.ScopeBind:
		d.bind.end(&recycleError{verdict: v})
	}
	if v.Class == classify.OK || v.Class == classify.Retry && res.status == pdu.StatusInvCmdID {
		a.notAllowed(now, v, d)
	}
	if a.escalates(v, d.msg) {
		a.misconfigured(v)
	}
	if v.Class == classify.Unknown {
		a.strange.warn(now, a.log, resp.Status)
	}
}

// spoke takes the news that the SMSC answers.
func (a *account) spoke(now time.Time, class classify.Class, rtt time.Duration) {
	_, pace, _ := a.gate.Size()
	if a.faults.answered(now, class, rtt, pace, a.relieved) {
		a.flow.probeOnly(now, forSilence, false, "")
		a.log.Info("the SMSC answers again", "class", class.String())
	}
}

// escalates says that a run of refusals of the shape of messages now speaks against the route.
func (a *account) escalates(v classify.Verdict, msg *queue.Message) (escalate bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.escalation, escalate = a.escalation.Observe(v, msg.From, msg.To, msg.Tenant)
	return escalate
}

// completed is the rules with what changes while a message is under way.
func (d *delivery) completed() *rules {
	a := d.account
	_, d.rules.pace, _ = a.gate.Size()
	d.rules.accepted = a.lastAccepted.get()
	return &d.rules
}

func (d *delivery) late(now time.Time) bool {
	return !d.letter.deadline.IsZero() && !now.Before(d.letter.deadline)
}

// left is the time to the deadline; 0 when there is none.
func (d *delivery) left(now time.Time) time.Duration {
	if d.letter.deadline.IsZero() {
		return 0
	}
	return d.letter.deadline.Sub(now)
}

// settle hands the outcome to the queue: journal, then record, then acknowledgement. What cannot be stored is not
// settled; the queue keeps the message.
func (d *delivery) settle(o queue.Outcome) {
	a := d.account
	o = d.unlessCancelled(o)
	d.index(&o)
	d.indexEchoes(&o)
	d.letter.state = o.State
	if err := d.job.Settle(a.work, o); err != nil {
		a.log.Error("message not settled, the queue keeps it", "seq", d.job.Seq(), "delivery_id", d.job.ID(),
			"outcome", string(o.Event.Type), "error", err)
		return
	}
	a.settledAs(d.job, o)
}

// index asks for the receipt index entries of the parts that the SMSC took this time.
func (d *delivery) index(o *queue.Outcome) {
	if d.msg == nil || !d.msg.Receipt {
		return
	}
	for _, res := range d.results {
		if res.unanswered || res.verdict.Class != classify.OK || res.messageID == "" {
			continue
		}
		o.Receipts = append(o.Receipts, queue.ReceiptKey{
			Account: d.account.name, MessageID: res.messageID, Segment: res.part, Segments: d.letter.parts,
			Dest: queue.HashAddress(d.msg.Dest().Digits), TTL: max(d.left(time.Now()), 0) + 24*time.Hour,
		})
	}
}

// settledAs counts and logs an outcome that the queue has.
func (a *account) settledAs(job queue.Job, o queue.Outcome) {
	if e := &o.Event; e.Type == queue.EventSubmitted && e.CommandStatus != nil && *e.CommandStatus == 0 {
		a.counts.submitted.Inc()
	} else {
		a.metrics.answers.WithLabelValues(a.name, codeOf(e), string(e.Type)).Inc()
	}
	if !a.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	a.log.Debug("message settled", "seq", job.Seq(), "delivery_id", job.ID(), "route", job.Route(), "outcome",
		string(o.Event.Type), "reason", o.Event.Reason, "attempt", o.Event.Attempt, "code", codeOf(&o.Event), "delay_ms", o.Event.DelayMillis)
}

// codeOf is the answer that an event tells of, as a metric label.
func codeOf(e *queue.Event) string {
	if e.CommandStatus == nil {
		return "none"
	}
	return codeLabel(e.StatusName, *e.CommandStatus)
}

// giveBack returns a message that was not written, at no cost to it: at once, or not before a given time.
func (a *account) giveBack(job queue.Job, until time.Time) {
	if err := job.Release(a.work, until); err != nil {
		a.log.Warn("message not given back, it returns after the acknowledgement wait", "seq", job.Seq(), "error", err)
	}
}

// recovered ends a panic while one message was handled: it is counted, recorded with the message, and takes no other
// message with it.
func (d *delivery) recovered(permit window.Permit) {
	r := recover()
	if r == nil {
		return
	}
	a := d.account
	permit.Release(window.Signal{Answer: window.Lost})
	a.metrics.panics.WithLabelValues(a.name).Inc()
	// The value of a panic may hold a text or a number: only its place is logged.
	a.log.Error("panic while handling a message", "seq", d.job.Seq(), "delivery_id", d.job.ID(), "stack", string(debug.Stack()))
	now := time.Now()
	d.settle(d.completed().panicked(now, d.letter.taking(d.results), d.unclear))
}
