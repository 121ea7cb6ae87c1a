package smpp

import "time"

// Of the generic_nacks that this side has sent: how many are remembered, and for how long.
const (
	echoesKept = 16
	echoWithin = 30 * time.Second
)

// echoes remembers the generic_nacks that this side has sent. Some peers answer one with a generic_nack of their own that
// repeats its sequence number. Each side counts its own requests (SMPP 3.4 section 2.6), so that number says nothing of a
// submit_sm of ours that has it too. The zero value works.
type echoes struct {
	ring [echoesKept]echo
	next int
}

type echo struct {
	sequence uint32
	until    time.Duration // on the session's clock; 0: none
}

// sent notes a generic_nack to a request of the peer.
func (e *echoes) sent(now time.Duration, sequence uint32) {
	e.ring[e.next] = echo{sequence, now + echoWithin}
	e.next = (e.next + 1) % echoesKept
}

// take says that a generic_nack with that number is such an echo, once for each.
func (e *echoes) take(now time.Duration, sequence uint32) bool {
	for i := range e.ring {
		if at := &e.ring[i]; at.until > now && at.sequence == sequence {
			*at = echo{}
			return true
		}
	}
	return false
}
