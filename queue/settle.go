package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"sluice/queue/crashpoint"
)

// Payloads of an acknowledgement.
const (
	ackPayload  = "+ACK"
	nakPayload  = "-NAK"
	busyPayload = "+WPI"
)

var ackOctets = []byte(ackPayload) //nolint:gochecknoglobals // never written to

// settle writes an outcome down, each step confirmed before the next, and ends
// with the acknowledgement.
func (d *delivery) settle(ctx context.Context, o *Outcome) error {
	now := time.Now()
	e := d.complete(o, now)
	if o.DeferredReason != "" {
		if parked, err := d.setAside(ctx, o, e); err != nil || parked {
			return err
		}
	}
	if o.Final {
		_, err := d.settleFinal(ctx, e, o.Receipts, d.contested(e, now))
		return err
	}
	if err := d.append(ctx, e, storeOptions{}); err != nil {
		return err
	}
	crashpoint.At(crashpoint.AfterJournal)
	if err := d.index(ctx, o.Receipts); err != nil {
		return err
	}
	return d.wait(ctx, o.State, o.NextAttemptAt, e.Account, cmp.Or(o.Event.Reason, string(o.Event.Type)))
}

// doubtful reports whether another holder of the message may settle it as well.
func (d *delivery) doubtful(now time.Time) bool {
	_, number := d.current()
	return number > 1 || d.seq <= d.lane.createdSeq.Load() || d.overdue(now) ||
		d.server != d.intake.client.nc.ConnectedServerId() || // which may have forgotten the delivery
		d.losses != d.intake.client.losses.Load() || // and whoever wanted to cancel it could not ask us
		d.Cancelled() || d.header.Get(HeaderReplayOf) != ""
}

// contested reports whether another may end the message: another holder, or a
// sweeper, once the deadline is near by the clock of any instance.
func (d *delivery) contested(e *Event, now time.Time) bool {
	return d.doubtful(now) || !e.Deadline.IsZero() && e.Deadline.Sub(now) < clockSlack
}

func (d *delivery) uncontested(e *Event) bool { return !d.contested(e, time.Now()) }

// complete makes the event of an outcome. A second try of a settle makes the
// same event.
func (d *delivery) complete(o *Outcome, now time.Time) *Event {
	o.carry(d.inDoubt())
	d.decode()
	d.mu.Lock()
	if d.named == 0 {
		d.named = max(d.count, d.least)
	}
	envelope := Envelope{
		Seq: d.seq, ID: d.id, Delivery: d.named, Lane: d.lane.Lane, Published: d.published,
		Header: d.header.Get, ExpiresIn: d.lane.ExpiresIn,
	}
	d.mu.Unlock()
	if d.fault == nil {
		envelope.Message = d.message
	}
	e := new(Event)
	*e = o.Event
	envelope.fill(e, o, now)
	return e
}

// append stores an event of the delivery. After a failure the next try looks
// first whether it was stored.
func (d *delivery) append(ctx context.Context, e *Event, o storeOptions) error {
	d.mu.Lock()
	o.doubt, o.published = d.doubt, d.published
	d.doubt = true
	d.mu.Unlock()
	err := d.intake.journal.store(ctx, e, o)
	if _, other := errors.AsType[*otherFinalError](err); err == nil || other {
		d.mu.Lock()
		d.doubt = false
		d.mu.Unlock()
	}
	return err
}

// settleFinal makes the event the message's final, unless another came first,
// and takes the message out of the queue.
func (d *delivery) settleFinal(ctx context.Context, e *Event, receipts []ReceiptKey, doubtful bool) (won bool, err error) {
	if !doubtful {
		d.noteFinal(e)
		won, err = d.appendFinal(ctx, e, storeOptions{ours: d.uncontested})
		doubtful = errors.Is(err, errNotOurs) // NATS was away for longer than the AckWait
	}
	if doubtful {
		won, err = d.contend(ctx, e)
	}
	if err != nil {
		return false, err
	}
	crashpoint.At(crashpoint.AfterJournal)
	if err := d.index(ctx, receipts); err != nil {
		return false, err
	}
	crashpoint.At(crashpoint.BeforeAck)
	d.acknowledge(doubtful || !won)
	return won, nil
}

