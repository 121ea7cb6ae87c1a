package testserver

import "time"

// peak finds the highest number of events in any second, exactly: it keeps the time of each event of the last one.
type peak struct {
	times   []int64 // nanoseconds, a ring of a power of two
	head    uint64  // oldest event of the last second
	tail    uint64  // one past the newest
	highest uint64
}

// add counts an event at the given nanosecond. Time must not run backwards; where it does, it stands still.
func (p *peak) add(now int64) {
	if p.tail > p.head {
		now = max(now, p.times[(p.tail-1)&uint64(len(p.times)-1)])
	}
	for p.head < p.tail && p.times[p.head&uint64(len(p.times)-1)] <= now-int64(time.Second) {
		p.head++
	}
	if p.tail-p.head == uint64(len(p.times)) {
		p.grow()
	}
	p.times[p.tail&uint64(len(p.times)-1)] = now
	p.tail++
	p.highest = max(p.highest, p.tail-p.head)
}

func (p *peak) grow() {
	grown := make([]int64, max(64, 2*len(p.times)))
	for i := p.head; i < p.tail; i++ {
		grown[i&uint64(len(grown)-1)] = p.times[i&uint64(len(p.times)-1)]
	}
	p.times = grown
}
