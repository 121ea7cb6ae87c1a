package queue

import (
	"strconv"
	"time"

	"github.com/nats-io/nuid"
)

// EventType is what happened to a message.
type EventType string

// The types of events. Submitted, failed, deferred, expired and cancelled are
// the finals of a submission: each message has exactly one of them.
const (
	EventSubmitted         EventType = "submitted"
	EventFailed            EventType = "failed"
	EventDeferred          EventType = "deferred"
	EventExpired           EventType = "expired"
	EventCancelled         EventType = "cancelled"
	EventThrottled         EventType = "throttled"
	EventRetry             EventType = "retry"
	EventUnknownOutcome    EventType = "unknown_outcome"
	EventReceipt           EventType = "receipt"
	EventLateResponse      EventType = "late_response"
	EventDuplicateAccepted EventType = "duplicate_accepted"
	EventReplayed          EventType = "replayed"
)

// EventTypes lists every type, finals first.
func EventTypes() []EventType {
	return []EventType{
		EventSubmitted, EventFailed, EventDeferred, EventExpired, EventCancelled,
		EventThrottled, EventRetry, EventUnknownOutcome,
		EventReceipt, EventLateResponse, EventDuplicateAccepted, EventReplayed,
	}
}

// Final reports whether the type ends a submission.
func (t EventType) Final() bool {
	switch t {
	case EventSubmitted, EventFailed, EventDeferred, EventExpired, EventCancelled:
		return true
	default:
		return false
	}
}

// outcome reports whether the type tells what became of one delivery of a
// message: a final, or the answer after which it waits.
func (t EventType) outcome() bool {
	switch t {
	case EventThrottled, EventRetry, EventUnknownOutcome:
		return true
	default:
		return t.Final()
	}
}

// Event is one entry of the journal. It never holds a text or an address.
// Durations are in milliseconds, times in UTC.
type Event struct {
	V       int       `json:"v"`
	Seq     uint64    `json:"seq,omitempty"`
	ID      string    `json:"id,omitempty"`
	EventID string    `json:"event_id"`
	Type    EventType `json:"type"`
	At      time.Time `json:"at"`
	// Delivery is how many times the queue had handed the message out, this time
	// included.
	Delivery int    `json:"delivery,omitempty"`
	Route    string `json:"route,omitempty"`
	Class    string `json:"class,omitempty"`
	Tenant   string `json:"tenant,omitempty"`
	Account  string `json:"account,omitempty"`
	Bind     string `json:"bind,omitempty"`

	Attempt int `json:"attempt,omitempty"`
	// Provisional says that this attempt is not counted any more should the account
	// prove to have been failing.
	Provisional      bool `json:"provisional,omitempty"`
	Throttles        int  `json:"throttles,omitempty"`
	Segments         int  `json:"segments,omitempty"`
	SegmentsAccepted int  `json:"segments_accepted,omitempty"`

	// CommandStatus is the answer's number, nil when there was no answer.
	CommandStatus *uint32 `json:"command_status,omitempty"`
	StatusName    string  `json:"status_name,omitempty"`
	// Verdict is the class of the answer: ok, throttle, retry, terminal, config
	// or unknown.
	Verdict string `json:"verdict,omitempty"`
	// Reason is one word of a closed list.
	Reason string `json:"reason,omitempty"`
	// Answers are those to the parts of a message with several that were
	// submitted this time.
	Answers []PartAnswer `json:"answers,omitempty"`
	// Detail says more for people, such as the field and fault of a malformed
	// message.
	Detail string `json:"detail,omitempty"`
	// Copy is "none" when the deferred stream had no room for a malformed message.
	Copy string `json:"copy,omitempty"`

	DelayMillis       int64     `json:"delay_ms,omitempty"`
	NextAttemptAt     time.Time `json:"next_attempt_at,omitzero"`
	QueueAgeMillis    int64     `json:"queue_age_ms,omitempty"`
	Deadline          time.Time `json:"deadline,omitzero"`
	MissedByMillis    int64     `json:"missed_by_ms,omitempty"`
	MessageIDs        []string  `json:"message_ids,omitempty"`
	PossibleDuplicate bool      `json:"possible_duplicate,omitempty"`
	ReplayOf          uint64    `json:"replay_of,omitempty"`
	ReplayedAs        uint64    `json:"replayed_as,omitempty"`
	Receipt           *Receipt  `json:"receipt,omitempty"`

	Meta        map[string]string `json:"meta,omitempty"`
	TraceParent string            `json:"traceparent,omitempty"`
	TraceState  string            `json:"tracestate,omitempty"`

	// State is what the gateway goes on with after a redelivery; only outcomes
	// that are not final have it.
	State *State `json:"state,omitempty"`
}

// PartAnswer is what the SMSC said to one part of a message; without a
// CommandStatus it said nothing.
type PartAnswer struct {
	Part          int     `json:"part"`
	CommandStatus *uint32 `json:"command_status,omitempty"`
	StatusName    string  `json:"status_name,omitempty"`
	Verdict       string  `json:"verdict,omitempty"`
}

