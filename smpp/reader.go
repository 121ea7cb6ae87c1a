package smpp

import (
	"errors"
	"fmt"
	"io"
	"time"

	"sluice/smpp/pdu"
)

// answer is a response of the peer, parsed but not matched yet.
type answer struct {
	id       pdu.CommandID
	sequence uint32
	response Response
}

// arrivals is what one read brought, gathered without the mutex and settled
// under one lock. Its slices are reused.
type arrivals struct {
	answers []answer
	replies []byte
	settled []*waiter
	frames  int      // whole PDUs
	inbound uint64   // messages that went to the handler
	refused uint64   // messages that did not
	unbind  bool     // the peer unbound
	freed   bool     // a request left the table
	told    bool     // there is something to tell of SubmitFunc
	batch   []byte   // what the reader writes itself
	nacked  []uint32 // sequence numbers of requests of the peer that are not known here
}

func (a *arrivals) reset() {
	clear(a.answers)
	clear(a.settled)
	*a = arrivals{answers: a.answers[:0], replies: a.replies[:0], settled: a.settled[:0], nacked: a.nacked[:0]}
}

func (a *arrivals) reply(id pdu.CommandID, status pdu.Status, sequence uint32) {
	a.replies = pdu.Header{Length: pdu.HeaderLen, ID: id, Status: status, Sequence: sequence}.Append(a.replies)
}

// read is the goroutine that alone reads from the connection.
func (s *Session) read(f *framer) {
	err := s.readLoop(f)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state >= unbinding {
		// Hanging up is an answer to unbind, and what follows unbind_resp.
		err = s.closedBecause()
	}
	s.fail(err)
}

func (s *Session) readLoop(f *framer) error {
	var a arrivals
	for {
		// The bind may have left octets in the framer: cut before reading.
		if err := s.consume(f, &a); err != nil {
			return fmt.Errorf("smpp: the stream of the SMSC is broken: %w", err)
		}
		s.note(f, &a)
		n, err := s.conn.Read(f.space())
		f.filled(n)
		if err == nil {
			continue
		}
		// What came with the error is still good.
		if broken := s.consume(f, &a); broken != nil {
			return fmt.Errorf("smpp: the stream of the SMSC is broken: %w", broken)
		}
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: %w", ErrHungUp, err)
		}
		return fmt.Errorf("smpp: read: %w", err)
	}
}

// note tells the keeper what the octets say about the life of the peer: a whole PDU is a sign of it, and a begun one must
// end in time. A peer that drips a PDU, an octet now and then, is as dead as one that sends nothing.
func (s *Session) note(f *framer, a *arrivals) {
	switch {
	case !f.begun():
		s.begun.Store(0)
	case a.frames > 0 || s.begun.Load() == 0:
		began := max(s.now(), 1) // 0 is none
		s.begun.Store(int64(began))
		if int64(began+s.cfg.EnquireLinkTimeout) < s.looks.Load() {
			signal(s.wake)
		}
	}
}

// consume handles every whole PDU in the framer. An error means that the stream
// is broken; what came before it is handled all the same.
func (s *Session) consume(f *framer, a *arrivals) error {
	a.reset()
	s.mu.Lock()
	st := s.state
	s.mu.Unlock()
	var broken error
	for {
		frame, err := f.next()
		if err != nil {
			broken = err
			break
		}
		if frame == nil {
			break
		}
		h, err := pdu.ParseHeader(frame)
		if err != nil {
			broken = err
			break
		}
		a.frames++
		s.dispatch(a, h, frame, st)
	}
	if a.frames > 0 {
		s.heard.Store(int64(s.now()))
	}
	s.settle(a)
	if a.batch != nil {
		s.writeDirect(a.batch)
	}
	if a.told {
		signal(s.told)
	}
	deliver(a.settled)
	return broken
}

// dispatch sorts one PDU into what has to be done about it.
func (s *Session) dispatch(a *arrivals, h pdu.Header, frame []byte, st state) {
	switch h.ID {
	case pdu.IDSubmitSMResp, pdu.IDGenericNack, pdu.IDEnquireLinkResp, pdu.IDUnbindResp:
		a.answers = append(a.answers, answer{id: h.ID, sequence: h.Sequence})
		a.answers[len(a.answers)-1].response.parse(h, frame)
	case pdu.IDDeliverSM, pdu.IDDataSM:
		status := s.receive(h, frame, st)
		if status == pdu.StatusOK {
			a.inbound++
			return
		}
		a.refused++
		a.replies = appendInboundReply(a.replies, h.ID, status, h.Sequence)
	case pdu.IDEnquireLink:
		a.reply(pdu.IDEnquireLinkResp, pdu.StatusOK, h.Sequence)
	case pdu.IDUnbind:
		a.reply(pdu.IDUnbindResp, pdu.StatusOK, h.Sequence)
		a.unbind = true
	case pdu.IDOutbind, pdu.IDAlertNotification:
		// They have no response (SMPP 3.4 sections 4.1.7 and 4.12.1).
	default:
		// Not known, or nothing an SMSC asks of an ESME. A response is never
		// answered, whatever it is.
		if !h.ID.IsResponse() {
			a.reply(pdu.IDGenericNack, pdu.StatusInvCmdID, h.Sequence)
			a.nacked = append(a.nacked, h.Sequence)
		}
	}
}

