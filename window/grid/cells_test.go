package grid

import (
	"fmt"
	"math"
	"math/rand"
)

// cell is one SMSC, the way to it, and who sends.
type cell struct {
	name, family string
	heldOut      bool // not among those that the constants were chosen on
	rtt          float64
	length, warm float64 // seconds; by default the rate says how long, and a quarter of it is left out of the figures
	smsc         func(*rand.Rand) smsc
	senders      []float64             // their starts; one at 0 by default
	arrivals     func(float64) float64 // messages per second that come in; nil: there is always one to send
	outages      []float64             // their starts
	places       int                   // in flight of a client that knows the SMSC's limit
}

// lengthFor is how long a cell runs: the slower the SMSC, the longer.
func lengthFor(rate float64) float64 {
	switch {
	case rate <= 1:
		return 1800
	case rate <= 10:
		return 600
	case rate <= 100:
		return 300
	case rate <= 1000:
		return 180
	default:
		return 40
	}
}

// table collects cells.
type table []cell

func (t *table) add(rate float64, c cell) {
	if c.length == 0 {
		c.length = lengthFor(rate)
	}
	if c.warm == 0 {
		c.warm = c.length / 4
	}
	*t = append(*t, c)
}

func bucketOf(rate curve, depth float64) func(*rand.Rand) smsc {
	return func(*rand.Rand) smsc { return newBucket(rate, depth) }
}

// depthFor is the usual depth of a bucket: a tenth of a second.
func depthFor(rate float64) float64 { return math.Max(2, rate/10) }

// allCells are the 74 cells of the grid and the 36 held out.
func allCells() []cell {
	var t table
	for _, rate := range []float64{1, 10, 100, 1000, 20000} {
		for _, rtt := range []float64{0.001, 0.02, 0.2, 1} {
			if rate < 20000 || rtt < 1 {
				t.addRates(rate, rtt)
			}
		}
	}
	t.addQueuesAndLatency()
	t.addPenalties()
	t.addMoving()
	t.addShared()
	t.addArrivals()
	t.addOddAnswers()
	return t
}

// addRates are S1 to S3: token buckets, calendar and sliding seconds.
func (t *table) addRates(rate, rtt float64) {
	heldOut := rtt != 0.02 && (rtt != 0.2 || rate != 10 && rate != 1000) && (rtt != 1 && rtt != 0.001 || rate != 100)
	at := fmt.Sprintf("%g rtt %g ms", rate, 1000*rtt)
	for _, depth := range []float64{1, 10, rate} {
		switch {
		case depth == 1 && rate > 100, depth == 10 && rate > 1000: // jitter alone breaks these
			continue
		case depth == rate && rate <= 10: // there already
			continue
		}
		family := "S1"
		if depth == 1 {
			family = "S1b1"
		}
		t.add(rate, cell{
			name: fmt.Sprintf("bucket of %g at %s", depth, at), family: family, heldOut: heldOut, rtt: rtt,
			smsc: bucketOf(constant(rate), depth),
		})
	}
	heldOut = heldOut || rate < 10
	t.add(rate, cell{
		name: "calendar second of " + at, family: "S2", heldOut: heldOut, rtt: rtt,
		smsc: func(*rand.Rand) smsc { return &calendarSecond{rate: rate} },
	})
	t.add(rate, cell{
		name: "sliding second of " + at, family: "S3", heldOut: heldOut, rtt: rtt,
		smsc: func(*rand.Rand) smsc { return &slidingSecond{rate: rate} },
	})
}

// addQueuesAndLatency are S4 to S6: finite queues, outstanding limits, SMSCs that only slow down.
func (t *table) addQueuesAndLatency() {
	for _, rate := range []float64{10, 100, 1000} {
		for _, places := range []float64{rate, 10 * rate} {
			t.add(rate, cell{
				name: fmt.Sprintf("queue of %g drained at %g", places, rate), family: "S4", rtt: 0.02,
				smsc: bucketOf(constant(rate), places),
			})
		}
		t.add(rate, cell{
			name: fmt.Sprintf("latency only, %g", rate), family: "S6", rtt: 0.02,
			smsc: func(*rand.Rand) smsc { return &latencyOnly{rate: rate} },
		})
	}
	for _, k := range []int{1, 4, 10, 50} {
		for _, rtt := range []float64{0.02, 0.2} {
			rate := float64(k) / (1.5 * rtt)
			t.add(rate, cell{
				name: fmt.Sprintf("%d outstanding, rtt %g ms", k, 1000*rtt), family: "S5", rtt: rtt, length: 180, places: k,
				smsc: func(r *rand.Rand) smsc { return &outstanding{places: k, service: rtt, rate: rate, rnd: r} },
			})
		}
	}
}

