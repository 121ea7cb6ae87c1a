package testserver

import (
	"sync"
	"time"

	"sluice/smpp/pdu"
	"sluice/testserver/limiter"
)

// answer is a response to a submit_sm before it is encoded.
type answer struct {
	status     pdu.Status
	sequence   uint32
	message    uint64 // number of the message id, 0 for none
	nack       bool
	congestion int8 // congestion_state, -1 for none
}

// item is something to be sent later, or in a way of its own. Without anything special it is an answer.
type item struct {
	due   time.Time
	order uint64 // among equal times

	answer  answer
	settles uint64          // number in the ledger of the submit that ends here, 0 for none
	epoch   uint64          // of the ledger
	limits  limiter.Limiter // to be told that the submit is done, nil for nobody
	silent  bool            // the submit ends here without an answer
	held    bool            // leaves behind the next answer, or when due
	special *special
}

// special is what is rare in an item.
type special struct {
	raw      []byte        // octets to send instead of an answer
	delivery *delivery     // to hand to a session instead of an answer
	probe    bool          // look at the silence of the link instead of an answer
	hangup   How           // end the connection instead of an answer
	drip     time.Duration // write the answer octet by octet, so far apart
}

// alone reports whether an item needs the connection for itself.
func (it *item) alone() bool {
	return it.special != nil && (it.special.hangup != "" || it.special.drip > 0)
}

// outbox is what waits to be written on one connection: octets to go at once, and items by the time they are due.
type outbox struct {
	mu    sync.Mutex
	ready []byte
	later []item // a heap by due and order
	order uint64
	held  int
	wake  chan struct{} // something new is to be written
	space chan struct{} // something was taken out
}

// The most that may wait before the reader pauses.
const (
	maxReady = 1 << 20 // octets
	maxLater = 1 << 20 // items
)

func newOutbox() outbox {
	return outbox{wake: make(chan struct{}, 1), space: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// write hands octets over and returns a buffer for the next ones.
func (o *outbox) write(octets []byte) (free []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.ready) == 0 {
		o.ready, octets = octets, o.ready
	} else {
		o.ready = append(o.ready, octets...)
	}
	signal(o.wake)
	return octets[:0]
}

// put adds an item.
func (o *outbox) put(it item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.order++
	it.order = o.order
	if it.held {
		o.held++
	}
	o.push(it)
	if o.later[0].order == it.order {
		signal(o.wake)
	}
}

// crowded reports whether more waits than should.
func (o *outbox) crowded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.ready) > maxReady || len(o.later) > maxLater
}

// take removes the octets that are ready, and the items that are due up to the first that needs the connection for
// itself. next is when to look again; zero when nothing waits.
func (o *outbox) take(now time.Time, octets []byte, items []item) (_ []byte, _ []item, next time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	octets, o.ready = o.ready, octets[:0]
	for len(o.later) > 0 && !o.later[0].due.After(now) {
		it := o.pop()
		items = append(items, it)
		if it.alone() {
			break
		}
	}
	if len(o.later) > 0 {
		next = o.later[0].due
	}
	signal(o.space)
	return octets, items, next
}

// release makes what is held due at once, in the order in which it was put.
func (o *outbox) release(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == 0 {
		return
	}
	waiting := o.later
	o.later = nil
	for _, it := range waiting {
		if it.held && it.due.After(now) {
			it.due = now
		}
		o.push(it)
	}
}

// drain removes everything.
func (o *outbox) drain() []item {
	o.mu.Lock()
	defer o.mu.Unlock()
	rest := o.later
	o.later, o.ready = nil, nil
	return rest
}

func (it *item) before(other *item) bool {
	if it.due.Equal(other.due) {
		return it.order < other.order
	}
	return it.due.Before(other.due)
}

func (o *outbox) push(it item) {
	o.later = append(o.later, it)
	at := len(o.later) - 1
	for at > 0 {
		parent := (at - 1) / 2
		if !o.later[at].before(&o.later[parent]) {
			break
		}
		o.later[at], o.later[parent] = o.later[parent], o.later[at]
		at = parent
	}
}

func (o *outbox) pop() item {
	first := o.later[0]
	last := len(o.later) - 1
	o.later[0] = o.later[last]
	o.later[last] = item{}
	o.later = o.later[:last]
	for at := 0; ; {
		least := at
		for child := 2*at + 1; child <= 2*at+2 && child < last; child++ {
			if o.later[child].before(&o.later[least]) {
				least = child
			}
		}
		if least == at {
			break
		}
		o.later[at], o.later[least] = o.later[least], o.later[at]
		at = least
	}
	if first.held {
		o.held--
	}
	return first
}
