package gateway

import (
	"context"
	"sync"
	"time"

	"sluice/classify"
	"sluice/queue"
	"sluice/window"
)

// controlled is what an account follows: what the operator wants, the waits that the SMSC asked for, and the share of
// this instance.
type controlled struct {
	mu      sync.Mutex
	read    bool // once
	desired queue.Desired
	applied uint64        // revision of what is wanted and in effect
	heard   uint64        // revision of the hold that was last read
	stake   stake         // what this instance takes
	shown   float64       // share of the rate that the window was last set to
	total   float64       // ceiling of the whole account when the share last changed; 0: not known
	window  window.Config // that was last set

	declared float64 // rate of the whole account of then; 0: none

	fault string // what was wrong with the control when it was last read; for readControl alone

	asked chan struct{} // one element: a hold is to be stored
}

// control takes what the bucket says about the account. What is already in effect changes nothing.
func (a *account) control(now time.Time, c queue.Control) {
	a.follow.mu.Lock()
	was, first := a.follow.desired, !a.follow.read
	changed := first || was.Revision != c.Desired.Revision
	held := c.Hold.Revision != 0 && c.Hold.Revision != a.follow.heard
	a.follow.desired, a.follow.read, a.follow.heard = c.Desired, true, c.Hold.Revision
	a.follow.mu.Unlock()
	if held {
		a.flow.extend(now, c.Hold.Left(now), c.Hold.For, c.Hold.Reason)
	}
	if !changed {
		return
	}
	if c.Desired.Revision != 0 {
		a.log.Info("control applied", "desired", c.Desired.String(), "revision", c.Desired.Revision)
	}
	a.flow.setMode(now, c.Desired.Mode)
	if !first && !c.Desired.ForgetAt.Equal(was.ForgetAt) {
		a.gate.Forget()
		a.follow.mu.Lock()
		a.follow.total = 0
		a.follow.mu.Unlock()
	}
	if !first && !c.Desired.ProbeAt.Equal(was.ProbeAt) {
		a.flow.probe()
	}
	a.configure()
	a.moved() // the parts of what is limited may be others
	a.follow.mu.Lock()
	a.follow.applied = c.Desired.Revision
	a.follow.mu.Unlock()
}

// limits is what all instances together may take of the account, and declared its rate in submits per second, 0: learned.
func (a *account) limits() (declared float64, w whole) {
	declared, w = a.cfg.Rate.Declared, whole{window: a.cfg.Window.Max, binds: a.cfg.MaxBinds}
	if d := a.follow.desired; d.Rate != nil {
		declared = *d.Rate
	}
	if d := a.follow.desired; d.MaxWindow != nil {
		w.window = *d.MaxWindow
	}
	return declared, w
}

// share takes what this instance has of the account until the given time.
func (a *account) share(s stake, confirmed time.Time) {
	a.follow.mu.Lock()
	a.follow.stake = s
	_, w := a.limits()
	a.follow.mu.Unlock()
	a.configure()
	binds, starved := a.cfg.Binds, ""
	if w.binds > 0 {
		binds = s.binds
	}
	switch {
	case s.rate == 0:
		starved = "waits for its share of the account, which other instances have"
	case w.window > 0 && s.window == 0:
		starved = "has no part of window.max, which is less than there are instances"
	}
	a.flow.share(starved, confirmed, binds)
}

// worthRaising is by how much a share must have grown before a learned ceiling is raised with it: each change of the
// ceiling interrupts what the window is finding out.
const worthRaising = 1.1

// whole is the ceiling of the whole account that follows from what this instance has learned with its share. It is no
// more than was believed when the share last changed, unless this instance alone has seen more: where the others leave
// their part unused, an instance finds more than its share of the ceiling.
func (c *controlled) whole(learned float64) float64 {
	believed := learned / c.shown
	if c.total == 0 {
		return believed
	}
	return max(learned, min(believed, c.total))
}

