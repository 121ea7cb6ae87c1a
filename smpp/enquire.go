package smpp

import "time"

// prober decides when the peer is asked whether it is there, and when it is
// given up (SMPP 3.4 section 4.11). It owns no clock: times are since the
// session began.
type prober struct {
	interval, timeout time.Duration
	sequence          uint32        // of the probe that is out, 0 for none
	asked             time.Duration // when it was sent
}

// verdict is what a prober wants done.
type verdict uint8

const (
	rest verdict = iota // nothing before the time given
	ask                 // send a probe
	bury                // the peer is gone
)

// look judges the silence at now, when the last whole PDU came at heard. Any
// whole PDU is life: it answers for a probe whose own answer is still missing;
// octets of one that does not end are not. With rest it says when to look again.
func (p *prober) look(now, heard time.Duration) (verdict, time.Duration) {
	if p.sequence != 0 && heard >= p.asked {
		p.sequence = 0
	}
	if p.sequence != 0 {
		if now >= p.asked+p.timeout {
			return bury, 0
		}
		return rest, p.asked + p.timeout
	}
	if now >= heard+p.interval {
		return ask, 0
	}
	return rest, heard + p.interval
}

// sent notes a probe. There is never more than one.
func (p *prober) sent(now time.Duration, sequence uint32) { p.sequence, p.asked = sequence, now }

// answered reports whether a response belongs to the probe that is out.
func (p *prober) answered(sequence uint32) bool {
	if p.sequence == 0 || sequence != p.sequence {
		return false
	}
	p.sequence = 0
	return true
}
