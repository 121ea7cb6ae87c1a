package testserver

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"sluice/smpp/pdu"
)

// ErrNoReceiver says that nobody who could receive is bound.
var ErrNoReceiver = errors.New("testserver: no receiver or transceiver is bound for this account")

// maxWaiting bounds the deliveries that wait for a receiver, beyond it the oldest are dropped; and those of a session
// that wait for their response, beyond it further ones are not remembered.
const maxWaiting = 100_000

// receipt makes the receipt of the submit at hand, whose answer is due at the given moment; nil for none. first says
// that it goes ahead of the answer.
func (c *session) receipt(d *decision, answered time.Time) (it *item, first bool) {
	s, sm := c.srv, &c.submitSM
	if d.answer.status != pdu.StatusOK || sm.RegisteredDelivery&0x03 == 0 && !s.sc.Receipts.Always {
		return nil, false
	}
	r := s.sc.Receipts.Receipt
	for i := range s.sc.Receipts.Rules {
		rule := &s.sc.Receipts.Rules[i]
		if rule.fires(rule.pick(&s.tallies.receipts[i], &c.tallies.receipts[i]), sm.Dest.Addr, c.rnd) {
			r = rule.Receipt
			break
		}
	}
	r = r.withDefaults(s.sc.MessageID)
	if r.Never || !s.sc.Receipts.Always && !wanted(sm.RegisteredDelivery, r.State) {
		return nil, false
	}
	due := c.now
	if !r.BeforeResponse {
		due = due.Add(r.Delay.draw(c.rnd.Float64))
		if due.Before(answered) {
			due = answered
		}
	}
	receipt := receiptFor(r, d.answer.message, c.now, due, cloneAddress(sm.Dest), cloneAddress(sm.Source), quote(sm.ShortMessage))
	receipt.systemID = c.account.systemID
	if r.OtherBind {
		receipt.avoid = c.number
	}
	return &item{due: due, special: &special{delivery: receipt}}, r.BeforeResponse
}

func cloneAddress(a pdu.Address) pdu.Address {
	a.Addr = bytes.Clone(a.Addr)
	return a
}

// InjectMO sends a message from a phone to a session of its account, or returns ErrNoReceiver.
func (s *Server) InjectMO(mo MO) error {
	d, err := mo.delivery()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.receiver(d, nil)
	if c == nil {
		return ErrNoReceiver
	}
	c.deliver(d)
	return nil
}

// Deliver sends any deliver_sm to a session of an account ("" for any), or returns ErrNoReceiver. The octets of body
// must not change afterwards.
func (s *Server) Deliver(systemID string, body pdu.DeliverSM) error {
	d := &delivery{systemID: systemID, body: body}
	if _, err := d.encode(nil, 1); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.receiver(d, nil)
	if c == nil {
		return ErrNoReceiver
	}
	c.deliver(d)
	return nil
}

// receiver picks the session that d goes to: the preferred one where it can, else the first that is bound. One that
// is to be avoided is taken only when there is no other.
func (s *Server) receiver(d *delivery, preferred *session) *session {
	suits := func(c *session) bool {
		return c != nil && c.account != nil && !c.freed && receives(c.kind) &&
			(d.systemID == "" || d.systemID == c.account.systemID)
	}
	if suits(preferred) && d.avoid != preferred.number {
		return preferred
	}
	var avoided *session
	for _, c := range s.ordered() {
		switch {
		case !suits(c):
		case c.number == d.avoid:
			avoided = c
		default:
			return c
		}
	}
	return avoided
}

// ordered lists the sessions by number.
func (s *Server) ordered() []*session {
	sessions := make([]*session, 0, len(s.sessions))
	for c := range s.sessions {
		sessions = append(sessions, c)
	}
	slices.SortFunc(sessions, func(a, b *session) int { return a.number - b.number })
	return sessions
}

// deliverTo sends d on a session, or keeps it until somebody is bound when there is none.
func (s *Server) deliverTo(c *session, d *delivery) {
	if c != nil {
		c.deliver(d)
		return
	}
	if len(s.waiting) >= maxWaiting {
		s.waiting = s.waiting[1:]
	}
	s.waiting = append(s.waiting, d)
}

// deliverAt sends at a later moment what was left by a session that is gone.
func (s *Server) deliverAt(due time.Time, d *delivery) {
	if c := s.receiver(d, nil); c != nil {
		c.box.put(item{due: due, special: &special{delivery: d}})
		return
	}
	s.deliverTo(nil, d)
}

// deliverWaiting looks again at what waits for a receiver.
func (s *Server) deliverWaiting() {
	waiting := s.waiting
	s.waiting = nil
	for _, d := range waiting {
		s.deliverTo(s.receiver(d, nil), d)
	}
}

// deliver sends d on this session.
func (c *session) deliver(d *delivery) {
	if octets := c.encodeDelivery(nil, d); octets != nil {
		c.box.put(item{due: c.srv.now(), special: &special{raw: octets}})
	}
}

// encodeDelivery appends d as a request of this session and remembers it until it is acknowledged.
func (c *session) encodeDelivery(octets []byte, d *delivery) []byte {
	sequence := c.nextSequence()
	octets, err := d.encode(octets, sequence)
	if err != nil { // all that comes here was encoded once, or made here
		return octets
	}
	if len(c.unacked) < maxWaiting {
		c.unacked[sequence] = d
	}
	c.srv.totals.deliveries++
	if d.copies > 0 {
		again := *d
		again.copies--
		d.copies = 0 // not once more if it is refused
		c.box.put(item{due: c.srv.now(), special: &special{delivery: &again}})
	}
	return octets
}

// acknowledged takes the response to a delivery.
func (c *session) acknowledged(head pdu.Header) {
	d := c.unacked[head.Sequence]
	if d == nil {
		return
	}
	delete(c.unacked, head.Sequence)
	s := c.srv
	if head.Status == pdu.StatusOK && head.ID != pdu.IDGenericNack { // a nack takes nothing, whatever its status
		s.totals.acknowledged++
		return
	}
	s.totals.rejected++
	if wait := s.sc.Receipts.Redeliver; wait > 0 {
		c.box.put(item{due: c.now.Add(wait), special: &special{delivery: d}})
	}
}

// inOrder lists the deliveries without a response by their sequence numbers.
func (c *session) inOrder() []*delivery {
	var sequences []uint32
	for sequence := range c.unacked {
		sequences = append(sequences, sequence)
	}
	slices.Sort(sequences)
	var deliveries []*delivery
	for _, sequence := range sequences {
		deliveries = append(deliveries, c.unacked[sequence])
	}
	return deliveries
}
