package window

import "time"

// Reason is why something was decided; one word of a closed set, fit for a metric's label.
type Reason string

// The reasons.
const (
	ReasonStart           Reason = "start"            // nothing is known: a bold probe from a low rate
	ReasonDeclared        Reason = "declared_cap"     // the declared rate is the ceiling
	ReasonMemory          Reason = "memory"           // the start is a remembered ceiling
	ReasonProbeUp         Reason = "probe_up"         // a rate above the ceiling is tried
	ReasonProbeKept       Reason = "probe_kept"       // it stood, the next level is tried
	ReasonProbeRefused    Reason = "probe_refused"    // it was refused
	ReasonProbeUnused     Reason = "probe_unused"     // too few places to try it
	ReasonProbeUnanswered Reason = "probe_unanswered" // too few of its messages were answered
	ReasonProbeIdle       Reason = "probe_idle"       // too few messages to try it
	ReasonCutExcess       Reason = "cut_excess"       // too many refusals at the ceiling: it is lowered
	ReasonHold            Reason = "hold"             // nothing is accepted: silence
	ReasonHoldTest        Reason = "hold_test"        // the test message of a hold was refused or lost
	ReasonResume          Reason = "resume"           // it was accepted
	ReasonCongestion      Reason = "congestion_hint"  // congestion_state made a cut or kept a probe away
	ReasonNoiseTest       Reason = "noise_test"       // a phase of the test whether refusals follow the pace
	ReasonNoise           Reason = "noise"            // they do not: their share is ignored
	ReasonNoiseGone       Reason = "noise_gone"       // there are none left to ignore
	ReasonAlarm           Reason = "alarm"            // refusals seem not to follow the pace, and may not be ignored either
	ReasonAlarmOver       Reason = "alarm_over"       // it ended
	ReasonOperator        Reason = "operator"         // the configuration was changed
	ReasonDisconnect      Reason = "disconnect"       // a bind was lost
	ReasonApart           Reason = "bind_apart"       // a bind takes less than the others: it has a ceiling of its own
	ReasonTogether        Reason = "bind_together"    // it takes as much again, and shares the pace
)

// Decision is one step of the controller with its numbers. Which numbers are set depends on the reason; String says
// them all.
type Decision struct {
	Seq    uint64 // 1, 2, … per controller
	At     time.Time
	Reason Reason
	Mode   Mode // after the decision, like Pace, Ceiling, Window and Owed

	Pace, Ceiling float64 // messages per second
	Window        int     // of all binds together
	Owed          int     // messages that must be accepted before the next probe; in a noise test: answers of the phase

	Was        float64       // ceiling before; 0 if the decision is not about it
	WindowWas  int           // window before
	Tried      float64       // rate probed, or remembered
	Kept       float64       // rate that stood
	Accepted   int           // answers the decision rests on
	Refused    int           // the same
	Wait       time.Duration // time without a probe, or (hold, hold_test) without a message
	Held       time.Duration // length of the hold that ended
	Congestion uint8         // congestion_state that decided

	SlowAnswers, SlowRefused int     // of the slow phases of a noise test; Accepted and Refused are those at full pace
	Slower                   float64 // share of the pace given up in them
	Noise                    float64 // share of refusals that is ignored

	Alarm Alarm // that began

	Bind       BindID  // that was lost, that has a ceiling of its own, or whose own controller decided
	Own        bool    // its own controller decided, and Pace to Owed are of that
	Share      float64 // of the submits that were that bind's
	Unanswered int     // on it, or of the probe's messages
	Forgot     bool    // the operator let everything learned be forgotten
	Declared   float64
	MaxWindow  int
}

const ringSize = 256 // decisions remembered

// ledger is a ring of the newest decisions.
type ledger struct {
	ring    []Decision
	decided uint64
}

func (l *ledger) add(d Decision) {
	l.decided++
	d.Seq = l.decided
	if len(l.ring) < ringSize {
		l.ring = append(l.ring, d)
		return
	}
	l.ring[(l.decided-1)%ringSize] = d
}

// newest needs at least one decision.
func (l *ledger) newest() Decision { return l.ring[(l.decided-1)%ringSize] }

// date gives a time to decisions made before there was a clock.
func (l *ledger) date(now time.Time) {
	for i := range l.ring {
		if l.ring[i].At.IsZero() {
			l.ring[i].At = now
		}
	}
}

// Decisions returns the newest decisions, at most 256, newest last.
func (c *Controller) Decisions() []Decision {
	out := make([]Decision, 0, len(c.ring))
	for i := range c.ring {
		out = append(out, c.ring[(c.decided+uint64(i))%uint64(len(c.ring))])
	}
	return out
}

// decide changes the mode: answers to what was sent before count no more.
func (c *Controller) decide(now time.Time, m Mode, why Reason, d Decision) {
	c.mode, c.epoch, c.decidedAt, c.fresh, c.turned, c.strays = m, c.issued, now, 0, 0, 0
	for _, b := range c.shared {
		b.mark, b.heard = b.sent, 0
	}
	c.record(now, why, d)
}

// record keeps a decision that does not change what the controller does.
func (c *Controller) record(now time.Time, why Reason, d Decision) {
	d.At, d.Reason, d.Mode = now, why, c.mode
	d.Pace, d.Ceiling, d.Window = c.pace, c.ceiling, c.windows()
	d.Declared, d.MaxWindow = c.cfg.Declared, c.cfg.MaxWindow
	c.recall(now)
	if c.account != nil {
		d.Bind, d.Own = c.ids, true
	}
	if d.Owed == 0 {
		d.Owed = roundUp(c.owed)
	}
	if c.account != nil {
		c.account.add(d)
	}
	c.add(d)
}
