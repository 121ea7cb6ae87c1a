package classify

import "sluice/smpp/pdu"

// inPhase returns what a row of the table means in one phase. The rows are written for submit_sm_resp.
func inPhase(base Row, p Phase) Row {
	r := base
	r.Phase = p
	switch p {
	case Submit:
	case Bind:
		atBind(&r)
	case Nack:
		atNack(&r)
	}
	return r
}

// atBind gives a row its meaning in a bind response. Nothing but the bind is concerned, and no message can fail.
// What the table calls a fault of the account is one here too; everything else, listed or not, is a trouble that
// may pass (an overloaded centre, a ghost of the old session), to be tried again with back-off.
func atBind(r *Row) {
	v := &r.Verdict
	v.Scope, v.Shape = ScopeBind, false
	switch v.Class {
	case OK, Config:
	case Unknown, Throttle, Retry, Terminal:
		v.Class = Retry
	}
}

// atNack gives a row its meaning in a generic_nack that names a message (SMPP 3.4 section 4.3). The peer could
// not take the PDU at all, so a status is as good as in a submit_sm_resp, but for two.
func atNack(r *Row) {
	switch {
	case r.Low != r.High:
	case r.Low == pdu.StatusOK:
		// "Not acknowledged, no error" contradicts itself: it must not count as accepted.
		r.Meaning, r.Verdict.Class = "Not acknowledged, yet no error named", Unknown
	case r.Low == pdu.StatusInvCmdLen:
		// The peer has lost the framing of the stream: what follows on this bind is suspect.
		r.Verdict.Scope = ScopeBind
	}
}

// why writes the sentence of a verdict: the meaning of the status, and what the gateway does.
func why(r *Row) string { return r.Meaning + "; " + consequence(r.Phase, r.Verdict) + "." }

// consequence says what follows from a verdict.
func consequence(p Phase, v Verdict) string {
	if p == Bind {
		switch v.Class {
		case OK:
			return "the session is bound"
		case Config:
			return "the account stays unbound and is probed slowly until its settings are put right"
		case Unknown, Throttle, Retry, Terminal:
			return "the next bind waits, longer each time"
		}
	}
	switch v.Class {
	case OK:
		return "the message is with the SMSC"
	case Throttle:
		return "the message is fine and waits without using an attempt, and the account slows down"
	case Retry:
		if v.Scope == ScopeBind {
			return "the session is at fault: the bind is renewed and the message sent again"
		}
		return "a temporary fault: the message waits and one attempt is used"
	case Terminal:
		switch {
		case v.Scope == ScopeBind:
			return "the message fails as it is written, and the bind is renewed"
		case v.Shape:
			return "the message fails as it is written; a run of such answers stops the account instead"
		}
		return "the message fails as it is written"
	case Config:
		return "the account stops and its messages stay queued until its settings are put right"
	case Unknown:
	}
	return "nothing is agreed about it: the message is tried again a few times, and the status is logged"
}
