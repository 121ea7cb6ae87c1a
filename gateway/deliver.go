package gateway

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"sluice/classify"
	"sluice/gateway/config"
	"sluice/queue"
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
	sent    bool          // the PDU may have reached the SMSC
	settled chan struct{} // closed when the queue has the outcome, or will not get one from here
}

// deliver follows one message from the queue to its outcome; read it from top to bottom. The permit is released the
// moment the SMSC has spoken, before anything touches NATS; then the journal gets the event, and last the queue its
// acknowledgement.
func (a *account) deliver(permit window.Permit, b *bind, job queue.Job) {
	a.metrics.inFlight.WithLabelValues(a.name).Inc()
	defer a.metrics.inFlight.WithLabelValues(a.name).Dec()
	d := &delivery{account: a, bind: b, job: job, settled: make(chan struct{})}
	defer close(d.settled)
	defer d.recovered(permit)

	sm, outcome := d.prepare(time.Now())
	if sm == nil {
		permit.Release(window.Signal{})
		d.settle(outcome)
		return
	}

	if err := d.start(permit); err != nil {
		permit.Release(window.Signal{})
		if now := time.Now(); d.late(now) {
			d.settle(d.rules.expired(now, d.letter))
			return
		}
		d.giveBack()
		return
	}

	a.settling.add()
	defer a.settling.done()
	resp, err := d.submit(sm)

	switch {
	case errors.Is(err, smpp.ErrNotSent):
		permit.Release(window.Signal{Answer: window.Lost})
		b.end(err) // the session takes no more: nothing else is to be pulled for it
		d.giveBack()
		return
	case err != nil:
		permit.Release(window.Signal{Answer: window.Lost})
		a.metrics.submits.WithLabelValues(a.name, "none").Inc()
		d.settle(d.judge(time.Now()).unanswered(time.Now(), d.letter, reasonNoResponse))
		return
	}

	verdict := a.classify(resp)
	permit.Release(d.signal(time.Now(), verdict, resp))
	a.heard(d, verdict, resp)

	d.settle(d.judge(time.Now()).answered(time.Now(), d.letter, answer{verdict, resp.Status, cleanMessageID(resp.MessageID)}))
}

// prepare decodes and encodes the message. Without a submit_sm the message ends or waits with the outcome.
func (d *delivery) prepare(now time.Time) (*pdu.SubmitSM, queue.Outcome) {
	a := d.account
	d.letter = letter{state: d.job.State(), bind: d.bind.name}
	if d.letter.state.Unexplained { // whatever becomes of it now, it may have been accepted
		d.letter.state.PossibleDuplicate = true
	}
	d.rules = rules{
		account: a.name, route: a.routes[d.job.Route()], unknown: a.unknown, slots: &a.slots, random: a.random,
	}
	msg, err := d.job.Message()
	var unknownField *queue.UnknownFieldError
	var malformed *queue.MalformedError
	switch {
	case errors.As(err, &unknownField):
		o := d.rules.deferred(d.letter, reasonUnknownField)
		o.Event.Detail = err.Error()
		return nil, o
	case errors.As(err, &malformed) && malformed.Field != "":
		return nil, d.rules.unsendable(d.letter, reasonMalformed, malformed.Field+": "+malformed.Fault)
	case errors.As(err, &malformed):
		return nil, d.rules.unsendable(d.letter, reasonMalformed, malformed.Fault)
	case err != nil:
		return nil, d.rules.unsendable(d.letter, reasonMalformed, err.Error())
	}
	d.msg = msg
	d.letter.deadline = msg.Deadline(d.job.Published(), d.rules.route.expiresIn)
	switch msg.IfUnknown {
	case queue.UnknownHold:
		d.rules.unknown.hold = true
	case queue.UnknownRetry:
		d.rules.unknown.hold = false
	}
	switch st := d.letter.state; {
	case d.late(now):
		return nil, d.rules.expired(now, d.letter)
	case st.Unexplained:
		return nil, d.judge(now).unanswered(now, d.letter, reasonUnexplained)
	case st.Unknowns > 0 && d.rules.unknown.hold:
		return nil, d.rules.deferred(d.letter, reasonOutcomeUnknown)
	}
	sm, refused := a.encode(d.job, msg, d.left(now))
	if refused != nil {
		return nil, d.rules.unsendable(d.letter, refused.reason, refused.detail)
	}
	return sm, queue.Outcome{}
}

// start waits for the journal, the pace and the window, and no longer than the message may wait or the bind lives.
func (d *delivery) start(permit window.Permit) error {
	ctx := d.bind.ctx
	if !d.letter.deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, d.letter.deadline)
		defer cancel()
	}
	if err := d.account.roomToSettle(ctx); err != nil {
		return err
	}
	return permit.Start(ctx)
}

// roomToSettle waits until few enough messages wait for their outcome to be stored.
func (a *account) roomToSettle(ctx context.Context) error {
	w := a.gate.Snapshot()
	size := 0
	for i := range w.Binds {
		size += w.Binds[i].Window
	}
	return a.settling.await(ctx, mostUnsettled(w.Pace, size))
}

