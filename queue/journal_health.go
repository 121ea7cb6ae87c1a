package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Waits between two probes of a stream that fails.
	probeFirst   = 50 * time.Millisecond
	probeMost    = time.Second
	probeTimeout = 2 * time.Second
	// slowMost is how long a write may wait for its confirmation before nothing
	// more is handed out. A server whose disk is full does not answer at all.
	slowMost = time.Second
	// eventProbe is the type of an entry that is no event: it was written to see
	// whether the journal stores, because no event was at hand.
	eventProbe EventType = "probe"
)

var errSlow = fmt.Errorf("a write has waited for its confirmation for %v", slowMost)

// health is whether what the journal writes is stored. A stream fails from the
// first write that is not confirmed until a later one is. Meanwhile the writes to
// it wait in line, and one at a time is let through to find out.
type health struct {
	ill     atomic.Bool // a stream fails, or a write is slow
	failing atomic.Bool // a stream fails

	stored atomic.Int64 // when an event was last confirmed, in Unix nanoseconds

	mu     sync.Mutex
	faults map[string]*fault // by stream
	slow   bool
}

// fault is one stream that fails.
type fault struct {
	stream string
	reason error
	since  time.Time
	turn   chan struct{} // hands the turn to one of those in line
	done   chan struct{} // one element: that one has tried
	hurry  chan struct{} // one element: try now
	mended chan struct{} // closed when the stream stores again
}

func newFault(stream string, reason error, now time.Time) *fault {
	return &fault{
		stream: stream, reason: reason, since: now, turn: make(chan struct{}),
		done: make(chan struct{}, 1), hurry: make(chan struct{}, 1), mended: make(chan struct{}),
	}
}

func (f *fault) isMended() bool {
	select {
	case <-f.mended:
		return true
	default:
		return false
	}
}

// failure is one of the reasons, nil when all is well.
func (h *health) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.faults {
		return f.reason
	}
	if h.slow {
		return errSlow
	}
	return nil
}

// fault returns that of a stream, or nil. Any will do for an empty name.
func (h *health) fault(stream string) *fault {
	if !h.failing.Load() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if stream != "" {
		return h.faults[stream]
	}
	for _, f := range h.faults {
		return f
	}
	return nil
}

// attempt runs a step that writes to a stream, once it is its turn. One that
// only reads names no stream, and waits until none fails.
func (j *Journal) attempt(ctx context.Context, stream string, step func(context.Context) error) error {
	leave, err := j.turn(ctx, stream)
	if err != nil {
		return err
	}
	defer leave()
	return step(ctx)
}

// turn waits until it is a step's turn to write to a stream; leave ends the turn.
func (j *Journal) turn(ctx context.Context, stream string) (leave func(), err error) {
	for ctx.Err() == nil {
		f := j.health.fault(stream)
		if f == nil {
			return func() {}, nil
		}
		turn := f.turn
		if stream == "" {
			turn = nil
		}
		select {
		case <-turn:
			return func() { f.done <- struct{}{} }, nil
		case <-f.mended:
		case <-j.stop:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, fmt.Errorf("%w; the journal fails: %w", ctx.Err(), f.reason)
		}
	}
	return nil, ctx.Err()
}

// pause waits before a step is tried again. Where the stream fails the step
// waits for its turn instead.
func (j *Journal) pause(ctx context.Context, stream string, wait time.Duration) {
	if j.health.fault(stream) != nil {
		return
	}
	select {
	case <-time.After(wait):
	case <-j.stop:
	case <-ctx.Done():
	}
}

// note draws the conclusion from the answer to a write that was queued at began.
func (j *Journal) note(stream string, began time.Time, err error, givenUp bool) {
	now := time.Now()
	switch {
	case err == nil:
		if stream == j.names.events {
			j.health.stored.Store(now.UnixNano())
		}
		if f := j.health.fault(stream); f != nil && began.After(f.since) {
			j.mend(f)
		}
	case givenUp && now.Sub(began) < j.slowAfter():
	case errors.Is(err, ErrClosed), errors.Is(err, errTooLarge):
	case stream == j.names.events || !concernsOne(err):
		j.fail(stream, now, err)
	}
}

// concernsOne reports whether a refusal concerns one write and says nothing about
// the next.
func concernsOne(err error) bool {
	var refused *serverError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Code {
	case codeNoResources, codeNoStorage:
		return false
	case codeStreamFull: // a limit that a person has set, or a disk that does not write
		return strings.HasPrefix(refused.Description, "maximum")
	default:
		return true
	}
}

