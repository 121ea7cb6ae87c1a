package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ReplayOptions say how to send a deferred message again.
type ReplayOptions struct {
	// ExpiresIn gives the message a new deadline, counted from now; 0 keeps the
	// one it had. At most 7 days.
	ExpiresIn time.Duration
	// Force sends what is known as accepted, or known to be refused again.
	Force bool
	// DryRun checks, and changes nothing.
	DryRun bool
}

// Replayed is what became of a replay.
type Replayed struct {
	Seq uint64 `json:"seq"`
	ID  string `json:"id"`
	// As is the sequence of the message that was published; 0 after a dry run.
	As uint64 `json:"replayed_as,omitempty"`
	// Before says that an earlier replay, which did not come to its end, had
	// published it.
	Before            bool      `json:"published_before,omitempty"`
	PossibleDuplicate bool      `json:"possible_duplicate,omitempty"`
	Deadline          time.Time `json:"deadline,omitzero"`
}

// ErrReplayRefused reports a message that must not be sent again as asked.
var ErrReplayRefused = errors.New("refused")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrReplayRefused, fmt.Sprintf(format, args...))
}

// replayIntent is written before a replay publishes: who finds it does not
// publish a second time without looking.
type replayIntent struct {
	N int `json:"n"`
	// At is when it was written, After the last sequence of the queue then.
	At    time.Time `json:"at"`
	After uint64    `json:"after"`
}

// intentTTL outlives the copies in the deferred stream.
const intentTTL = deferredAge + 24*time.Hour

// Replay publishes a deferred message to the subject it came from, as a new
// message that keeps the delivery id and says what it is a replay of, and deletes
// the copy. It may be repeated after a crash at any point, by anybody: the
// message is published once.
//
// It keeps the deadline that the message had. What the journal or a receipt knows
// as accepted is refused, and whatever has an unknown outcome is marked as a
// possible duplicate.
func (c *Client) Replay(ctx context.Context, j *Journal, d *Deferred, o ReplayOptions) (Replayed, error) {
	r := Replayed{Seq: d.Seq, ID: d.ID}
	h, err := c.readHistory(ctx, d.Seq, d.ID, d.Published)
	if err != nil {
		return r, err
	}
	if h.replayed != nil { // all but the deletion was done
		r.As, r.Before, r.PossibleDuplicate = h.replayed.ReplayedAs, true, h.replayed.PossibleDuplicate
		if o.DryRun {
			return r, nil
		}
		return r, c.endReplay(ctx, d)
	}
	if r.Deadline, err = c.mayReplay(ctx, d, h, o); err != nil {
		return r, err
	}
	r.PossibleDuplicate = h.doubtful || h.accepted != nil || d.Final.PossibleDuplicate || d.Final.SegmentsAccepted > 0 ||
		d.header.Get(HeaderPossibleDuplicate) == "true" || d.Reason == "outcome_unknown"
	if o.DryRun {
		return r, nil
	}
	intent, began, err := c.beginReplay(ctx, d)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return c.Replay(ctx, j, d, o) // who had begun has finished just now
	}
	if err != nil {
		return r, err
	}
	if !began { // somebody has begun before, and may have published
		if r.As, err = c.publishedReplay(ctx, d, intent); err != nil {
			return r, err
		}
		r.Before = r.As != 0
	}
	if r.As == 0 {
		if r.As, r.Before, err = c.publishReplay(ctx, d, r, intent); err != nil {
			return r, err
		}
	}
	e := d.replayedEvent(r, intent)
	if err := j.store(ctx, &e, storeOptions{once: e.EventID, doubt: true, published: d.Published}); err != nil {
		return r, err
	}
	return r, c.endReplay(ctx, d)
}

// How long a message may still be in the queue after its deferral was written down: its acknowledgement comes behind.
const (
	goneWithin = 3 * time.Second
	goneLook   = 50 * time.Millisecond
)

// awaitGone reports whether the message has left the queue, or does so within moments.
func (c *Client) awaitGone(ctx context.Context, seq uint64) (gone bool, err error) {
	for range goneWithin / goneLook {
		switch _, err := c.readLeader(ctx, c.names.Load().mt, readRequest{Seq: seq}); {
		case errors.Is(err, errNoMessage):
			return true, nil
		case err != nil:
			return false, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(goneLook):
		}
	}
	return false, nil
}

