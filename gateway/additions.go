package gateway

import (
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"sluice/classify"
	"sluice/gateway/config"
	"sluice/smpp/pdu"
)

// additions are fields of a submit_sm that only the gateway brings: nobody has asked for them, so that a refusal of one
// says nothing about the message. It is a set.
type additions uint32

const (
	// additionMark is user_message_reference (SMPP 3.4 section 5.3.2.17), with mark: auto.
	additionMark additions = 1 << iota
	// additionValidity is the validity_period of a message that states no life of its own: its route's expires_in.
	additionValidity
)

// versionWithTLVs is the first sc_interface_version that knows TLVs (SMPP 3.4 section 5.2.4).
const versionWithTLVs = 0x34

// refusedBy is the addition that a refusal is about, 0 where it may be about something else: the mark only where it is
// the one TLV of all. A TLV that is missing (0xC3) is none that could be left out.
func (a additions) refusedBy(status pdu.Status, tlvs int) additions {
	switch status {
	case pdu.StatusInvTLVStream, pdu.StatusTLVNotAllowed, pdu.StatusInvTLVLen, pdu.StatusInvTLVVal:
		if tlvs == 1 {
			return a & additionMark
		}
	case pdu.StatusInvExpiry:
		return a & additionValidity
	}
	return 0
}

// strip takes additions out of a submit_sm.
func (a additions) strip(sm *pdu.SubmitSM) {
	if a&additionMark != 0 {
		sm.TLVs = slices.DeleteFunc(sm.TLVs, func(t pdu.TLV) bool { return t.Tag == pdu.TagUserMessageReference })
	}
	if a&additionValidity != 0 {
		sm.ValidityPeriod = nil
	}
}

// withheld are the additions that an account makes no longer, because its SMSC has refused them. It is safe for
// concurrent use; the zero value withholds nothing.
type withheld struct{ set atomic.Uint32 }

func (w *withheld) get() additions { return additions(w.set.Load()) }

// add withholds one more; it is false when that was withheld already.
func (w *withheld) add(a additions) bool { return additions(w.set.Or(uint32(a)))&a == 0 }

// withheld are the additions that the SMSC of this bind cannot know.
func (b *bind) withheld() additions {
	if b.version < versionWithTLVs {
		return additionMark
	}
	return 0
}

// additions lists what only the gateway brings to a submit_sm of the message.
func (d *delivery) additions(sm *pdu.SubmitSM) (list additions) {
	if _, marked := sm.TLVs.Get(pdu.TagUserMessageReference); marked && d.account.cfg.Mark == config.MarkAuto {
		list |= additionMark
	}
	if len(sm.ValidityPeriod) > 0 && d.msg.ExpiresAt.IsZero() && d.msg.ExpiresIn <= 0 {
		list |= additionValidity
	}
	return list
}

// stripped takes out of a submit_sm what the account, or this bind, withholds now.
func (d *delivery) stripped(sm *pdu.SubmitSM) *pdu.SubmitSM {
	(d.additions(sm) & (d.account.withheld.get() | d.bind.withheld())).strip(sm)
	return sm
}

// refusedAddition is the addition that the answer to a part refuses, 0 when it is about the message or about nothing
// that the gateway has added.
func (d *delivery) refusedAddition(p *segment, v classify.Verdict, status pdu.Status) additions {
	if v.Class != classify.Terminal && v.Class != classify.Config {
		return 0
	}
	return d.additions(p.sm).refusedBy(status, len(p.sm.TLVs))
}

// withhold ends an addition that the SMSC has refused, and says so once.
func (a *account) withhold(refused additions, ans answer) {
	if !a.withheld.add(refused) {
		return
	}
	code, status := slog.String("code", fmt.Sprintf("0x%02X", uint32(ans.status))), slog.String("status", ans.verdict.Name)
	if refused == additionMark {
		a.log.Warn("the SMSC refuses user_message_reference, which only Sluice adds: submits go without it from now on; "+
			"mark: false on the account makes that certain", code, status)
		return
	}
	a.log.Warn("the SMSC refuses the validity_period that only the route's expires_in asks for: messages without a life of "+
		"their own go without it from now on; validity: {form: off} on the account makes that certain, for all messages",
		code, status)
}
