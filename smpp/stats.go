package smpp

import (
	"time"

	"sluice/smpp/pdu"
)

// Stats is a session at one moment. The counts are totals since the bind.
type Stats struct {
	InFlight   int    // submits that wait for their answer
	Backlog    int    // submits of SubmitFunc that wait for their turn
	Submitted  uint64 // submits that were given a sequence number
	Answered   uint64 // submits that were answered in time
	Expired    uint64 // submits whose ResponseTimeout passed
	Late       uint64 // responses that came after their submit was given up
	Unmatched  uint64 // responses that belong to nothing: foreign or duplicate
	Tombstones int    // given up submits whose late response would be known
	Inbound    uint64 // deliver_sm and data_sm that reached the handler's queue
	Refused    uint64 // deliver_sm and data_sm answered without the handler

	// Unanswered are the submits that expired since the last response to any, and UnansweredSince is when the first of
	// them was sent; zero: there is none.
	Unanswered      uint64
	UnansweredSince time.Time

	LastStatus   pdu.Status // of the newest answer to a submit
	LastHeard    time.Time  // when the last whole PDU came from the peer
	Began        time.Time  // when the bind succeeded
	PeerSystemID string     // system_id of the bind_resp
	PeerVersion  uint8      // sc_interface_version of the bind_resp, 0 when absent
}

// Stats returns the figures of the session.
func (s *Session) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counts
	var unanswered time.Time
	if c.silence.submits > 0 {
		unanswered = s.began.Add(c.silence.since)
	}
	return Stats{
		Unanswered: uint64(c.silence.submits), UnansweredSince: unanswered,
		InFlight: s.requests.n, Backlog: s.backlog.len(), Submitted: c.submitted, Answered: c.answered, Expired: c.expired,
		Late: c.late, Unmatched: c.unmatched, Tombstones: s.graves.len(),
		Inbound: c.inbound, Refused: c.refused, LastStatus: c.lastStatus,
		LastHeard: s.began.Add(time.Duration(s.heard.Load())), Began: s.began,
		PeerSystemID: s.peer.systemID, PeerVersion: s.peer.version,
	}
}

// Pending is a submit that waits for its answer.
type Pending struct {
	Sequence uint32
	Age      time.Duration
	Ref      any // as given to Submit
}

// Pending lists what is in flight, the oldest first.
func (s *Session) Pending() []Pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	list := make([]Pending, 0, s.requests.n)
	for r, ok := s.requests.first(); ok; r, ok = s.requests.after(r) {
		list = append(list, Pending{Sequence: r.sequence, Age: now - r.at, Ref: r.ref})
	}
	return list
}