// contend stores a final where another holder may store one as well: a key that
// can be created once decides who is first.
func (d *delivery) contend(ctx context.Context, e *Event) (won bool, err error) {
	j := d.intake.journal
	winner, _, err := j.claimFinal(ctx, e)
	if err != nil {
		return false, err
	}
	if winner == nil {
		_, number := d.current()
		again, err := j.sentAgain(ctx, e, number)
		if err != nil {
			return false, err
		}
		e.PossibleDuplicate = e.PossibleDuplicate || again
		d.noteFinal(e)
		return d.appendFinal(ctx, e, storeOptions{})
	}
	// Whoever made it may have died before it was stored.
	winner, err = j.storeFinal(ctx, winner, d.published)
	if err != nil || winner.EventID == e.EventID {
		return err == nil, err
	}
	return false, d.lose(ctx, e, winner)
}

// appendFinal stores a final. Where the journal has another one already, which
// came without a claim or by a write that was long under way, that one stays.
func (d *delivery) appendFinal(ctx context.Context, e *Event, o storeOptions) (won bool, err error) {
	err = d.append(ctx, e, o)
	if err == nil {
		return true, nil
	}
	if other, ok := errors.AsType[*otherFinalError](err); ok {
		return false, d.lose(ctx, e, other.final)
	}
	return err == nil, err
}

// lose tells what became of a delivery that is not the message's final.
func (d *delivery) lose(ctx context.Context, e, winner *Event) error {
	d.noteFinal(winner)
	if e.Type == EventExpired || e.Type == EventCancelled {
		return nil // nothing was sent: there is nothing to tell
	}
	late := e.After(*winner)
	return d.append(ctx, &late, storeOptions{})
}

// noteFinal remembers the final of the message, for a response that comes late.
func (d *delivery) noteFinal(e *Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.final = e
}

// afterwards journals a response that came after the message had its final.
func (d *delivery) afterwards(ctx context.Context, e *Event, receipts []ReceiptKey) error {
	d.mu.Lock()
	late := e.After(*d.final)
	d.mu.Unlock()
	late.EventID += "." + nuid.Next() // each part of a message may have one
	if err := d.append(ctx, &late, storeOptions{}); err != nil {
		return err
	}
	return d.index(ctx, receipts)
}

// acknowledge takes the message out of the queue. A record goes first: should
// the acknowledgement be lost, the journal explains the next delivery.
func (d *delivery) acknowledge(recorded bool) {
	d.intake.forget(d) // what is delivered from now on is not for this holder
	reply, _ := d.current()
	if recorded || d.revision != 0 {
		d.intake.journal.put(d.intake.journal.deleteRecord(d.seq))
	}
	d.intake.journal.put(write{subject: reply, data: ackOctets, keep: true})
}

// index writes the entries of the receipt index.
func (d *delivery) index(ctx context.Context, keys []ReceiptKey) error {
	for _, key := range keys {
		stream := bucketStream(d.intake.names.receipts)
		full, err := d.intake.journal.unlessFull(ctx, stream, "the receipt index", func(ctx context.Context) error {
			return d.intake.journal.storeReceipt(ctx, key, d.receiptRef(key))
		})
		if err != nil {
			return err
		}
		if full {
			d.intake.journal.noteFull(stream, "receipts will come without their message")
		}
	}
	return nil
}

func (d *delivery) receiptRef(key ReceiptKey) ReceiptRef {
	d.decode()
	ref := ReceiptRef{
		Seq: d.seq, ID: d.id, Route: d.lane.Route, Class: d.lane.Class, Account: key.Account, MessageID: key.MessageID,
		Segment: key.Segment, Segments: key.Segments, Dest: key.Dest, Published: d.published,
	}
	if key.Echo != "" {
		d.mu.Lock()
		ref.Delivery, ref.PossibleDuplicate = d.named, key.PossibleDuplicate
		d.mu.Unlock()
	}
	if d.fault == nil {
		ref.Tenant, ref.Meta = d.message.Tenant, d.message.Meta
	}
	ref.TraceParent, _ = traceOf(d.header.Get)
	return ref
}