// mayReplay decides whether the message may be sent again, and until when.
func (c *Client) mayReplay(ctx context.Context, d *Deferred, h history, o ReplayOptions) (deadline time.Time, err error) {
	n := c.names.Load()
	switch left, err := c.awaitGone(ctx, d.Seq); {
	case err != nil:
		return deadline, err
	case !left:
		return deadline, refuse("message %d is still in the queue: wait for its outcome, or cancel it", d.Seq)
	}
	if d.subject == "" || n.laneOf(d.subject) == (Lane{}) {
		return deadline, refuse("the copy of message %d does not say where it came from", d.Seq)
	}
	message, fault := decode(d.payload)
	if !o.Force {
		if err := h.objection(d, fault); err != nil {
			return deadline, err
		}
	}
	now := time.Now()
	if o.ExpiresIn != 0 {
		if o.ExpiresIn < 0 || o.ExpiresIn > maxValidity {
			return deadline, refuse("a new life of %v: want more than 0 and at most 168h", o.ExpiresIn)
		}
		return now.Add(o.ExpiresIn), nil
	}
	deadline = d.Deadline
	if deadline.IsZero() {
		deadline = message.Deadline(d.Published, 0)
	}
	if !deadline.IsZero() && !deadline.After(now) {
		return deadline, refuse("the deadline of message %d passed %v ago; --expires-in gives it a new one", d.Seq,
			now.Sub(deadline).Truncate(time.Second))
	}
	return deadline, nil
}

// objection is why a message is not to be sent again without force.
func (h *history) objection(d *Deferred, fault error) error {
	var unknown *UnknownFieldError
	switch {
	case h.accepted != nil && h.accepted.Receipt != nil:
		return refuse("the SMSC has message %d: a receipt says %s; --force sends it a second time", d.Seq, h.accepted.Receipt.State)
	case h.accepted != nil:
		return refuse("the SMSC has accepted message %d: event %s at %s; --force sends it a second time", d.Seq, h.accepted.Type,
			h.accepted.At.UTC().Format(time.RFC3339))
	case h.final != nil && h.final.Type != EventDeferred && h.final.Type != EventFailed:
		return refuse("message %d ended %s, its copy is left from before; --force sends it nevertheless", d.Seq, h.final.Type)
	case errors.As(fault, &unknown):
		return refuse("message %d: %v, to this version too: it would be set aside again; upgrade, or --force", d.Seq, fault)
	case fault != nil:
		return refuse("message %d: %v: it would fail again; --force sends it nevertheless", d.Seq, fault)
	default:
		return nil
	}
}

func replayKey(seq uint64) string { return "replay." + seqKey(seq) }

// beginReplay writes the intent; began is false when there is one already.
func (c *Client) beginReplay(ctx context.Context, d *Deferred) (intent replayIntent, began bool, err error) {
	n := c.names.Load()
	kv, err := c.js.KeyValue(ctx, n.control)
	if err != nil {
		return intent, false, fmt.Errorf("bucket %s: %w", n.control, err)
	}
	stream, err := c.js.Stream(ctx, n.mt)
	if err != nil {
		return intent, false, fmt.Errorf("stream %s: %w", n.mt, err)
	}
	intent = replayIntent{N: d.Replays + 1, At: time.Now().UTC(), After: stream.CachedInfo().State.LastSeq}
	data, err := json.Marshal(intent)
	if err != nil {
		return intent, false, err
	}
	_, err = kv.Create(ctx, replayKey(d.Seq), data, jetstream.KeyTTL(intentTTL))
	if err == nil {
		return intent, true, nil
	}
	if !errors.Is(err, jetstream.ErrKeyExists) {
		return intent, false, fmt.Errorf("noting the replay of message %d: %w", d.Seq, err)
	}
	entry, err := kv.Get(ctx, replayKey(d.Seq))
	if err == nil {
		err = json.Unmarshal(entry.Value(), &intent)
	}
	if err != nil {
		return intent, false, fmt.Errorf("reading the note of an earlier replay of message %d: %w", d.Seq, err)
	}
	return intent, false, nil
}

