package window

import (
	"fmt"
	"math"
	"time"
)

const (
	longTest  = 40   // phases without a verdict that count as one undecided test
	lastHeard = 1000 // answers that a share is taken from when there is no test to tell
	news      = 0.01 // share of refusals among them that is worth an alarm
	aftermath = 200  // answers after the ceiling has halved that are the fall itself
	lookback  = 10   // minutes in which the highest ceiling counts
	sunken    = 0.5  // of it
)

// AlarmReason is why an alarm stands; one word of a closed set, fit for a metric's label.
type AlarmReason string

// The reasons of an alarm.
const (
	AlarmOverMax   AlarmReason = "over_noise_max"    // a test found refusals that do not follow the pace, more than NoiseMax
	AlarmUndecided AlarmReason = "tests_undecided"   // two tests in a row saw refusals and came to no verdict
	AlarmSunken    AlarmReason = "refused_all_along" // the ceiling has halved, and still as many are refused
	AlarmHold      AlarmReason = "nothing_accepted"  // every test message of a hold was refused, for minutes
)

// AlarmReasons returns all reasons of an alarm.
func AlarmReasons() []AlarmReason {
	return []AlarmReason{AlarmOverMax, AlarmUndecided, AlarmSunken, AlarmHold}
}

// Alarm says that nothing the controller may do is safe: refusals do not seem to follow the pace, and cannot be
// ignored either without an operator's word. Until then they are taken for load, and cost what that costs. It ends when
// a test comes to a verdict, when less than 1 % of 1,000 answers are refused, and when NoiseMax or NoiseIgnore changes.
type Alarm struct {
	Reason AlarmReason // empty: there is no alarm
	Since  time.Time
	Share  float64 // of the answers that were refused

	Accepted, Refused        int     // answers at full pace, or (AlarmSunken) the last 1,000
	SlowAnswers, SlowRefused int     // those of a test's slow phases
	Slower                   float64 // share of the pace given up in them
	Again                    int     // of all refused, those that are Signal.Again
	Best, Ceiling            float64 // messages per second: highest ceiling of 10 minutes, and that of now
}

// Suggested is the Config.NoiseIgnore that would silence the refusals, a share from 0 to 0.5; 0: none would.
func (a Alarm) Suggested() float64 {
	if a.Reason == AlarmHold {
		return 0
	}
	return min(0.5, known*a.Share)
}

// String is a sentence for the operator; empty without an alarm.
func (a Alarm) String() string {
	refused, all := a.Refused+a.SlowRefused, a.Accepted+a.Refused+a.SlowAnswers
	seen := fmt.Sprintf("%s of %s refused (%s)", count(refused), count(all), percent(a.Share))
	switch a.Reason {
	case AlarmOverMax, AlarmUndecided:
		if full := a.Accepted + a.Refused; full > 0 && a.SlowAnswers > 0 {
			seen += fmt.Sprintf(": %s at full pace, %s at %.0f %% less", ratio(a.Refused, full), ratio(a.SlowRefused, a.SlowAnswers), 100*a.Slower)
		}
		if a.Reason == AlarmUndecided {
			seen += ", and two tests could not tell whether that follows the pace"
		} else {
			seen += ", which does not follow the pace and is more than noise.max lets be ignored"
		}
	case AlarmSunken:
		seen = fmt.Sprintf("the ceiling went from %s to %s and refusals do not follow: %s", rate(a.Best), rate(a.Ceiling), seen)
	case AlarmHold:
		return fmt.Sprintf("nothing is accepted: %s test messages in a row were refused; the silences between them become longer; ask the SMSC's operator whether the account is blocked or has used up a quota", count(a.Refused))
	default:
		return ""
	}
	if 2*a.Again > refused {
		return seen + fmt.Sprintf("; %s of them were messages refused before: look for recipients that are always refused", count(a.Again))
	}
	return seen + fmt.Sprintf("; ask whether others send through this account; if nobody does, noise.ignore: %.1f%% is safe", 100*a.Suggested())
}

