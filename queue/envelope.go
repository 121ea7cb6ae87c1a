package queue

import (
	"cmp"
	"strconv"
	"time"
)

// Envelope is what a source knows about one delivery beside the outcome.
type Envelope struct {
	Lane
	Seq       uint64
	ID        string
	Delivery  int
	Published time.Time
	// Header reads a header of the message.
	Header func(key string) string
	// Message is nil when the payload is malformed.
	Message *Message
	// State is what earlier deliveries left behind.
	State State
	// ExpiresIn is the validity of a message that names none.
	ExpiresIn time.Duration
}

// Event completes the event of an outcome with what follows from the delivery.
func (v *Envelope) Event(o Outcome, now time.Time) Event {
	o.Carry(v.State)
	e := o.Event
	v.fill(&e, &o, now)
	return e
}

func (v *Envelope) fill(e *Event, o *Outcome, now time.Time) {
	e.Seq, e.ID, e.Delivery = v.Seq, v.ID, v.Delivery
	e.EventID = eventID(v.Seq, v.Delivery, e.Type)
	e.Route, e.Class = v.Route, v.Class
	e.Attempt = cmp.Or(e.Attempt, o.State.Attempts)
	e.Throttles = cmp.Or(e.Throttles, o.State.Throttles)
	e.PossibleDuplicate = e.PossibleDuplicate || o.State.PossibleDuplicate
	e.QueueAgeMillis = now.Sub(v.Published).Milliseconds()
	if !o.Final {
		state := o.State
		state.NextAttemptAt = o.NextAttemptAt
		e.State, e.NextAttemptAt = &state, o.NextAttemptAt
		if e.DelayMillis == 0 && !o.NextAttemptAt.IsZero() {
			e.DelayMillis = max(o.NextAttemptAt.Sub(now).Milliseconds(), 0)
		}
	}
	if v.Message != nil {
		e.Tenant, e.Meta = v.Message.Tenant, v.Message.Meta
		if e.Deadline.IsZero() {
			e.Deadline = v.Message.Deadline(v.Published, v.ExpiresIn)
		}
	}
	e.TraceParent, e.TraceState = traceOf(v.Header)
	if of := v.Header(HeaderReplayOf); of != "" {
		e.ReplayOf, _ = strconv.ParseUint(of, 10, 64) // 0 when it is no replay
	}
	e.complete(now)
}

// Carry keeps a doubt for good: what may have been accepted before may be a
// duplicate from then on, whatever the later answers are.
func (o *Outcome) Carry(before State) { o.carry(before.InDoubt()) }

func (o *Outcome) carry(doubt bool) {
	o.State.PossibleDuplicate = o.State.PossibleDuplicate || doubt
}

// After is what an outcome becomes when another was the message's final: still
// an event, and no final any more.
func (e Event) After(winner Event) Event {
	late := EventLateResponse
	if e.Type == EventSubmitted && winner.Type == EventSubmitted {
		late = EventDuplicateAccepted
		e.PossibleDuplicate = true
	}
	e.Type, e.EventID = late, eventID(e.Seq, e.Delivery, late)
	return e
}

// Valid reports whether an outcome can be settled: the event tells what became
// of the delivery, and is a final exactly when the outcome is.
func (o *Outcome) Valid() bool {
	return o.Event.Type.outcome() && o.Final == o.Event.Type.Final()
}

// ValidLate reports whether an outcome can be settled late: it is a final, or
// tells of one part of a message that still waits.
func (o *Outcome) ValidLate() bool {
	if o.Final {
		return o.Valid()
	}
	return o.Event.Type == EventLateResponse
}

// InDoubt reports whether a message may have been accepted already, so that a
// late response may settle it.
func (s *State) InDoubt() bool { return s.Unknowns > 0 || s.PossibleDuplicate || s.Unexplained }
