package window

import "time"

const (
	stretchStart = 5                // multiple of the smallest round trip up to which the mean counts
	stretchMost  = 40               // the same, at most
	widen        = 1.5              // what is tried
	worthwhile   = 1.2              // what it must bring
	restWidening = 10 * time.Minute // after a try that brought too little
)

// stretching finds out why a window is full although its mean round trip is many times the smallest one. Either our
// own queue makes it long: then a larger window brings more delay and no more messages. Or the SMSC takes that long
// under load, or by day: then the window starves the bind. So a larger one is tried, and kept if it brings more.
type stretching struct {
	stretch float64   // multiple of the smallest round trip up to which the mean counts
	before  float64   // messages per second with the window before; 0: nothing is tried
	rest    time.Time // no try before

	from    time.Time // begin of the count
	answers float64   // accepted since
	held    bool      // one of them had waited for the window
}

// observe counts an accepted answer and judges when there are enough: of a second and of several windows.
func (c *Controller) observe(now time.Time, t Ticket) {
	b := t.bind
	s := &b.stretching
	if now.Before(s.from) {
		return
	}
	if s.answers == 0 {
		s.from = now
	}
	s.answers++
	s.held = s.held || t.held
	if took := now.Sub(s.from); took >= dwell && s.answers >= 8*float64(c.size(b)) {
		c.judge(now, b, s.answers/took.Seconds())
		s.answers, s.held, s.from = 0, false, now.Add(b.mean) // skip what was sent before
	}
}

func (c *Controller) judge(now time.Time, b *bind, rate float64) {
	s := &b.stretching
	switch {
	case s.before > 0 && rate < worthwhile*s.before:
		s.stretch, s.before, s.rest = s.stretch/widen, 0, now.Add(restWidening)
	case s.held && rate < 0.9*c.share() && b.mean > b.credible() && s.stretch < stretchMost && !now.Before(s.rest):
		s.stretch, s.before = s.stretch*widen, rate
	default:
		s.before = 0
	}
}