// watch is what the alarm knows.
type watch struct {
	alarm     Alarm
	undecided int     // tests in a row without a verdict that saw refusals
	loads     uint8   // verdicts of the last tests, newest lowest: 1 is load
	again     float64 // refusals of the running test that are Signal.Again

	minute int64             // of the newest peak, since 1970
	peaks  [lookback]float64 // highest ceiling of each minute
	stood  float64           // ceiling since the newest decision
	sunken bool

	answers, refusals, repeats, skip int // since the last look; answers not to count
}

// hear counts an answer while there is something to watch. What a probe is refused is the probe's fault.
func (c *Controller) hear(now time.Time, t Ticket, s Signal) {
	if !c.sunken && c.alarm.Reason == "" || s.Answer == Lost || t.step > 0 || c.mode == Hold {
		return
	}
	if c.skip > 0 {
		c.skip--
		return
	}
	c.answers++
	if s.Answer == Refused {
		c.refusals++
		if s.Again {
			c.repeats++
		}
	}
	if c.answers >= lastHeard {
		c.look(now)
	}
}

// look decides from the last 1,000 answers.
func (c *Controller) look(now time.Time) {
	a := Alarm{
		Reason: AlarmSunken, Share: float64(c.refusals) / float64(c.answers),
		Accepted: c.answers - c.refusals, Refused: c.refusals, Again: c.repeats, Best: c.best(), Ceiling: c.ceiling,
	}
	c.answers, c.refusals, c.repeats = 0, 0, 0
	switch {
	case a.Share < news:
		c.calm(now, a)
	case c.alarm.Reason != "": // it stands
	case c.loads&0b111 == 0:
		c.raise(now, a)
	}
}

// raise begins an alarm; one that stands stays as it is.
func (c *Controller) raise(now time.Time, a Alarm) {
	if c.alarm.Reason != "" {
		return
	}
	a.Since = now
	c.alarm = a
	c.answers, c.refusals, c.repeats = 0, 0, 0
	c.record(now, ReasonAlarm, Decision{Alarm: a})
}

// calm ends an alarm.
func (c *Controller) calm(now time.Time, why Alarm) {
	if c.alarm.Reason == "" {
		return
	}
	c.alarm = Alarm{}
	c.record(now, ReasonAlarmOver, Decision{Accepted: why.Accepted, Refused: why.Refused})
}

// unclear is called when a test ends, or has gone on for long, without a verdict.
func (c *Controller) unclear(now time.Time) {
	if c.refused+c.lowRefused == 0 {
		return
	}
	if c.undecided++; c.undecided >= 2 {
		c.raise(now, c.tested(AlarmUndecided))
	}
}

// verdict is called when a test comes to one.
func (c *Controller) verdict(now time.Time, load bool) {
	c.undecided = 0
	c.loads <<= 1
	if load {
		c.loads |= 1
	}
	c.calm(now, Alarm{})
}

// tested is an alarm about the running test.
func (c *Controller) tested(why AlarmReason) Alarm {
	refused, all := c.refused+c.lowRefused, c.accepted+c.refused+c.low
	return Alarm{
		Reason: why, Share: refused / all, Accepted: int(c.accepted), Refused: int(c.refused),
		SlowAnswers: int(c.low), SlowRefused: int(c.lowRefused), Slower: c.slow, Again: int(c.again), Ceiling: c.ceiling,
	}
}

// recall keeps the highest ceiling of each of the last minutes. It runs at each decision; the ceiling stood between.
func (c *Controller) recall(now time.Time) {
	if c.issued == 0 { // there is no clock yet
		return
	}
	minute := now.Unix() / 60
	for m := max(c.minute+1, minute-lookback+1); m <= minute; m++ {
		c.peaks[m%lookback] = c.stood
	}
	c.minute = max(c.minute, minute)
	i := c.minute % lookback
	c.peaks[i] = max(c.peaks[i], c.ceiling)
	c.stood = c.ceiling
	sunk := c.ceiling < sunken*c.best()
	if sunk && !c.sunken {
		c.answers, c.refusals, c.repeats, c.skip = 0, 0, 0, aftermath
	}
	c.sunken = sunk
}

func (c *Controller) best() float64 {
	best := 0.0
	for _, p := range c.peaks {
		best = math.Max(best, p)
	}
	return best
}
