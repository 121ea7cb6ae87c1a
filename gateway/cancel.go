package gateway

import (
	"context"
	"time"

	"sluice/queue"
)

// reasonCancelled is the reason of a message that an operator has cancelled.
const reasonCancelled = "cancelled"

// Cancel implements [admin.Canceller].
func (g *Gateway) Cancel(seq uint64) (held bool) {
	g.client.NoteCancel(seq)
	for _, a := range g.accounts {
		if i, ok := a.intake.(*queue.Intake); ok && i.Holds(seq) {
			return true
		}
	}
	return false
}

// watchCancels learns which messages are cancelled, before any is taken from the queue.
func (g *Gateway) watchCancels(ctx context.Context) error {
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	g.teardown.push("watch of cancelled messages", func(context.Context) error { end(); return nil })
	return g.client.WatchCancels(watching)
}

// cancelled ends a message that was cancelled before it was submitted again.
func (r *rules) cancelled(l letter) queue.Outcome {
	return r.final(&l, queue.EventCancelled, reasonCancelled)
}

// unlessCancelled ends a message that would come back and is cancelled. What was answered stays in the event.
func (d *delivery) unlessCancelled(o queue.Outcome) queue.Outcome {
	if o.Final || !d.job.Cancelled() {
		return o
	}
	o.Event.Type, o.Event.Reason = queue.EventCancelled, reasonCancelled
	o.Event.NextAttemptAt, o.Event.DelayMillis = time.Time{}, 0
	return queue.Outcome{Event: o.Event, State: o.State, Final: true}
}
