package window

import (
	"math"
	"time"
)

const (
	known      = 1.5              // multiple of the floor that is no news
	proofKnown = 10               // doubt that cuts a ceiling once there is a floor
	follow     = 0.2              // load: slowing down leaves at most this share of the refusals
	isLoad     = 2                // log likelihood ratio
	isNoise    = -4               // the same; and not before the third phase
	perPhase   = 4                // refusals expected in a phase
	patience   = 45 * time.Second // that a phase may take
	dip        = 0.1              // least share of the pace to give up
	deepDip    = 0.5              // in the one phase that confirms
	large      = 0.02             // a new floor above it must be confirmed: it could be another sender's load
	recheck    = 60               // refusals by the floor from one test to the next
)

// noise tells refusals that do not follow our pace from load. Doubt that would cut the ceiling starts a test instead:
// slow down, return, slow down, and compare the shares refused at the two paces. The test only ever slows, so that it
// costs goodput and never a refusal. Noise found is the floor: from then on evidence, cuts, probes and windows look
// only at what is above it.
type noise struct {
	floor float64 // share of the answers that are refused at any pace
	heard float64 // messages accepted since the newest test began

	phase           int     // of the test: odd ones are slow, even ones at full pace
	slow            float64 // share of the pace given up in slow phases
	need            float64 // answers in a phase
	low, lowRefused float64 // answers, refusals at the slow pace; those at full pace are the evidence
}

// doubted says that the refusals could be noise, and that a test here would not take too long.
func (c *Controller) doubted() bool {
	share := c.refused / (c.accepted + c.refused)
	return share <= 1.25*c.cfg.NoiseMax && perPhase/share <= patience.Seconds()*c.pace
}

// listensAgain says that the floor was learned, not set, so that it is tested from time to time.
func (c *Controller) listensAgain() bool { return c.cfg.NoiseMax > 0 && c.floor > c.cfg.NoiseIgnore }

// compare starts a test for noise of about that share. The evidence so far is a phase at full pace.
func (c *Controller) compare(now time.Time, share float64) {
	c.slow, c.need = max(dip, 3*share), perPhase/share
	c.phase, c.low, c.lowRefused, c.heard, c.again = 0, 0, 0, 0, 0
	c.turn(now)
}

func (c *Controller) turn(now time.Time) {
	d := c.shares()
	d.Owed = roundUp(c.need)
	c.phase++
	c.setPace(cruise * c.ceiling * (1 - c.slow*float64(c.phase%2)))
	c.decide(now, Compare, ReasonNoiseTest, d)
}

// listen looks at the phase after each answer to it.
func (c *Controller) listen(now time.Time) {
	n := c.fresh + c.turned
	if c.turned >= 10 && c.turned > 2*c.cfg.NoiseMax*n { // too much for noise: this phase alone is the evidence
		c.accepted, c.refused = c.fresh, c.turned
		c.load(now)
		return
	}
	uneven := 1 + 0.5*math.Mod(0.618*float64(c.epoch), 1) // no rhythm of the SMSC's keeps step with it
	if n < c.need || c.fresh == 0 || now.Sub(c.since).Seconds() < dwell.Seconds()*uneven {
		return
	}
	if c.phase%2 == 1 {
		c.low, c.lowRefused = c.low+n, c.lowRefused+c.turned
	} else {
		c.accepted, c.refused = c.accepted+c.fresh, c.refused+c.turned
	}
	all, p, ratio := c.lowRefused+c.refused, c.lowRefused/c.low, c.likelihood()
	same := ratio <= isNoise && c.phase >= 3
	switch {
	case ratio >= isLoad, c.slow == deepDip && c.turned < p/2*n:
		c.verdict(now, true)
		c.load(now)
	case same && p > c.cfg.NoiseMax: // more than anybody has allowed to ignore
		c.raise(now, c.tested(AlarmOverMax))
		c.load(now)
	case same && !c.listensAgain() && p > large && c.slow != deepDip:
		c.slow, c.phase = deepDip, c.phase&^1 // one more slow phase
		c.turn(now)
	case same:
		c.settle(now, p, ReasonNoise)
	case all < float64(c.phase-1): // hardly any refusal left
		c.settle(now, 0, ReasonNoiseGone)
	default:
		if c.phase%longTest == 0 {
			c.unclear(now)
		}
		c.turn(now)
	}
}

// likelihood is the log likelihood ratio of load to noise, by the refusals so far at both paces.
func (c *Controller) likelihood() float64 {
	full, all := c.accepted+c.refused, c.lowRefused+c.refused
	return c.lowRefused*math.Log(follow) + all*math.Log((c.low+full)/(follow*c.low+full))
}

// load ends a test with a cut: the refusals follow the pace.
func (c *Controller) load(now time.Time) {
	c.floor = c.cfg.NoiseIgnore
	c.excess(now, Signal{Answer: Refused})
}

// settle ends a test with a floor.
func (c *Controller) settle(now time.Time, floor float64, why Reason) {
	c.verdict(now, false)
	c.floor = max(floor, c.cfg.NoiseIgnore)
	d := c.shares()
	c.evidence = evidence{}
	if c.listensAgain() {
		d.Owed = roundUp(recheck / c.floor)
	}
	c.cruise(now, why, d)
}

// shares is what the test has counted so far.
func (c *Controller) shares() Decision {
	return Decision{
		Accepted: int(c.accepted), Refused: int(c.refused),
		SlowAnswers: int(c.low), SlowRefused: int(c.lowRefused), Slower: c.slow, Noise: c.floor,
	}
}
