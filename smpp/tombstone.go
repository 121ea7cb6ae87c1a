package smpp

import "time"

// maxTombstones bounds the memory a session spends on requests that nobody
// waits for any more.
const maxTombstones = 1 << 16

// tombstone remembers a request that was written and given up, so that a late
// response still finds what it belongs to.
type tombstone struct {
	sequence uint32
	sent     time.Duration // since the session began
	expires  time.Duration
	ref      any
}

// graveyard holds the tombstones of a session, each for the same time.
type graveyard struct {
	keep   time.Duration
	max    int
	bySeq  map[uint32]tombstone
	queue  []tombstone // in the order of expiry; may name some that were taken
	behind int         // the start of the queue that is gone already
}

func newGraveyard(keep time.Duration, most int) *graveyard {
	return &graveyard{keep: keep, max: most, bySeq: make(map[uint32]tombstone)}
}

// bury remembers a request that was given up at now. The oldest tombstone makes
// room when there are too many.
func (g *graveyard) bury(now time.Duration, r request) {
	g.sweep(now)
	for len(g.queue)-g.behind >= g.max {
		g.drop()
	}
	t := tombstone{sequence: r.sequence, sent: r.at, expires: now + g.keep, ref: r.ref}
	g.bySeq[t.sequence] = t
	g.queue = append(g.queue, t)
}

// take removes and returns the tombstone of a sequence number.
func (g *graveyard) take(now time.Duration, sequence uint32) (tombstone, bool) {
	t, ok := g.bySeq[sequence]
	if !ok || t.expires <= now {
		return tombstone{}, false
	}
	delete(g.bySeq, sequence)
	return t, true
}

// sweep forgets what has been kept long enough.
func (g *graveyard) sweep(now time.Duration) {
	for g.behind < len(g.queue) && g.queue[g.behind].expires <= now {
		g.drop()
	}
	if g.behind > len(g.queue)/2 {
		n := copy(g.queue, g.queue[g.behind:])
		clear(g.queue[n:])
		g.queue, g.behind = g.queue[:n], 0
	}
}

// drop forgets the tombstone at the front of the queue, unless its number was
// taken and buried again since.
func (g *graveyard) drop() {
	t := g.queue[g.behind]
	g.queue[g.behind] = tombstone{}
	g.behind++
	if have, ok := g.bySeq[t.sequence]; ok && have.expires == t.expires {
		delete(g.bySeq, t.sequence)
	}
}

func (g *graveyard) len() int { return len(g.bySeq) }
