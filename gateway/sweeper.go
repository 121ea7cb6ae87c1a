package gateway

import (
	"context"
	"time"

	"sluice/queue"
)

// How an account without a way out is looked after.
const (
	sweepLook  = 250 * time.Millisecond // from one look at its state to the next
	sweepFresh = 500 * time.Millisecond // from one look for new messages to the next
	sweepTrust = 8 * time.Second        // how long a confirmed lease on sweeping is ours: it lives for 10 s
)

// sweep ends the messages of the account whose deadline passes while no instance pulls them, until ctx ends: their
// senders learn it in time to try something else.
func (a *account) sweep(ctx context.Context, p *presence) {
	if a.lanes == nil {
		return
	}
	var sweeper *queue.Sweeper
	var held, asked, next time.Time
	for pause(ctx, sweepLook) {
		now := time.Now()
		switch {
		case !p.unavailable(a, now):
			sweeper = nil
			a.releaseSpares(ctx, now)
			continue
		case !a.journal.Healthy():
			continue
		}
		a.releaseSpares(ctx, now)
		if now.Sub(asked) >= leaseEvery {
			asked = now
			ours, err := p.client.HoldSweep(ctx, a.name, p.nonce)
			switch {
			case err != nil:
				a.log.Warn("whether another instance watches the deadlines is not known", "error", err)
			case ours:
				held = now
			default:
				held = time.Time{}
			}
		}
		if now.Sub(held) > sweepTrust || now.Before(next) {
			continue
		}
		if sweeper == nil {
			a.log.Info("nothing is pulled for the account: the deadlines of its messages are watched")
			sweeper = a.lanes.NewSweeper(a.sweptOutcome)
		}
		ended, soonest, err := sweeper.Sweep(ctx, now)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("the deadlines could not be watched completely; it is tried again", "error", err)
		}
		if next = now.Add(sweepFresh); soonest.Before(next) {
			next = soonest
		}
		a.metrics.answers.WithLabelValues(a.name, "none", string(queue.EventExpired)).Add(float64(ended))
	}
}

// releaseSpares gives back what was pulled before the account closed, so that it is in nobody's flight.
func (a *account) releaseSpares(ctx context.Context, now time.Time) {
	if _, _, closed, since := a.presence(now); !closed || since < sweepFresh {
		return
	}
	if err := a.lanes.ReleaseSpares(ctx); err != nil && ctx.Err() == nil {
		a.log.Warn("a message could not be given back yet", "error", err)
	}
}

// sweptOutcome ends a message whose deadline has passed in the queue.
func (a *account) sweptOutcome(s queue.State, deadline, now time.Time) queue.Outcome {
	r := rules{account: a.name}
	return r.expired(now, letter{state: s, deadline: deadline})
}
