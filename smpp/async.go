package smpp

import (
	"context"

	"sluice/smpp/pdu"
)

// SubmitFunc sends sm without waiting for its answer, for a caller that has
// many submits and no goroutine for each. At most MaxInFlight are in flight, as
// with Submit; as many more wait in the session for their turn, before those of
// Submit that find the window full, and SubmitFunc blocks beyond that.
//
// With a nil error, done is called exactly once, with ref and what Submit would
// have returned; a submit that the end of the session finds waiting gets
// ErrNotSent. The calls come one at a time on a goroutine of the session, so a
// slow done delays those behind it and nothing else. It may call SubmitFunc; it
// must not call Close.
//
// With an error, which is an ErrNotSent, done is not called. ctx bounds the wait
// for room and nothing after it. ref is handed to Handler.Late too. sm is not
// kept.
func (s *Session) SubmitFunc(ctx context.Context, sm *pdu.SubmitSM, ref any, done func(ref any, r Response, err error)) error {
	if ctx.Err() != nil {
		return notSent(context.Cause(ctx))
	}
	w := s.waiters.Get().(*waiter)
	buf, err := pdu.Append(w.buf[:0], pdu.StatusOK, 1, sm)
	if err != nil {
		s.waiters.Put(w)
		return notSent(err)
	}
	w.buf, w.ref, w.done = buf, ref, done
	if err := s.enlist(ctx, w); err != nil {
		s.recycle(w)
		return err
	}
	return nil
}

// enlist puts a submit behind those that wait for their turn.
func (s *Session) enlist(ctx context.Context, w *waiter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.state == open && s.backlog.len() >= s.cfg.MaxInFlight {
		if err := s.awaitRoom(ctx); err != nil {
			return err
		}
	}
	if err := s.refusal(); err != nil {
		return err
	}
	if s.told == nil { // the first of the session
		s.told = make(chan struct{}, 1)
		s.handlers.Go(s.tell) // Close joins it: an open session is not at its end
	}
	s.backlog.push(w)
	s.refill()
	return nil
}

// refill moves submits from the backlog to the wire while there is room. The
// caller holds the mutex.
func (s *Session) refill() {
	if s.backlog.len() == 0 || s.requests.n >= s.cfg.MaxInFlight || s.state != open {
		return
	}
	now := s.now() // the clock costs as much as all the rest
	for s.backlog.len() > 0 && s.requests.n < s.cfg.MaxInFlight {
		w := s.backlog.pop()
		s.launch(now, w, w.ref)
	}
}

// dropBacklog gives what waits for its turn back, unsent. The caller holds the
// mutex.
func (s *Session) dropBacklog() {
	if s.backlog.len() == 0 {
		return
	}
	err := notSent(s.closedBecause())
	for s.backlog.len() > 0 {
		s.settled(nil, s.backlog.pop(), &Response{}, err)
	}
}

// settled gives a waiter whose request was just taken its outcome. One of
// SubmitFunc is left to the goroutine that tells; another is appended to list,
// which deliver wakes once the mutex is released. The caller holds the mutex.
func (s *Session) settled(list []*waiter, w *waiter, response *Response, err error) []*waiter {
	w.response, w.err = *response, err
	if w.done == nil {
		return append(list, w)
	}
	if !s.reading { // who reads tells once the next submits are on their way
		signal(s.told)
	}
	s.finished = append(s.finished, w)
	return list
}

// tell is the goroutine that calls back for SubmitFunc. When the session is done,
// every submit has its outcome, and what is left is told.
func (s *Session) tell() {
	var batch []*waiter
	for over := false; ; {
		s.mu.Lock()
		batch, s.finished = s.finished, batch[:0]
		s.mu.Unlock()
		for i, w := range batch {
			w.done(w.ref, w.response, w.err)
			s.recycle(w)
			batch[i] = nil
		}
		switch {
		case len(batch) > 0:
			continue
		case over:
			return
		}
		select {
		case <-s.told:
		case <-s.done:
			over = true
		}
	}
}

// recycle puts a waiter of SubmitFunc back for the next one.
func (s *Session) recycle(w *waiter) {
	w.ref, w.done, w.response, w.err = nil, nil, Response{}, nil
	s.waiters.Put(w)
}

// backlog holds submits that wait for their turn, the oldest first.
type backlog struct {
	waiting []*waiter
	gone    int // the start of waiting that was popped
}

func (b *backlog) len() int { return len(b.waiting) - b.gone }

func (b *backlog) push(w *waiter) {
	if b.gone > 0 && len(b.waiting) == cap(b.waiting) {
		n := copy(b.waiting, b.waiting[b.gone:])
		clear(b.waiting[n:])
		b.waiting, b.gone = b.waiting[:n], 0
	}
	b.waiting = append(b.waiting, w)
}

func (b *backlog) pop() *waiter {
	w := b.waiting[b.gone]
	b.waiting[b.gone] = nil
	if b.gone++; b.gone == len(b.waiting) {
		b.waiting, b.gone = b.waiting[:0], 0
	}
	return w
}