// wait records the new state and gives the message back until next, at once
// when next is zero. The account is the one that it waits for, if any.
func (d *delivery) wait(ctx context.Context, s State, next time.Time, account, reason string) error {
	j := d.intake.journal
	if before := d.State(); before.InDoubt() || d.overdue(time.Now()) {
		// A late response may have settled it meanwhile, or another holder.
		final, err := j.finalOf(ctx, d.seq)
		if err != nil {
			return err
		}
		if final != nil {
			d.acknowledge(true)
			return nil
		}
	}
	s.NextAttemptAt = next
	err := d.storeRecord(ctx, s, account, reason)
	if errors.Is(err, errSuperseded) {
		return nil // the message is with a later holder
	}
	if err != nil {
		return err
	}
	crashpoint.At(crashpoint.AfterRecord)
	d.intake.forget(d) // what is delivered from now on is not for this holder
	if now := time.Now(); !d.overdue(now) {
		crashpoint.At(crashpoint.BeforeNak)
		reply, _ := d.current()
		j.put(nak(reply, next.Sub(now)))
	}
	return nil
}

// storeRecord writes the record under the number of the newest delivery, again
// if one was adopted meanwhile.
func (d *delivery) storeRecord(ctx context.Context, s State, account, reason string) error {
	j := d.intake.journal
	for {
		_, count := d.current()
		full, err := j.unlessFull(ctx, bucketStream(j.names.waiting), "the record", func(ctx context.Context) error {
			return j.storeRecord(ctx, d.record(s, count, account, reason), d.revision)
		})
		if err == nil && full {
			err = d.noteRecord(ctx, d.record(s, count, account, reason))
		}
		if _, now := d.current(); err != nil || now == count {
			return err
		}
	}
}

// record is what the next delivery will be explained by.
func (d *delivery) record(s State, count int, account, reason string) *Waiting {
	d.decode()
	r := &Waiting{
		Seq: d.seq, ID: d.id, Route: d.lane.Route, Class: d.lane.Class, Account: cmp.Or(s.Account, account),
		Delivery: count, Reason: reason, Published: d.published, At: time.Now().UTC(), State: s,
	}
	if d.fault == nil {
		r.Deadline = d.message.Deadline(d.published, d.lane.ExpiresIn)
	}
	return r
}

// soonest is the shortest delay of a negative acknowledgement. One without a
// delay moves the message to a list that the server keeps in memory alone: after
// a restart it would come back only when the AckWait is over.
const soonest = time.Millisecond

// nak gives a message back after a delay, or practically at once.
func nak(reply string, delay time.Duration) write {
	payload := fmt.Sprintf(`%s {"delay": %d}`, nakPayload, max(delay, soonest).Nanoseconds())
	return write{subject: reply, data: []byte(payload)}
}

// copyToDeferred keeps the message for a person, with everything it came with.
func (d *delivery) copyToDeferred(ctx context.Context, reason string, e *Event) error {
	n := d.intake.names
	d.decode() // a message that was parked is not handed out
	summary, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Type, err)
	}
	header := nats.Header{}
	for key, values := range d.header {
		if !strings.HasPrefix(key, "Nats-") { // instructions to the server were for the first stream
			header[key] = values
		}
	}
	if id := d.header.Get(jetstream.MsgIDHeader); id != "" {
		header.Set(HeaderOriginalMsgID, id)
	}
	header.Set(jetstream.MsgIDHeader, seqKey(d.seq))
	header.Set(HeaderDeliveryID, d.id)
	header.Set(HeaderDeferredReason, reason)
	header.Set(HeaderOriginalSubject, n.mtSubject(d.lane.Lane))
	header.Set(HeaderOriginalSeq, seqKey(d.seq))
	header.Set(HeaderOriginalTime, d.published.UTC().Format(time.RFC3339Nano))
	header.Set(HeaderEvent, string(summary))
	if deadline := d.message.Deadline(d.published, d.lane.ExpiresIn); !deadline.IsZero() {
		header.Set(HeaderExpiresAt, deadline.UTC().Format(time.RFC3339Nano))
	}
	err = d.intake.journal.write(ctx, write{
		stream: n.deferred, subject: n.deferredSubject(d.lane.Route, reason), header: header, data: d.data,
	})
	if errors.Is(err, errStoredBefore) {
		return nil
	}
	return err
}
