// Package turn has a lock that may be held over network I/O: waiting for it ends with a context.
package turn

import (
	"context"
	"sync"
)

// Turn is held by one goroutine at a time. The zero value is free.
type Turn struct {
	mu    sync.Mutex
	taken bool
	given chan struct{} // closed when the turn is given back; nil while nobody waits
}

// Take waits until nobody else has the turn, or returns the cause of ctx's end.
func (t *Turn) Take(ctx context.Context) error {
	for {
		t.mu.Lock()
		if !t.taken {
			t.taken = true
			t.mu.Unlock()
			return nil
		}
		if t.given == nil {
			t.given = make(chan struct{})
		}
		given := t.given
		t.mu.Unlock()
		select {
		case <-given:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Give lets the next one have the turn.
func (t *Turn) Give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = false
	if t.given != nil {
		close(t.given)
		t.given = nil
	}
}
