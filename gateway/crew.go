package gateway

import (
	"context"
	"sync/atomic"
)

// mostIdle is how many goroutines without a place in the window are kept.
const mostIdle = 256

// crew is the goroutines that carry messages. They are used again: a new one begins with a small stack, and to grow it
// for every message costs more than to read the message.
type crew struct{ waiting atomic.Int32 } // for a place

// work takes permits and carries one message with each, until ctx ends or there are more than enough others. There is
// always one that waits for a place: whoever gets one and leaves nobody behind calls another.
func (a *account) work1(ctx context.Context) {
	for a.awaitOpen(ctx) {
		a.crew.waiting.Add(1)
		permit, err := a.gate.Acquire(ctx)
		left := a.crew.waiting.Add(-1)
		if err != nil {
			return
		}
		if left == 0 {
			a.carrying.Go(func() { a.work1(ctx) })
		}
		a.carryOn(permit)
		if a.crew.waiting.Load() > mostIdle {
			return
		}
	}
}
