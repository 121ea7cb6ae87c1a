package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// strike carries out the schedule and returns when the last fault has been healed.
func (r *rig) strike(ctx context.Context, began time.Time) {
	var striking sync.WaitGroup
	for _, f := range r.plan {
		striking.Go(func() {
			pause(ctx, f.at-time.Since(began))
			if ctx.Err() != nil {
				return
			}
			fmt.Fprintf(os.Stderr, "chaos: %7.1fs %v\n", time.Since(began).Seconds(), f)
			struck := struck{fault: f, began: time.Now()}
			if err := r.apply(ctx, f); err != nil {
				fmt.Fprintf(os.Stderr, "chaos: %v: %v\n", f, err)
			}
			struck.ended = time.Now()
			r.note(struck)
		})
	}
	striking.Wait()
}

// apply breaks what the fault says, waits, and mends it.
func (r *rig) apply(ctx context.Context, f fault) (err error) {
	each := func(do func(name string)) {
		for _, t := range f.targets {
			do(t)
		}
	}
	start := func(name string) {
		if fault := r.processes[name].start(); fault != nil {
			err = fault
		}
	}
	switch f.kind {
	case kindKill, kindPause:
		each(func(t string) { r.processes[t].kill() })
		pause(ctx, f.length)
		each(start)
	case kindFreeze:
		each(func(t string) { r.processes[t].freeze() })
		pause(ctx, f.length)
		each(func(t string) { r.processes[t].thaw() })
	case kindRestart:
		each(func(t string) { r.processes[t].stop() })
		pause(ctx, f.length)
		each(start)
	case kindReset:
		each(func(t string) { r.links[t].reset() })
	case kindStall:
		each(func(t string) { r.links[t].stall(f.how) })
		pause(ctx, f.length)
		each(func(t string) { r.links[t].open() })
	case kindCut:
		each(func(t string) { r.links[t].cut(f.how) })
		pause(ctx, f.length)
		each(func(t string) { r.links[t].open() })
	case kindDiskFull:
		err = r.diskFull(ctx, f)
	case kindSwallow, kindDelay, kindDuplicate, kindReorder, kindThrottle, kindRefuse, kindHangUp, kindFailing:
		r.behaviour.begin(f.kind)
		pause(ctx, f.length)
		r.behaviour.end(f.kind)
	case kindForeign:
		r.behaviour.foreignReceipts(ctx, f.length)
	}
	return err
}

// diskFull leaves the NATS server without room. Once there is room again it is restarted, since it goes on to refuse
// writes: as an operator would, and as the gateway does with an embedded one.
func (r *rig) diskFull(ctx context.Context, f fault) error {
	if err := r.disk.fill(); err != nil {
		return err
	}
	pause(ctx, f.length)
	if err := r.disk.free(); err != nil {
		return err
	}
	r.processes[broker].stop()
	return r.processes[broker].start()
}
