package window

import (
	"math"
	"time"
)

const (
	leak  = 0.0065 // evidence taken away by an accepted message: the share of refusals that is no news
	proof = 4      // evidence that cuts the ceiling or ends a bold probe; one ends a finer one
	prior = 10     // accepted messages added to the share measured, so that a clump does not halve the rate

	// flight is the traffic that must be refused at high rates: there, one clump is many messages.
	flight = 2 * time.Millisecond

	fine     = 0.01  // smallest step
	coarse   = 0.025 // above it we are still searching, and believe every level that stood
	bold     = 0.25  // from here on one refusal does not end a probe: it could be noise
	steepest = 1     // largest step: twice the rate

	// tolerated is the share of messages that may come too late for their slots while a level is tried: a busy machine
	// delays some, an empty queue most.
	tolerated = 0.125

	budget   = 0.002           // share of refusals that fine probes may cost, unless configured
	moved    = 2 * time.Second // worth of traffic accepted above the ceiling that no bucket explains
	dwell    = time.Second     // a level lasts as long, and the peace after a cut: a limiter may count by the second
	maxOwed  = 300             // seconds of traffic
	maxPause = 10 * time.Minute

	firstTest, lastTest = 50 * time.Millisecond, 30 * time.Second // least and most between two tests in a hold
	longTests           = 12                                      // after as many every third test comes after a longer silence
	longest             = 5 * time.Minute                         // that silence, at most

	patient = 5 * time.Second // least time that a level waits for its answers
)

// evidence is what speaks against the ceiling. Counts are floating point: they are there to be divided.
type evidence struct {
	doubt             float64 // refusals, less what accepted messages leaked away
	rested            float64 // the part of it that is refusals of messages after a pause
	accepted, refused float64 // answers behind the doubt
}

// search is the state of the probes.
type search struct {
	fresh, turned float64   // accepted, refused since the newest decision
	strays        float64   // accepted of these that the pace had not held back
	since         time.Time // first accepted since then

	step         float64 // first level of the next probe: how unsure we are of the ceiling
	level        float64 // share above proven being tried
	base, proven float64 // ceiling before the probe; highest rate that stood
	climbed      float64 // messages accepted by the probe
	from         time.Time
	found        bool    // something was refused: the ceiling is no longer anywhere
	owed         float64 // messages to be accepted before the next probe
}

// silence is the state of a hold. quiet also keeps probes away after a cut.
type silence struct {
	quiet   time.Time // no probe (in a hold: no test) before
	held    time.Time // when the hold began
	wait    time.Duration
	testing bool          // a test message is out
	asked   time.Time     // when the first message since the newest answer was sent; zero: none was
	deaf    bool          // the hold is for want of answers
	tests   int           // refused or lost in this hold
	gap     time.Duration // silence that ended the last holds, where they needed more than lastTest
	gaps    int           // holds in a row that did
	// sinceGap counts the tests of this hold since the last such silence.
	sinceGap int
}

// lost takes back a ticket that got no answer.
func (c *Controller) lost(now time.Time, t Ticket) {
	t.bind.pass(t)
	if c.mode == Hold && t.n > c.epoch {
		c.testLater(now, true, Decision{})
	}
}

// accept takes any answer that is not about load.
func (c *Controller) accept(now time.Time, t Ticket, s Signal) {
	c.grow(t, now.Sub(t.at))
	c.observe(now, t)
	switch {
	case t.n <= c.epoch:
		c.hears(now)
		return
	case c.mode == Hold:
		c.resume(now)
		return
	}
	if c.mode == Probe && s.Answer == Other {
		return // only acceptances speak for a level
	}
	if c.fresh++; c.fresh == 1 {
		c.since = now
	}
	if c.mode == Compare {
		c.listen(now)
		return
	}
	c.credit(t)
	switch {
	case c.mode == Probe:
		c.trial(now, t, s)
	case t.paced:
		c.ascend(now, s)
	}
}

// trial looks at an accepted message of a probe: is the level being tried at all, and has it stood?
func (c *Controller) trial(now time.Time, t Ticket, s Signal) {
	switch {
	case t.paced && s.Congestion < loaded:
		c.since = c.since.Add(t.overdue)
		c.climb(now)
	case t.paced: // it is asked for no more than this
	case t.capped: // the level is tried as soon as the operator's cap lets it
		c.fresh = 0
	case t.held:
		c.unused(now)
	default:
		if t.idle {
			c.fresh = 0
		}
		if c.strays++; c.strays > 1+tolerated*c.fresh {
			c.idled(now)
		}
	}
}

