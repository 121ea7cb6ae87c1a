package gateway

import (
	"sync"
	"time"
)

// retryShare is how much of the pace may be messages that come back: every fourth.
const retryShare = 4

// lastCall is how long before its deadline a message that its retry slot would make late is tried at the latest.
const lastCall = time.Second

// retrySlots spreads the messages that one account puts back, so that they return as at most a quarter of its traffic.
// JetStream serves what is due before what is new: a burst put back together would otherwise come back as one.
type retrySlots struct {
	mu   sync.Mutex
	next time.Time
}

// take returns when a message may come back that must not come before earliest nor after deadline (zero: no deadline),
// and reserves its slot. The pace is in submits per second. A slot beyond the deadline is brought forward to just
// before it, never before earliest: earliest holds the wait that the SMSC asked for.
func (s *retrySlots) take(now, earliest, deadline time.Time, pace float64) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := s.next
	if slot.Before(now) {
		slot = now
	}
	s.next = slot.Add(time.Duration(retryShare / max(pace, 0.05) * float64(time.Second)))
	if !deadline.IsZero() {
		if latest := deadline.Add(-lastCall); slot.After(latest) {
			slot = latest
		}
	}
	if slot.Before(earliest) {
		return earliest
	}
	return slot
}
