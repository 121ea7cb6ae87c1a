package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// ErrNoDeferred reports that the deferred stream has no copy of a message.
var ErrNoDeferred = errors.New("no such message is deferred")

// Deferred is the copy of one message that waits for a person.
type Deferred struct {
	// Seq is the key of the message: the sequence it had in the queue.
	Seq    uint64 `json:"seq"`
	ID     string `json:"id"`
	Route  string `json:"route"`
	Class  string `json:"class"`
	Reason string `json:"reason"`
	// Published is when the queue stored the message, At when it was set aside.
	Published time.Time `json:"published"`
	At        time.Time `json:"deferred_at"`
	// Deadline is the one that the message had, zero without one.
	Deadline time.Time `json:"deadline,omitzero"`
	// ReplayOf and Replays tell of earlier replays of the same delivery.
	ReplayOf uint64 `json:"replay_of,omitempty"`
	Replays  int    `json:"replays,omitempty"`
	// Octets is the size of the payload.
	Octets int `json:"octets"`
	// Final is the event that the message ended with.
	Final Event `json:"final"`

	subject string
	at      uint64 // sequence in the deferred stream
	header  nats.Header
	payload []byte
}

// Payload is the message as it was published. It holds a text and numbers.
func (d *Deferred) Payload() []byte { return d.payload }

// DeferredFilter selects copies; zero fields select all.
type DeferredFilter struct {
	Route, Reason string
	Seq           uint64
	ID            string
}

func (f *DeferredFilter) matches(d *Deferred) bool {
	return (f.Seq == 0 || d.Seq == f.Seq) && (f.ID == "" || d.ID == f.ID)
}

// DeferredReasons lists the reasons for which a message is set aside.
func DeferredReasons() []string {
	return []string{"malformed", "unknown_field", "attempts", "outcome_unknown", "poison", "terminal"}
}

// Deferred lists the copies in the deferred stream, oldest first.
func (c *Client) Deferred(ctx context.Context, f DeferredFilter) iter.Seq2[*Deferred, error] {
	n := c.names.Load()
	subject := n.deferredSubject(cmp.Or(f.Route, "*"), cmp.Or(f.Reason, "*"))
	return func(yield func(*Deferred, error) bool) {
		err := c.scan(ctx, n.deferred, subject, time.Time{}, func(m *storedMessage) bool {
			d, ok := n.deferredFrom(m)
			if !ok || !f.matches(d) {
				return true // what is not a gateway's explains nothing
			}
			return yield(d, nil)
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// deferredFrom reads a copy; ok is false for what no gateway wrote.
func (n *names) deferredFrom(m *storedMessage) (d *Deferred, ok bool) {
	seq, err := strconv.ParseUint(m.Header.Get(HeaderOriginalSeq), 10, 64)
	if err != nil {
		return nil, false
	}
	d = &Deferred{
		Seq: seq, ID: m.Header.Get(HeaderDeliveryID), Reason: m.Header.Get(HeaderDeferredReason), At: m.Time,
		Octets: len(m.Data), subject: m.Header.Get(HeaderOriginalSubject), at: m.Seq, header: m.Header, payload: m.Data,
	}
	lane := n.laneOf(d.subject)
	d.Route, d.Class = lane.Route, lane.Class
	// What is missing or strange stays zero: a person decides, not a program.
	d.Published, _ = time.Parse(time.RFC3339Nano, m.Header.Get(HeaderOriginalTime))
	d.Deadline, _ = time.Parse(time.RFC3339Nano, m.Header.Get(HeaderExpiresAt))
	d.ReplayOf, _ = strconv.ParseUint(m.Header.Get(HeaderReplayOf), 10, 64)
	d.Replays, _ = strconv.Atoi(m.Header.Get(HeaderReplays))
	_ = json.Unmarshal([]byte(m.Header.Get(HeaderEvent)), &d.Final)
	if d.Deadline.IsZero() {
		d.Deadline = d.Final.Deadline
	}
	return d, true
}

// deferredOf finds the copy of one message.
func (c *Client) deferredOf(ctx context.Context, f DeferredFilter) (*Deferred, error) {
	for d, err := range c.Deferred(ctx, f) {
		return d, err
	}
	return nil, ErrNoDeferred
}

// DropDeferred deletes a copy for good. The message keeps the final that it has.
func (c *Client) DropDeferred(ctx context.Context, d *Deferred) error {
	if err := c.deleteMessage(ctx, c.names.Load().deferred, d.at); err != nil {
		return fmt.Errorf("deleting the copy of message %d: %w", d.Seq, err)
	}
	return nil
}
