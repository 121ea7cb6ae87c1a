package gateway

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	// ownAffairFor is how long after a refusal another one of the same destination is laid to the destination.
	ownAffairFor = time.Minute
	// mostRefused bounds the destinations remembered.
	mostRefused = 100_000
)

// destinations tells refusals of one recipient from refusals of the account's traffic: a mailbox that is full is no
// news about the ceiling. Numbers are kept as hashes with a seed of the process.
type destinations struct {
	mu      sync.Mutex
	seed    maphash.Seed
	refused map[uint64]time.Time // when a destination that has accepted nothing since was last refused
}

// accepted notes that the destination takes messages.
func (d *destinations) accepted(digits string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.refused) > 0 {
		delete(d.refused, maphash.String(d.seed, digits))
	}
}

// ownAffair notes a refusal, and says whether it is that destination's affair: it was refused within the last minute
// too, has accepted nothing since, and others have.
func (d *destinations) ownAffair(now time.Time, digits string, othersAccepted time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refused == nil || len(d.refused) >= mostRefused {
		d.seed, d.refused = maphash.MakeSeed(), map[uint64]time.Time{}
	}
	key := maphash.String(d.seed, digits)
	before, again := d.refused[key]
	d.refused[key] = now
	return again && now.Sub(before) < ownAffairFor && othersAccepted.After(before)
}
