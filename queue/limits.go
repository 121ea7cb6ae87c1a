package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// isFull reports whether a write was refused because its stream has reached a
// limit that somebody set. A server whose disk is full says otherwise.
func isFull(err error) bool {
	if refused, ok := errors.AsType[*serverError](err); ok {
		return refused.Code == codeStreamFull && strings.HasPrefix(refused.Description, "maximum")
	}
	if refused, ok := errors.AsType[*jetstream.APIError](err); ok {
		return refused.ErrorCode == codeStreamFull && strings.HasPrefix(refused.Description, "maximum")
	}
	return false
}

// shrinkFirst lowers what the streams may take before others are raised or
// created: the server reserves it.
func (e *ensurer) shrinkFirst(ctx context.Context, wanted []jetstream.StreamConfig) {
	for _, want := range wanted {
		s, err := e.js.Stream(ctx, want.Name)
		if err != nil {
			continue // it is created, or the error comes again
		}
		if have := s.CachedInfo().Config; have.MaxBytes > want.MaxBytes && s.CachedInfo().State.Bytes <= uint64(want.MaxBytes) {
			have.MaxBytes = want.MaxBytes
			if _, err := e.js.UpdateStream(ctx, have); err == nil {
				e.changed = append(e.changed, fmt.Sprintf("%s: max_bytes %d", want.Name, want.MaxBytes))
			}
		}
	}
}

// limit brings the size of a stream, and what it does when it is full, to what is
// wanted, unless that would drop something that is stored. It returns what is in
// effect; where that is the old limit, the difference says what to do.
func (e *ensurer) limit(ctx context.Context, s jetstream.Stream, have, want jetstream.StreamConfig) jetstream.StreamConfig {
	if unlimited(have.MaxBytes) == unlimited(want.MaxBytes) && have.Discard == want.Discard &&
		have.DiscardNewPerSubject == want.DiscardNewPerSubject && unlimited(have.MaxMsgsPerSubject) == unlimited(want.MaxMsgsPerSubject) {
		return have
	}
	next := have
	next.MaxBytes, next.Discard = want.MaxBytes, want.Discard
	next.DiscardNewPerSubject, next.MaxMsgsPerSubject = want.DiscardNewPerSubject, want.MaxMsgsPerSubject
	state := s.CachedInfo().State
	drops := want.MaxBytes > 0 && state.Bytes > uint64(want.MaxBytes)
	if limit := want.MaxMsgsPerSubject; limit > 1 { // a bucket's stays as it is
		drops = drops || state.Msgs > uint64(limit) // of all subjects: enough to be sure
	}
	if drops {
		e.differences = append(e.differences, fmt.Sprintf(
			"stream %s: it holds %d octets, more than its limit of %d would keep: the old limit stays; make room, then: nats stream edit %s --max-bytes=%d --discard=%s",
			want.Name, state.Bytes, want.MaxBytes, want.Name, want.MaxBytes, discardWord(want.Discard)))
		return have
	}
	if _, err := e.js.UpdateStream(ctx, next); err != nil {
		e.differences = append(e.differences, fmt.Sprintf("stream %s: its limits could not be changed: %v", want.Name, err))
		return have
	}
	e.changed = append(e.changed, fmt.Sprintf("%s: max_bytes %d, discard %s", want.Name, want.MaxBytes, discardWord(want.Discard)))
	return next
}

// discardWord is the policy as the nats command writes it.
func discardWord(d jetstream.DiscardPolicy) string {
	if d == jetstream.DiscardNew {
		return "new"
	}
	return "old"
}

// noteFull counts and logs that a stream or bucket had no room.
func (j *Journal) noteFull(stream, what string) {
	j.metrics.full(stream)
	j.client.logger.Warn("a stream has reached its limit", "stream", stream, "effect", what)
}

// unlessFull repeats a step as persist does, and gives it up when the stream has
// reached its limit: no other message waits for that.
func (j *Journal) unlessFull(ctx context.Context, stream, what string, step func(context.Context) error) (full bool, err error) {
	err = j.persist(ctx, stream, what, func(ctx context.Context) error {
		err := step(ctx)
		if full = isFull(err); full {
			return nil
		}
		return err
	})
	return full, err
}

// noteRecord writes a record that the bucket has no room for into the journal, in
// the place of the record. What the bucket has of the message goes before: it would
// explain the next delivery, and be wrong. A record that is closed and comes after
// an event of its delivery says no more than that.
func (d *delivery) noteRecord(ctx context.Context, r *Waiting) error {
	j := d.intake.journal
	stream := bucketStream(d.intake.names.waiting)
	j.noteFull(stream, "what waits is not listed; the journal explains it")
	if d.revision != 0 {
		err := j.persist(ctx, stream, "taking out a record that is too old", func(ctx context.Context) error {
			w := j.deleteRecord(d.seq)
			w.stream, w.keep = stream, false
			err := j.write(ctx, w)
			if isFull(err) { // in a cluster the marker needs room before it makes some
				return j.client.purge(ctx, stream, w.subject)
			}
			return err
		})
		if err != nil {
			return err
		}
		d.revision = 0
	}
	if !r.Open && r.State.Parked == nil && r.Reason != reasonReleased && r.Reason != reasonRedelivery {
		return nil
	}
	e := Event{Type: eventProbe, Seq: r.Seq, ID: r.ID, Delivery: r.Delivery, Route: r.Route, Class: r.Class, Reason: r.Reason, State: &r.State}
	if r.Open {
		e.Reason = reasonOpened
	}
	e.complete(time.Now())
	return j.store(ctx, &e, storeOptions{published: d.published})
}

