package queue

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Errors of a job.
var (
	// ErrSettled reports a second settle or release of one job.
	ErrSettled = errors.New("the job is settled already")
	// ErrNotStored reports that the journal could not take an event before the
	// context ended. Nothing was settled: the queue still has the message.
	ErrNotStored = errors.New("the event could not be stored")
	// ErrClosed reports a call on something that is closed.
	ErrClosed = errors.New("closed")
)

// Job is one delivery of one message. It ends with exactly one of Settle and
// Release; it is safe for concurrent use.
type Job interface {
	// Seq is the message's key: its sequence in the stream.
	Seq() uint64
	// ID is the delivery id, for people.
	ID() string
	Route() string
	Class() string
	// Published is when the stream stored the message.
	Published() time.Time
	// Deliveries numbers the times that the message was handed out, this one
	// included. It may skip some: a server that crashed forgets deliveries.
	Deliveries() int
	// Message decodes the payload; the error is a [*MalformedError] or an
	// [*UnknownFieldError].
	Message() (*Message, error)
	Raw() []byte
	Header(key string) string
	// State is what earlier deliveries left behind.
	State() State
	// Cancelled reports whether an operator has cancelled the message, as far as
	// this process knows. Ask before the submit and before the message is given
	// back: then it ends cancelled.
	Cancelled() bool
	// Settle writes the outcome down and then gives the message back to the
	// queue or takes it out. While NATS is away it tries again until ctx ends;
	// after an error nothing is settled and Settle may be called again.
	Settle(ctx context.Context, o Outcome) error
	// SettleLate settles a message after its job was settled, when its answer
	// came after all. It reports whether this outcome became the final one;
	// otherwise another had come first and stands, and this one is journalled
	// beside it. An outcome that is not final, of type late_response, is about
	// one part of a message: it corrects the state that the message waits with,
	// unless a later holder has it already.
	SettleLate(ctx context.Context, o Outcome) (won bool, err error)
	// Release gives back a message that was not submitted, at no cost to it: at
	// once, or until a given time.
	Release(ctx context.Context, until time.Time) error
}

// State is what is remembered of a message from one delivery to the next.
type State struct {
	// Attempts counts tries that ended in an answer about the message.
	Attempts int `json:"attempts,omitempty"`
	// Throttles and Unknowns count the throttles and the unknown outcomes.
	Throttles int `json:"throttles,omitempty"`
	Unknowns  int `json:"unknowns,omitempty"`
	// Streak is how many throttles or retries came one after the other.
	Streak int `json:"streak,omitempty"`
	// QueueFulls is how many times in a row the message was refused because a
	// queue was full.
	QueueFulls int `json:"queue_fulls,omitempty"`
	// PossibleDuplicate says that an earlier submit may have been accepted.
	PossibleDuplicate bool `json:"possible_duplicate,omitempty"`
	// Unexplained says that neither a record nor the journal explains how the
	// last delivery ended: its outcome is unknown.
	Unexplained bool `json:"unexplained,omitempty"`
	// Ends counts the unexplained ends of this message, for poison, and Resets
	// the sessions that ended while it was in flight.
	Ends   int `json:"ends,omitempty"`
	Resets int `json:"resets,omitempty"`
	// LastStatus is the number of the last answer's status.
	LastStatus    uint32      `json:"last_status,omitempty"`
	NextAttemptAt time.Time   `json:"next_attempt_at,omitzero"`
	AttemptTimes  []time.Time `json:"attempt_times,omitempty"`
	// Account is set when the message is pinned to one.
	Account string `json:"account,omitempty"`
	// Bind is the one that took the first part; the others follow it while it
	// lives.
	Bind string `json:"bind,omitempty"`
	// Accepted are the segments that the SMSC has taken, of Segments.
	Accepted []Segment `json:"accepted,omitempty"`
	Segments int       `json:"segments,omitempty"`
	// Parked is set when the message has its outcome and waits for room in the
	// deferred stream; such a message is never handed out.
	Parked *Parked `json:"parked,omitempty"`
}

// SentBeside reports whether the state that a later delivery has left tells of a
// submit beside those of the event: it had no answer, or a part was accepted. Of
// two unknown outcomes one may be that of the event's delivery.
func (s *State) SentBeside(e *Event) bool {
	return s.Unknowns > 1 ||
		slices.ContainsFunc(s.Accepted, func(part Segment) bool { return !slices.Contains(e.MessageIDs, part.MessageID) })
}

// Segment is one accepted part of a message.
type Segment struct {
	// Part counts from 1.
	Part      int    `json:"part"`
	MessageID string `json:"message_id"`
}

// Outcome is what became of one delivery.
type Outcome struct {
	// Event is what the journal gets. Seq, ID, Delivery, Route, Class, times and
	// what follows from the message are filled in.
	Event Event
	// State is the new state, for the record; finals need none.
	State State
	// Final takes the message out of the queue; Event.Type must be a final one.
	Final bool
	// NextAttemptAt is when a message that is not final comes back.
	NextAttemptAt time.Time
	// DeferredReason, when set, copies the message to the deferred stream.
	DeferredReason string
	// Receipts are the index entries to write before the acknowledgement.
	Receipts []ReceiptKey
}

// ReceiptKey asks for one entry in the receipt index.
type ReceiptKey struct {
	Account   string
	MessageID string
	// Echo, when set, is the key in the place of the message id, which did not
	// come: a mark that the submit carried and its receipt may repeat.
	Echo string
	// PossibleDuplicate says of an entry by echo that an earlier submit was in
	// doubt as well.
	PossibleDuplicate bool
	// Segment counts from 1, of Segments.
	Segment, Segments int
	// Dest is the hash of the destination, see [HashAddress]; a receipt must
	// fit it.
	Dest uint16
	// TTL is how long to keep the entry: the validity plus 24 h.
	TTL time.Duration
}
