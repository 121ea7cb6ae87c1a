package testserver

import (
	"time"

	"sluice/smpp/pdu"
)

// write sends what the outbox holds until the connection ends.
func (c *session) write() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var octets []byte
	var items []item
	for !c.closed() {
		var next time.Time
		now := c.srv.now()
		octets, items, next = c.box.take(now, octets, items[:0])
		var last *item
		if n := len(items); n > 0 && items[n-1].alone() {
			last, items = &items[n-1], items[:n-1]
		}
		if len(items) > 0 {
			octets = c.carryOut(now, octets, items)
		}
		if len(octets) > 0 {
			if _, err := c.conn.Write(octets); err != nil {
				c.close(FIN)
				return
			}
		}
		if last != nil {
			c.writeAlone(now, last)
			if last.special.hangup != "" {
				return
			}
			continue
		}
		if len(octets) > 0 || len(items) > 0 {
			continue
		}
		var due <-chan time.Time
		if !next.IsZero() {
			timer.Reset(next.Sub(now))
			due = timer.C
		}
		select {
		case <-c.box.wake:
		case <-due:
		case <-c.done:
		}
	}
}

// carryOut appends the octets of due items and does what they ask for.
func (c *session) carryOut(now time.Time, octets []byte, items []item) []byte {
	s := c.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	answered := false
	for i := range items {
		it := &items[i]
		switch x := it.special; {
		case x == nil:
			octets = c.settle(now, octets, it)
			answered = answered || !it.silent && !it.held // what was held back frees nothing else
		case x.delivery != nil:
			if to := s.receiver(x.delivery, c); to == c {
				octets = c.encodeDelivery(octets, x.delivery)
			} else {
				s.deliverTo(to, x.delivery)
			}
		case x.probe:
			octets = c.watch(now, octets)
		default:
			octets = append(octets, x.raw...)
		}
	}
	if answered {
		c.box.release(now)
	}
	return octets
}

// writeAlone writes one answer octet by octet, or ends the connection.
func (c *session) writeAlone(now time.Time, it *item) {
	if how := it.special.hangup; how != "" {
		c.srv.mu.Lock()
		c.srv.free(c)
		c.srv.mu.Unlock()
		if how != FIN || !c.halfClose() {
			c.close(how)
		}
		return
	}
	c.srv.mu.Lock()
	octets := c.settle(now, nil, it)
	c.srv.mu.Unlock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := range octets {
		if _, err := c.conn.Write(octets[i : i+1]); err != nil {
			c.close(FIN)
			return
		}
		timer.Reset(it.special.drip)
		select {
		case <-timer.C:
		case <-c.done:
			return
		}
	}
}

// settle ends a submit: its limits are told, its answer is appended.
func (c *session) settle(now time.Time, octets []byte, it *item) []byte {
	c.conclude(now, it)
	if it.silent {
		return octets
	}
	if it.settles != 0 && it.epoch == c.srv.epoch {
		c.srv.ledger.answered(it.settles)
	}
	return c.srv.encode(octets, &it.answer)
}

// conclude tells everybody who counts outstanding submits that one has ended.
func (c *session) conclude(now time.Time, it *item) {
	if it.settles == 0 {
		return
	}
	if it.limits != nil {
		it.limits.Done(now)
	}
	c.uncount(1)
}

// uncount takes submits out of the counts of those that wait for their response.
func (c *session) uncount(n int) {
	c.outstanding -= n
	c.account.counters.outstanding -= n
	c.srv.counters.outstanding -= n
}

// encode appends the answer to a submit.
func (s *Server) encode(octets []byte, a *answer) []byte {
	head := pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDSubmitSMResp, Status: a.status, Sequence: a.sequence}
	if a.nack {
		head.ID = pdu.IDGenericNack
		return head.Append(octets)
	}
	if a.message == 0 && !s.sc.BodiedErrors && a.congestion < 0 {
		return head.Append(octets)
	}
	begin := len(octets)
	octets = head.Append(octets)
	if a.message != 0 {
		octets = s.sc.MessageID.Format.format(octets, a.message, s.sc.MessageID.Width)
	}
	octets = append(octets, 0)
	if a.congestion >= 0 {
		octets = append(octets, byte(pdu.TagCongestionState>>8), byte(pdu.TagCongestionState&0xFF), 0, 1, byte(a.congestion))
	}
	head.Length = uint32(len(octets) - begin)
	head.Append(octets[:begin])
	return octets
}

// watch probes a silent link, ends a dead one, and says when to look again.
func (c *session) watch(now time.Time, octets []byte) []byte {
	link := c.srv.sc.Link
	heard := time.Unix(0, c.heard.Load())
	if link.Idle > 0 && now.Sub(heard) >= link.Idle {
		c.hangUp(now, FIN)
		return octets
	}
	if !c.probed.After(heard) {
		c.probed = time.Time{} // anything is a sign of life
	}
	next := now.Add(time.Hour)
	sooner := func(at time.Time) {
		if at.Before(next) {
			next = at
		}
	}
	if link.Idle > 0 {
		sooner(heard.Add(link.Idle))
	}
	switch {
	case link.Interval <= 0:
	case c.probed.IsZero() && now.Sub(heard) < link.Interval:
		sooner(heard.Add(link.Interval))
	case c.probed.IsZero():
		c.probed = now
		probe := pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDEnquireLink, Sequence: c.nextSequence()}
		octets = probe.Append(octets)
		sooner(now.Add(link.timeout()))
	case now.Sub(c.probed) >= link.timeout():
		c.hangUp(now, FIN)
		return octets
	default:
		sooner(c.probed.Add(link.timeout()))
	}
	c.box.put(item{due: next, special: &special{probe: true}})
	return octets
}

// defaultLinkTimeout is Link.Timeout when the scenario names none.
const defaultLinkTimeout = 10 * time.Second

func (l Link) timeout() time.Duration {
	if l.Timeout <= 0 {
		return defaultLinkTimeout
	}
	return l.Timeout
}

// watched reports whether sessions need to be watched at all.
func (l Link) watched() bool { return l.Interval > 0 || l.Idle > 0 }
