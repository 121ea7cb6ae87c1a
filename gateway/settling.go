package gateway

import (
	"context"
	"sync"
	"time"
)

// leastUnsettled is how many answered messages may wait for their outcome to be stored in any case.
const leastUnsettled = 8

// unsettledFor is how much of the traffic may wait for the journal: the PubAck of an event takes milliseconds.
const unsettledFor = 500 * time.Millisecond

// settling bounds the messages between the decision to submit them and the storing of their outcome. What cannot be
// stored would be sent again after a crash: with a journal that stalls, no more may be submitted. And it lets a message
// that is suspected of bringing everything down go alone.
type settling struct {
	mu      sync.Mutex
	n       int
	alone   bool          // one is alone, or waits to be
	changed chan struct{} // closed when either falls
}

// enter returns once fewer than limit messages are in and none is alone; leave must follow. It fails when ctx ends.
func (s *settling) enter(ctx context.Context, limit int) error {
	if err := s.until(ctx, func() bool { return s.n < limit && !s.alone }); err != nil {
		return err
	}
	s.n++
	s.mu.Unlock()
	return nil
}

func (s *settling) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n--
	s.announce()
}

// enterAlone returns once no other message is in, and keeps all others out until leaveAlone. It fails when ctx ends.
func (s *settling) enterAlone(ctx context.Context) error {
	if err := s.until(ctx, func() bool { return !s.alone }); err != nil {
		return err
	}
	s.alone = true
	s.mu.Unlock()
	if err := s.until(ctx, func() bool { return s.n == 0 }); err != nil {
		s.leaveAlone()
		return err
	}
	s.mu.Unlock()
	return nil
}

func (s *settling) leaveAlone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alone = false
	s.announce()
}

// until returns with the lock held once it is so, or without it when ctx ended.
func (s *settling) until(ctx context.Context, so func() bool) error {
	s.mu.Lock()
	for !so() {
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
		s.mu.Lock()
	}
	return nil
}

func (s *settling) announce() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// mostUnsettled is the bound at a pace in submits per second and a window: a window's worth may wait for its start,
// and as much again, or the traffic of half a second, for the journal.
func mostUnsettled(pace float64, window int) int {
	return window + max(leastUnsettled, window, int(pace*unsettledFor.Seconds()))
}
