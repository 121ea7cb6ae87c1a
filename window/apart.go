package window

import (
	"math"
	"slices"
	"time"
)

const (
	blamed   = 0.8 // share of the refusals that a bind must have to be suspected
	beyond   = 6   // log likelihood ratio of such a share to the bind's share of the submits
	suspects = 3   // times in a row that lead to a ceiling of its own
	overdone = 20  // refusals that were enough to suspect one, and did not
)

// standing is what speaks for a limit of the bind's own.
type standing struct {
	name          string
	home          *Controller // that paces the bind: the account's, or one of its own
	tried, turned float64     // submits and refusals since the last look that came to something
	suspected     int         // times in a row that nearly all refusals were on this bind
	split         float64     // messages per second when it got a controller of its own
}

// AddBindAs adds a bind with a name that it has again after a rebind: what was found about it is remembered.
func (c *Controller) AddBindAs(name string) BindID {
	c.ids++
	b := &bind{id: c.ids, standing: standing{name: name, home: c}, stretching: stretching{stretch: stretchStart}}
	c.binds = append(c.binds, b)
	if own := c.known[name]; name != "" && own > 0 && len(c.shared) > 0 {
		c.detach(b, own)
	} else {
		c.shared = append(c.shared, b)
	}
	return b.id
}

// suspect looks at the refusals since the last look, when they are about to count against the account: are nearly all of
// them on one bind, far more than its share of the submits explains? Binds take turns and so does a bucket's refusing, so
// a suspect loses its turn once, and must be the same three times in a row. True if it has a controller of its own now.
func (c *Controller) suspect(now time.Time) bool {
	if len(c.shared) < 2 {
		return false
	}
	var tried, turned float64
	worst := c.shared[0]
	for _, b := range c.shared {
		tried, turned = tried+b.tried, turned+b.turned
		if b.turned > worst.turned {
			worst = b
		}
	}
	of, share := worst.turned/turned, worst.tried/tried
	if of < blamed || turned*divergence(of, share) < beyond {
		if turned >= overdone {
			c.acquitAll(nil)
		}
		return false
	}
	d := Decision{Bind: worst.id, Refused: int(worst.turned), Accepted: int(turned - worst.turned), Was: c.ceiling, Share: share}
	c.acquitAll(worst)
	c.skipped = worst
	if worst.suspected++; worst.suspected < suspects {
		return false
	}
	c.part(now, worst, d)
	return true
}

// divergence is the log likelihood ratio per refusal of a share to the one expected.
func divergence(share, expected float64) float64 {
	if share == 1 {
		return -math.Log(expected)
	}
	return share*math.Log(share/expected) + (1-share)*math.Log((1-share)/(1-expected))
}

// acquitAll begins the count anew, and clears all but one of suspicion.
func (c *Controller) acquitAll(but *bind) {
	for _, b := range c.shared {
		b.tried, b.turned = 0, 0
		if b != but {
			b.suspected = 0
		}
	}
}

// part gives a bind a controller of its own, at its share of the rate that was not refused. The others are free of it, so
// that their ceiling is searched anew.
func (c *Controller) part(now time.Time, b *bind, d Decision) {
	if c.mode == Probe {
		c.ceiling = c.proven
	}
	own := c.ceiling / float64(len(c.shared))
	c.shared = slices.DeleteFunc(c.shared, func(s *bind) bool { return s == b })
	c.detach(b, own)
	b.home.arrive(now)
	c.ceiling -= own
	c.base, c.step, c.owed, c.quiet = c.ceiling, bold, 0, now
	c.evidence = evidence{}
	d.Kept = own
	c.cruise(now, ReasonApart, d)
}

// detach makes a controller for a bind that shares the pace no more.
func (c *Controller) detach(b *bind, rate float64) {
	own := &Controller{cfg: c.cfg, account: c, binds: []*bind{b}, shared: []*bind{b}, ids: b.id}
	own.cfg.Declared, own.cfg.MaxWindow = c.cfg.Declared/float64(len(c.binds)), 0
	own.floor = c.cfg.NoiseIgnore
	own.ceiling, own.step, own.base, own.found = rate, fine, rate, true
	own.owed = own.price(fine)
	own.setPace(cruise * rate)
	own.issued, own.epoch = b.sent, b.sent
	b.home, b.split, b.suspected, b.limit = own, rate, 0, 0
	c.remind(b)
}

// remind notes a bind's own ceiling for its next session.
func (c *Controller) remind(b *bind) {
	if c.known == nil {
		c.known = map[string]float64{}
	}
	if b.name != "" {
		c.known[b.name] = b.home.ceiling
	}
}

// heardApart follows what a bind's own controller decided.
func (c *Controller) heardApart(now time.Time, b *bind) {
	own := b.home
	c.remind(b)
	if own.ceiling >= 1.1*b.split && own.ceiling >= 0.95*c.ceiling/float64(max(1, len(c.shared))) && own.mode != Hold && c.mode != Hold {
		c.rejoin(now, b)
	} else if c.cfg.Declared > 0 {
		c.setPace(c.pace)
	}
}

// rejoin lets a bind that has climbed to what the others have share their pace again.
func (c *Controller) rejoin(now time.Time, b *bind) {
	d := Decision{Bind: b.id, Was: c.ceiling, Kept: b.home.ceiling}
	c.ceiling += b.home.ceiling
	c.base += b.home.ceiling
	b.home, b.limit = c, 0
	delete(c.known, b.name)
	c.shared = append(c.shared, b)
	c.acquitAll(nil)
	c.evidence = evidence{}
	c.cruise(now, ReasonTogether, d)
}

// apart is the sum of the paces, and of the ceilings, of binds that have their own.
func (c *Controller) apart() (pace, ceiling float64) {
	for _, b := range c.binds {
		if b.home != c {
			pace, ceiling = pace+b.home.pace, ceiling+b.home.ceiling
		}
	}
	return pace, ceiling
}

// most is the rate that the binds which share the pace may reach together; only for a declared rate.
func (c *Controller) most() float64 {
	if len(c.shared) == len(c.binds) {
		return c.cfg.Declared
	}
	pace, _ := c.apart()
	return max(slowest, c.cfg.Declared-pace)
}

// resultApart is OnResult for a bind that has a controller of its own, or had when the message was sent.
func (c *Controller) resultApart(now time.Time, t Ticket, s Signal) Decision {
	b := t.bind
	if t.home != b.home { // it is old news
		b.unanswered--
		b.pass(t)
		return Decision{}
	}
	if d := b.home.OnResult(now, t, s); d.Reason == "" {
		return d
	}
	if len(b.home.binds) > 0 {
		c.heardApart(now, b)
	}
	return c.newest()
}
