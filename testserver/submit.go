package testserver

import (
	"encoding/hex"
	"time"

	"sluice/smpp/pdu"
	"sluice/testserver/limiter"
)

// decision is what becomes of one submit.
type decision struct {
	answer  answer
	service time.Duration   // asked by the limits
	limits  limiter.Limiter // to be told when it is done, nil for nobody
	late    time.Duration   // on top, and past other responses
	swallow bool
	held    bool
	apart   bool // goes its own way: it does not keep the order of responses
	drip    time.Duration
	ahead   []byte // octets to send before the answer
	copies  []time.Duration
	hangup  How
	before  bool // hang up instead of the answer
}

// submit decides about the submit_sm at hand and queues what follows from it.
func (c *session) submit(head pdu.Header, body []byte) {
	s, sm := c.srv, &c.submitSM
	if c.account == nil || c.kind == pdu.IDBindReceiver {
		c.respond(pdu.StatusInvBndSts, head.Sequence, &pdu.SubmitSMResp{HeaderOnly: true})
		return
	}
	if err := sm.ParseBody(body); err != nil {
		s.totals.malformed++
		c.respond(pdu.StatusInvCmdLen, head.Sequence, &pdu.SubmitSMResp{HeaderOnly: true})
		return
	}
	if c.now.Before(s.latest) { // another session was read later and came first
		c.now = s.latest
	}
	s.latest = c.now
	if !c.account.started {
		s.begin(c.account, c.now)
	}
	d := decision{answer: answer{sequence: head.Sequence, congestion: -1}}
	c.judge(&d)
	c.spoil(&d)
	if d.answer.status == pdu.StatusOK {
		s.lastID++
		d.answer.message = s.lastID
	}
	number := c.note(&d)
	c.queue(&d, number)
}

// judge asks the limits and the error rules.
func (c *session) judge(d *decision) {
	s := c.srv
	if !s.sc.ChargeRefusedDestination {
		if d.answer.status = c.ruledOut(); d.answer.status != pdu.StatusOK {
			return
		}
	}
	if c.limits != nil {
		verdict := c.limits.Arrive(c.now)
		d.service = verdict.Service
		if verdict.Refuse {
			c.refused(d, verdict)
			return
		}
		d.limits = c.limits
	}
	for _, queues := range c.account.destinations {
		if verdict := queues.arrive(c.now, c.submitSM.Dest.Addr); verdict.Refuse {
			d.answer.status = pdu.Status(verdict.Status)
			return
		}
	}
	if s.sc.ChargeRefusedDestination {
		d.answer.status = c.ruledOut()
	}
}

// refused is what a limit does with a submit that it does not let through.
func (c *session) refused(d *decision, verdict limiter.Verdict) {
	d.answer.status = pdu.Status(verdict.Status)
	d.swallow = verdict.Silent
	if verdict.Close {
		d.hangup, d.before = FIN, true
		if until := c.now.Add(c.srv.sc.Bind.Lockout); until.After(c.account.lockedUntil) {
			c.account.lockedUntil = until
		}
	}
}

// ruledOut is the status of the first error rule that fires, 0 when none does.
func (c *session) ruledOut() pdu.Status {
	s := c.srv
	for i := range s.sc.Errors {
		rule := &s.sc.Errors[i]
		count := rule.pick(&s.tallies.errors[i], &c.tallies.errors[i])
		if !rule.fires(count, c.submitSM.Dest.Addr, c.rnd) {
			continue
		}
		if len(rule.Script) == 0 {
			return rule.Status
		}
		if count.fired <= uint64(len(rule.Script)) {
			return rule.Script[count.fired-1]
		}
	}
	return pdu.StatusOK
}

// spoil lets every fault that fires take effect.
func (c *session) spoil(d *decision) {
	s := c.srv
	for i := range s.sc.Faults {
		fault := &s.sc.Faults[i]
		if fault.fires(fault.pick(&s.tallies.faults[i], &c.tallies.faults[i]), c.submitSM.Dest.Addr, c.rnd) {
			c.apply(fault, d)
		}
	}
}

// The times of faults that name none.
const (
	defaultHold = 100 * time.Millisecond
	defaultDrip = 20 * time.Millisecond
)

// The sizes of faults that name none, in octets.
const (
	garbageLength   = 16
	oversizedLength = 70_000
)

