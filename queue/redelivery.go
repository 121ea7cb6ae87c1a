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
// The server's count alone proves nothing: after a crash it may be too small.
// But a message is never handed out again before its record was opened. So a
// closed record is how the last delivery ended. With an open one, or none,
// somebody died with the message, lost the connection or was late: the journal
// is read from the time the message was stored, for what was heard since. When
// that is nothing, the outcome is unknown.
func (d *delivery) explain(ctx context.Context) (handOut bool, err error) {
	suspect, err := d.suspect(ctx)
	if err != nil || !suspect {
		return !suspect, err
	}
	c := d.intake.client
	record, revision, err := c.readRecord(ctx, d.seq)
	if err != nil {
		return false, err
	}
	d.revision = revision
	if record == nil {
		record = new(Waiting) // open: nothing says how delivery 0 ended
		record.Open = true
	}
	switch {
	case record.Open && record.At.Equal(d.opened) && !d.opened.IsZero():
		return d.unlessEnded(ctx) // opened by this delivery, and the confirmation was lost
	case !record.Open:
		d.state, d.waited, d.noted = record.State, record, record.At
		d.follows(record.Delivery)
		return d.explained(ctx, explainedByRecord)
	}
	d.decode()
	trail, err := c.readTrail(ctx, d.seq, d.id, d.published)
	trail.noted(record)
	switch {
	case err != nil:
		return false, err
	case trail.final != nil:
		d.intake.metrics.redelivered(explainedByFinal)
		return false, d.confirmFinal(ctx, trail.final)
	case trail.last != nil && trail.last.Delivery >= record.Delivery:
		d.state, d.noted = trail.last.state(), trail.last.At
		d.follows(trail.last.Delivery)
		return d.explained(ctx, explainedByJournal)
	case record.Delivery == 0 && !d.handedOutBefore():
		d.intake.metrics.redelivered(explainedNew)
		return true, nil
	}
	d.state = record.State
	d.follows(max(record.Delivery, 1))
	return d.unexplained(ctx)
}

// suspect reports whether the message may have been handed out before, once the
// lane's mark is that of the server that delivered it.
func (d *delivery) suspect(ctx context.Context) (bool, error) {
	i, l := d.intake, d.lane
	i.mu.Lock()
	stale := l.markIsStale(d.server)
	i.mu.Unlock()
	if stale {
		if err := l.loadMark(ctx); err != nil {
			return false, err
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return l.suspects(d), nil
}

// handedOutBefore tells a message that was handed out, or may have been, from
// one that is new to a consumer created after it was stored: that counts from 1
// whatever happened before.
func (d *delivery) handedOutBefore() bool {
	d.intake.mu.Lock()
	defer d.intake.mu.Unlock()
	return d.count > 1 || d.lane.mark.doubts(d.seq)
}

// explained hands the message out, unless a late response has settled it or it
// came back before its time.
func (d *delivery) explained(ctx context.Context, by string) (handOut bool, err error) {
	if d.state.InDoubt() {
		if final, err := d.intake.journal.readFinal(ctx, d.seq); err != nil || final != nil {
			return false, d.endWith(ctx, final, err)
		}
	}
	d.intake.metrics.redelivered(by)
	if d.state.Parked != nil {
		return false, d.endParked(ctx)
	}
	if now := time.Now(); rest(d.state.NextAttemptAt, d.noted, now) > 0 {
		// A restart of the server brings delays forward by up to a second.
		d.state.NextAttemptAt = now.Add(rest(d.state.NextAttemptAt, d.noted, now)).UTC()
		account, reason := "", reasonRedelivery
		if d.waited != nil { // it goes on waiting for the same
			account, reason = d.waited.Account, d.waited.Reason
		}
		return false, d.wait(ctx, d.state, d.state.NextAttemptAt, account, reason)
	}
	return d.handOut(ctx)
}

// rest is how much is left at now of a wait until next that was noted at a time. It
// is never more than the whole wait: the clock may have been set back meanwhile.
func rest(next, noted, now time.Time) time.Duration {
	left := next.Sub(now)
	if !noted.IsZero() {
		left = min(left, next.Sub(noted))
	}
	return left
}

// unexplained hands the message out with an unknown outcome, and counts that
// before it does: nobody may live to tell.
func (d *delivery) unexplained(ctx context.Context) (handOut bool, err error) {
	if final, err := d.intake.journal.readFinal(ctx, d.seq); err != nil || final != nil {
		return false, d.endWith(ctx, final, err)
	}
	d.intake.metrics.redelivered(explainedByNothing)
	d.state.Unexplained = true
	d.state.Ends++
	d.state.NextAttemptAt = time.Time{}
	return d.handOut(ctx)
}

// handOut opens the record and lets the message go. Who claims the final after
// the last look for one finds the record open, see [Journal.sentAgain].
func (d *delivery) handOut(ctx context.Context) (bool, error) {
	if err := d.open(ctx); err != nil {
		return false, err
	}
	return d.unlessEnded(ctx)
}

// unlessEnded lets a message in doubt go unless a late response has claimed its
// final.
func (d *delivery) unlessEnded(ctx context.Context) (bool, error) {
	if !d.state.InDoubt() {
		return true, nil
	}
	if final, err := d.intake.journal.readFinal(ctx, d.seq); err != nil || final != nil {
		return false, d.endWith(ctx, final, err)
	}
	return true, nil
}

// open writes down that the message is about to be handed out again.
func (d *delivery) open(ctx context.Context) error {
	_, number := d.current()
	r := d.record(d.state, number, "", reasonRedelivery)
	r.Open = true
	d.opened = r.At
	revision, err := d.intake.client.replaceRecord(ctx, r, d.revision)
	if isFull(err) {
		return d.noteRecord(ctx, r)
	}
	if err == nil {
		d.revision = revision
	}
	return err
}

// endWith ends the delivery with a final that was claimed and may not have been
// stored.
func (d *delivery) endWith(ctx context.Context, final *Event, err error) error {
	if err != nil {
		return err
	}
	d.intake.metrics.redelivered(explainedByFinal)
	if final, err = d.intake.journal.storeFinal(ctx, final, d.published); err != nil {
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