// parse reads submit_sm_resp and generic_nack in place. The status decides; a
// body that is missing or cannot be read leaves the message id empty.
func (r *Response) parse(h pdu.Header, frame []byte) {
	r.Status, r.Nack, r.Congestion = h.Status, h.ID == pdu.IDGenericNack, -1
	if h.ID != pdu.IDSubmitSMResp || len(frame) == pdu.HeaderLen {
		return
	}
	var body pdu.SubmitSMResp
	if body.ParseBody(frame[pdu.HeaderLen:]) != nil {
		return
	}
	r.MessageID = string(body.MessageID)
	if c, ok := body.TLVs.Uint8(pdu.TagCongestionState); ok && c <= 99 {
		r.Congestion = int(c)
	}
}

// settle matches what a read brought against the state of the session, under
// one lock. The waiters to wake are left in a.
func (s *Session) settle(a *arrivals) {
	if len(a.answers) == 0 && len(a.replies) == 0 && a.inbound == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading = true
	there := len(s.out.queued)
	now := s.now()
	for i := range a.answers {
		s.match(now, a, &a.answers[i])
	}
	for _, sequence := range a.nacked {
		s.echoes.sent(now, sequence)
	}
	s.counts.inbound += a.inbound
	s.counts.refused += a.refused
	if a.unbind && s.state < unbinding {
		// What the writer did not take yet comes too late for the peer.
		s.advance(unbound)
		s.deadline = now + s.cfg.UnbindTimeout
		a.settled = s.failQueued(a.settled)
	}
	s.queueReplies(a.replies)
	if a.freed || len(a.settled) > 0 {
		s.makeRoom()
	}
	a.batch, a.told = s.ownBatch(there), len(s.finished) > 0
	s.reading = false
	if s.state != open {
		signal(s.wake)
	}
}

// match finds what a response answers: by its sequence number and its type, a
// generic_nack by its number alone. The caller holds the mutex.
func (s *Session) match(now time.Duration, a *arrivals, r *answer) {
	nack := r.id == pdu.IDGenericNack
	switch {
	case nack && s.echoes.take(now, r.sequence):
		s.counts.unmatched++ // a generic_nack answers our own: it says nothing of a submit that has that number by chance
	case (nack || r.id == pdu.IDSubmitSMResp) && s.requests.has(r.sequence):
		request, _ := s.requests.take(r.sequence)
		r.response.RTT = now - request.at
		s.counts.answered++
		s.counts.silence = silence{}
		s.counts.lastStatus = r.response.Status
		a.settled = s.settled(a.settled, request.w, &r.response, nil)
		a.freed = true
	case (nack || r.id == pdu.IDUnbindResp) && s.unbind != 0 && r.sequence == s.unbind:
		s.fail(ErrClosed)
	case (nack || r.id == pdu.IDEnquireLinkResp) && s.probe.answered(r.sequence):
	case r.id == pdu.IDEnquireLinkResp:
		// Another sign of life was quicker than the answer to the probe.
	case nack || r.id == pdu.IDSubmitSMResp:
		s.matchLate(now, r)
	default:
		s.counts.unmatched++
	}
}

// matchLate finds the tombstone of a response that came after its submit was
// given up. The caller holds the mutex.
func (s *Session) matchLate(now time.Duration, r *answer) {
	t, ok := s.graves.take(now, r.sequence)
	if !ok {
		s.counts.unmatched++
		return
	}
	r.response.RTT = now - t.sent
	s.counts.late++
	s.counts.silence = silence{}
	if s.cfg.Handler != nil && len(s.late) < maxTombstones {
		s.late = append(s.late, LateResponse{Response: r.response, Ref: t.ref})
		signal(s.dig)
	}
}

// failQueued answers every submit of which no octet was written with
// ErrNotSent. The caller holds the mutex and wakes the waiters.
func (s *Session) failQueued(settled []*waiter) []*waiter {
	var err error
	for _, sequence := range s.out.withdrawAll() {
		r, ok := s.requests.take(sequence)
		if !ok {
			continue
		}
		if err == nil {
			err = notSent(s.closedBecause())
		}
		settled = s.settled(settled, r.w, &Response{}, err)
	}
	return settled
}
