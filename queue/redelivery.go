package queue

import (
	"context"
	"time"
)

// Ways in which an earlier delivery is explained; labels of a metric.
const (
	explainedByRecord  = "record"
	explainedByJournal = "journal"
	explainedByFinal   = "final"
	explainedByNothing = "nothing"
	explainedNew       = "new_consumer"
)

// explain finds out how the earlier deliveries of a message ended. It reports
// whether the message may be handed out; when it may not, it was given back or
// taken out of the queue here.
//
// A record explains a delivery only when it was written by the one just before:
// otherwise somebody died with the message, lost the connection or was late,
// and the journal is read from the time the message was stored. What that does
// not explain either is an unknown outcome.
func (d *delivery) explain(ctx context.Context) (handOut bool, err error) {
	c := d.intake.client
	record, revision, err := c.readRecord(ctx, d.seq)
	if err != nil {
		return false, err
	}
	d.revision = revision
	_, count := d.current()
	if record != nil && record.Delivery == count-1 {
		d.state = record.State
		return d.explained(ctx, explainedByRecord)
	}
	d.decode()
	trail, err := c.readTrail(ctx, d.seq, d.id, d.published)
	if err != nil {
		return false, err
	}
	switch {
	case trail.final != nil:
		d.intake.metrics.redelivered(explainedByFinal)
		return false, d.confirmFinal(ctx, trail.final)
	case trail.last != nil && trail.last.Delivery == count-1:
		d.state = trail.last.state()
		return d.explained(ctx, explainedByJournal)
	}
	d.state = newestState(record, trail.last)
	if count == 1 {
		// The consumer was created after the message was stored, and counts from 1
		// whatever happened before.
		return d.explained(ctx, explainedNew)
	}
	return d.unexplained(ctx, count)
}

// explained hands the message out, unless a late response has settled it or it
// came back before its time.
func (d *delivery) explained(ctx context.Context, by string) (handOut bool, err error) {
	if d.state.inDoubt() {
		if final, err := d.intake.journal.readFinal(ctx, d.seq); err != nil || final != nil {
			return false, d.endWith(ctx, final, err)
		}
	}
	d.intake.metrics.redelivered(by)
	if time.Until(d.state.NextAttemptAt) <= 0 {
		return true, nil
	}
	// A restart of the server brings delays forward by up to a second. The record
	// must carry this delivery's number to explain the next one.
	return false, d.wait(ctx, d.state, d.state.NextAttemptAt, reasonRedelivery)
}

// unexplained hands the message out with an unknown outcome. That is recorded
// first, so that unexplained ends are counted even when nobody lives to tell;
// the record bears the number of the delivery that ended, and so does not
// explain this one.
func (d *delivery) unexplained(ctx context.Context, count int) (handOut bool, err error) {
	j := d.intake.journal
	if final, err := j.readFinal(ctx, d.seq); err != nil || final != nil {
		return false, d.endWith(ctx, final, err)
	}
	d.intake.metrics.redelivered(explainedByNothing)
	d.state.Unexplained = true
	d.state.Ends++
	d.state.NextAttemptAt = time.Time{}
	return true, j.storeRecord(ctx, d.record(d.state, count-1, reasonRedelivery), d.revision)
}

// endWith ends the delivery with a final that was claimed and may not have been
// stored.
func (d *delivery) endWith(ctx context.Context, final *Event, err error) error {
	if err != nil {
		return err
	}
	d.intake.metrics.redelivered(explainedByFinal)
	j := d.intake.journal
	err = j.store(ctx, final, storeOptions{once: onceFinal(d.seq), doubt: true, published: d.published})
	if err != nil {
		return err
	}
	return d.confirmFinal(ctx, final)
}

// confirmFinal takes a message out of the queue whose final is in the journal:
// its acknowledgement was lost, or nobody lived to send it. The index entries
// may be missing too.
func (d *delivery) confirmFinal(ctx context.Context, final *Event) error {
	d.decode()
	if final.Type == EventSubmitted && d.fault == nil && d.message.Receipt {
		if err := d.index(ctx, d.receiptKeys(final)); err != nil {
			return err
		}
	}
	d.acknowledge(true)
	return nil
}

// receiptKeys derives the index entries from a submitted event.
func (d *delivery) receiptKeys(final *Event) []ReceiptKey {
	ttl := maxValidity
	if !final.Deadline.IsZero() {
		ttl = max(time.Until(final.Deadline), 0)
	}
	keys := make([]ReceiptKey, 0, len(final.MessageIDs))
	for i, id := range final.MessageIDs {
		keys = append(keys, ReceiptKey{
			Account: final.Account, MessageID: id, Segment: i + 1, Segments: len(final.MessageIDs),
			Dest: HashAddress(d.message.Dest().Digits), TTL: ttl + receiptGrace,
		})
	}
	return keys
}

// newestState is what the later of a record and an event says.
func newestState(record *Waiting, last *Event) State {
	switch {
	case record == nil && last == nil:
		return State{}
	case last == nil, record != nil && record.Delivery >= last.Delivery:
		return record.State
	default:
		return last.state()
	}
}

// state is what an outcome left behind.
func (e *Event) state() State {
	if e.State != nil {
		return *e.State
	}
	return State{
		Attempts: e.Attempt, Throttles: e.Throttles,
		PossibleDuplicate: e.PossibleDuplicate, NextAttemptAt: e.NextAttemptAt,
	}
}
