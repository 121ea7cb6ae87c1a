package window

import "time"

// Snapshot is what an operator sees of an account's window.
type Snapshot struct {
	At            time.Time
	Mode          Mode
	Pace, Ceiling float64 // messages per second
	Declared      float64 // contract rate; 0: unknown
	// Learned is the rate to remember for the next start (Config.Remembered): the ceiling, or in a probe the highest
	// rate that stood; 0 while nothing was learned.
	Learned    float64
	Noise      float64 // share of refusals that is ignored
	Alarm      Alarm
	Owed       int           // messages that must be accepted before the next probe
	Quiet      time.Duration // before that no probe starts, or in a hold no message
	MaxWindow  int           // operator's cap; 0: none
	Unanswered int           // messages without result, those of lost binds included
	Decided    uint64        // decisions so far: the newest Seq
	Binds      []BindSnapshot
}

// BindSnapshot is one bind of a Snapshot.
type BindSnapshot struct {
	ID         BindID
	Window     int           // how far the bind may run ahead of its newest answer
	Ahead      int           // how far it is ahead
	Unanswered int           // messages without result
	Reserved   int           // permits acquired and not started; only a Gate knows
	RTT        time.Duration // smallest round trip seen; 0 before the first answer
	MeanRTT    time.Duration // mean of about the last 32
	// Pace and Ceiling are the bind's own, in messages per second; 0: it shares the account's.
	Pace, Ceiling float64
}

// Snapshot reports the state at now.
func (c *Controller) Snapshot(now time.Time) Snapshot {
	pace, ceiling := c.apart()
	s := Snapshot{
		At: now, Mode: c.mode, Pace: c.pace + pace, Ceiling: c.ceiling + ceiling, Declared: c.cfg.Declared, Learned: c.learned(),
		Noise: c.floor, Alarm: c.alarm, Owed: roundUp(c.owed), Quiet: max(0, c.quiet.Sub(now)), MaxWindow: c.cfg.MaxWindow,
		Unanswered: c.unanswered, Decided: c.decided, Binds: make([]BindSnapshot, 0, len(c.binds)),
	}
	for _, b := range c.binds {
		n, pace, ceiling := b.home.size(b), 0.0, 0.0
		if b.home.mode == Hold {
			n = 1
		}
		if b.home != c {
			pace, ceiling = b.home.pace, b.home.ceiling
		}
		s.Binds = append(s.Binds, BindSnapshot{
			ID: b.id, Window: n, Ahead: b.ahead(), Unanswered: b.unanswered, RTT: b.rtt, MeanRTT: b.mean, Pace: pace, Ceiling: ceiling,
		})
	}
	return s
}

// learned needs a decision on answers: what the start was told is not learned.
func (c *Controller) learned() float64 {
	_, apart := c.apart()
	switch {
	case c.epoch <= c.born:
		return 0
	case c.mode == Probe:
		return max(c.ceiling, c.proven) + apart
	default:
		return c.ceiling + apart
	}
}

// Size is the mode, the pace in messages per second, and the sum of all windows.
func (g *Gate) Size() (mode Mode, pace float64, window int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	apart, _ := g.controller.apart()
	return g.controller.mode, g.controller.pace + apart, g.controller.windows()
}
