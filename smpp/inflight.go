package smpp

import (
	"time"

	"sluice/smpp/pdu"
)

// request is a submit that was given a sequence number and has no answer yet.
// A slot whose sequence is 0 is free.
type request struct {
	sequence     uint32
	older, newer uint32        // neighbours in the order of sending, 0 at the ends
	at           time.Duration // when it was registered, since the session began
	w            *waiter
	ref          any
}

// inflight is the table of unanswered submits: a ring indexed by the low bits
// of the sequence number, with the full number in the slot. It hands out the
// numbers, so a slot that is still taken when its turn comes again is skipped
// with its number: a straggler never blocks a newer request or is mistaken for
// it. The requests are linked in the order of sending, which is the order of
// expiry, because all wait equally long.
//
// The ring is at most half full, and doubles to stay so.
type inflight struct {
	slots          []request // length is a power of two
	next           uint32    // the number to try next
	oldest, newest uint32    // ends of the order of sending, 0 when empty
	n              int
}

const smallestRing = 64

func newInflight(first uint32) *inflight {
	return &inflight{slots: make([]request, smallestRing), next: first}
}

func (t *inflight) slot(sequence uint32) *request {
	return &t.slots[int(sequence)&(len(t.slots)-1)]
}

// sequence returns the next number whose slot is free: 1 to 0x7FFFFFFF, then 1
// again (SMPP 3.4 section 3.2).
func (t *inflight) sequence() uint32 {
	for {
		n := t.next
		t.next++
		if t.next > pdu.MaxSequence {
			t.next = 1
		}
		if t.slot(n).sequence == 0 {
			return n
		}
	}
}

// add registers a request and returns its sequence number.
func (t *inflight) add(at time.Duration, w *waiter, ref any) uint32 {
	if 2*(t.n+1) > len(t.slots) {
		t.grow()
	}
	n := t.sequence()
	*t.slot(n) = request{sequence: n, older: t.newest, at: at, w: w, ref: ref}
	if t.newest != 0 {
		t.slot(t.newest).newer = n
	} else {
		t.oldest = n
	}
	t.newest = n
	t.n++
	return n
}

// grow doubles the ring. Two numbers that differ in their low bits differ in
// one more bit as well, so every request finds its new slot free.
func (t *inflight) grow() {
	old := t.slots
	t.slots = make([]request, 2*len(old))
	for i := range old {
		if n := old[i].sequence; n != 0 {
			*t.slot(n) = old[i]
		}
	}
}

// has reports whether the number belongs to an unanswered request.
func (t *inflight) has(sequence uint32) bool {
	return sequence != 0 && t.slot(sequence).sequence == sequence
}

// take removes a request. Whoever takes it owes its waiter the answer.
func (t *inflight) take(sequence uint32) (request, bool) {
	if !t.has(sequence) {
		return request{}, false
	}
	s := t.slot(sequence)
	r := *s
	*s = request{}
	if r.older != 0 {
		t.slot(r.older).newer = r.newer
	} else {
		t.oldest = r.newer
	}
	if r.newer != 0 {
		t.slot(r.newer).older = r.older
	} else {
		t.newest = r.older
	}
	t.n--
	return r, true
}

// first returns the request that was sent before all others.
func (t *inflight) first() (request, bool) {
	if t.oldest == 0 {
		return request{}, false
	}
	return *t.slot(t.oldest), true
}

// after returns the request that was sent next after r.
func (t *inflight) after(r request) (request, bool) {
	if r.newer == 0 {
		return request{}, false
	}
	return *t.slot(r.newer), true
}
