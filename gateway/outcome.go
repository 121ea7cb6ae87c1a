package gateway

import (
	"time"

	"sluice/classify"
	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/pdu"
)

// routePolicy is what a route allows its messages.
type routePolicy struct {
	attempts     int              // answers about the message, over its life
	per          config.Allowance // the same within a span of time
	expiresIn    time.Duration    // the life of a message that states none
	keepTerminal bool             // copy what is refused for good to the deferred stream
}

// unknownPolicy is what follows a submit that may have been accepted.
type unknownPolicy struct {
	hold  bool          // a person decides: the message is deferred once no late response can come any more
	max   int           // resends of one message; then it is deferred
	after time.Duration // wait before a resend
	late  time.Duration // how long a late response can still come
}

// The caps and waits of the delivery table.
const (
	unknownClassAttempts = 3 // of an answer that nobody has classified
	queueFullsAsThrottle = 5 // 0x14 in a row, while others pass, before it counts as an attempt
	delayFirst           = 500 * time.Millisecond
	delayMost            = time.Minute
)

// Reasons of events: a closed set.
const (
	reasonThrottled      = "throttled"
	reasonRetry          = "retry"
	reasonQueueFull      = "queue_full"
	reasonAccountConfig  = "account_config"
	reasonUnclassified   = "unclassified"
	reasonNoResponse     = "no_response"
	reasonUnexplained    = "unexplained"
	reasonPanic          = "panic"
	reasonRefused        = "refused"
	reasonMalformed      = "malformed"
	reasonUnknownField   = "unknown_field"
	reasonTooLong        = "too_long"
	reasonAttempts       = "attempts"
	reasonOutcomeUnknown = "outcome_unknown"
	reasonPoison         = "poison"
	reasonPastDeadline   = "past_deadline"
	reasonWouldBeTooLate = "would_miss_deadline"
	reasonTerminal       = "terminal"
	reasonAcceptedLate   = "accepted_late"
	endsThatArePoison    = 3
)

// answer is what one submit came to.
type answer struct {
	verdict   classify.Verdict
	status    pdu.Status
	messageID string
}

// rules decides what becomes of a message. It is pure but for the retry slots: time and randomness come in.
type rules struct {
	account string
	route   routePolicy
	unknown unknownPolicy
	slots   *retrySlots
	pace    float64        // of the account, in submits per second
	random  func() float64 // uniform in [0, 1)
	// othersPass says that the account accepted something since this message was last refused.
	othersPass bool
}

// letter is one delivery of a message as the rules see it.
type letter struct {
	state    queue.State
	deadline time.Time // zero: none
	bind     string
}

func (r *rules) event(l *letter, t queue.EventType, reason string) queue.Event {
	return queue.Event{
		Type: t, Reason: reason, Account: r.account, Bind: l.bind, Deadline: l.deadline,
		Attempt: l.state.Attempts, Throttles: l.state.Throttles, Segments: 1, PossibleDuplicate: l.state.PossibleDuplicate,
	}
}

// answered decides by the SMSC's answer.
func (r *rules) answered(now time.Time, l letter, a answer) queue.Outcome {
	st := &l.state
	queueFulls := 0
	if a.status == pdu.StatusMsgQFull {
		queueFulls = st.QueueFulls + 1
	}
	st.QueueFulls = queueFulls
	st.LastStatus, st.Unexplained = uint32(a.status), false

	var o queue.Outcome
	switch a.verdict.Class {
	case classify.OK:
		st.Attempts++
		o = r.final(l, queue.EventSubmitted, "")
		o.Event.MessageIDs, o.Event.SegmentsAccepted = []string{a.messageID}, 1
	case classify.Throttle:
		if queueFulls > queueFullsAsThrottle && r.othersPass {
			o = r.attemptUsed(now, l, a.verdict.Hold, reasonQueueFull, r.route.attempts)
			break
		}
		st.Throttles++
		o = r.putBack(now, l, queue.EventThrottled, reasonThrottled, now.Add(a.verdict.Hold))
	case classify.Retry:
		o = r.attemptUsed(now, l, a.verdict.Hold, reasonRetry, r.route.attempts)
	case classify.Unknown:
		o = r.attemptUsed(now, l, a.verdict.Hold, reasonUnclassified, min(unknownClassAttempts, r.route.attempts))
	case classify.Terminal:
		st.Attempts++
		o = r.final(l, queue.EventFailed, reasonRefused)
		if r.route.keepTerminal {
			o.DeferredReason = reasonTerminal
		}
	case classify.Config:
		o = r.putBack(now, l, queue.EventRetry, reasonAccountConfig, now.Add(a.verdict.Hold))
	}
	status := uint32(a.status)
	o.Event.CommandStatus, o.Event.StatusName, o.Event.Verdict = &status, a.verdict.Name, a.verdict.Class.String()
	return o
}