// ascend begins what is due while a full pace is accepted.
func (c *Controller) ascend(now time.Time, s Signal) {
	switch {
	case c.listensAgain() && c.heard >= recheck/c.floor:
		c.evidence = evidence{}
		c.compare(now, c.floor)
	case !c.mayProbe(now):
	case s.Congestion >= loaded:
		c.quiet = now.Add(dwell)
		c.record(now, ReasonCongestion, Decision{Congestion: s.Congestion, Wait: dwell})
	default:
		c.probe(now, ReasonProbeUp, Decision{})
	}
}

// credit books an accepted message: it speaks for the ceiling and pays for probes.
func (c *Controller) credit(t Ticket) {
	c.climbed++
	c.heard++
	c.acquit(t)
	if t.paced {
		c.owed = max(0, c.owed-1)
	}
	if t.step > 0 { // the floor's refusals are not the probe's fault
		c.owed = max(0, c.owed-c.floor*c.price(t.step))
	}
}

// acquit lets an accepted message speak against the doubt. One that came after a pause met an SMSC that had rested: it
// speaks only against refusals of such messages.
func (c *Controller) acquit(t Ticket) {
	takes := max(leak, known*c.floor)
	if t.idle {
		if c.rested <= 0 {
			return
		}
		c.rested -= takes
	}
	c.accepted++
	if c.doubt -= takes; c.doubt <= 0 {
		c.evidence = evidence{}
	}
}

func (c *Controller) mayProbe(now time.Time) bool {
	return c.owed == 0 && !now.Before(c.quiet) && c.doubt < 1 && c.ceiling != c.most()
}

// refuse takes a 0x58, a 0x14 or a cry of congestion.
func (c *Controller) refuse(now time.Time, t Ticket, s Signal) {
	c.shrinkOnce(t)
	c.found = true
	t.bind.turned++
	if t.step > 0 {
		c.owe(c.owed + c.price(max(t.step, c.step)))
	}
	switch {
	case t.n <= c.epoch: // old news, but the account may have been charged for it: it gives up a slot
		if c.mode == Cruise {
			c.slot = latest(c.slot, now).Add(c.interval())
		}
		return
	case c.mode == Hold:
		c.testLater(now, s.Again, Decision{Refused: 1})
		return
	}
	c.turned++
	if s.Again {
		c.again++
	}
	silent := s.Answer == Refused && c.mode != Probe && c.fresh == 0 && c.turned >= 3 && now.Sub(c.decidedAt) >= c.trip()
	if c.mode == Compare && !silent {
		c.listen(now)
		return
	}
	c.refused++
	c.doubt++
	if t.idle {
		c.rested++
	}
	switch {
	case silent:
		c.hold(now, t)
	case c.doubt < c.enough():
	case c.suspect(now):
	case c.mode == Probe:
		c.refuted(now, s)
	case t.paced && c.doubted():
		c.compare(now, c.refused/(c.accepted+c.refused))
	default:
		c.excess(now, s)
	}
}

// enough is the doubt that ends a probe or cuts the ceiling.
func (c *Controller) enough() float64 {
	n := float64(proof)
	switch {
	case c.mode == Probe && c.step < bold && c.floor == 0:
		n = 1
	case c.mode != Probe && c.floor > 0:
		n = proofKnown
	}
	return max(n, flight.Seconds()*c.pace)
}

// probe tries the first level above the ceiling.
func (c *Controller) probe(now time.Time, why Reason, d Decision) {
	c.step = max(c.step, 2*c.floor)
	c.base, c.proven, c.level, c.climbed, c.from = c.ceiling, c.ceiling, c.step, 0, now
	c.setPace(c.proven * (1 + c.level))
	d.Tried = c.pace
	c.decide(now, Probe, why, d)
}

// climb goes one level up when this one has stood long enough to be refused.
func (c *Controller) climb(now time.Time) {
	stand := dwell
	if c.level == steepest {
		stand /= 4
	}
	if c.refusedAfter > 2*c.trip() { // refusals are known to come late
		stand = max(stand, c.refusedAfter)
	}
	if c.fresh < max(4, c.enough()/(c.level-c.floor/2)) || now.Sub(c.since) < stand {
		return
	}
	if !c.isHeard() {
		if now.Sub(c.since) > c.patience() {
			c.notHeard(now)
		}
		return
	}
	if !c.found { // there was no cruise yet to learn it from
		missing, of := c.unheard()
		c.mute = (missing + 20*c.mute) / (of + 20)
	}
	d := Decision{Was: c.ceiling, Accepted: int(c.fresh), Kept: c.pace}
	c.proven = c.pace
	if c.proven == c.most() {
		c.ceiling = c.proven
		c.cruise(now, ReasonDeclared, d)
		return
	}
	if c.hasMoved(now) {
		c.ceiling, c.base, c.step, c.climbed, c.from = c.proven, c.proven, max(c.step, c.level), 0, now
	}
	if c.floor == 0 { // with noise about, a starved sender must not run over the others
		c.level = min(2*c.level, steepest)
	}
	c.setPace(c.proven * (1 + c.level))
	d.Tried = c.pace
	c.decide(now, Probe, ReasonProbeKept, d)
}

