package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// clockSlack is how far apart the clocks of two servers of a cluster may be: a
// trail is looked for from that long before the message was stored.
const clockSlack = 10 * time.Second

// trail is what the journal says about one message.
type trail struct {
	final *Event // the final, if there is one
	last  *Event // the newest outcome that is not final
	// record is the newest entry that stands for a record, see noteRecord.
	record *Event
}

// readTrail reads the outcomes of one message from its bucket, on the leader of
// the journal, from the time the message was stored.
func (c *Client) readTrail(ctx context.Context, seq uint64, id string, published time.Time) (trail, error) {
	var t trail
	err := c.walkBucket(ctx, id, published, func(e *Event) bool {
		switch {
		case e.Seq == seq && e.Type == eventProbe:
			t.record = e
		case e.Seq != seq || !e.Type.outcome():
		case e.Type.Final():
			t.final = e
		default:
			t.last = e
		}
		return true
	})
	return t, err
}

// storedEvent returns the event as the journal has it, and for a final any final
// of the message; nil when there is none.
func (c *Client) storedEvent(ctx context.Context, e *Event, published time.Time) (stored *Event, err error) {
	if published.IsZero() {
		published = e.At
	}
	err = c.walkBucket(ctx, e.ID, published, func(found *Event) bool {
		if found.EventID == e.EventID || e.Type.Final() && found.Type.Final() && found.Seq == e.Seq {
			stored = found
		}
		return stored == nil
	})
	return stored, err
}

// walkBucket calls f for the events of one bucket, from a time on unless that is
// zero, until it returns false.
func (c *Client) walkBucket(ctx context.Context, id string, since time.Time, f func(*Event) bool) error {
	n := c.names.Load()
	r := readRequest{NextFor: n.evtPrefix + "*.*." + Bucket(id), Seq: 1}
	if !since.IsZero() {
		start := since.Add(-clockSlack)
		r.Seq, r.Start = 0, &start
	}
	for {
		m, err := c.readLeader(ctx, n.events, r)
		if errors.Is(err, errNoMessage) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the journal: %w", err)
		}
		e := new(Event)
		// An entry that cannot be read is not ours; it explains nothing.
		if json.Unmarshal(m.Data, e) == nil && !f(e) {
			return nil
		}
		r = readRequest{NextFor: r.NextFor, Seq: m.Seq + 1}
	}
}
