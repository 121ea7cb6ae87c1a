package smpp

import (
	"context"
	"fmt"
	"time"

	"sluice/smpp/pdu"
)

// lastRead is how long a session whose write failed still reads: answers that
// the peer sent before it went away settle submits that would otherwise be
// uncertain.
const lastRead = 100 * time.Millisecond

// keep is the goroutine that watches the deadlines of a session and alone takes
// it down. Its one timer stands at the earliest of them.
func (s *Session) keep(cancelHandlers context.CancelFunc) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.wake:
		case <-timer.C:
		}
		next, settled, end := s.step()
		deliver(settled)
		if end {
			break
		}
		s.looks.Store(int64(next))
		if begun := s.begun.Load(); begun != 0 { // it may have begun since step looked
			next = min(next, time.Duration(begun)+s.cfg.EnquireLinkTimeout)
			s.looks.Store(int64(next))
		}
		timer.Reset(next - s.now())
	}
	s.teardown()
	cancelHandlers()
	close(s.done)
	s.handlers.Wait()
	close(s.joined)
}

// step does what is due and says when to look again, or that the session is at
// its end.
func (s *Session) step() (next time.Duration, settled []*waiter, end bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()

	// 1. Submits whose time is over, in the order in which they were sent. One
	// that is sent from now on has ResponseTimeout to go, so there is no need
	// to look before that.
	next = now + s.cfg.ResponseTimeout
	for r, ok := s.requests.first(); ok; r, ok = s.requests.first() {
		if due := r.at + s.cfg.ResponseTimeout; due > now {
			next = due
			break
		}
		settled = s.settled(settled, r.w, &Response{}, s.expire(r.sequence, r.at))
	}
	s.graves.sweep(now)

	// 2. The silence of the peer.
	v, again := s.probe.look(now, time.Duration(s.heard.Load()))
	switch v {
	case ask:
		n := s.requests.sequence()
		s.probe.sent(now, n)
		s.queue(pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDEnquireLink, Sequence: n}.Append(nil))
		again = now + min(s.cfg.EnquireLinkTimeout, s.cfg.EnquireLinkInterval) // the answer wakes nobody
	case bury:
		s.fail(fmt.Errorf("%w: nothing came within %v of enquire_link", ErrSilent, s.cfg.EnquireLinkTimeout))
	case rest:
	}
	if begun := time.Duration(s.begun.Load()); begun != 0 && now >= begun+s.cfg.EnquireLinkTimeout {
		s.fail(fmt.Errorf("%w: a PDU that it has begun did not end within %v", ErrSilent, s.cfg.EnquireLinkTimeout))
	}
	next = min(next, again)

	// 3. The way out: each phase ends when its work is done or its time is up.
	over := now >= s.deadline
	switch s.state {
	case closing:
		if over || s.hurry || s.requests.n == 0 && s.held.Load() == 0 {
			s.advance(unbinding)
			s.deadline = now + s.cfg.UnbindTimeout
			s.unbind = s.requests.sequence()
			s.queue(pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDUnbind, Sequence: s.unbind}.Append(nil))
		}
		next = min(next, s.deadline)
	case unbinding:
		if over {
			s.fail(fmt.Errorf("%w: unbind was not answered within %v", ErrClosed, s.cfg.UnbindTimeout))
		}
		next = min(next, s.deadline)
	case unbound:
		if over || s.requests.n == 0 && s.out.idle() {
			s.fail(ErrUnbound)
		}
		next = min(next, s.deadline)
	case open, ended:
	}

	return next, settled, s.cause != nil
}

// expire gives up a submit whose ResponseTimeout passed and returns the error
// of its waiter. The caller holds the mutex.
func (s *Session) expire(sequence uint32, sent time.Duration) error {
	s.counts.expired++
	if s.giveUp(sequence) {
		return notSent(fmt.Errorf("the peer took nothing for %v", s.cfg.ResponseTimeout))
	}
	if s.counts.silence.submits++; s.counts.silence.submits == 1 {
		s.counts.silence.since = sent
	}
	return s.errTimeout
}

// teardown closes the connection, joins reader and writer, and gives every
// submit that is left its answer.
func (s *Session) teardown() {
	// 1. No new submits, no new replies.
	s.mu.Lock()
	s.advance(ended)
	lastLook := s.lastLook
	s.mu.Unlock()

	// 2. The reader after a last look where that can help, and the writer.
	if lastLook && s.conn.SetReadDeadline(time.Now().Add(lastRead)) == nil {
		s.reader.Wait()
	}
	close(s.stop)
	_ = s.conn.Close() // the session has its cause; this adds nothing to it
	s.reader.Wait()
	s.writer.Wait()

	// 3. What was never written, and what may have been accepted.
	s.mu.Lock()
	if s.requests.n > 0 && orderly(s.cause) {
		s.cause = fmt.Errorf("%w with %d submits unanswered", ErrClosed, s.requests.n)
	}
	s.out.abandon()
	settled := s.failQueued(nil)
	lost := noResponse(s.cause)
	for r, ok := s.requests.first(); ok; r, ok = s.requests.first() {
		s.requests.take(r.sequence)
		settled = s.settled(settled, r.w, &Response{}, lost)
	}
	s.mu.Unlock()
	deliver(settled)
}
