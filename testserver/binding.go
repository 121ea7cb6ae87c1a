package testserver

import (
	"crypto/subtle"
	"time"

	"sluice/smpp/pdu"
)

// refusals counts what BindRules.Refuse has turned away.
type refusals struct {
	count int
	first time.Time
}

// bind answers one of the three binds.
func (c *session) bind(head pdu.Header, body []byte) {
	s := c.srv
	request := pdu.Bind{Command: head.ID}
	if err := request.ParseBody(body); err != nil {
		s.totals.malformed++
		c.refuseBind(head, pdu.StatusInvCmdLen)
		return
	}
	if c.account != nil {
		c.refuseBind(head, pdu.StatusAlreadyBound)
		return
	}
	if s.turnAway(c.now) {
		rule := s.sc.Bind.Refuse
		switch {
		case rule.Silent:
			s.totals.bindsRefused["silent"]++
		case rule.Drop:
			s.totals.bindsRefused["dropped"]++
			c.hangUp(c.now, FIN)
			c.ending = true
		default:
			c.refuseBind(head, rule.Status)
		}
		return
	}
	if status := s.admit(&request, c.now); status != pdu.StatusOK {
		c.refuseBind(head, status)
		return
	}
	s.totals.binds++
	c.account, c.kind = s.account(request.SystemID), head.ID
	c.account.bound++
	c.slot = c.account.seat()
	c.limits = s.limitsOf(c)
	c.respond(pdu.StatusOK, head.Sequence, &pdu.BindResp{
		Command: head.ID.Response(), SystemID: s.systemID(),
		TLVs: pdu.TLVs{{Tag: pdu.TagSCInterfaceVersion, Value: []byte{interfaceVersion}}},
	})
	c.push() // ahead of what waits for this account
	if s.sc.Link.watched() {
		c.box.put(item{due: c.now, special: &special{probe: true}})
	}
	if receives(c.kind) {
		s.deliverWaiting()
	}
}

// interfaceVersion is SMPP 3.4, as sc_interface_version (SMPP 3.4 section 5.3.2.25).
const interfaceVersion = 0x34

func (c *session) refuseBind(head pdu.Header, status pdu.Status) {
	c.srv.totals.bindsRefused[status.String()]++
	c.respond(status, head.Sequence, &pdu.BindResp{Command: head.ID.Response(), HeaderOnly: true})
}

// turnAway reports whether the rule of the scenario refuses this bind, and counts it.
func (s *Server) turnAway(now time.Time) bool {
	rule := s.sc.Bind.Refuse
	if rule.Status == 0 && !rule.Silent && !rule.Drop {
		return false
	}
	if s.refusals.first.IsZero() {
		s.refusals.first = now
	}
	if rule.Times > 0 && s.refusals.count >= rule.Times ||
		rule.For > 0 && now.Sub(s.refusals.first) >= rule.For {
		return false
	}
	s.refusals.count++
	return true
}

// admit checks credentials and places.
func (s *Server) admit(request *pdu.Bind, now time.Time) pdu.Status {
	rules := &s.sc.Bind
	if len(rules.Accounts) > 0 {
		password, known := rules.Accounts[request.SystemID]
		if !known {
			return pdu.StatusInvSysID
		}
		if subtle.ConstantTimeCompare([]byte(password), []byte(request.Password)) != 1 {
			return pdu.StatusInvPaswd
		}
	}
	if rules.Lockout > 0 && now.Before(s.account(request.SystemID).lockedUntil) {
		return pdu.StatusBindFail
	}
	if rules.Max > 0 {
		a := s.account(request.SystemID)
		for len(a.ghosts) > 0 && !a.ghosts[0].After(now) {
			a.ghosts = a.ghosts[1:]
		}
		if a.bound+len(a.ghosts) >= rules.Max {
			return pdu.StatusAlreadyBound
		}
	}
	return pdu.StatusOK
}

// seat takes the lowest slot that is free, counted from 1.
func (a *account) seat() int {
	for i, taken := range a.slots {
		if !taken {
			a.slots[i] = true
			return i + 1
		}
	}
	a.slots = append(a.slots, true)
	return len(a.slots)
}
