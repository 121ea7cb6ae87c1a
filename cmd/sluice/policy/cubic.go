package policy

import (
	"math"
	"time"

	"sluice/window"
)

// Cubic is TCP's CUBIC on a rate: a slow start, one decrease for each flight, and between decreases a cubic curve
// around the rate that was refused last.
type Cubic struct {
	rate      float64 // messages per second
	refusedAt float64 // rate around which the curve is flat
	cut       time.Time
	starting  bool

	sent    int64
	flight  int64 // newest message of the flight that was cut for
	waited  bool  // the newest message did
	rtt     time.Duration
	slot    time.Time
	deliver delivered
}

const (
	cubicStart   = 5    // messages per second
	cubicSlowest = 0.2  // messages per second
	cubicBeta    = 0.7  // that a decrease leaves
	cubicFlat    = 10.0 // seconds from a decrease to the flat part
	cubicSpare   = 4    // places in the window beyond twice the rate × round trip
)

// NewCubic starts at 5 messages per second.
func NewCubic() *Cubic { return &Cubic{rate: cubicStart, starting: true} }

// Next implements Policy.
func (c *Cubic) Next(_ time.Time, inFlight int) (at time.Time, ok bool) {
	return c.slot, inFlight < int(math.Ceil(2*c.rate*c.rtt.Seconds()))+cubicSpare
}

// Send implements Policy.
func (c *Cubic) Send(now time.Time, waited bool) Sent {
	c.sent++
	c.waited = waited
	c.slot = following(c.slot, now, c.rate)
	return Sent{At: now, number: c.sent}
}

// Answer implements Policy.
func (c *Cubic) Answer(now time.Time, s Sent, a window.Answer) {
	if a == window.Lost {
		return
	}
	rtt := now.Sub(s.At)
	if c.rtt == 0 {
		c.rtt = rtt
	}
	c.rtt += (rtt - c.rtt) / 8
	if a == window.Refused {
		c.decrease(now, s)
		return
	}
	c.deliver.add(now)
	switch {
	case !c.waited:
	case c.starting:
		c.rate += min(1/max(c.rtt.Seconds(), 1/c.rate), c.rate/4)
	default:
		d := (now.Sub(c.cut).Seconds() - cubicFlat) / cubicFlat
		c.rate = max(c.rate, c.refusedAt*(1+(1-cubicBeta)*d*d*d))
	}
}

func (c *Cubic) decrease(now time.Time, s Sent) {
	if s.number <= c.flight {
		return
	}
	c.flight, c.starting, c.cut = c.sent, false, now
	c.refusedAt = max(min(c.rate, c.deliver.rate(now)), c.rate/2)
	c.rate = max(cubicSlowest, cubicBeta*c.refusedAt)
}

// Reconnect implements Policy.
func (c *Cubic) Reconnect(time.Time, []Sent) {}

// Pace implements Policy.
func (c *Cubic) Pace() float64 { return c.rate }

// delivered counts what was accepted within about the last second.
type delivered struct {
	counts [20]int // of 50 ms each
	newest int64
}

const slice = 50 * time.Millisecond

func (d *delivered) advance(now time.Time) {
	current := now.UnixNano() / int64(slice)
	if current-d.newest >= int64(len(d.counts)) {
		d.counts, d.newest = [20]int{}, current
	}
	for d.newest < current {
		d.newest++
		d.counts[d.newest%int64(len(d.counts))] = 0
	}
}

func (d *delivered) add(now time.Time) {
	d.advance(now)
	d.counts[d.newest%int64(len(d.counts))]++
}

// rate is in messages per second.
func (d *delivered) rate(now time.Time) float64 {
	d.advance(now)
	sum := 0
	for _, n := range d.counts {
		sum += n
	}
	return float64(sum) / (time.Duration(len(d.counts)) * slice).Seconds()
}
