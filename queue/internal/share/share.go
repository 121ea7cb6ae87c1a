// Package share divides what is taken from a queue among its lanes.
package share

// Every lane that is not strict gets at least one message in sharesPerFloor,
// 5 %, while it has any. Shares are measured over about shareMemory messages.
const (
	sharesPerFloor = 20
	shareMemory    = 1000
)

// Shares decides which lane the next message is taken from: a lane below its
// floor, else the first strict lane, else the weighted lane that is furthest
// behind. It is a value without clock or lock.
type Shares struct {
	lanes []lane
	total float64
}

type lane struct {
	weight int     // 0 is strict
	taken  float64 // of total
	active bool    // had messages at the last pick
}

// New makes the shares of lanes in their order of priority; a weight of 0 is
// strict.
func New(weights []int) *Shares {
	s := &Shares{lanes: make([]lane, len(weights))}
	for i, w := range weights {
		s.lanes[i].weight = w
	}
	return s
}

// Pick returns the lane to take one message from, or -1 when none has any.
func (s *Shares) Pick(has func(lane int) bool) int {
	for i := range s.lanes {
		s.activate(i, has(i))
	}
	best := s.choose()
	if best >= 0 {
		s.lanes[best].taken++
		s.total++
		s.decay()
	}
	return best
}

// activate lets a lane that was empty start level with the others: what it did
// not use it cannot save up.
func (s *Shares) activate(i int, has bool) {
	l := &s.lanes[i]
	if has && !l.active && l.weight > 0 {
		l.taken = max(l.taken, s.total/sharesPerFloor, s.leastPerWeight()*float64(l.weight))
	}
	l.active = has
}

// leastPerWeight is how far the active weighted lane that is furthest behind
// has come.
func (s *Shares) leastPerWeight() float64 {
	least := -1.0
	for _, l := range s.lanes {
		if l.active && l.weight > 0 && (least < 0 || l.perWeight() < least) {
			least = l.perWeight()
		}
	}
	return max(least, 0)
}

func (l *lane) perWeight() float64 { return l.taken / float64(l.weight) }

func (s *Shares) choose() int {
	best, strict := -1, -1
	for i := range s.lanes {
		l := &s.lanes[i]
		switch {
		case !l.active:
		case l.weight == 0:
			if strict < 0 {
				strict = i
			}
		case best < 0 || l.perWeight() < s.lanes[best].perWeight():
			best = i
		}
	}
	// From the last lane on, so that the lowest is served first when several are
	// below their floor.
	for i := len(s.lanes) - 1; i >= 0; i-- {
		if l := &s.lanes[i]; l.active && l.weight > 0 && l.taken*sharesPerFloor < s.total {
			return i
		}
	}
	if strict >= 0 {
		return strict
	}
	return best
}

func (s *Shares) decay() {
	if s.total < shareMemory {
		return
	}
	s.total /= 2
	for i := range s.lanes {
		s.lanes[i].taken /= 2
	}
}