// trip is the longest mean time that a bind's acceptances take.
func (c *Controller) trip() (trip time.Duration) {
	for _, b := range c.shared {
		trip = max(trip, b.mean)
	}
	return trip
}

// unheard is how many of the messages that others have overtaken since the newest decision have no answer, beyond what
// the spread of the round trips explains, and how many there were.
func (c *Controller) unheard() (missing, of float64) {
	for _, b := range c.shared {
		if n := b.answered - b.mark; n > 0 {
			missing += float64(n-b.heard) - 2*c.share()*(b.mean-b.rtt).Seconds()
			of += float64(n)
		}
	}
	return max(0, missing), of
}

// isHeard says that the level is answered as well as the pace before it. What the SMSC refuses late, or swallows, would
// else not speak against it.
func (c *Controller) isHeard() bool {
	missing, of := c.unheard()
	lost := c.mute * of
	return missing <= max(min(proof, of/4), flight.Seconds()*c.pace)+lost+3*math.Sqrt(lost)
}

// notHeard ends a probe too many of whose messages are not answered.
func (c *Controller) notHeard(now time.Time) {
	missing, _ := c.unheard()
	d := Decision{Tried: c.pace, Accepted: int(c.climbed), Unanswered: int(missing)}
	c.found, c.step = true, max(fine, c.step/4)
	c.owe(c.owed + c.price(c.step))
	c.cut(now, c.proven, ReasonProbeUnanswered, Signal{Answer: Refused}, d)
}

// hasMoved says that the probe was accepted more than any bucket saves up: the ceiling is not where it was, and is to
// be searched anew.
func (c *Controller) hasMoved(now time.Time) bool {
	return c.climbed-c.base*now.Sub(c.from).Seconds() > c.base*moved.Seconds()
}

// idled ends a probe that had too few messages to try its level. That says nothing about the ceiling, so the search goes
// on from there, as bold as before, when there are enough; only if they would have filled the ceiling, and the SMSC has
// refused before, the next level is a finer one.
func (c *Controller) idled(now time.Time) {
	d := Decision{Was: c.ceiling, Tried: c.pace, Wait: dwell}
	if c.found && c.fresh >= cruise*c.proven*now.Sub(c.since).Seconds() {
		c.step = max(fine, c.step/4)
	}
	if c.found {
		c.owe(max(c.owed, c.price(c.step)))
	}
	c.ceiling = c.proven
	c.quiet = latest(c.quiet, now.Add(dwell))
	c.cruise(now, ReasonProbeIdle, d)
}

// unused ends a probe whose level is not being tried for want of window.
func (c *Controller) unused(now time.Time) {
	d := Decision{Was: c.ceiling, Tried: c.pace}
	c.ceiling, c.step = c.proven, max(fine, c.step/4)
	c.owe(c.price(c.step))
	c.cruise(now, ReasonProbeUnused, d)
}

// refuted ends a probe that was refused. Of a fine probe's gain half is believed, as a bucket may have paid for it.
func (c *Controller) refuted(now time.Time, s Signal) {
	d := Decision{Tried: c.pace, Accepted: int(c.climbed), Refused: int(c.turned)}
	to := c.proven
	switch {
	case c.hasMoved(now):
		c.step = max(c.step, c.level/2) // what stood last
	case c.step <= coarse:
		to = (c.base + c.proven) / 2
	}
	c.step = max(fine, c.step/4)
	c.cut(now, to, ReasonProbeRefused, s, d)
}

// excess cuts by the share that was refused.
func (c *Controller) excess(now time.Time, s Signal) {
	d := Decision{Accepted: int(c.accepted), Refused: int(c.refused)}
	share := max(0, c.refused/(c.accepted+c.refused+prior)-c.floor) / (1 - c.floor)
	if c.mode == Compare { // the test has filled a bucket that would flatter a probe now
		c.owe(max(c.owed, c.price(c.step)))
	} else {
		c.step = max(min(c.step, bold), share/2) // the larger the error, the bolder the search
		c.owed = min(c.owed, c.price(c.step))
	}
	c.cut(now, c.ceiling*min(max(0.5, 1-share), 0.99), ReasonCutExcess, s, d)
}

