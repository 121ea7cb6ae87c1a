package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/smpp/text"
)

// The bounds of joining a phone's long message.
const (
	// partsPatience is how long the first part waits for the others; then what there is goes out in parts.
	partsPatience = 5 * time.Minute
	// mostJoining bounds the messages that wait for parts: beyond it parts go out alone.
	mostJoining = 10_000
)

// joinKey tells the parts of one message from those of another: the phone, where it writes to, its reference and how
// many parts it says there are.
type joinKey struct {
	from, to  string
	reference uint16
	wide      bool
	total     byte
}

// name is the key as others may read it: it holds no address.
func (k *joinKey) name() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %t %d", k.from, k.to, k.reference, k.wide, k.total))
	return hex.EncodeToString(sum[:16])
}

// sumOf is a checksum of a part's octets.
func sumOf(octets []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(octets) // a hash never fails
	return h.Sum64()
}

// sumOfParts is a checksum of a whole message's octets.
func sumOfParts(parts []text.Part) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write(p.Data) // a hash never fails
	}
	return h.Sum64()
}

// partOf says which part of which joined message a deliver_sm is, by its user data header or its SAR TLVs (SMPP 3.4
// sections 5.3.2.22 to 5.3.2.24).
func partOf(m *pdu.DeliverSM, octets []byte) (key joinKey, part byte, ok bool) {
	key = joinKey{from: string(m.Source.Addr), to: string(m.Dest.Addr)}
	if m.ESMClass&pdu.ESMClassUDHI != 0 {
		udh, _, err := text.SplitHeader(octets)
		if err != nil {
			return key, 0, false
		}
		h, err := text.ParseHeader(udh)
		if err != nil {
			return key, 0, false
		}
		key.reference, key.wide, key.total = h.Reference, h.Wide, h.Total
		return key, h.Part, h.Total > 1
	}
	reference, has := m.TLVs.Uint16(pdu.TagSarMsgRefNum)
	total, hasTotal := m.TLVs.Uint8(pdu.TagSarTotalSegments)
	part, hasPart := m.TLVs.Uint8(pdu.TagSarSegmentSeqnum)
	key.reference, key.wide, key.total = reference, true, total
	return key, part, has && hasTotal && hasPart && total > 1 && part >= 1 && part <= total
}

// joiner gathers the parts of long messages, in any order. What it holds is only a copy: every part stays stored
// until the message is published. A part that came back to be looked at again may have been given to another instance
// the last time, so that sooner or later one of them has seen all.
type joiner struct {
	mu      sync.Mutex
	joining map[joinKey]*joining
}

type joining struct {
	seen  time.Time // when the first part was seen here
	parts map[byte]joinPart
}

type joinPart struct {
	came time.Time
	text.Part
}

// joinVerdict is what is to be done with a part.
type joinVerdict uint8

const (
	joinWait  joinVerdict = iota // others are missing: it comes back
	joinWhole                    // the message is complete
	joinAlone                    // the others will not come: it goes out as it is
	joinKnown                    // it was published before
)

// add takes a part that came at the given time and says what to do with it; a complete message comes with its parts in
// order. What was published before, here or by another instance, is not joined again.
func (j *joiner) add(now, came time.Time, key joinKey, part byte, p text.Part, before queue.JoinedMO) (joinVerdict, []text.Part) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m := j.joining[key]
	if m != nil {
		m.forget(came, before)
	}
	switch {
	case before.Sums[part] == sumOf(p.Data) && len(before.Sums) > 0:
		return joinKnown, nil
	case before.Alone && came.Sub(before.At) < partsPatience:
		return joinAlone, nil
	case m == nil && !j.room(now):
		return joinAlone, nil
	case m == nil || len(m.parts) == 0:
		m = &joining{seen: now, parts: map[byte]joinPart{}}
		j.joining[key] = m
	}
	if have, ok := m.parts[part]; ok && !bytes.Equal(have.Data, p.Data) {
		return joinAlone, nil // two messages at once under one reference: nobody knows which part belongs to which
	}
	m.parts[part] = joinPart{came, p}
	if len(m.parts) == int(key.total) {
		parts := make([]text.Part, 0, len(m.parts))
		for n := range key.total {
			parts = append(parts, m.parts[n+1].Part)
		}
		return joinWhole, parts
	}
	if now.Sub(m.seen) > partsPatience {
		return joinAlone, nil
	}
	return joinWait, nil
}

// forget drops what another instance has published meanwhile, and what is older than parts of one message are apart.
func (m *joining) forget(came time.Time, published queue.JoinedMO) {
	for n, p := range m.parts {
		if sum, ok := published.Sums[n]; ok && sum == sumOf(p.Data) || came.Sub(p.came) > partsPatience {
			delete(m.parts, n)
		}
	}
}

// done forgets a message that was published.
func (j *joiner) done(key joinKey) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.joining, key)
}

// room makes room for one more message and says whether there is some.
func (j *joiner) room(now time.Time) bool {
	if j.joining == nil {
		j.joining = map[joinKey]*joining{}
	}
	if len(j.joining) < mostJoining {
		return true
	}
	for key, m := range j.joining {
		if now.Sub(m.seen) > partsPatience {
			delete(j.joining, key)
		}
	}
	return len(j.joining) < mostJoining
}
