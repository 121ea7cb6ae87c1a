package gateway

import (
	"fmt"
	"slices"
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
	unknownClassAttempts = 5 // of an answer that nobody has classified
	queueFullsAsThrottle = 5 // 0x14 in a row, while others pass, before it counts as an attempt
	delayFirst           = 500 * time.Millisecond
	delayMost            = time.Minute
	ownFirst             = 5 * time.Second // after the first temporary error that is the message's, three times as long after each more
	ownMost              = 10 * time.Minute
	leastRetry           = time.Second
)

// Reasons of events: a closed set.
const (
	reasonThrottled      = "throttled"
	reasonRetry          = "retry"
	reasonAccountFailing = "account_failing"
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
	reasonPartial        = "partial"
	reasonInterrupted    = "interrupted"
	reasonPastDeadline   = "past_deadline"
	reasonWouldBeTooLate = "would_miss_deadline"
	reasonTerminal       = "terminal"
	reasonAcceptedLate   = "accepted_late"
	reasonReceipt        = "receipt"
	endsThatArePoison    = 3
	endsForAlone         = 2 // from here on nothing else is in flight beside the message
	resetsThatArePoison  = 2 // sessions that ended with the message in flight
)

// answer is what the SMSC said to one submit.
type answer struct {
	verdict   classify.Verdict
	status    pdu.Status
	messageID string
}

// result is what one submit came to: an answer, or none.
type result struct {
	answer

	part       int // counted from 1
	unanswered bool
	reset      bool // no answer because the session ended

	ours additions // what it refuses of the gateway's own, instead of the message; 0: nothing
}

// stops says that the other parts of the message need not be tried now: the answer is not about the pace.
func (r *result) stops() bool {
	return !r.unanswered && r.verdict.Class != classify.OK && r.verdict.Class != classify.Throttle
}

// rules decides what becomes of a message. It is pure but for the retry slots: time and randomness come in.
type rules struct {
	account string
	route   routePolicy
	unknown unknownPolicy
	slots   *retrySlots
	pace    float64        // of the account, in submits per second
	random  func() float64 // uniform in [0, 1)
	// othersPass says that the account has accepted another message in the last minute and is not failing: a temporary
	// error is the message's fault. accepted is when it last did.
	othersPass bool
	accepted   time.Time
	// provisional says that the account has answered nothing but temporary errors since it last accepted a message: the
	// attempt is not counted should it prove to be failing.
	provisional bool
	class       string
	weight      int // of the class; 0: strict
}

// letter is one delivery of a message as the rules see it.
type letter struct {
	state    queue.State
	deadline time.Time // zero: none
	bind     string
	parts    int // submit_sm that the message takes; 0 counts as 1
	onAir    int // short messages that they are for the phone and the bill; 0: as many
}

// complete says that the SMSC has taken all parts.
func (l *letter) complete() bool { return len(l.state.Accepted) >= max(l.parts, 1) }

// accepted counts the short messages that were taken and have to be paid for.
func (l *letter) accepted() int {
	if l.complete() {
		return max(l.onAir, l.parts, 1)
	}
	return len(l.state.Accepted)
}

// taking notes which parts the SMSC has taken.
func (l letter) taking(results []result) letter {
	accepted := slices.Clone(l.state.Accepted)
	for _, res := range results {
		if !res.unanswered && res.verdict.Class == classify.OK {
			accepted = append(accepted, queue.Segment{Part: res.part, MessageID: res.messageID})
		}
	}
	slices.SortFunc(accepted, func(a, b queue.Segment) int { return a.Part - b.Part })
	l.state.Accepted = slices.CompactFunc(accepted, func(a, b queue.Segment) bool { return a.Part == b.Part })
	return l
}

func (r *rules) event(l *letter, t queue.EventType, reason string) queue.Event {
	e := queue.Event{
		Type: t, Reason: reason, Account: r.account, Bind: l.bind, Deadline: l.deadline,
		Attempt: l.state.Attempts, Throttles: l.state.Throttles, PossibleDuplicate: l.state.PossibleDuplicate,
		Segments: max(l.onAir, l.parts, 1), SegmentsAccepted: l.accepted(),
	}
	for _, s := range l.state.Accepted {
		e.MessageIDs = append(e.MessageIDs, s.MessageID)
	}
	return e
}

