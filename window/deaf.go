package window

import "time"

// deafAt is when a bind whose window is full may send a test message all the same, because the SMSC has answered nothing
// for twice as long as any answer took, and at least 5 s; zero: not before it answers. Some drop without a word what is
// too much for them, and all that follows for a while.
func (c *Controller) deafAt(b *bind) time.Time {
	switch {
	case c.capRoom() <= 0, c.asked.IsZero(), b.rtt == 0, c.mode == Hold && !c.deaf:
		return time.Time{}
	case c.mode == Hold:
		return c.asked.Add(max(c.wait, c.patience()))
	default:
		return c.asked.Add(c.patience())
	}
}

// listenFor begins a hold with a message that is sent although the window is full, and takes a test message of it that was
// not answered for lost.
func (c *Controller) listenFor(now time.Time, b *bind) {
	switch {
	case c.mode == Hold && c.deaf && c.testing:
		c.testLater(now, true, Decision{})
		c.asked = now
	case c.mode != Hold && b.ahead() >= c.size(b) && !c.asked.IsZero() && now.Sub(c.asked) >= c.patience():
		d := Decision{Unanswered: c.unanswered, Held: now.Sub(c.asked), WindowWas: c.windows()}
		if c.mode == Probe {
			c.ceiling, c.base, c.step = c.proven, min(c.base, c.proven), max(fine, c.step/4)
		}
		c.found = true
		c.owe(c.owed + c.price(c.step))
		c.held, c.wait, c.testing, c.deaf, c.tests, c.sinceGap = c.asked, c.leastWait(), false, true, 0, 0
		c.asked = now
		c.decide(now, Hold, ReasonHold, d)
	case c.asked.IsZero():
		c.asked = now
	}
}

// hears ends a hold for want of answers when what was sent before it is answered, or a connection ends: the SMSC or the
// network stood still, which says nothing about the pace.
func (c *Controller) hears(now time.Time) {
	if c.mode != Hold || !c.deaf {
		return
	}
	d := Decision{Was: c.ceiling, Held: now.Sub(c.held), Wait: dwell}
	c.goOn(now)
	c.quiet, c.evidence = now.Add(dwell), evidence{}
	c.cruise(now, ReasonResume, d)
}
