package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrUnknownMessage reports a message of which nothing is left: no such message
// was published, or its events are older than the journal.
var ErrUnknownMessage = errors.New("nothing is known of this message")

// Identify finds the delivery id of a message by its sequence. A message that has
// left the queue is looked for in the journal, which is kept by delivery id: its
// events follow its publish, so the time of that is narrowed down first.
func (c *Client) Identify(ctx context.Context, seq uint64) (id string, published time.Time, err error) {
	if seq == 0 {
		return "", time.Time{}, ErrUnknownMessage
	}
	n := c.names.Load()
	m, err := c.readLeader(ctx, n.mt, readRequest{Seq: seq})
	if err == nil {
		v := c.envelopeOf(m)
		return v.ID, v.Published, nil
	}
	if !errors.Is(err, errNoMessage) {
		return "", time.Time{}, err
	}
	d, err := c.deferredOf(ctx, DeferredFilter{Seq: seq})
	if err == nil {
		return d.ID, d.Published, nil
	}
	if !errors.Is(err, ErrNoDeferred) {
		return "", time.Time{}, err
	}
	stream, err := c.js.Stream(ctx, n.mt)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("stream %s: %w", n.mt, err)
	}
	if seq > stream.CachedInfo().State.LastSeq {
		return "", time.Time{}, ErrUnknownMessage
	}
	since, err := c.publishedAfter(ctx, seq, stampSlack(stream.CachedInfo()))
	if err != nil {
		return "", time.Time{}, err
	}
	for e, err := range c.Events(ctx, EventFilter{Seq: seq, Since: since}) {
		if err != nil || e.ID != "" {
			return e.ID, e.published(), err
		}
	}
	return "", time.Time{}, ErrUnknownMessage
}

// published is when the message of an outcome was stored; zero for other events.
func (e *Event) published() time.Time {
	if !e.Type.outcome() {
		return time.Time{}
	}
	return e.At.Add(-time.Duration(e.QueueAgeMillis) * time.Millisecond)
}

// Bounds of the search. A journal of 72 h is narrowed down to a millisecond by 28
// steps.
const (
	bisections   = 32
	bisectedTo   = time.Millisecond
	probedEvents = 50 // for one that is an outcome
)

// stampSlack is how much earlier than its message an event may seem to be stored:
// the queue age is cut to milliseconds, and in a cluster another server may have
// stamped it.
func stampSlack(stream *jetstream.StreamInfo) time.Duration {
	if stream.Config.Replicas > 1 {
		return clockSlack
	}
	return 10 * time.Millisecond
}

// publishedAfter is a time before which the message was not published: the last
// at which one with a smaller sequence was, among those found. Sequences and times
// of publishing have the same order, and each outcome tells both of its message.
func (c *Client) publishedAfter(ctx context.Context, seq uint64, slack time.Duration) (time.Time, error) {
	n := c.names.Load()
	stream, err := c.js.Stream(ctx, n.events)
	if err != nil {
		return time.Time{}, fmt.Errorf("stream %s: %w", n.events, err)
	}
	low, high := stream.CachedInfo().State.FirstTime, stream.CachedInfo().State.LastTime
	after := low
	for range bisections {
		if high.Sub(low) < bisectedTo {
			break
		}
		middle := low.Add(high.Sub(low) / 2)
		e, err := c.outcomeAt(ctx, middle)
		switch {
		case err != nil:
			return after, err
		case e == nil || e.Seq > seq:
			high = middle
		case e.Seq == seq:
			return e.published().Add(-slack), nil
		default:
			low = middle
			if p := e.published(); p.After(after) {
				after = p
			}
		}
	}
	return after.Add(-slack), nil
}

// outcomeAt is the first outcome at or soon after a time, nil without one.
func (c *Client) outcomeAt(ctx context.Context, at time.Time) (*Event, error) {
	n := c.names.Load()
	r := readRequest{NextFor: n.evtPrefix + ">", Start: &at}
	for range probedEvents {
		m, err := c.readLeader(ctx, n.events, r)
		if errors.Is(err, errNoMessage) {
			return nil, nil //nolint:nilnil // nil: there is none
		}
		if err != nil {
			return nil, err
		}
		e := new(Event)
		if json.Unmarshal(m.Data, e) == nil && e.Seq != 0 && e.Type.outcome() {
			return e, nil
		}
		r = readRequest{NextFor: r.NextFor, Seq: m.Seq + 1}
	}
	return nil, nil //nolint:nilnil // as above
}