// decided weighs what the submits of one delivery came to. What was taken stays taken. Of the rest the gravest answer
// decides: a refusal for good, then silence, then whatever stopped the message, then a throttle.
func (r *rules) decided(now time.Time, l letter, results []result) queue.Outcome {
	l = l.taking(results)
	if len(l.state.Accepted) > 0 {
		l.state.Account, l.state.Bind = r.account, l.bind // the other parts have to go the same way
	}
	silent, last := r.count(&l, results)
	var o queue.Outcome
	switch {
	case l.complete():
		l.state.Attempts++
		o = r.final(&l, queue.EventSubmitted, "")
	case !last.unanswered && last.verdict.Class == classify.Terminal:
		l.state.Attempts++
		o = r.refused(&l)
	case silent:
		o = r.unanswered(now, l, reasonNoResponse)
		last = result{unanswered: true}
	default:
		o = r.answered(now, l, last.answer)
	}
	if !last.unanswered {
		status := uint32(last.status)
		o.Event.CommandStatus, o.Event.StatusName, o.Event.Verdict = &status, last.verdict.Name, last.verdict.Class.String()
	}
	if l.parts > 1 {
		o.Event.Answers = answersOf(results)
	}
	return o
}

// late decides by an answer that came after its submit was given up: a final, or one more part that was taken. before
// is the state that the delivery began with: what was written once and answered late is no duplicate.
func (r *rules) late(now time.Time, l letter, before queue.State, results []result) queue.Outcome {
	taken := l.taking(results)
	if !taken.complete() && results[0].verdict.Class == classify.OK {
		o := queue.Outcome{Event: r.event(&taken, queue.EventLateResponse, reasonAcceptedLate), State: taken.state}
		o.Event.Answers = answersOf(results)
		return o
	}
	l.state.PossibleDuplicate = before.InDoubt()
	o := r.decided(now, l, results)
	if o.Event.Type == queue.EventSubmitted {
		o.Event.Reason = reasonAcceptedLate
	}
	return o
}

// count notes throttles and silence in the message's state, and finds the result that decides: the one that stopped
// the message, else the newest throttle, else the newest of all.
func (r *rules) count(l *letter, results []result) (silent bool, decisive result) {
	st := &l.state
	st.Unexplained = false
	decisive = results[len(results)-1]
	full := false
	for _, res := range results {
		switch {
		case res.unanswered:
			silent = true
			if res.reset {
				st.Resets++
			}
			continue
		case res.verdict.Class == classify.Throttle && !decisive.stops():
			if decisive.unanswered || decisive.verdict.Class != classify.Throttle || res.verdict.Hold >= decisive.verdict.Hold {
				decisive = res
			}
		}
		full = full || res.status == pdu.StatusMsgQFull
		st.LastStatus = uint32(res.status)
	}
	if full {
		st.QueueFulls++
	} else {
		st.QueueFulls = 0
	}
	return silent, decisive
}

// answered decides by the answer to a message that the SMSC has not taken whole.
func (r *rules) answered(now time.Time, l letter, a answer) queue.Outcome {
	switch a.verdict.Class {
	case classify.Throttle:
		if l.state.QueueFulls > queueFullsAsThrottle && r.othersPass {
			return r.attemptUsed(now, l, a.verdict.Hold, reasonQueueFull, r.route.attempts)
		}
		l.state.Throttles++
		return r.putBack(now, l, queue.EventThrottled, reasonThrottled, now.Add(a.verdict.Hold))
	case classify.Retry:
		if !r.othersPass {
			return r.accountsFault(now, l, a.verdict.Hold)
		}
		return r.attemptUsed(now, l, a.verdict.Hold, reasonRetry, r.route.attempts)
	case classify.Unknown:
		if !r.othersPass {
			return r.accountsFault(now, l, a.verdict.Hold)
		}
		return r.attemptUsed(now, l, a.verdict.Hold, reasonUnclassified, min(unknownClassAttempts, r.route.attempts))
	case classify.Config:
		return r.putBack(now, l, queue.EventRetry, reasonAccountConfig, now.Add(a.verdict.Hold))
	case classify.OK, classify.Terminal:
	}
	return r.putBack(now, l, queue.EventRetry, reasonInterrupted, now) // the bind ended before the other parts
}