// fail notes that a write was not stored. From now on nothing is handed out, and
// the stream is tried until it stores again.
func (j *Journal) fail(stream string, now time.Time, reason error) {
	j.metrics.failed()
	h := &j.health
	h.mu.Lock()
	if h.faults[stream] != nil {
		h.mu.Unlock()
		return
	}
	f := newFault(stream, reason, now)
	h.faults[stream] = f
	first := len(h.faults) == 1
	h.failing.Store(true)
	h.ill.Store(true)
	h.mu.Unlock()
	if first {
		j.client.logger.Error("the journal cannot store; nothing is taken from the queue", "stream", stream, "error", reason)
	}
	j.mu.Lock()
	if !j.closed {
		j.stopped.Go(func() { j.tend(f) })
	}
	j.mu.Unlock()
	j.tellPullers()
}

// tend tries the stream until it stores: with the write of one of those in line,
// or with one of its own when there is none.
func (j *Journal) tend(f *fault) {
	for wait := probeFirst; !f.isMended(); wait = min(2*wait, probeMost) {
		select {
		case <-time.After(wait):
		case <-f.hurry:
			wait = probeFirst
		case <-f.mended:
			return
		case <-j.stop:
			return
		}
		select {
		case f.turn <- struct{}{}:
			select {
			case <-f.done:
			case <-j.stop:
				return
			}
			if !f.isMended() && j.probe(f.stream) == nil { // it only read
				j.mend(f)
			}
		default:
			if j.probe(f.stream) == nil {
				j.mend(f)
			}
		}
	}
}

// probe writes something harmless to a stream: an entry without meaning to a
// bucket, and else one to the journal that no reader takes for an event.
func (j *Journal) probe(stream string) error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	for _, bucket := range []string{j.names.waiting, j.names.final, j.names.receipts} {
		if stream == bucketStream(bucket) {
			return j.write(ctx, write{stream: stream, subject: bucketSubject(bucket, string(eventProbe))})
		}
	}
	e := Event{Type: eventProbe}
	e.complete(time.Now())
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Type, err)
	}
	return j.write(ctx, write{stream: j.names.events, subject: e.Subject(j.names.prefix), data: data})
}

// Check writes a probe to the journal when no event was confirmed for the given time, so that a store which refuses or
// swallows writes is known before an event meets it: see [Journal.Failure].
func (j *Journal) Check(quiet time.Duration) {
	if j.health.failing.Load() || time.Since(time.Unix(0, j.health.stored.Load())) < quiet {
		return // it is being tried, or has just stored
	}
	began := time.Now()
	if err := j.probe(j.names.events); err == nil || j.client.nc.IsConnected() { // a loss is known already
		j.note(j.names.events, began, err, false)
	}
}

// mend notes that a write to the stream was confirmed.
func (j *Journal) mend(f *fault) {
	h := &j.health
	h.mu.Lock()
	if h.faults[f.stream] != f {
		h.mu.Unlock()
		return
	}
	delete(h.faults, f.stream)
	close(f.mended)
	last := len(h.faults) == 0
	h.failing.Store(!last)
	h.ill.Store(!last || h.slow)
	h.mu.Unlock()
	if f.stream == j.names.events {
		j.mu.Lock()
		if !j.closed {
			j.stopped.Go(func() { j.restore(f.since) })
		}
		j.mu.Unlock()
	}
	if last {
		j.client.logger.Info("the journal can store again")
	}
	j.tellPullers()
}

// slowAfter is slowMost, or less where confirmations have less time.
func (j *Journal) slowAfter() time.Duration { return min(slowMost, j.timeout/2) }

// noteSlow notes whether a write has waited for too long. It fails no write.
func (j *Journal) noteSlow(slow bool) {
	h := &j.health
	h.mu.Lock()
	if h.slow == slow {
		h.mu.Unlock()
		return
	}
	h.slow = slow
	failing := len(h.faults) > 0
	h.ill.Store(slow || failing)
	h.mu.Unlock()
	switch {
	case failing: // which was said already
	case slow:
		j.client.logger.Warn("the journal does not confirm; nothing is taken from the queue until it does")
	default:
		j.client.logger.Info("the journal confirms again")
	}
	j.tellPullers()
}

// hurry makes every stream that fails be tried at once.
func (h *health) hurry() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.faults {
		select {
		case f.hurry <- struct{}{}:
		default:
		}
	}
}

func (j *Journal) tellPullers() {
	j.mu.Lock()
	pullers := j.pullers
	j.mu.Unlock()
	for _, p := range pullers {
		p.healthChanged()
	}
}
