package gateway

import (
	"time"

	"sluice/classify"
	"sluice/smpp"
)

// acceptLate takes a response that came after its submit had timed out. One that says that the part was taken, or never
// will be, counts unless the message has been sent again: it settles the message, or spares that part the resend.
func (d *delivery) acceptLate(p *segment, resp smpp.Response) {
	a, now := d.account, time.Now()
	a.metrics.late.WithLabelValues(a.name).Inc()
	if err := d.atWork.Take(a.work); err != nil {
		return // the gateway stops; the queue keeps the message
	}
	defer d.atWork.Give()
	v := a.classify(resp)
	if v.Class != classify.OK && v.Class != classify.Terminal {
		a.heldBack(now, v)
		return // it still waits, and will be sent again
	}
	said := answer{v, resp.Status, cleanMessageID(resp.MessageID)}
	if ours := d.refusedAddition(p, v, resp.Status); ours != 0 {
		a.withhold(ours, said)
		return // the same, without what was refused
	}
	d.results = []result{{part: p.number, answer: said}}
	o := d.rules.late(now, d.letter, d.job.State(), d.results)
	d.index(&o)
	won, err := d.job.SettleLate(a.work, o)
	if err != nil {
		a.log.Error("late response not recorded", "seq", d.job.Seq(), "delivery_id", d.job.ID(), "error", err)
		return
	}
	d.letter.state = o.State
	if won {
		a.settledAs(d.job, o)
	}
}
