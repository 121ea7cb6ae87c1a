package gateway

import (
	"context"
	"sync"
	"time"
)

// leastUnsettled is how many answered messages may wait for their outcome to be stored in any case.
const leastUnsettled = 8

// unsettledFor is how much of the traffic may wait so: the PubAck of an event takes milliseconds.
const unsettledFor = 500 * time.Millisecond

// settling bounds the messages that the SMSC has seen and whose outcome is not stored yet. What cannot be stored would
// be sent again after a crash: with a journal that stalls, no more may be submitted.
type settling struct {
	mu      sync.Mutex
	n       int
	changed chan struct{} // closed when n falls
}

func (s *settling) add() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
}

func (s *settling) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n--
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// await returns once fewer than limit messages wait, or ctx ends.
func (s *settling) await(ctx context.Context, limit int) error {
	for {
		s.mu.Lock()
		if s.n < limit {
			s.mu.Unlock()
			return nil
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// mostUnsettled is the bound at a pace in submits per second and a window.
func mostUnsettled(pace float64, window int) int {
	return max(leastUnsettled, 2*window, int(pace*unsettledFor.Seconds()))
}