func (c *session) apply(f *Fault, d *decision) {
	switch f.Kind {
	case FaultSwallow:
		d.swallow = true
	case FaultDelay:
		d.late += f.By.draw(c.rnd.Float64)
		d.apart = true
	case FaultDuplicate:
		for range max(f.Copies, 1) {
			d.copies = append(d.copies, f.By.draw(c.rnd.Float64))
		}
	case FaultReorder:
		d.held, d.apart = true, true
		d.late += f.By.or(defaultHold).draw(c.rnd.Float64)
	case FaultNack:
		d.answer.nack, d.answer.status = true, f.Status
		if f.Status == pdu.StatusOK {
			d.answer.status = pdu.StatusSysErr
		}
	case FaultCongestion:
		d.answer.congestion = int8(f.Value)
	case FaultDisconnect:
		d.hangup, d.before = f.How, f.When == Before
		if d.hangup == "" {
			d.hangup = FIN
		}
	case FaultUnbind:
		d.hangup = Unbind
	case FaultStopReading:
		c.pause = -1
		if f.By.Max > 0 {
			c.pause = max(1, f.By.draw(c.rnd.Float64))
		}
	case FaultDrip:
		d.drip = max(1, f.By.or(defaultDrip).draw(c.rnd.Float64))
	case FaultGarbage:
		octets, err := hex.DecodeString(f.Hex) // Validate has read it once
		if err != nil || len(octets) == 0 {
			octets = make([]byte, garbageLength)
			for i := range octets {
				octets[i] = byte(c.rnd.Uint32())
			}
		}
		d.ahead = append(d.ahead, octets...)
	case FaultOversized:
		length := f.Value
		if length == 0 {
			length = oversizedLength
		}
		head := pdu.Header{Length: uint32(length), ID: pdu.IDDeliverSM, Sequence: c.nextSequence()}
		d.ahead = append(head.Append(d.ahead), make([]byte, length-pdu.HeaderLen)...)
	}
}

// note writes the submit into the ledger and the counts, and returns its number.
func (c *session) note(d *decision) uint64 {
	s, l := c.srv, &c.srv.ledger
	now := c.now.UnixNano()
	status := d.answer.status
	s.counters.submit(now, status, d.answer.nack)
	c.account.counters.submit(now, status, d.answer.nack)
	c.submits++
	c.outstanding++
	s.totals.maxOutstandingBind = max(s.totals.maxOutstandingBind, c.outstanding)
	if status == pdu.StatusOK {
		s.totals.accepted++
	} else {
		s.totals.statuses[status]++
	}
	if l.records < 0 && l.keys < 0 && l.sink == nil {
		return l.add(entry{})
	}
	e := entry{
		at: c.now, account: c.account, message: d.answer.message, sequence: d.answer.sequence,
		status: status, bind: int32(c.number), nack: d.answer.nack,
	}
	e.key, e.reference = deliveryKey(&c.submitSM)
	if status == pdu.StatusOK {
		e.duplicate = l.accept(e.key)
	}
	if l.records > 0 || l.sink != nil {
		e.destination = string(c.submitSM.Dest.Addr)
		if s.sc.Ledger.PDUs {
			e.pdu = append(e.pdu, c.frame...)
		}
	}
	number := l.add(e)
	if l.sink != nil {
		line := Entry{Record: s.record(number, &e), Swallowed: d.swallow || d.before, LateMillis: d.late.Milliseconds()}
		l.write(&line)
	}
	return number
}

// queue sends the answer, and the receipt behind or ahead of it.
func (c *session) queue(d *decision, number uint64) {
	s := c.srv
	due := c.now.Add(d.service + s.sc.Latency.draw(c.rnd.Float64) + d.late)
	if !s.sc.AnyOrder && !d.apart && !d.swallow {
		if due.Before(c.lastDue) {
			due = c.lastDue
		}
		c.lastDue = due
	}
	it := item{due: due, answer: d.answer, settles: number, epoch: s.epoch, limits: d.limits, held: d.held}
	receipt, first := c.receipt(d, due)
	if !due.After(c.now) && !first && d.plain() {
		c.batch = c.settleNow(&it)
		if len(s.sc.Faults) > 0 {
			c.push()
			c.box.release(c.now)
		}
	} else {
		if receipt != nil && first {
			c.later(receipt)
		}
		c.queueItem(d, it)
	}
	for _, after := range d.copies {
		due = due.Add(after)
		c.later(&item{due: due, answer: d.answer})
	}
	if receipt != nil && !first {
		c.later(receipt)
	}
}

// settleNow appends the answer to the batch. The submit counts as outstanding until that is written.
func (c *session) settleNow(it *item) []byte {
	if it.limits != nil {
		it.limits.Done(c.now)
	}
	c.unwritten++
	c.srv.ledger.answered(it.settles)
	return c.srv.encode(c.batch, &it.answer)
}

// plain reports whether the answer may be sent at once and as it is.
func (d *decision) plain() bool {
	return !d.swallow && !d.held && d.drip == 0 && d.ahead == nil && d.hangup == ""
}

// queueItem queues an answer with all that surrounds it.
func (c *session) queueItem(d *decision, it item) {
	it.silent = d.swallow || d.before
	if it.silent {
		c.swallowed()
	}
	if d.before {
		it.due = c.now
	}
	if d.ahead != nil {
		c.later(&item{due: it.due, special: &special{raw: d.ahead}})
	}
	if d.drip > 0 {
		it.special = &special{drip: d.drip}
	}
	c.later(&it)
	switch d.hangup {
	case "":
	case Unbind:
		c.sendUnbind(it.due)
	case FIN, RST:
		c.hangUp(it.due, d.hangup)
		c.ending = true
	}
}

// later queues an item behind the responses at hand.
func (c *session) later(it *item) {
	c.push()
	c.box.put(*it)
}

// swallowed counts a submit that gets no answer.
func (c *session) swallowed() {
	c.srv.counters.counts.Swallowed++
	c.account.counters.counts.Swallowed++
}