// refused ends a message that the SMSC will never take as it is written.
func (r *rules) refused(l *letter) queue.Outcome {
	reason := reasonRefused
	if len(l.state.Accepted) > 0 {
		reason = reasonPartial
	}
	o := r.final(l, queue.EventFailed, reason)
	if r.route.keepTerminal {
		o.DeferredReason = reasonTerminal
	}
	return o
}

// resplit ends a message of which some parts were taken and whose text now makes another number of parts: the account's
// settings have changed, and the rest would not fit to what was sent.
func (r *rules) resplit(l letter, parts int) queue.Outcome {
	o := r.final(&l, queue.EventFailed, reasonPartial)
	o.Event.Detail = fmt.Sprintf("text: made %d segments when %d of them were sent, and makes %d now: the account's text settings changed",
		l.state.Segments, len(l.state.Accepted), parts)
	return o
}

// answersOf lists what was said to each part.
func answersOf(results []result) []queue.PartAnswer {
	list := make([]queue.PartAnswer, 0, len(results))
	for _, res := range results {
		a := queue.PartAnswer{Part: res.part}
		if !res.unanswered {
			status := uint32(res.status)
			a.CommandStatus, a.StatusName, a.Verdict = &status, res.verdict.Name, res.verdict.Class.String()
		}
		list = append(list, a)
	}
	return list
}

// attemptUsed takes one attempt and puts the message back, or defers it when none is left.
func (r *rules) attemptUsed(now time.Time, l letter, asked time.Duration, reason string, limit int) queue.Outcome {
	st := &l.state
	st.Attempts++
	if st.Attempts >= limit {
		return r.deferred(&l, reasonAttempts)
	}
	before := len(st.AttemptTimes)
	st.AttemptTimes = append(slices.Clone(st.AttemptTimes), now)
	delay := ownDelay(st.Attempts, limit, r.left(now, &l), r.random())
	switch {
	case reason == reasonQueueFull:
		delay = max(delay, r.jitter(st))
	case before > 0 && r.accepted.Before(st.AttemptTimes[before-1]): // nothing has passed since: it may yet be the account's
		delay = min(delay, longestPark)
	}
	earliest := now.Add(max(delay, asked))
	if n := len(st.AttemptTimes) - r.route.per.Count; r.route.per.Count > 0 && n >= 0 {
		free := st.AttemptTimes[n].Add(r.route.per.Per)
		if limit := l.deadline.Add(-lastCall); !l.deadline.IsZero() && free.After(limit) {
			free = limit // it delays, and ends nothing
		}
		earliest = latest(earliest, free)
	}
	o := r.waitUntil(now, l, queue.EventRetry, reason, earliest, true)
	o.Event.Provisional = r.provisional && !o.Final
	return o
}

// accountsFault puts a message back whose temporary error is the account's: it uses no attempt.
func (r *rules) accountsFault(now time.Time, l letter, asked time.Duration) queue.Outcome {
	span := longestPark
	if left := r.left(now, &l); left > 0 {
		span = max(min(span, left/2), leastRetry)
	}
	delay := max(time.Duration((1-r.random()/2)*float64(span)), leastRetry)
	return r.waitUntil(now, l, queue.EventRetry, reasonAccountFailing, now.Add(max(delay, asked)), false)
}

// left is the time to the deadline, at least 1 ns; 0 when there is none.
func (r *rules) left(now time.Time, l *letter) time.Duration {
	if l.deadline.IsZero() {
		return 0
	}
	return max(l.deadline.Sub(now), 1)
}

// ownDelay is the wait after the n-th attempt of limit, drawn from the upper half of 5 s tripled with each, 10 min at most.
// Where those that are to come would not fit into what is left of the life (0: no end), all are shortened alike, to 1 s at
// the least. random is uniform in [0, 1).
func ownDelay(n, limit int, left time.Duration, random float64) time.Duration {
	step := func(n int) time.Duration {
		d := ownFirst
		for ; n > 1 && d < ownMost; n-- {
			d *= 3
		}
		return min(d, ownMost)
	}
	delay := (1 - random/2) * float64(step(n))
	if left > 0 {
		var sum time.Duration
		for i := n; i < limit; i++ {
			sum += step(i)
		}
		if room := max(left-lastCall, 0); sum > room {
			delay *= float64(room) / float64(sum)
		}
	}
	return max(time.Duration(delay), leastRetry)
}

