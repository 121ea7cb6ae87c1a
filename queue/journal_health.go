package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Waits between two looks at whether a failing journal can store again.
const (
	probeFirst   = 50 * time.Millisecond
	probeMost    = 5 * time.Second
	probeTimeout = 2 * time.Second
)

// health is whether the journal can store.
type health struct {
	failing atomic.Bool
	streak  atomic.Int32 // failures since an event was last stored

	mu      sync.Mutex
	reason  error
	changed chan struct{} // closed when it can store again
}

func (h *health) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason
}

// await returns when the journal can store, is closed, or ctx ends.
func (h *health) await(ctx context.Context, closed <-chan struct{}) error {
	for h.failing.Load() {
		h.mu.Lock()
		changed, reason := h.changed, h.reason
		h.mu.Unlock()
		if reason == nil {
			break
		}
		select {
		case <-changed:
		case <-closed:
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("%w; the journal fails: %w", ctx.Err(), reason)
		}
	}
	return ctx.Err()
}

// fail notes that an event could not be stored. From now on nothing is handed
// out, and a probe runs until the server stores again.
func (j *Journal) fail(err error) {
	j.metrics.failed()
	h := &j.health
	h.mu.Lock()
	if h.reason != nil {
		h.mu.Unlock()
		return
	}
	wait := min(probeFirst<<min(h.streak.Load(), 10), probeMost)
	h.streak.Add(1)
	h.reason = err
	h.changed = make(chan struct{})
	h.failing.Store(true)
	h.mu.Unlock()
	j.client.logger.Error("the journal cannot store; nothing is taken from the queue", "error", err)

	j.mu.Lock()
	closed := j.closed
	if !closed {
		j.stopped.Go(func() { j.probe(wait) })
	}
	j.mu.Unlock()
	j.tellPullers()
}

// probe waits until a write is stored again.
func (j *Journal) probe(wait time.Duration) {
	for {
		select {
		case <-time.After(wait):
		case <-j.stop:
			return
		}
		wait = min(2*wait, probeMost)
		if err := j.tryStore(); err == nil {
			break
		}
	}
	h := &j.health
	h.mu.Lock()
	h.reason = nil
	h.failing.Store(false)
	close(h.changed)
	h.mu.Unlock()
	j.client.logger.Info("the journal can store again")
	j.tellPullers()
}

// tryStore reports whether the server answers for the journal's stream and
// stores a write: one to a bucket, since a journal entry would be an event.
func (j *Journal) tryStore() error {
	if !j.client.nc.IsConnected() {
		return errors.New("not connected")
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	if _, err := j.client.js.Stream(ctx, j.names.events); err != nil {
		return fmt.Errorf("stream %s: %w", j.names.events, err)
	}
	return j.write(ctx, write{subject: bucketSubject(j.names.final, "probe")})
}

func (j *Journal) tellPullers() {
	j.mu.Lock()
	pullers := j.pullers
	j.mu.Unlock()
	for _, p := range pullers {
		p.healthChanged()
	}
}