// attemptUsed takes one attempt and puts the message back, or defers it when none is left.
func (r *rules) attemptUsed(now time.Time, l letter, asked time.Duration, reason string, limit int) queue.Outcome {
	st := &l.state
	st.Attempts++
	if st.Attempts >= limit {
		return r.deferred(l, reasonAttempts)
	}
	times := make([]time.Time, 0, len(st.AttemptTimes)+1)
	for _, t := range st.AttemptTimes {
		if now.Sub(t) < r.route.per.Per {
			times = append(times, t)
		}
	}
	st.AttemptTimes = append(times, now)
	notBefore := now.Add(asked)
	if n := len(st.AttemptTimes) - r.route.per.Count; n >= 0 {
		if free := st.AttemptTimes[n].Add(r.route.per.Per); free.After(notBefore) {
			notBefore = free
		}
	}
	return r.putBack(now, l, queue.EventRetry, reason, notBefore)
}

// unanswered decides when the PDU may have reached the SMSC and no answer came, or nothing explains how an earlier
// delivery ended.
func (r *rules) unanswered(now time.Time, l letter, reason string) queue.Outcome {
	st := &l.state
	st.Unknowns++
	st.PossibleDuplicate, st.Unexplained = true, false
	switch {
	case st.Ends >= endsThatArePoison:
		return r.deferred(l, reasonPoison)
	case r.unknown.hold:
		return r.putBack(now, l, queue.EventUnknownOutcome, reason, now.Add(r.unknown.late))
	case st.Unknowns > r.unknown.max:
		return r.deferred(l, reasonOutcomeUnknown)
	}
	return r.putBack(now, l, queue.EventUnknownOutcome, reason, now.Add(r.unknown.after))
}

// panicked decides about a message whose handling panicked; sent says that it may have reached the SMSC.
func (r *rules) panicked(now time.Time, l letter, sent bool) queue.Outcome {
	l.state.Ends++
	switch {
	case l.state.Ends >= endsThatArePoison:
		return r.deferred(l, reasonPoison)
	case sent:
		return r.unanswered(now, l, reasonPanic)
	}
	l.state.Unexplained = false
	return r.putBack(now, l, queue.EventRetry, reasonPanic, now)
}

// putBack lets the message wait: not before the given time plus a jitter that doubles with each throttle or retry in
// a row, and not before its retry slot. A message that would then be too late ends here.
func (r *rules) putBack(now time.Time, l letter, t queue.EventType, reason string, notBefore time.Time) queue.Outcome {
	span := delayMost
	if n := l.state.Streak; n < 7 {
		span = min(delayFirst<<n, delayMost)
	}
	l.state.Streak++
	earliest := notBefore.Add(time.Duration((1 - r.random()) * float64(span)))
	if !l.deadline.IsZero() && earliest.After(l.deadline) {
		o := r.final(l, queue.EventExpired, reasonWouldBeTooLate)
		o.Event.MissedByMillis = earliest.Sub(l.deadline).Milliseconds()
		return o
	}
	eligible := r.slots.take(now, earliest, l.deadline, r.pace)
	l.state.NextAttemptAt = eligible
	o := queue.Outcome{Event: r.event(&l, t, reason), State: l.state, NextAttemptAt: eligible}
	o.Event.NextAttemptAt, o.Event.DelayMillis = eligible, eligible.Sub(now).Milliseconds()
	return o
}

// expired ends a message whose deadline has passed.
func (r *rules) expired(now time.Time, l letter) queue.Outcome {
	o := r.final(l, queue.EventExpired, reasonPastDeadline)
	o.Event.MissedByMillis = now.Sub(l.deadline).Milliseconds()
	return o
}

// unsendable ends a message that cannot be sent as it is written; detail names the field and the fault. The original
// of a malformed one is kept.
func (r *rules) unsendable(l letter, reason, detail string) queue.Outcome {
	o := r.final(l, queue.EventFailed, reason)
	o.Event.Detail = detail
	if reason == reasonMalformed {
		o.DeferredReason = reasonMalformed
	}
	return o
}

// deferred sets the message aside for a person.
func (r *rules) deferred(l letter, reason string) queue.Outcome {
	o := r.final(l, queue.EventDeferred, reason)
	o.DeferredReason = reason
	return o
}

func (r *rules) final(l letter, t queue.EventType, reason string) queue.Outcome {
	return queue.Outcome{Event: r.event(&l, t, reason), State: l.state, Final: true}
}