// Receipt is what a delivery receipt said about one segment, and what all
// receipts of the message have said so far.
type Receipt struct {
	MessageID string `json:"message_id"`
	// OtherMessageID is another id that the receipt has: one in its TLV, one in its
	// text. MessageID is the one that the message was found by.
	OtherMessageID string `json:"other_message_id,omitempty"`
	// State is the state that this receipt names.
	State string `json:"state"`
	Final bool   `json:"final,omitempty"`
	// Stat is the word for the state in the receipt's text, as the SMSC writes it.
	Stat string `json:"stat,omitempty"`
	// Error is the value after "err:", an opaque code of the SMSC. NetworkError,
	// from the TLV network_error_code, goes before it.
	Error        string        `json:"error,omitempty"`
	NetworkError *NetworkError `json:"network_error,omitempty"`
	// Segment counts from 1, of Segments.
	Segment  int         `json:"segment,omitempty"`
	Segments int         `json:"segments,omitempty"`
	DoneAt   ReceiptTime `json:"done_at,omitzero"`
	// Superseded says that the segment had a final state before, which stands.
	Superseded bool `json:"superseded,omitempty"`
	// MessageState is that of the worst segment, and MessageFinal says that all
	// segments have a final state. Both are absent without a message.
	MessageState string `json:"message_state,omitempty"`
	MessageFinal bool   `json:"message_final,omitempty"`
	// Data are the octets of the text, without the message that it quotes, and TLVs
	// those of the vendor, of a receipt that could not be read as a whole.
	Data []byte       `json:"data,omitempty"`
	TLVs []ReceiptTLV `json:"tlvs,omitempty"`
}

// ReceiptTLV is an optional parameter of a receipt, as it came.
type ReceiptTLV struct {
	Tag   string `json:"tag"` // as 0x1403
	Value []byte `json:"value"`
}

// ReceiptTime is a time that the SMSC names. Most receipts say no zone: then it is
// the clock on the SMSC's wall, and its zone here means nothing.
type ReceiptTime struct {
	time.Time

	// Zoned says that the zone is known.
	Zoned bool
}

// wallClock is RFC 3339 without a zone.
const wallClock = "2006-01-02T15:04:05.999999999"

// MarshalJSON writes RFC 3339 in UTC, or without a zone where none is known.
func (t ReceiptTime) MarshalJSON() ([]byte, error) {
	if t.Zoned {
		return t.UTC().MarshalJSON()
	}
	return []byte(`"` + t.Format(wallClock) + `"`), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *ReceiptTime) UnmarshalJSON(b []byte) (err error) {
	if err = t.Time.UnmarshalJSON(b); err == nil {
		t.Zoned = true
		return nil
	}
	t.Time, err = time.Parse(`"`+wallClock+`"`, string(b))
	return err
}

// NetworkError is the TLV network_error_code (SMPP 3.4 section 5.3.2.31).
type NetworkError struct {
	// Type of network: 1 ANSI-136, 2 IS-95, 3 GSM, others by agreement.
	Type uint8  `json:"type"`
	Code uint16 `json:"code"`
}

const (
	eventVersion = 1
	eventBuckets = 1 << 12
	noRoute      = "none"
)

// Bucket is the last part of the subject of every event of a delivery id: three
// hexadecimal digits. It keeps the number of subjects bounded, and the trail of
// one message in one place.
func Bucket(id string) string { return string(appendBucket(nil, id)) }

func appendBucket(b []byte, id string) []byte {
	sum := uint32(2166136261) // FNV-1a
	for i := range len(id) {
		sum = (sum ^ uint32(id[i])) * 16777619
	}
	const digits = "0123456789abcdef"
	n := (sum ^ sum>>12 ^ sum>>24) % eventBuckets
	return append(b, digits[n>>8], digits[n>>4&15], digits[n&15])
}

// Subject is where the event is published: <prefix>.evt.<route>.<type>.<bucket>.
// An event about no known message has the route "none".
func (e *Event) Subject(prefix string) string {
	route := e.Route
	if route == "" {
		route = noRoute
	}
	b := make([]byte, 0, 96)
	b = append(append(b, prefix...), ".evt."...)
	b = append(append(b, route...), '.')
	b = append(append(b, e.Type...), '.')
	return string(appendBucket(b, e.ID))
}

// eventID names one event of one delivery, for readers that drop repeats.
func eventID(seq uint64, delivery int, t EventType) string {
	b := strconv.AppendUint(make([]byte, 0, 64), seq, 10)
	b = strconv.AppendInt(append(b, '.'), int64(delivery), 10)
	return string(append(append(b, '.'), t...))
}

// complete fills in what follows from the rest.
func (e *Event) complete(now time.Time) {
	e.V = eventVersion
	if e.At.IsZero() {
		e.At = now.UTC()
	}
	if e.EventID == "" {
		e.EventID = eventID(e.Seq, e.Delivery, e.Type)
		if !e.Type.outcome() { // a message may have many of these
			e.EventID += "." + nuid.Next()
		}
	}
}