// unanswered decides when the PDU may have reached the SMSC and no answer came, or nothing explains how an earlier
// delivery ended.
func (r *rules) unanswered(now time.Time, l letter, reason string) queue.Outcome {
	st := &l.state
	st.Unknowns++
	st.PossibleDuplicate, st.Unexplained = true, false
	if reason == reasonNoResponse {
		st.Account = r.account // whose SMSC may have it: on no other is it sent again
	}
	switch {
	case st.Ends+st.Resets >= endsThatArePoison, st.Unknowns > r.unknown.max && st.Resets >= resetsThatArePoison:
		return r.deferred(&l, reasonPoison)
	case r.unknown.hold:
		return r.putBack(now, l, queue.EventUnknownOutcome, reason, now.Add(r.unknown.late))
	case st.Unknowns > r.unknown.max:
		return r.deferred(&l, reasonOutcomeUnknown)
	}
	return r.putBack(now, l, queue.EventUnknownOutcome, reason, now.Add(r.unknown.after))
}

// panicked decides about a message whose handling panicked; sent says that it may have reached the SMSC.
func (r *rules) panicked(now time.Time, l letter, sent bool) queue.Outcome {
	l.state.Ends++
	switch {
	case l.state.Ends >= endsThatArePoison:
		return r.deferred(&l, reasonPoison)
	case sent:
		return r.unanswered(now, l, reasonPanic)
	}
	l.state.Unexplained = false
	return r.putBack(now, l, queue.EventRetry, reasonPanic, now)
}

// putBack lets the message wait: not before the given time plus a jitter that doubles with each throttle or retry in
// a row, and not before its retry slot. A message that would then be too late ends here.
func (r *rules) putBack(now time.Time, l letter, t queue.EventType, reason string, notBefore time.Time) queue.Outcome {
	return r.waitUntil(now, l, t, reason, notBefore.Add(r.jitter(&l.state)), true)
}

// jitter is uniform up to a span that doubles with each in a row.
func (r *rules) jitter(st *queue.State) time.Duration {
	span := delayMost
	if n := st.Streak; n < 7 {
		span = min(delayFirst<<n, delayMost)
	}
	st.Streak++
	return time.Duration((1 - r.random()) * float64(span))
}

// waitUntil lets the message wait until the given time, and where slotted for its retry slot.
func (r *rules) waitUntil(now time.Time, l letter, t queue.EventType, reason string, earliest time.Time, slotted bool) queue.Outcome {
	if !l.deadline.IsZero() && earliest.After(l.deadline) {
		o := r.final(&l, queue.EventExpired, reasonWouldBeTooLate)
		o.Event.MissedByMillis = earliest.Sub(l.deadline).Milliseconds()
		return o
	}
	eligible := earliest
	if slotted {
		eligible = r.slots.take(now, retry{class: r.class, weight: r.weight, earliest: earliest, deadline: l.deadline}, r.pace)
	}
	l.state.NextAttemptAt = eligible
	o := queue.Outcome{Event: r.event(&l, t, reason), State: l.state, NextAttemptAt: eligible}
	o.Event.NextAttemptAt, o.Event.DelayMillis = eligible, eligible.Sub(now).Milliseconds()
	return o
}

// expired ends a message whose deadline has passed.
func (r *rules) expired(now time.Time, l letter) queue.Outcome {
	o := r.final(&l, queue.EventExpired, reasonPastDeadline)
	o.Event.MissedByMillis = now.Sub(l.deadline).Milliseconds()
	return o
}

// unsendable ends a message that cannot be sent as it is written; detail names the field and the fault. The original
// of a malformed one is kept.
func (r *rules) unsendable(l letter, reason, detail string) queue.Outcome {
	o := r.final(&l, queue.EventFailed, reason)
	o.Event.Detail = detail
	if reason == reasonMalformed {
		o.DeferredReason = reasonMalformed
	}
	return o
}

// deferred sets the message aside for a person.
func (r *rules) deferred(l *letter, reason string) queue.Outcome {
	o := r.final(l, queue.EventDeferred, reason)
	o.DeferredReason = reason
	return o
}

func (r *rules) final(l *letter, t queue.EventType, reason string) queue.Outcome {
	return queue.Outcome{Event: r.event(l, t, reason), State: l.state, Final: true}
}