// submit writes the PDU and waits for its answer, the response timeout or the end of the session.
func (d *delivery) submit(sm *pdu.SubmitSM) (smpp.Response, error) {
	a := d.account
	d.sent = true
	if d.letter.state.PossibleDuplicate {
		a.metrics.duplicates.WithLabelValues(a.name).Inc()
	}
	resp, err := d.bind.session.Submit(context.Background(), sm, d) // bounded by ResponseTimeout
	if errors.Is(err, smpp.ErrNotSent) {
		d.sent = false
	}
	return resp, err
}

// classify looks the answer up in the account's table.
func (a *account) classify(resp smpp.Response) classify.Verdict {
	if resp.Nack {
		return a.table.Of(classify.Nack, resp.Status)
	}
	return a.table.Of(classify.Submit, resp.Status)
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
		if !a.destinations.ownAffair(now, d.msg.Dest().Digits, time.Unix(0, a.lastAccepted.Load())) && !perDestination {
			s.Answer = window.Refused
		}
	case classify.Retry, classify.Terminal, classify.Config, classify.Unknown:
	}
	return s
}

// heard lets an answer have its effect on the account: a config status stops it, and so does a run of refusals of the
// shape of messages; a bind-wide status renews the bind.
func (a *account) heard(d *delivery, v classify.Verdict, resp smpp.Response) {
	a.metrics.submits.WithLabelValues(a.name, v.Class.String()).Inc()
	a.shares.add(time.Now(), v.Class == classify.Throttle)
	a.metrics.latency.WithLabelValues(a.name).Observe(resp.RTT.Seconds())
	switch {
	case v.Class == classify.OK:
		a.lastAccepted.Store(time.Now().UnixNano())
	case v.Class == classify.Config:
		a.misconfigured(v)
	case v.Scope == classify.ScopeBind:
		d.bind.end(&recycleError{verdict: v})
	}
	if a.escalates(v, d.msg) {
		a.misconfigured(v)
	}
	if v.Class == classify.Unknown {
		a.strange.warn(time.Now(), a.log, resp.Status)
	}
}

// escalates says that a run of refusals of the shape of messages now speaks against the route.
func (a *account) escalates(v classify.Verdict, msg *queue.Message) (escalate bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.escalation, escalate = a.escalation.Observe(v, msg.From, msg.To, msg.Tenant)
	return escalate
}

// judge completes the rules with what changes while a message is under way.
func (d *delivery) judge(now time.Time) *rules {
	a := d.account
	d.rules.pace = a.gate.Snapshot().Pace
	d.rules.othersPass = now.UnixNano()-a.lastAccepted.Load() < int64(time.Minute)
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
	d.index(&o)
	if err := d.job.Settle(a.work, o); err != nil {
		a.log.Error("message not settled, the queue keeps it", "seq", d.job.Seq(), "delivery_id", d.job.ID(),
			"outcome", string(o.Event.Type), "error", err)
		return
	}
	a.settledAs(d.job, o)
}

// index asks for the receipt index entries of a submitted message.
func (d *delivery) index(o *queue.Outcome) {
	if o.Event.Type != queue.EventSubmitted || d.msg == nil || !d.msg.Receipt {
		return
	}
	for i, id := range o.Event.MessageIDs {
		if id == "" {
			continue
		}
		o.Receipts = append(o.Receipts, queue.ReceiptKey{
			Account: d.account.name, MessageID: id, Segment: i + 1, Segments: len(o.Event.MessageIDs),
			Dest: queue.HashAddress(d.msg.Dest().Digits), TTL: max(d.left(time.Now()), 0) + 24*time.Hour,
		})
	}
}

// settledAs counts and logs an outcome that the queue has.
func (a *account) settledAs(job queue.Job, o queue.Outcome) {
	code := "none"
	if o.Event.CommandStatus != nil {
		code = codeLabel(o.Event.StatusName, *o.Event.CommandStatus)
	}
	a.metrics.answers.WithLabelValues(a.name, code, string(o.Event.Type)).Inc()
	a.log.Debug("message settled", "seq", job.Seq(), "delivery_id", job.ID(), "route", job.Route(), "outcome",
		string(o.Event.Type), "reason", o.Event.Reason, "attempt", o.Event.Attempt, "code", code, "delay_ms", o.Event.DelayMillis)
}

// giveBack returns a message that was never written, at no cost to it.
func (d *delivery) giveBack() {
	if err := d.job.Release(d.account.work); err != nil {
		d.account.log.Warn("message not given back, it returns after the acknowledgement wait", "seq", d.job.Seq(), "error", err)
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
	d.settle(d.judge(time.Now()).panicked(time.Now(), d.letter, d.sent))
}

// acceptLate takes a response that came after its submit had timed out. One that says the message was taken, or never will
// be, settles it unless it has been sent again.
func (d *delivery) acceptLate(resp smpp.Response) {
	a := d.account
	a.metrics.late.WithLabelValues(a.name).Inc()
	<-d.settled
	v := a.classify(resp)
	if v.Class != classify.OK && v.Class != classify.Terminal {
		return // it still waits, and will be sent again
	}
	l := d.letter
	o := d.rules.answered(time.Now(), l, answer{v, resp.Status, cleanMessageID(resp.MessageID)})
	o.Event.Reason = reasonAcceptedLate
	d.index(&o)
	won, err := d.job.SettleLate(a.work, o)
	switch {
	case err != nil:
		a.log.Error("late response not recorded", "seq", d.job.Seq(), "delivery_id", d.job.ID(), "error", err)
	case won:
		a.settledAs(d.job, o)
	}
}
