package smpp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"sluice/smpp/pdu"
)

// Response is the SMSC's answer to a submit.
type Response struct {
	Status pdu.Status // command_status; a non-zero one is an answer, not an error
	Nack   bool       // the answer was a generic_nack
	// MessageID is the SMSC's id of the message, empty with most errors.
	MessageID string
	// Congestion is congestion_state (SMPP 5.0 section 4.8.4.18): 0 idle to
	// 99 congested, -1 when absent or out of range.
	Congestion int
	RTT        time.Duration // from Submit to the answer
}

// waiter is what a Submit waits on. Whoever takes its request out of the table
// settles it and sends to answered, exactly once. Waiters are reused; buf keeps
// its room.
type waiter struct {
	answered chan struct{} // holds one
	response Response
	err      error
	buf      []byte

	done func(ref any, r Response, err error) // nil for Submit
	ref  any                                  // for done
}

// Submit sends sm and waits for its answer. A non-zero command_status is data:
// err is nil whenever the SMSC answered. Otherwise err is ErrNotSent (no octet
// of it reached the network, it is safe to submit again) or ErrNoResponse (it
// may have been accepted), with the reason; a field that does not fit comes as
// ErrNotSent with the *pdu.FieldError.
//
// Submit blocks while MaxInFlight submits are in flight. When ctx ends it
// returns at once. ref is handed to Handler.Late should the answer come after
// Submit has returned; it may be nil. sm is not kept.
func (s *Session) Submit(ctx context.Context, sm *pdu.SubmitSM, ref any) (Response, error) {
	if ctx.Err() != nil {
		return Response{}, notSent(context.Cause(ctx))
	}
	w := s.waiters.Get().(*waiter)
	defer s.waiters.Put(w)
	// The number is not known before the lock; 1 holds its place.
	buf, err := pdu.Append(w.buf[:0], pdu.StatusOK, 1, sm)
	if err != nil {
		return Response{}, notSent(err)
	}
	w.buf = buf

	sequence, err := s.enqueue(ctx, w, ref)
	if err != nil {
		return Response{}, err
	}
	if ctx.Done() == nil {
		<-w.answered
		return w.response, w.err
	}
	select {
	case <-w.answered:
	case <-ctx.Done():
		if err := s.abandon(w, sequence, context.Cause(ctx)); err != nil {
			return Response{}, err
		}
		<-w.answered // somebody took the request: the answer is on its way
	}
	return w.response, w.err
}

func notSent(cause error) error    { return fmt.Errorf("%w: %w", ErrNotSent, cause) }
func noResponse(cause error) error { return fmt.Errorf("%w: %w", ErrNoResponse, cause) }

// enqueue registers a submit and then queues its PDU, so that an answer always
// finds its request.
func (s *Session) enqueue(ctx context.Context, w *waiter, ref any) (uint32, error) {
	at := s.now() // the clock costs as much as all that is done under the lock
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.state == open && s.requests.n >= s.cfg.MaxInFlight {
		if err := s.awaitRoom(ctx); err != nil {
			return 0, err
		}
		at = s.now()
	}
	if err := s.refusal(); err != nil {
		return 0, err
	}
	return s.launch(at, w, ref), nil
}

// refusal says why the session takes no submit, nil when it does. The caller
// holds the mutex.
func (s *Session) refusal() error {
	if s.state != open {
		return notSent(s.closedBecause())
	}
	if s.cfg.Mode == Receiver {
		return notSent(errors.New("the session is bound as receiver"))
	}
	return nil
}

// launch gives a submit its number, registers it and queues its PDU. The caller
// holds the mutex.
func (s *Session) launch(at time.Duration, w *waiter, ref any) uint32 {
	sequence := s.requests.add(at, w, ref)
	s.counts.submitted++
	binary.BigEndian.PutUint32(w.buf[pdu.HeaderLen-4:], sequence)
	s.queue(w.buf)
	return sequence
}

// awaitRoom waits, without the mutex, until a request has left the table or the
// session takes no more.
func (s *Session) awaitRoom(ctx context.Context) error {
	room := s.room
	s.crowded++
	s.mu.Unlock()
	var err error
	select {
	case <-room:
	case <-ctx.Done():
		err = notSent(context.Cause(ctx))
	}
	s.mu.Lock()
	s.crowded--
	return err
}

// closedBecause says why a session takes no submits. The caller holds the mutex.
func (s *Session) closedBecause() error {
	switch {
	case s.cause != nil:
		return s.cause
	case s.state == unbound:
		return ErrUnbound
	}
	return ErrClosed
}

// abandon gives a submit up on behalf of its waiter. It returns nil when the
// request was taken by somebody else, who owes the answer.
func (s *Session) abandon(w *waiter, sequence uint32, cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.requests.has(sequence) || s.requests.slot(sequence).w != w {
		return nil
	}
	if s.giveUp(sequence) {
		return notSent(cause)
	}
	return noResponse(cause)
}

// giveUp takes an unanswered request out of the table. A PDU that still waits
// for the writer is withdrawn, and giveUp reports true; otherwise a tombstone
// stays for the late response. The caller holds the mutex and answers the waiter.
func (s *Session) giveUp(sequence uint32) (unsent bool) {
	r, _ := s.requests.take(sequence)
	s.makeRoom()
	if s.out.withdraw(sequence) {
		return true
	}
	s.graves.bury(s.now(), r)
	return false
}

// deliver wakes settled waiters. The caller does not hold the mutex.
func deliver(settled []*waiter) {
	for _, w := range settled {
		w.answered <- struct{}{}
	}
}
