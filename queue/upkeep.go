package queue

import (
	"cmp"
	"context"
	"time"
)

// intakeTiming are the times of an intake that tests shorten.
type intakeTiming struct {
	pull     time.Duration // a pull request's life
	tick     time.Duration // a round of the maintenance
	stale    time.Duration // how long known messages may fail to come
	watchdog time.Duration // how long callers may wait while messages do
}

func (t intakeTiming) withDefaults() intakeTiming {
	return intakeTiming{
		pull: cmp.Or(t.pull, 2*time.Second), tick: cmp.Or(t.tick, 100*time.Millisecond),
		stale: cmp.Or(t.stale, 100*time.Millisecond), watchdog: cmp.Or(t.watchdog, 30*time.Second),
	}
}

// maintain keeps the pulls alive and the held messages ours.
func (i *Intake) maintain(running context.Context) {
	tick := time.NewTicker(i.timing.tick)
	defer tick.Stop()
	chores := []*chore{
		{run: i.keepAlive, every: i.ackWait / 12},
		{run: i.releaseOld, every: i.spareHold / 10},
		{run: i.checkPulls, every: i.timing.watchdog / 6},
		{run: i.takeOutLeftovers, every: i.ackWait / 2},
	}
	for {
		select {
		case <-i.wake:
			i.rebuildVoid(running)
		case now := <-tick.C:
			i.round(now)
			for _, c := range chores {
				c.start(running, &i.stopped, now)
			}
		case <-running.Done():
			return
		}
	}
}

// round forgets what the server owes no more.
func (i *Intake) round(now time.Time) {
	i.mu.Lock()
	for _, l := range i.lanes {
		if lost := l.credit.expire(now); lost > 0 {
			i.metrics.lost(lost)
		}
		if l.pending > 0 && l.credit.owed > 0 && now.Sub(l.heard) > i.timing.stale {
			l.pending = 0 // another instance took them
		}
	}
	i.noteQuiet()
	waiting := len(i.waiters) > 0
	i.mu.Unlock()
	if waiting {
		i.wantPulls()
	}
}

// rebuildVoid starts the rebuilding of the lanes whose requests are lost.
func (i *Intake) rebuildVoid(running context.Context) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, l := range i.lanes {
		if l.void && !l.rebuilding && !i.closed {
			l.void, l.rebuilding = false, true
			i.stopped.Go(func() { i.rebuild(running, l) })
		}
	}
}

// rebuild gives a lane a new inbox, and its consumer back when it is gone.
func (i *Intake) rebuild(running context.Context, l *lane) {
	i.metrics.rebuilt()
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		ctx, cancel := context.WithTimeout(running, readTimeout)
		err := l.open(ctx, running)
		cancel()
		if err == nil || running.Err() != nil {
			break
		}
		i.client.logger.Warn("a pull cannot be rebuilt yet", "consumer", durable(l.Lane), "error", err)
		select {
		case <-time.After(wait):
		case <-running.Done():
		}
	}
	i.mu.Lock()
	l.rebuilding, l.retryAt, l.refused = false, time.Time{}, 0
	i.idleSince = time.Now()
	void := l.void
	i.mu.Unlock()
	if void { // lost again meanwhile
		i.wakeUp()
	}
	i.wantPulls()
}

// keepAlive tells the server that the messages held here for a third of the
// AckWait are still at work. The time counts from before the write, and only
// once the server has confirmed that it got it.
func (i *Intake) keepAlive(running context.Context) {
	now := time.Now()
	var due []*delivery
	i.mu.Lock()
	for _, d := range i.held {
		d.mu.Lock()
		if now.Sub(d.touched) >= i.ackWait/3 && d.waitsForAnswer(now) > 0 {
			due = append(due, d)
		}
		d.mu.Unlock()
	}
	i.mu.Unlock()
	if len(due) == 0 || !i.client.nc.IsConnected() {
		return
	}
	for _, d := range due {
		reply, _ := d.current()
		if err := i.client.nc.Publish(reply, []byte(busyPayload)); err != nil {
			return
		}
	}
	ctx, cancel := context.WithTimeout(running, readTimeout)
	defer cancel()
	if err := i.client.nc.FlushWithContext(ctx); err != nil {
		return // the next round tries again
	}
	for _, d := range due {
		d.mu.Lock()
		if d.touched.Before(now) {
			d.touched = now
		}
		d.mu.Unlock()
	}
}

// releaseOld gives back the spares that nobody has come for: another instance
// may have callers.
func (i *Intake) releaseOld(running context.Context) {
	if !i.journal.Healthy() {
		return
	}
	now := time.Now()
	err := i.releaseSpares(running, func(s spare) bool { return now.Sub(s.since) >= i.spareHold })
	if err != nil && running.Err() == nil {
		i.client.logger.Warn("a message that nobody came for could not be given back", "error", err)
	}
}

// checkPulls is the watchdog: when callers have waited in vain for long while
// the server has messages and knows of no pull, the pull is built anew.
func (i *Intake) checkPulls(running context.Context) {
	now := time.Now()
	i.mu.Lock()
	stuck := len(i.waiters) > 0 && now.Sub(i.idleSince) >= i.timing.watchdog
	if stuck {
		i.idleSince = now // look again after as long
	}
	i.mu.Unlock()
	if !stuck || !i.journal.Healthy() || !i.client.nc.IsConnected() {
		return
	}
	for _, l := range i.lanes {
		if !l.isOpen() {
			continue
		}
		ctx, cancel := context.WithTimeout(running, readTimeout)
		consumer, err := i.client.js.Consumer(ctx, i.names.mt, durable(l.Lane))
		cancel()
		if err == nil {
			if info := consumer.CachedInfo(); info.NumPending == 0 || info.NumWaiting > 0 {
				continue
			}
		}
		i.client.logger.Warn("a pull was lost; it is rebuilt", "consumer", durable(l.Lane), "error", err)
		i.mu.Lock()
		l.void = true
		i.mu.Unlock()
		i.wakeUp()
	}
}
