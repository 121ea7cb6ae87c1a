package window

import (
	"math"
	"time"
)

const (
	gain, spare = 1.5, 2 // of the window, over pace × round trip
	blind       = 10     // window before the first answer
	samples     = 32     // answers the mean round trip looks back on

	// harmless is the least round trip a window is made for. On a fast network a busy machine alone stretches round
	// trips many times, and wakes us so late that more messages are due at once than would fit; a queue that short
	// hurts nobody.
	harmless = 20 * time.Millisecond
)

// bind bounds how far one bind may run ahead of its newest answer. Counting from the newest answer, and not what is
// unanswered, keeps a lost answer from blocking the bind until its time-out: the next answer passes it by.
type bind struct {
	id             BindID
	sent, answered int64 // newest message sent, newest that has a result
	unanswered     int
	rtt, mean      time.Duration // the smallest round trip seen, and about the mean of the last few
	limit          float64       // what cuts and refusals left of the window; 0: all grown back
	round          int64         // newest message when the round began; an answer to a later one completes it
	spoiled        int64         // newest message when a refusal last took one off
	full           time.Time     // last time that the window let nothing start
	mark, heard    int64         // newest message at the newest decision, and how many later ones were accepted or refused
	standing
	stretching
}

func (b *bind) ahead() int { return int(b.sent - b.answered) }

// share is the bind's part of the pace.
func (c *Controller) share() float64 { return c.pace / float64(max(1, len(c.shared))) }

// whole is the window that sustains the bind's part of the pace, with a little room. The mean round trip carries an
// SMSC whose answers spread widely; the multiple of the smallest bounds it where answers only slow down because we
// queue.
func (c *Controller) whole(b *bind) float64 {
	if b.rtt == 0 {
		return blind
	}
	trip := float64(max(harmless, min(b.mean, b.credible()))) / float64(time.Second)
	return math.Ceil(gain*c.share()*trip) + spare
}

// credible is the largest mean round trip that is not taken for a queue of our own making.
func (b *bind) credible() time.Duration {
	return time.Duration(b.stretch * float64(b.rtt))
}

// size is the window as it stands: at least 1, and never above the operator's cap.
func (c *Controller) size(b *bind) int {
	n := c.whole(b)
	if b.limit > 0 {
		n = min(n, b.limit)
	}
	if c.cfg.MaxWindow > 0 {
		n = min(n, float64(c.cfg.MaxWindow))
	}
	return int(n)
}

// windows is the sum of all windows; in a hold one test message is all.
func (c *Controller) windows() int {
	n := 0
	for _, b := range c.binds {
		switch {
		case b.home != c:
			n += b.home.windows()
		case c.mode != Hold:
			n += c.size(b)
		}
	}
	if c.mode == Hold {
		n++
	}
	return n
}

// shrink takes at least one off the window and no less than the pace loses, given as new pace over old.
func (c *Controller) shrink(b *bind, ratio float64) {
	n := float64(c.size(b))
	b.limit, b.round = max(1, min(n-1, math.Ceil(n*ratio))), b.sent
}

func (b *bind) pass(t Ticket) { b.answered = max(b.answered, t.seq) }

// shrinkOnce takes one off for each flight that was refused something, and spoils the round.
func (c *Controller) shrinkOnce(t Ticket) {
	b := t.bind
	b.pass(t)
	if t.seq > b.spoiled {
		b.limit, b.spoiled = max(1, float64(c.size(b))-1), b.sent
	}
	b.round = b.sent
}

// grow gives one back for each clean round, and per answer what known noise takes off.
func (c *Controller) grow(t Ticket, rtt time.Duration) {
	b := t.bind
	b.pass(t)
	b.measure(rtt)
	if b.limit == 0 {
		return
	}
	b.limit += known * c.floor
	if t.seq > b.round {
		b.round = b.sent
		b.limit++
	}
	if b.limit >= c.whole(b) {
		b.limit = 0
	}
}

func (b *bind) measure(rtt time.Duration) {
	rtt = max(rtt, 1)
	if b.rtt == 0 {
		b.rtt, b.mean = rtt, rtt
	}
	b.rtt = min(b.rtt, rtt)
	b.mean += (rtt - b.mean) / samples
}