// onceReplay is the Nats-Msg-Id of a replay.
func onceReplay(seq uint64, n int) string { return seqKey(seq) + ":replay" + strconv.Itoa(n) }

// publishedReplay finds the message that an earlier replay has published, 0 when
// the server is to decide by its id, or there is none. First the queue is asked
// and then the journal: a message goes the other way.
func (c *Client) publishedReplay(ctx context.Context, d *Deferred, intent replayIntent) (seq uint64, err error) {
	n := c.names.Load()
	once := onceReplay(d.Seq, intent.N)
	for from := intent.After + 1; ; {
		m, err := c.readLeader(ctx, n.mt, readRequest{Seq: from, NextFor: d.subject})
		if errors.Is(err, errNoMessage) {
			break
		}
		if err != nil {
			return 0, err
		}
		if m.Header.Get(headerOnce) == once {
			return m.Seq, nil
		}
		from = m.Seq + 1
	}
	h, err := c.readHistory(ctx, d.Seq, d.ID, d.Published)
	if err != nil || h.successor != 0 {
		return h.successor, err
	}
	stream, err := c.js.Stream(ctx, n.events)
	if err != nil {
		return 0, fmt.Errorf("reading the journal: %w", err)
	}
	if state := stream.CachedInfo().State; state.FirstSeq > 1 && state.FirstTime.After(intent.At) {
		return 0, refuse("a replay of message %d was begun at %s, and the journal does not reach back to what became of it",
			d.Seq, intent.At.Format(time.RFC3339))
	}
	return 0, nil
}

func (c *Client) publishReplay(ctx context.Context, d *Deferred, r Replayed, intent replayIntent) (seq uint64, before bool, err error) {
	m := nats.NewMsg(d.subject)
	m.Data = d.payload
	for key, values := range d.header {
		switch key {
		case HeaderDeferredReason, HeaderOriginalSubject, HeaderOriginalSeq, HeaderOriginalTime, HeaderOriginalMsgID, HeaderEvent,
			HeaderExpiresAt, HeaderPossibleDuplicate:
		default:
			if !strings.HasPrefix(key, "Nats-") {
				m.Header[key] = values
			}
		}
	}
	m.Header.Set(headerOnce, onceReplay(d.Seq, intent.N))
	m.Header.Set(HeaderDeliveryID, d.ID)
	m.Header.Set(HeaderReplayOf, seqKey(d.Seq))
	m.Header.Set(HeaderReplays, strconv.Itoa(intent.N))
	if r.PossibleDuplicate {
		m.Header.Set(HeaderPossibleDuplicate, "true")
	}
	if !r.Deadline.IsZero() {
		m.Header.Set(HeaderExpiresAt, r.Deadline.UTC().Format(time.RFC3339Nano))
	}
	ack, err := c.js.PublishMsg(ctx, m)
	if err != nil {
		return 0, false, publishError(d.Route, d.Class, err)
	}
	return ack.Sequence, ack.Duplicate, nil
}

// replayedEvent belongs to the message that was set aside; the new one has a
// trail of its own.
func (d *Deferred) replayedEvent(r Replayed, intent replayIntent) Event {
	e := Event{
		Type: EventReplayed, Seq: d.Seq, ID: d.ID, EventID: seqKey(d.Seq) + ".replay" + strconv.Itoa(intent.N),
		Route: d.Route, Class: d.Class, Tenant: d.Final.Tenant, Reason: d.Reason, ReplayedAs: r.As,
		PossibleDuplicate: r.PossibleDuplicate, Deadline: r.Deadline, Meta: d.Final.Meta,
	}
	e.TraceParent, e.TraceState = traceOf(d.header.Get)
	e.complete(time.Now())
	return e
}

// endReplay deletes the copy, then the intent.
func (c *Client) endReplay(ctx context.Context, d *Deferred) error {
	if err := c.DropDeferred(ctx, d); err != nil {
		return err
	}
	kv, err := c.js.KeyValue(ctx, c.names.Load().control)
	if err == nil {
		err = kv.Purge(ctx, replayKey(d.Seq), jetstream.PurgeTTL(markerTTL))
	}
	if err != nil {
		return fmt.Errorf("message %d was replayed, but the note of it stays: %w", d.Seq, err)
	}
	return nil
}
