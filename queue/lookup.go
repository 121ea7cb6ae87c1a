package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Place is where a message is.
type Place string

// The places; a closed set. A message that is nowhere has a final, and no copy
// that waits for a person.
const (
	PlaceQueued   Place = "queued"    // never handed out
	PlaceInFlight Place = "in_flight" // handed out, and not settled
	PlaceWaiting  Place = "waiting"   // for its next attempt
	PlaceDeferred Place = "deferred"  // for a person
	PlaceDone     Place = "done"
	// PlaceRemoved: it has no final, and somebody else took it out of the stream.
	PlaceRemoved Place = "removed"
)

// Trail is what is known of one message.
type Trail struct {
	Seq    uint64 `json:"seq"`
	ID     string `json:"id"`
	Tenant string `json:"tenant,omitempty"`
	Route  string `json:"route,omitempty"`
	Class  string `json:"class,omitempty"`
	Place  Place  `json:"place"`
	// Published is zero when nothing that is left says it.
	Published time.Time `json:"published,omitzero"`
	ReplayOf  uint64    `json:"replay_of,omitempty"`
	// Waiting is the record of a message that waits, or was handed out again.
	Waiting  *Waiting  `json:"waiting,omitempty"`
	Deferred *Deferred `json:"deferred,omitempty"`
	// Events are in the order in which they were stored.
	Events []Event `json:"events"`
}

// Trails finds every message with a delivery id: several may have the same, and a
// replay keeps it. Since is how far back to look; zero looks through the whole
// journal. They come in the order of their sequences.
func (c *Client) Trails(ctx context.Context, id string, since time.Time) ([]Trail, error) {
	found := make(map[uint64]*Trail)
	of := func(seq uint64) *Trail {
		if found[seq] == nil {
			found[seq] = &Trail{Seq: seq, ID: id, Events: []Event{}}
		}
		return found[seq]
	}
	n := c.names.Load()
	err := c.scan(ctx, n.events, n.evtPrefix+"*.*."+Bucket(id), since, func(m *storedMessage) bool {
		var e Event
		if json.Unmarshal(m.Data, &e) == nil && e.ID == id {
			of(e.Seq).add(&e)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	// The queue holds what has no event yet. JSON may write an id in many ways; the
	// message has to be decoded unless its header names it.
	err = c.scan(ctx, n.mt, n.mtPrefix+">", time.Time{}, func(m *storedMessage) bool {
		if mayHaveID(m, id) {
			if v := c.envelopeOf(m); v.ID == id {
				of(m.Seq).describe(&v)
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	trails := make([]Trail, 0, len(found))
	for _, t := range found {
		if err := c.locate(ctx, t); err != nil {
			return nil, err
		}
		trails = append(trails, *t)
	}
	slices.SortFunc(trails, func(a, b Trail) int { return int(int64(a.Seq) - int64(b.Seq)) })
	return trails, nil
}

// mayHaveID spares most messages the decoding: an id without an escape stands in
// the payload as it is.
func mayHaveID(m *storedMessage, id string) bool {
	return bytes.Contains(m.Data, []byte(id)) || bytes.Contains(m.Data, []byte(`\`)) ||
		m.Header.Get(HeaderDeliveryID) == id || m.Header.Get(headerOnce) == id || m.Header.Get(headerOnce) == ""
}

// add takes one event into the trail.
func (t *Trail) add(e *Event) {
	t.Events = append(t.Events, *e)
	if e.Route != "" {
		t.Route, t.Class = e.Route, e.Class
	}
	if e.Tenant != "" {
		t.Tenant = e.Tenant
	}
	if e.ReplayOf != 0 {
		t.ReplayOf = e.ReplayOf
	}
	if t.Published.IsZero() {
		t.Published = e.published()
	}
}

// describe takes over what the message itself says.
func (t *Trail) describe(v *Envelope) {
	t.Route, t.Class, t.Published = v.Route, v.Class, v.Published
	if v.Message != nil {
		t.Tenant = v.Message.Tenant
	}
}

// final is the newest final of the trail, nil without one.
func (t *Trail) final() *Event {
	for i := range slices.Backward(t.Events) {
		if t.Events[i].Type.Final() {
			return &t.Events[i]
		}
	}
	return nil
}

// locate finds out where the message is.
func (c *Client) locate(ctx context.Context, t *Trail) error {
	if t.Seq == 0 { // events about no message of ours, such as an unmatched receipt's
		t.Place = PlaceDone
		return nil
	}
	t.Place = PlaceDone
	if final := t.final(); final != nil {
		return c.locateDeferred(ctx, t, final)
	}
	m, err := c.readLeader(ctx, c.names.Load().mt, readRequest{Seq: t.Seq})
	if errors.Is(err, errNoMessage) {
		return c.locateRemoved(ctx, t)
	}
	if err != nil {
		return err
	}
	t.Place = PlaceQueued
	record, _, err := c.readRecord(ctx, t.Seq)
	if err != nil {
		return err
	}
	t.Waiting = record
	if record != nil && !record.Open {
		t.Place = PlaceWaiting
		return nil
	}
	held, err := c.mayBeHeld(ctx, m, Lane{t.Route, t.Class})
	if held {
		t.Place = PlaceInFlight
	}
	return err
}

// locateRemoved tells a message that somebody else took out of the stream from one whose events the journal has dropped.
func (c *Client) locateRemoved(ctx context.Context, t *Trail) error {
	if !t.Published.IsZero() { // it may have ended since its events were read
		now, err := c.readTrail(ctx, t.Seq, t.ID, t.Published)
		if err != nil {
			return err
		}
		if now.final != nil {
			t.add(now.final)
			return nil
		}
	}
	stream, err := c.js.Stream(ctx, c.names.Load().events)
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	state := stream.CachedInfo().State
	if state.FirstSeq <= 1 || !t.Published.IsZero() && t.Published.After(state.FirstTime) {
		t.Place = PlaceRemoved
	}
	return nil
}

// locateDeferred looks for the copy that waits for a person, which was written
// just before the final.
func (c *Client) locateDeferred(ctx context.Context, t *Trail, final *Event) error {
	if final.Type != EventDeferred && final.Type != EventFailed {
		return nil
	}
	n := c.names.Load()
	err := c.scan(ctx, n.deferred, n.deferredSubject(t.Route, "*"), final.At.Add(-time.Minute), func(m *storedMessage) bool {
		if d, ok := n.deferredFrom(m); ok && d.Seq == t.Seq {
			t.Deferred, t.Place = d, PlaceDeferred
		}
		return t.Deferred == nil && m.Time.Before(final.At.Add(10*time.Minute))
	})
	if err != nil {
		return fmt.Errorf("looking for the copy of message %d: %w", t.Seq, err)
	}
	return nil
}
