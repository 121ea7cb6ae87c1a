package gateway

import (
	"sync"
	"time"

	"sluice/smpp/pdu"
	"sluice/smpp/text"
)

// The bounds of joining a phone's long message.
const (
	// partsPatience is how long the first part waits for the others; then what there is goes out in parts.
	partsPatience = 5 * time.Minute
	// partsRemembered is how long a joined message is remembered, for parts that come again.
	partsRemembered = 15 * time.Minute
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
// until the message is published.
type joiner struct {
	mu      sync.Mutex
	joining map[joinKey]*joining
}

type joining struct {
	first time.Time // when the first part came
	parts map[byte][]byte
	done  time.Time // when the message was published; zero: not yet
}

// joinVerdict is what is to be done with a part.
type joinVerdict uint8

const (
	joinWait  joinVerdict = iota // others are missing: it comes back
	joinWhole                    // the message is complete
	joinAlone                    // the others will not come: it goes out as it is
	joinKnown                    // its message went out before
)

// add takes a part that came at the given time and says what to do with it; a complete message comes with its parts in
// order.
func (j *joiner) add(now, came time.Time, key joinKey, part byte, octets []byte) (joinVerdict, [][]byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m := j.joining[key]
	if m != nil && !m.done.IsZero() && came.After(m.done) {
		m = nil // the phone has come around to the same reference again
	}
	if m == nil {
		if !j.room(now) {
			return joinAlone, nil
		}
		m = &joining{first: came, parts: map[byte][]byte{}}
		j.joining[key] = m
	}
	if !m.done.IsZero() {
		return joinKnown, nil
	}
	if came.Before(m.first) {
		m.first = came
	}
	m.parts[part] = octets
	if len(m.parts) == int(key.total) {
		parts := make([][]byte, 0, len(m.parts))
		for n := range key.total {
			parts = append(parts, m.parts[n+1])
		}
		return joinWhole, parts
	}
	if now.Sub(m.first) > partsPatience {
		return joinAlone, nil
	}
	return joinWait, nil
}

// published notes that a whole message went out.
func (j *joiner) published(now time.Time, key joinKey) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if m := j.joining[key]; m != nil {
		m.done, m.parts = now, nil
	}
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
		if now.Sub(m.first) > partsPatience && m.done.IsZero() || !m.done.IsZero() && now.Sub(m.done) > partsRemembered {
			delete(j.joining, key)
		}
	}
	return len(j.joining) < mostJoining
}