// purge removes everything that a stream has under a subject, without a marker.
func (c *Client) purge(ctx context.Context, stream, subject string) error {
	s, err := c.js.Stream(ctx, stream)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(subject))
	}
	if err != nil {
		return fmt.Errorf("purging %s of stream %s: %w", subject, stream, err)
	}
	return nil
}

// reasonOpened marks the entry that stands for an open record.
const reasonOpened = "opened"

// noted lets what the journal has in the place of a record explain a delivery.
func (t *trail) noted(record *Waiting) {
	n := t.record
	if n == nil || n.State == nil || n.Delivery < record.Delivery {
		return
	}
	record.Delivery, record.State, record.Open = n.Delivery, *n.State, n.Reason == reasonOpened
	if !record.Open && (t.last == nil || t.last.Delivery < n.Delivery) {
		t.last = n
	}
}

const (
	// copyNone is in an event whose message was not copied to the deferred stream,
	// because that is full.
	copyNone = "none"
	// parkFor is how long a message waits for room in the deferred stream, and its
	// lane with it.
	parkFor = 10 * time.Second
	// spaceTrusted is how long what was read of a stream's size is believed.
	spaceTrusted = time.Second
)

// setAside copies the message to the deferred stream as its outcome wants. Where
// there is no room, a malformed message goes without a copy, which the event says;
// what a publisher can cause has no more than half of the stream. Anything else is
// parked: it keeps its place in the queue with the final that it will have, and its
// lane alone hands out nothing more for a while.
func (d *delivery) setAside(ctx context.Context, o *Outcome, e *Event) (parked bool, err error) {
	j, stream := d.intake.journal, d.intake.names.deferred
	full := false
	if publisherCauses(o.DeferredReason) {
		full = d.intake.client.halfFull(ctx, stream, len(d.data))
	}
	if !full {
		full, err = j.unlessFull(ctx, stream, "the deferred copy", func(ctx context.Context) error {
			return d.copyToDeferred(ctx, o.DeferredReason, e)
		})
	}
	switch {
	case err != nil || !full:
		return false, err
	case o.DeferredReason == reasonMalformed:
		j.noteFull(stream, "malformed messages end without a copy")
		e.Copy = copyNone
		return false, nil
	}
	j.noteFull(stream, "messages that are to be deferred wait, and their lane with them")
	d.lane.park(time.Now().Add(parkFor))
	if err := d.index(ctx, o.Receipts); err != nil {
		return false, err
	}
	s := o.State
	s.Parked = &Parked{Reason: o.DeferredReason, Final: *e}
	return true, d.wait(ctx, s, time.Now().Add(parkFor).UTC(), e.Account, reasonParked)
}

// Reasons that this package knows.
const (
	reasonMalformed    = "malformed"
	reasonUnknownField = "unknown_field"
	reasonParked       = "parked"
)

func publisherCauses(reason string) bool {
	return reason == reasonMalformed || reason == reasonUnknownField
}

// Parked is the end of a message that waits for room in the deferred stream.
type Parked struct {
	Reason string `json:"reason"`
	Final  Event  `json:"final"`
}

// endParked ends a message that was parked, or parks it again.
func (d *delivery) endParked(ctx context.Context) error {
	p := d.state.Parked
	e := p.Final
	parked, err := d.setAside(ctx, &Outcome{DeferredReason: p.Reason, State: d.state}, &e)
	if err != nil || parked {
		return err
	}
	_, err = d.settleFinal(ctx, &e, nil, true)
	return err
}

// park lets a lane ask for nothing until a time.
func (l *lane) park(until time.Time) {
	l.intake.mu.Lock()
	defer l.intake.mu.Unlock()
	if until.After(l.retryAt) {
		l.retryAt = until
	}
}

// space is what was read of a stream's size a moment ago.
type space struct {
	mu    sync.Mutex
	at    time.Time
	bytes uint64
	most  int64
}

// halfFull reports whether a stream holds half of what it may, and counts the octets
// to come when it does not. What cannot be read is not: the write itself will tell.
func (c *Client) halfFull(ctx context.Context, stream string, octets int) bool {
	s := &c.deferredSpace
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) >= spaceTrusted {
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		info, err := c.js.Stream(ctx, stream)
		if err != nil {
			return false
		}
		s.at, s.bytes, s.most = time.Now(), info.CachedInfo().State.Bytes, info.CachedInfo().Config.MaxBytes
	}
	if s.most > 0 && s.bytes >= uint64(s.most)/2 {
		return true
	}
	s.bytes += uint64(octets)
	return false
}