// addPenalties are S7: after a refusal only silence helps.
func (t *table) addPenalties() {
	for _, rate := range []float64{10, 100, 1000} {
		for _, length := range []float64{1, 5} {
			t.add(rate, cell{
				name: fmt.Sprintf("penalty of %g s at %g", length, rate), family: "S7", rtt: 0.02, length: 900,
				smsc: func(*rand.Rand) smsc {
					return &penalty{bucket: *newBucket(constant(rate), depthFor(rate)), length: length}
				},
			})
		}
	}
}

// addMoving are S8: ceilings that move.
func (t *table) addMoving() {
	for _, rtt := range []float64{0.02, 0.2} {
		for _, rate := range []float64{100, 1000} {
			t.add(rate, cell{
				name:   fmt.Sprintf("%g, %g, %g at rtt %g ms", rate, 0.3*rate, 3*rate, 1000*rtt),
				family: "S8", rtt: rtt, length: 360, warm: 60, smsc: bucketOf(steps(rate), rate/10),
			})
		}
	}
	t.add(100, cell{
		name: "100 ± 50 % in 600 s", family: "S8", rtt: 0.02, length: 1200,
		smsc: bucketOf(func(at float64) float64 { return 100 * (1 + 0.5*math.Sin(2*math.Pi*at/600)) }, 10),
	})
}

// addShared are S9: senders that know nothing of each other before one ceiling.
func (t *table) addShared() {
	for _, n := range []int{2, 4} {
		for _, rate := range []float64{100, 1000} {
			t.add(rate, cell{
				name: fmt.Sprintf("%d blind senders at %g", n, rate), family: "S9", rtt: 0.02, length: 400,
				senders: []float64{0, 5, 10, 15}[:n], smsc: bucketOf(constant(rate), rate/10),
			})
		}
	}
}

// addArrivals are S10: messages that come in, in bursts and steadily.
func (t *table) addArrivals() {
	pulse := func(at, period, high, highFor, low, lowUntil float64) float64 {
		switch m := math.Mod(at, period); {
		case m < highFor:
			return high
		case m < lowUntil:
			return low
		default:
			return 0
		}
	}
	for _, x := range []struct {
		name     string
		length   float64
		arrivals func(float64) float64
	}{
		{"300/s for 10 s of 45 s", 600, func(at float64) float64 { return pulse(at, 45, 300, 10, 0, 0) }},
		{"50/s", 600, constant(50)},
		{"200/s for 60 s, 5/s for 90 s, 0 for 150 s", 900, func(at float64) float64 { return pulse(at, 300, 200, 60, 5, 150) }},
	} {
		t.add(100, cell{
			name: x.name + " come in at 100", family: "S10", rtt: 0.02, length: x.length, warm: 60,
			smsc: bucketOf(constant(100), 10), arrivals: x.arrivals,
		})
	}
}

// addOddAnswers are S11 and S12: answers that are not about load, and connections that break.
func (t *table) addOddAnswers() {
	odd := func(rate float64, answer status, twice bool) func(*rand.Rand) smsc {
		return func(r *rand.Rand) smsc {
			return &spurious{smsc: newBucket(constant(rate), depthFor(rate)), share: 0.005, rnd: r, answer: answer, twice: twice}
		}
	}
	for _, rate := range []float64{10, 100, 1000} {
		t.add(rate, cell{name: fmt.Sprintf("0.5 %% throttled at %g", rate), family: "S11", rtt: 0.02, smsc: odd(rate, refused, true)})
	}
	t.add(100, cell{name: "0.5 % system errors at 100", family: "S11", rtt: 0.02, smsc: odd(100, otherwise, true)})
	t.add(100, cell{
		name: "5 s without connection at 100", family: "S12", rtt: 0.02, outages: []float64{100, 200},
		smsc: bucketOf(constant(100), 10),
	})
	t.add(1000, cell{
		name: "5 s without connection at 1000, rtt 200 ms", family: "S12", rtt: 0.2, outages: []float64{60, 120},
		smsc: bucketOf(constant(1000), 100),
	})
}

// noiseCells are refusals that do not follow the pace.
func noiseCells() []cell {
	var t table
	for _, share := range []float64{0.005, 0.01, 0.02} {
		for _, rate := range []float64{10, 100, 1000} {
			for _, rtt := range []float64{0.02, 0.2} {
				t.add(rate, cell{
					name:   fmt.Sprintf("%g %% noise at %g, rtt %g ms", 100*share, rate, 1000*rtt),
					family: fmt.Sprintf("noise %g %%", 100*share), rtt: rtt, length: 2 * lengthFor(rate), warm: lengthFor(rate) / 2,
					smsc: func(r *rand.Rand) smsc {
						return &spurious{smsc: newBucket(constant(rate), depthFor(rate)), share: share, rnd: r, answer: refused}
					},
				})
			}
		}
	}
	return t
}
