package gateway

import (
	"context"
	"slices"
	"time"

	"sluice/queue"
)

const (
	unservedLook = 2 * time.Second // from one look at the lanes that nobody serves to the next
	unservedSay  = time.Hour       // from one log line about a lane to the next
)

// watchUnserved looks after the lanes that hold messages and that no instance serves, such as those of a route that was
// taken out of the configuration: one of the instances says so, counts the messages, and ends those whose deadline passes.
func (g *Gateway) watchUnserved(ctx context.Context) {
	var held time.Time
	var lanes []queue.Lane
	var sweeper *queue.Sweeper
	said := map[string]time.Time{}
	for pause(ctx, unservedLook) {
		now := time.Now()
		if ours, err := g.client.HoldUnserved(ctx, g.presence.nonce); err == nil && ours {
			held = now
		}
		intake := g.anyIntake()
		if now.Sub(held) > sweepTrust || intake == nil || !g.journal.Healthy() {
			g.metrics.unserved.Set(0)
			continue
		}
		found, err := g.client.Unserved(ctx)
		if err != nil {
			if ctx.Err() == nil {
				g.log.Warn("whether every route is served is not known; it is looked for again", "error", err)
			}
			continue
		}
		g.sayUnserved(now, found, said)
		if now := lanesIn(found); sweeper == nil || !slices.Equal(now, lanes) {
			lanes, sweeper = now, intake.NewUnservedSweeper(now, expiredUnserved)
		}
		if _, _, err := sweeper.Sweep(ctx, now); err != nil && ctx.Err() == nil {
			g.log.Warn("the deadlines of a route that nobody serves could not be watched; it is tried again", "error", err)
		}
	}
}

// anyIntake is an intake to reach the queue through; nil when no account has one.
func (g *Gateway) anyIntake() *queue.Intake {
	for _, a := range g.accounts {
		if a.lanes != nil {
			return a.lanes
		}
	}
	return nil
}

// sayUnserved counts the messages, and logs each lane once an hour.
func (g *Gateway) sayUnserved(now time.Time, found []queue.LaneStats, said map[string]time.Time) {
	count := uint64(0)
	for _, l := range found {
		count += l.Pending
		if now.Sub(said[l.Subject]) < unservedSay {
			continue
		}
		said[l.Subject] = now
		g.log.Warn("no running gateway serves these messages: they wait until one has the route, or their deadline passes",
			"subject", l.Subject, "messages", l.Pending)
	}
	g.metrics.unserved.Set(float64(count))
}

// lanesIn are the lanes whose messages can be ended: their subjects have a route and a class.
func lanesIn(found []queue.LaneStats) (lanes []queue.Lane) {
	for _, l := range found {
		if l.Route != "" {
			lanes = append(lanes, l.Lane)
		}
	}
	return lanes
}

// expiredUnserved ends a message that nobody served in time.
func expiredUnserved(s queue.State, deadline, now time.Time) queue.Outcome {
	var r rules
	return r.expired(now, letter{state: s, deadline: deadline})
}
