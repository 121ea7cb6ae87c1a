// Package course keeps what an SMSC answered to one sender over time, beside what it would have taken, and says how
// well the sender followed.
package course

import "time"

// Width is the length of a bin.
const Width = 100 * time.Millisecond

// Bin is what happened within Width.
type Bin struct {
	Accepted, Throttled, Other int     // answers: status 0, 0x58 or 0x14, any other
	Capacity                   float64 // what the SMSC takes, in messages per second; 0: unknown
	Pace                       float64 // of the sender, in messages per second; 0: none
}

// Course is a run in bins.
type Course []Bin

// At is the bin of a time since the start; earlier ones are made as needed.
func (c *Course) At(since time.Duration) *Bin {
	i := int(max(0, since) / Width)
	for len(*c) <= i {
		*c = append(*c, Bin{})
	}
	return &(*c)[i]
}

// Has reports whether the bin of a time since the start is there.
func (c Course) Has(since time.Duration) bool { return int(since/Width) < len(c) }

// between is the sum of the answers, and of what could have been accepted.
func (c Course) between(from, to time.Duration) (sum Bin, could float64) {
	for i := int(from / Width); i < int(to/Width) && i < len(c); i++ {
		sum.Accepted += c[i].Accepted
		sum.Throttled += c[i].Throttled
		sum.Other += c[i].Other
		could += c[i].Capacity * Width.Seconds()
	}
	return sum, could
}

// Share is what was accepted between two times as a share of what could have been; 0 where that is unknown.
func (c Course) Share(from, to time.Duration) float64 {
	sum, could := c.between(from, to)
	if could == 0 {
		return 0
	}
	return float64(sum.Accepted) / could
}

// Throttled is the share of the submits between two times that were throttled.
func (c Course) Throttled(from, to time.Duration) float64 {
	sum, _ := c.between(from, to)
	submits := sum.Accepted + sum.Throttled + sum.Other
	if submits == 0 {
		return 0
	}
	return float64(sum.Throttled) / float64(submits)
}

// Clean is how long after from a second, or ten messages' time, began in which at most 5 % were throttled; not ok:
// never.
func (c Course) Clean(from time.Duration) (after time.Duration, ok bool) {
	return c.first(from, func(sum Bin, _ float64) bool { return sum.clean() })
}

// Reached is how long after from a clean second, or ten messages' time, began in which 90 % of the ceiling were
// accepted; not ok: never, or the ceiling is unknown.
func (c Course) Reached(from time.Duration) (after time.Duration, ok bool) {
	return c.first(from, func(sum Bin, could float64) bool {
		return could > 0 && float64(sum.Accepted) >= 0.9*could && sum.clean()
	})
}

func (b Bin) clean() bool { return 20*b.Throttled <= b.Accepted+b.Throttled }

func (c Course) first(from time.Duration, good func(sum Bin, could float64) bool) (after time.Duration, ok bool) {
	start := int(from / Width)
	if start >= len(c) {
		return 0, false
	}
	length := time.Second
	if rate := c[start].Capacity; rate > 0 {
		length = max(length, time.Duration(10/rate*float64(time.Second)))
	}
	for at := from; at+length <= time.Duration(len(c))*Width; at += Width {
		if good(c.between(at, at+length)) {
			return at - from, true
		}
	}
	return 0, false
}