// rescaled is the ceiling that a learned one becomes with a new share. It follows the share down and up: were it lowered
// only, every instance that comes and goes would halve it for good. Up it goes to no more than the share of what the whole
// was believed to be; where nothing was, the window finds out by itself.
func (c *controlled) rescaled(learned, share float64) float64 {
	ceiling := learned
	switch {
	case share < c.shown:
		c.total = c.whole(learned)
		ceiling = learned * share / c.shown
	case c.total == 0:
	case share < worthRaising*c.shown:
		return learned // as long as it is small, the growth is left to be found
	default:
		c.total = c.whole(learned)
		ceiling = max(learned, c.total*share)
	}
	c.shown = share
	return ceiling
}

// configure gives the window the share of this instance of what is declared or learned.
func (a *account) configure() {
	c := &a.follow
	c.mu.Lock()
	defer c.mu.Unlock()
	declared, w := a.limits()
	s := c.stake
	if s.rate == 0 || w.window > 0 && s.window == 0 {
		return // nothing is submitted
	}
	next := c.window
	next.Declared, next.MaxWindow = declared*s.rate, 0
	if w.window > 0 {
		next.MaxWindow = min(s.window, w.window)
	}
	if learned := a.gate.Snapshot().Learned; declared == 0 && learned > 0 && c.shown > 0 {
		if ceiling := c.rescaled(learned, s.rate); ceiling != learned {
			a.gate.Believe(ceiling)
		}
	} else {
		c.shown = s.rate
	}
	if next != c.window {
		grown := declared == c.declared && next.Declared > c.window.Declared // only the share of it
		c.window, c.declared = next, declared
		a.gate.Configure(next)
		if grown {
			a.gate.Believe(next.Declared)
		}
	}
}

// heldBack lets a wait that the SMSC asks for stop the account, here and on every instance.
func (a *account) heldBack(now time.Time, v classify.Verdict) {
	if v.Class == classify.Throttle && v.Hold > 0 && a.flow.extend(now, v.Hold, v.Hold, v.Name) {
		a.askForHold()
	}
}

// askForHold has a wait stored.
func (a *account) askForHold() {
	select {
	case a.follow.asked <- struct{}{}:
	default: // the one that is being stored is followed by another look
	}
}

// storeHolds keeps the waits that the SMSC asks for where they outlive this instance and reach the others, until ctx
// ends.
func (a *account) storeHolds(ctx context.Context) {
	for {
		select {
		case <-a.follow.asked:
			for a.storeHold(ctx) != nil {
				if !pause(ctx, time.Second) {
					a.askForHold() // the stop has interrupted it
					return
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// storeLastHold stores a wait that is not stored when everything in flight has been answered.
func (a *account) storeLastHold() {
	select {
	case <-a.follow.asked:
		_ = a.storeHold(context.Background()) // it is logged
	default:
	}
}

func (a *account) storeHold(ctx context.Context) error {
	now := time.Now()
	a.flow.mu.Lock()
	h := a.flow.held
	a.flow.mu.Unlock()
	if !now.Before(h.until) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeGrace)
	defer cancel()
	err := a.store.ExtendHold(ctx, a.name, queue.Hold{Until: h.until.UTC(), For: h.until.Sub(now), Reason: h.reason})
	if err != nil {
		a.log.Warn("a wait that the SMSC asked for could not be stored yet", "until", h.until, "error", err)
	}
	return err
}

// readControl applies what the control bucket says about every account.
func (g *Gateway) readControl(ctx context.Context) {
	for _, a := range g.accounts {
		read, cancel := context.WithTimeout(ctx, writeGrace)
		c, err := g.client.ReadControl(read, a.name)
		if err == nil {
			var spells []queue.Spell
			if spells, err = g.client.Spells(read, a.name); err == nil {
				a.faults.learn(spells)
			}
		}
		cancel()
		if err != nil {
			if ctx.Err() == nil && a.follow.fault != err.Error() { // it is read every 5 s
				a.follow.fault = err.Error()
				g.log.Warn("the control of an account could not be read; it is tried again", "account", a.name, "error", err)
			}
			continue
		}
		a.follow.fault = ""
		a.control(time.Now(), c)
	}
}