// cut lowers the pace and every window at once.
func (c *Controller) cut(now time.Time, ceiling float64, why Reason, s Signal, d Decision) {
	d.Was, d.WindowWas, d.Wait = c.ceiling, c.windows(), dwell
	if s.Answer != Refused && s.Congestion >= congested {
		why, d.Congestion = ReasonCongestion, s.Congestion
	}
	for _, b := range c.shared {
		c.shrink(b, cruise*ceiling/c.pace)
	}
	c.ceiling, c.base = ceiling, min(c.base, ceiling)
	c.quiet = latest(c.quiet, now.Add(dwell))
	c.evidence = evidence{}
	c.cruise(now, why, d)
}

// cruise goes back to sending just below the ceiling.
func (c *Controller) cruise(now time.Time, why Reason, d Decision) {
	c.ceiling = max(c.ceiling, slowest)
	c.setPace(cruise * c.ceiling)
	soon := now.Add(c.interval())
	if c.slot = latest(c.slot, now); c.slot.After(soon) {
		c.slot = soon
	}
	c.decide(now, Cruise, why, d)
}

// hold begins a silence: several refused and nothing accepted since the newest decision.
func (c *Controller) hold(now time.Time, t Ticket) {
	if c.mode == Compare {
		c.unclear(now)
	}
	d := Decision{Refused: int(c.turned), WindowWas: c.windows()}
	c.held, c.wait, c.testing, c.deaf, c.tests, c.sinceGap = now, max(c.leastWait(), 2*t.bind.rtt), false, false, 0, 0
	if c.gaps >= 2 { // it is known to want that
		c.wait = max(c.leastWait(), c.gap)
	}
	c.quiet = now.Add(c.wait)
	d.Wait = c.wait
	c.decide(now, Hold, ReasonHold, d)
}

// leastWait is the shortest wait before a test: tests keep to a declared rate too.
func (c *Controller) leastWait() time.Duration {
	if c.cfg.Declared > 0 {
		return max(firstTest, time.Duration(float64(time.Second)/c.most()))
	}
	return firstTest
}

// goOn makes the next message due at once when a hold ends; with a declared rate it keeps its distance from the test.
func (c *Controller) goOn(now time.Time) {
	if c.cfg.Declared == 0 {
		c.slot = now
	}
}

// testLater waits twice as long after a test that was refused or lost, and now and then longer: some SMSCs start their
// penalty anew with each message, and want a minute of silence. A message that was refused before is no evidence of that:
// its recipient may be refused whatever the pace.
func (c *Controller) testLater(now time.Time, again bool, d Decision) {
	c.tests++
	gap := min(longest, (2*lastTest+5*time.Second)<<min(3, max(0, c.tests-longTests)/3))
	switch {
	case c.wait > lastTest && c.tests < longTests: // what was known is no longer true
		c.wait, c.gaps = c.leastWait(), 0
	case c.tests < longTests || c.sinceGap < 2 || again:
		c.wait = max(c.leastWait(), min(2*c.wait, lastTest))
		c.sinceGap++
	default:
		c.wait, c.sinceGap = gap, 0
	}
	if c.tests == longTests {
		c.raise(now, Alarm{Reason: AlarmHold, Share: 1, Refused: c.tests, Ceiling: c.ceiling})
	}
	c.quiet, c.testing = now.Add(c.wait), false
	d.Wait = c.wait
	c.decide(now, Hold, ReasonHoldTest, d)
}

// resume ends a hold. Half of the last probe's gain is given up, more if holds follow each other; the silence is paid
// for with 50 times its length without a probe, so that it stays below 2 % of the time.
func (c *Controller) resume(now time.Time) {
	silent := now.Sub(c.held)
	if c.wait <= max(lastTest, c.leastWait()) {
		c.gaps = 0
	} else {
		c.gaps, c.gap = c.gaps+1, c.wait
	}
	if c.alarm.Reason == AlarmHold {
		c.calm(now, Alarm{})
	}
	d := Decision{Was: c.ceiling, Held: silent}
	c.ceiling, c.base = (c.ceiling+c.base)/2, 0.9*c.base
	d.Wait = min(maxPause, time.Duration(math.Min(50*silent.Seconds()*fine/c.step, maxPause.Seconds())*float64(time.Second)))
	c.quiet = now.Add(d.Wait)
	c.goOn(now)
	c.evidence = evidence{} // the hold was the answer to it
	c.cruise(now, ReasonResume, d)
}

// price is how many messages pay for one refusal: the finer the probe, the more.
func (c *Controller) price(step float64) float64 { return fine / step / c.cfg.ProbeBudget }

func (c *Controller) owe(messages float64) { c.owed = min(messages, maxOwed*c.ceiling) }
