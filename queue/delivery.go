package queue

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// phase is how far a delivery has come.
type phase uint8

const (
	phaseHeld     phase = iota // here or with a caller
	phaseSettling              // a Settle, SettleLate or Release is at work
	phaseWaiting               // settled, and not finally
	phaseFinal                 // settled with a final; a late response may still come
	phaseDone
)

// delivery is the [Job] that JetStream delivered.
type delivery struct {
	intake    *Intake
	lane      *lane
	seq       uint64
	published time.Time
	header    nats.Header
	data      []byte
	state     State     // from earlier deliveries
	server    string    // the one that delivered it
	losses    int64     // of the connection, before it was delivered
	noted     time.Time // when the wait of an earlier delivery was written down
	revision  uint64    // of the record when it was read or opened
	opened    time.Time // of the record that this delivery tried to open
	waited    *Waiting  // the record that explains the earlier deliveries, nil without one

	forgotten atomic.Bool // by the intake
	decoded   sync.Once
	message   *Message
	fault     error
	id        string

	mu      sync.Mutex
	reply   string    // where to acknowledge: the newest delivery's
	count   int       // how often the server says it has delivered it
	least   int       // what the number of this delivery is at least, by what is known of earlier ones
	touched time.Time // when the server last began to wait for an answer
	phase   phase
	doubt   bool // an event of it may have been stored
	named   int  // the delivery number in the id of its event, 0 before
	final   *Event
}

func (d *delivery) Seq() uint64          { return d.seq }
func (d *delivery) Route() string        { return d.lane.Route }
func (d *delivery) Class() string        { return d.lane.Class }
func (d *delivery) Published() time.Time { return d.published }
func (d *delivery) Raw() []byte          { return d.data }

// State includes what a replay says about itself.
func (d *delivery) State() State {
	s := d.state
	s.PossibleDuplicate = s.PossibleDuplicate || d.header.Get(HeaderPossibleDuplicate) == "true"
	return s
}

// inDoubt is that of the state.
func (d *delivery) inDoubt() bool {
	return d.state.InDoubt() || d.header.Get(HeaderPossibleDuplicate) == "true"
}

func (d *delivery) Header(key string) string { return d.header.Get(key) }

// Cancelled implements [Job].
func (d *delivery) Cancelled() bool { return d.intake.client.cancels.has(d.seq) }

func (d *delivery) Deliveries() int {
	_, number := d.current()
	return number
}

func (d *delivery) ID() string {
	d.decode()
	return d.id
}

func (d *delivery) Message() (*Message, error) {
	d.decode()
	if d.fault != nil {
		return nil, d.fault
	}
	return d.message, nil
}

func (d *delivery) decode() {
	d.decoded.Do(func() {
		d.message, d.fault = decode(d.data)
		if d.fault == nil {
			d.fault = d.faultOfEnvelope()
		}
		if expires := d.header.Get(HeaderExpiresAt); expires != "" {
			if at, err := time.Parse(time.RFC3339Nano, expires); err == nil {
				d.message.ExpiresIn, d.message.ExpiresAt = 0, at.UTC()
			}
		}
		if !validID(d.message.ID) {
			d.message.ID = ""
		}
		d.id = DeliveryID(d.header.Get, d.message, d.intake.names.mt, d.seq)
	})
}

// replaySlack is how far the clock of whoever replays a message for the longest life
// may be ahead of the server's.
const replaySlack = time.Hour

// faultOfEnvelope checks what the payload alone does not tell.
func (d *delivery) faultOfEnvelope() error {
	if id := d.header.Get(HeaderDeliveryID); id != "" && !validID(id) {
		return &MalformedError{Field: "header " + HeaderDeliveryID, Fault: faultOfID(id)}
	}
	if at := d.header.Get(HeaderExpiresAt); at != "" { // it stands for what the payload says
		deadline, err := time.Parse(time.RFC3339Nano, at)
		fault := faultOfDeadline(deadline, d.published.Add(replaySlack))
		if err != nil {
			fault = "want a time as in RFC 3339"
		}
		if fault != "" {
			return &MalformedError{Field: "header " + HeaderExpiresAt, Fault: fault}
		}
		return nil
	}
	if fault := faultOfDeadline(d.message.ExpiresAt, d.published); fault != "" {
		return &MalformedError{Field: "expires_at", Fault: fault}
	}
	return nil
}

