package text

import (
	"hash/maphash"
	"sync/atomic"
)

// references is the number of counters of a References.
const references = 4096

// References gives out the numbers that tie the parts of a joined text. A phone tells texts apart by sender and
// number, so each (source, destination) pair has a counter of its own.
//
// Memory is bounded: pairs share 4096 counters by hash. Sharing does no harm, because each pair still sees its own
// numbers grow and come round only after at least 2^16 of them, or 2^8 by JoinUDH8 (fewer in proportion to what the
// other pairs of the counter send). Counters start at random, so that a restart does not repeat what was just sent.
//
// It is safe for concurrent use.
type References struct {
	seed     maphash.Seed
	counters [references]atomic.Uint32
}

// NewReferences returns counters with a random start.
func NewReferences() *References {
	r := &References{seed: maphash.MakeSeed()}
	for i := range r.counters {
		r.counters[i].Store(uint32(maphash.Comparable(r.seed, i)))
	}
	return r
}

// Next returns the number for the next joined text of a pair. JoinUDH8 uses its low octet, which wraps from 255 to 0.
func (r *References) Next(source, dest string) uint16 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	_, _ = h.WriteString(source)
	_ = h.WriteByte(0) // no address holds a NUL
	_, _ = h.WriteString(dest)
	return uint16(r.counters[h.Sum64()%references].Add(1))
}
