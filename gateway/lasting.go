package gateway

import (
	"context"
	"sync"
	"time"
)

// lasting is a context with a deadline that costs nothing until somebody has to wait for its end: hardly any message
// waits, and a timer for each would cost more than its text.
type lasting struct {
	context.Context //nolint:containedctx // its parent

	deadline time.Time // zero: none

	once   sync.Once
	real   context.Context //nolint:containedctx // made for the first who waits
	cancel context.CancelFunc
}

func (p *lasting) Deadline() (time.Time, bool) {
	if at, ok := p.Context.Deadline(); ok && (p.deadline.IsZero() || at.Before(p.deadline)) {
		return at, true
	}
	return p.deadline, !p.deadline.IsZero()
}

func (p *lasting) Err() error {
	if err := p.Context.Err(); err != nil || p.deadline.IsZero() || time.Now().Before(p.deadline) {
		return err
	}
	return context.DeadlineExceeded
}

func (p *lasting) Done() <-chan struct{} {
	if p.deadline.IsZero() {
		return p.Context.Done()
	}
	p.once.Do(func() { p.real, p.cancel = context.WithDeadline(p.Context, p.deadline) })
	return p.real.Done()
}

// end gives up what Done has made.
func (p *lasting) end() {
	if p.cancel != nil {
		p.cancel()
	}
}
