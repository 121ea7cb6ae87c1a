package smpp

import (
	"bytes"
	"context"
	"errors"
	"time"

	"sluice/smpp/pdu"
)

// Handler takes what the SMSC sends on its own. Deliver and Late are called on
// two goroutines of the session, each with one call at a time, never on the one
// that reads.
type Handler interface {
	// Deliver takes a deliver_sm or data_sm, and its status answers it: return
	// StatusOK once the message is stored, and StatusSysErr, StatusMsgQFull or
	// StatusThrottled when the SMSC has to keep it. ctx ends with the session.
	Deliver(ctx context.Context, m *Inbound) pdu.Status
	// Late takes a response whose submit was given up before: its
	// ResponseTimeout passed, or its context ended.
	Late(l LateResponse)
}

// Inbound is a deliver_sm or data_sm. It owns its memory.
type Inbound struct {
	Command  pdu.CommandID // IDDeliverSM or IDDataSM
	Sequence uint32        // the SMSC's number
	// Deliver is the message; of a data_sm, the fields that it has.
	Deliver pdu.DeliverSM
	Data    bool   // it came as data_sm
	Raw     []byte // the whole PDU; Deliver points into it

	Received time.Time // when it was read
}

// LateResponse is the answer to a submit that nobody waits for any more. RTT is
// the time from Submit to the answer.
type LateResponse struct {
	Response Response
	Ref      any // as given to Submit
}

// receive takes a deliver_sm or data_sm off the reader and returns StatusOK,
// or the status that refuses it. It runs on the reader goroutine.
func (s *Session) receive(h pdu.Header, frame []byte, st state) pdu.Status {
	switch {
	case s.cfg.Mode == Transmitter:
		return pdu.StatusInvBndSts
	case s.cfg.Handler == nil:
		return pdu.StatusSysErr // nobody would store it
	case st >= unbinding, len(s.inbox) == cap(s.inbox), s.crowdedBy(len(frame)):
		return pdu.StatusMsgQFull
	}
	m := &Inbound{Command: h.ID, Sequence: h.Sequence, Data: h.ID == pdu.IDDataSM, Raw: bytes.Clone(frame), Received: time.Now()}
	if err := m.parse(); err != nil {
		// The same octets would not be readable the next time either: an error
		// that asks for a retry would bring them back for days.
		return pdu.StatusInvCmdLen
	}
	s.held.Add(1)
	s.size.Add(int64(len(frame)))
	s.inbox <- m // has room: the reader alone fills it
	return pdu.StatusOK
}

// crowdedBy says whether there is no room for that many octets more: a flood is bounded by what it takes in memory, not by
// how many PDUs it is cut into.
func (s *Session) crowdedBy(octets int) bool {
	held := s.size.Load()
	return held > 0 && held+int64(octets) > int64(s.cfg.InboundOctets)
}

func (m *Inbound) parse() error {
	body := m.Raw[pdu.HeaderLen:]
	if !m.Data {
		if err := m.Deliver.ParseBody(body); err != nil {
			return err
		}
		if m.shifted() {
			return errors.New("a stray NUL stands before short_message")
		}
		return nil
	}
	var d pdu.DataSM
	if err := d.ParseBody(body); err != nil {
		return err
	}
	m.Deliver = pdu.DeliverSM{
		ServiceType: d.ServiceType, Source: d.Source, Dest: d.Dest, ESMClass: d.ESMClass,
		RegisteredDelivery: d.RegisteredDelivery, DataCoding: d.DataCoding, TLVs: d.TLVs,
	}
	return nil
}

// shifted reports whether an octet was put between sm_length and short_message,
// as go-smpp's encoder does: the text then starts with a NUL, and exactly one
// octet that is none is left behind it. A text that lost its last character is
// not stored as if it were whole.
func (m *Inbound) shifted() bool {
	text, last := m.Deliver.ShortMessage, len(m.Raw)-1
	return len(text) > 0 && text[0] == 0 && m.Raw[last] != 0 &&
		bytes.HasSuffix(m.Raw[:last], text) && int(m.Raw[last-len(text)-1]) == len(text)
}

// appendInboundReply appends deliver_sm_resp or data_sm_resp, whose message_id
// is empty (SMPP 3.4 sections 4.6.2 and 4.7.2).
func appendInboundReply(dst []byte, request pdu.CommandID, status pdu.Status, sequence uint32) []byte {
	h := pdu.Header{Length: pdu.HeaderLen + 1, ID: request.Response(), Status: status, Sequence: sequence}
	return append(h.Append(dst), 0)
}

// handleInbound is the goroutine that runs Handler.Deliver.
func (s *Session) handleInbound(ctx context.Context) {
	var reply []byte
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-s.inbox:
			if ctx.Err() != nil {
				return // what was not handled is not answered: the SMSC keeps it
			}
			status := s.cfg.Handler.Deliver(ctx, m)
			reply = appendInboundReply(reply[:0], m.Command, status, m.Sequence)
			s.mu.Lock()
			s.queueReplies(reply)
			s.held.Add(-1) // the keeper looks again when the reply is written
			s.size.Add(-int64(len(m.Raw)))
			s.mu.Unlock()
		}
	}
}

// handleLate is the goroutine that runs Handler.Late. What is late by the end
// of the session is still told.
func (s *Session) handleLate(ctx context.Context) {
	for {
		select {
		case <-s.dig:
		case <-ctx.Done():
		}
		s.mu.Lock()
		late := s.late
		s.late = nil
		s.mu.Unlock()
		for _, l := range late {
			s.cfg.Handler.Late(l)
		}
		if len(late) == 0 && ctx.Err() != nil {
			return
		}
	}
}
