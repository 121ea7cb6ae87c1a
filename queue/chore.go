package queue

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// chore is done every so often beside its caller, and never twice at once.
type chore struct {
	run     func(context.Context)
	every   time.Duration
	last    time.Time
	running atomic.Bool
}

// start begins a chore that is due.
func (c *chore) start(ctx context.Context, group *sync.WaitGroup, now time.Time) {
	if now.Sub(c.last) < c.every || c.running.Swap(true) {
		return
	}
	c.last = now
	group.Go(func() {
		defer c.running.Store(false)
		c.run(ctx)
	})
}
