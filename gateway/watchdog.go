package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// How the watchdog looks after the queue.
const (
	watchEvery = time.Second
	checkEvery = 5 * time.Second
	// journalPatience is how long the journal may fail before the embedded server is started anew: after a full disk it
	// stays in its error although there is space again.
	journalPatience = 30 * time.Second
)

// restarter is the embedded NATS server.
type restarter interface{ Restart() error }

// watch looks after the queue until ctx ends. It returns an error when the connection to it is lost for good: then the
// process can do nothing, and should end so that a supervisor starts it again.
func (g *Gateway) watch(ctx context.Context) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	dog := watchdog{failure: g.storeFailure, log: g.log}
	if g.embedded != nil {
		dog.server = g.embedded
	}
	var clock clockWatch
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-g.client.Closed():
			return g.client.CloseCause()
		case now := <-tick.C:
			if jump := clock.look(now.Round(0), now.Sub(began)); jump != 0 {
				g.metrics.clockJumps.Inc()
				g.log.Warn("the clock of this machine was set: deadlines count by the new time, waits go on as they were", "by", jump)
			}
			restarted, err := dog.look(now)
			switch {
			case err != nil:
				g.log.Error("the embedded NATS server does not start again; the next try follows", "error", err, "wait", journalPatience)
			case restarted:
				g.log.Warn("NATS did not store for long: the embedded server was restarted", "failed_for", journalPatience)
			}
		}
	}
}

// storeFailure is why the store does not take what the gateway writes, nil when it does.
func (g *Gateway) storeFailure() error {
	if err := g.journal.Failure(); err != nil {
		return err
	}
	if since := g.presence.unconfirmedFor(time.Now()); since >= leaseTrust {
		return fmt.Errorf("the lease of this instance was not confirmed for %v", since.Round(time.Second))
	}
	return nil
}

// checkStore writes something small of our own while no message does: a store that refuses or swallows writes is
// noticed before the first message meets it.
func (g *Gateway) checkStore(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			g.journal.Check(checkEvery)
		case <-ctx.Done():
			return
		}
	}
}

// readJournalAge keeps the metric of how far back the journal reaches: apart from checkStore, which a store that does not
// answer may not hold up.
func (g *Gateway) readJournalAge(ctx context.Context) {
	for {
		_ = g.journal.NoteOldest(ctx) // without an answer it is as it was; that the store fails is told elsewhere
		if !pause(ctx, checkEvery) {
			return
		}
	}
}

// clockWatch notices that the wall clock was set. Deadlines are wall times and move with it; waits, leases and everything
// else that is measured are counted by the monotonic clock and do not.
type clockWatch struct {
	wall    time.Time
	elapsed time.Duration
}

// clockTolerance is how far the wall clock may drift from one look to the next without having been set.
const clockTolerance = 2 * time.Second

// look takes both clocks and returns by how much the wall clock was set since the last look, 0 when it was not.
func (c *clockWatch) look(wall time.Time, elapsed time.Duration) (jump time.Duration) {
	if !c.wall.IsZero() {
		jump = wall.Sub(c.wall) - (elapsed - c.elapsed)
	}
	c.wall, c.elapsed = wall, elapsed
	if jump.Abs() <= clockTolerance {
		return 0
	}
	return jump
}

// watchdog starts a server anew whose journal has failed for too long.
type watchdog struct {
	failure func() error // of the journal, nil when it can store
	server  restarter    // nil: not ours
	log     *slog.Logger
	told    bool      // that a server which is not ours needs a person
	since   time.Time // when the failure began or the server was last started anew; zero: no failure
}

func (w *watchdog) look(now time.Time) (restarted bool, err error) {
	switch {
	case w.failure() == nil:
		w.since, w.told = time.Time{}, false
		return false, nil
	case w.since.IsZero():
		w.since = now
	case w.server != nil && now.Sub(w.since) >= journalPatience:
		w.since = now
		return true, w.server.Restart()
	case now.Sub(w.since) >= journalPatience && !w.told:
		w.told = true
		w.log.Error("NATS has not stored for long: a server whose disk was full refuses writes until it is restarted; "+
			"restart it once there is room", "failed_for", journalPatience, "error", w.failure())
	}
	return false, nil
}