// adopt takes over a later delivery of the same message that arrived here while
// this one is held: it must be acknowledged and recorded under its own number.
func (d *delivery) adopt(reply string, count int, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reply, d.count, d.touched = reply, count, now
}

// Settle implements [Job].
func (d *delivery) Settle(ctx context.Context, o Outcome) error {
	if !o.Valid() {
		return fmt.Errorf("settling message %d: event type %q with final %v", d.seq, o.Event.Type, o.Final)
	}
	if err := d.enter(phaseHeld); err != nil {
		return err
	}
	err := d.settle(ctx, &o)
	after := phaseWaiting
	if o.Final {
		after = phaseFinal
	}
	d.leave(err, phaseHeld, after)
	return err
}

// SettleLate implements [Job].
func (d *delivery) SettleLate(ctx context.Context, o Outcome) (won bool, err error) {
	if !o.ValidLate() {
		return false, fmt.Errorf("settling message %d late: event type %q with final %v", d.seq, o.Event.Type, o.Final)
	}
	if d.enter(phaseFinal) == nil { // as by a deferral that no answer explained
		err = d.afterwards(ctx, d.complete(&o, time.Now()), o.Receipts)
		d.leave(err, phaseFinal, phaseFinal)
		return false, err
	}
	if err := d.enter(phaseWaiting); err != nil {
		return false, err
	}
	if !o.Final {
		err = d.amend(ctx, o)
		d.leave(err, phaseWaiting, phaseWaiting)
		return false, err
	}
	won, err = d.settleFinal(ctx, d.complete(&o, time.Now()), o.Receipts, true)
	d.leave(err, phaseWaiting, phaseFinal)
	return won, err
}

// amend journals a late answer to one part of a message, and writes the new
// state into the record while that is still this delivery's.
func (d *delivery) amend(ctx context.Context, o Outcome) error {
	e := d.complete(&o, time.Now())
	e.EventID += "." + nuid.Next() // each part of a message may have one
	if err := d.append(ctx, e, storeOptions{}); err != nil {
		return err
	}
	if err := d.index(ctx, o.Receipts); err != nil {
		return err
	}
	return d.intake.journal.persist(ctx, bucketStream(d.intake.names.waiting), "the record", func(ctx context.Context) error {
		c := d.intake.client
		record, revision, err := c.readRecord(ctx, d.seq)
		_, number := d.current()
		if err != nil || record == nil || record.Open || record.Delivery != number {
			return err // with a later holder, or settled
		}
		o.State.NextAttemptAt, record.State = record.State.NextAttemptAt, o.State
		_, err = c.replaceRecord(ctx, record, revision)
		if isFull(err) { // it goes on with the state that it has, marked as in doubt
			d.intake.journal.noteFull(bucketStream(d.intake.names.waiting), "a late response does not correct what waits")
			return nil
		}
		return err // moved on: once more
	})
}

// Release implements [Job].
func (d *delivery) Release(ctx context.Context, until time.Time) error {
	if err := d.enter(phaseHeld); err != nil {
		return err
	}
	err := d.wait(ctx, d.state, until, "", reasonReleased)
	d.leave(err, phaseHeld, phaseDone)
	return err
}

func (d *delivery) enter(from phase) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.phase != from {
		return fmt.Errorf("message %d: %w", d.seq, ErrSettled)
	}
	d.phase = phaseSettling
	return nil
}

// leave ends a settle: after an error it may be tried again.
func (d *delivery) leave(err error, before, after phase) {
	d.mu.Lock()
	d.phase = after
	if err != nil {
		d.phase = before
	}
	d.mu.Unlock()
	if err == nil && !d.forgotten.Load() {
		d.intake.forget(d)
	}
}

// waitsForAnswer is how long the server still waits before it hands the message
// to somebody else.
func (d *delivery) waitsForAnswer(now time.Time) time.Duration {
	return d.intake.ackWait - now.Sub(d.touched)
}

// overdue reports whether the server may be about to hand the message to
// somebody else, or has. From then on a negative acknowledgement could hit the
// next holder's delivery, since JetStream does not tell them apart: only a
// positive one is safe.
func (d *delivery) overdue(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waitsForAnswer(now) <= min(10*time.Second, d.intake.ackWait/4)
}

// current is the newest delivery's reply subject and number. The number is not
// the server's count alone, which may have forgotten deliveries: no two have the
// same.
func (d *delivery) current() (reply string, number int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reply, max(d.count, d.least)
}

// follows notes the number of an earlier delivery.
func (d *delivery) follows(number int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.least = max(d.least, number+1)
}
