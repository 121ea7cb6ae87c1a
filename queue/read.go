package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// readerIdle is how long the server keeps the consumer of a reader that is gone.
const readerIdle = 30 * time.Second

// EventFilter selects events; zero fields select all.
type EventFilter struct {
	Route string
	Types []EventType
	// ID is a delivery id. Only its bucket is read, which makes it the quick way
	// to a trail.
	ID    string
	Seq   uint64
	Since time.Time
	// Follow goes on with what is stored later, until ctx ends.
	Follow bool
}

// matches checks what the subjects did not.
func (f *EventFilter) matches(e *Event) bool {
	return (f.ID == "" || e.ID == f.ID) && (f.Seq == 0 || e.Seq == f.Seq)
}

func (f *EventFilter) subjects(n *names) []string {
	bucket := "*"
	if f.ID != "" {
		bucket = Bucket(f.ID)
	}
	prefix := n.evtPrefix + cmp.Or(f.Route, "*") + "."
	if len(f.Types) == 0 {
		return []string{prefix + "*." + bucket}
	}
	var subjects []string
	for _, t := range f.Types {
		subjects = append(subjects, prefix+string(t)+"."+bucket)
	}
	return subjects
}

// Events reads the journal, oldest first. Without Follow it ends with the
// newest event there was when it began. An error ends it.
func (c *Client) Events(ctx context.Context, f EventFilter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := c.readEvents(ctx, f, func(e Event) bool { return yield(e, nil) }); err != nil {
			yield(Event{}, fmt.Errorf("reading the journal: %w", err))
		}
	}
}

func (c *Client) readEvents(ctx context.Context, f EventFilter, yield func(Event) bool) error {
	n := c.names.Load()
	cfg := jetstream.OrderedConsumerConfig{FilterSubjects: f.subjects(n), InactiveThreshold: readerIdle}
	if !f.Since.IsZero() {
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &f.Since
	}
	consumer, err := c.js.OrderedConsumer(ctx, n.events, cfg)
	if err != nil {
		return err
	}
	left := consumer.CachedInfo().NumPending
	if left == 0 && !f.Follow {
		return nil
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for f.Follow || left > 0 {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			if f.Follow && ctx.Err() != nil {
				return nil
			}
			return err
		}
		left--
		var e Event
		// What cannot be read was not written by a gateway.
		if json.Unmarshal(m.Data(), &e) == nil && e.Type != eventProbe && f.matches(&e) && !yield(e) {
			return nil
		}
	}
	return nil
}

// Waiting lists the records of the messages that wait, in no order. Those at work
// are not among them, nor those of messages that a purge took out of the stream.
func (c *Client) Waiting(ctx context.Context) iter.Seq2[Waiting, error] {
	return func(yield func(Waiting, error) bool) {
		stream, err := c.js.Stream(ctx, c.names.Load().mt)
		if err != nil {
			yield(Waiting{}, fmt.Errorf("reading the records: %w", err))
			return
		}
		first := stream.CachedInfo().State.FirstSeq
		err = c.readWaiting(ctx, func(w Waiting) bool { return w.Seq < first || yield(w, nil) })
		if err != nil {
			yield(Waiting{}, fmt.Errorf("reading the records: %w", err))
		}
	}
}

// InStream says whether the message is still in the queue: it has not ended, and nobody deleted it.
func (c *Client) InStream(ctx context.Context, seq uint64) (bool, error) {
	_, err := c.readLeader(ctx, c.names.Load().mt, readRequest{Seq: seq})
	if errors.Is(err, errNoMessage) {
		return false, nil
	}
	return err == nil, err
}

func (c *Client) readWaiting(ctx context.Context, yield func(Waiting) bool) (err error) {
	kv, err := c.js.KeyValue(ctx, c.names.Load().waiting)
	if err != nil {
		return err
	}
	watcher, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, watcher.Stop()) }()
	for {
		select {
		case entry := <-watcher.Updates():
			if entry == nil { // that was all
				return nil
			}
			var w Waiting
			if json.Unmarshal(entry.Value(), &w) == nil && !w.Open && !yield(w) {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
