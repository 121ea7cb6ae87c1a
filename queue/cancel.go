package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// CancelResult is what became of a wish to cancel a message.
type CancelResult string

// The results; a closed set.
const (
	// CancelDone: the message has ended cancelled.
	CancelDone CancelResult = "cancelled"
	// CancelInFlight: a gateway is sending it, or died with it. Should it come
	// back, it ends cancelled instead of being sent again.
	CancelInFlight CancelResult = "in_flight"
	// CancelTooLate: it has another final.
	CancelTooLate CancelResult = "too_late"
	// CancelNotFound: nothing is known of it.
	CancelNotFound CancelResult = "not_found"
)

// Cancelling is the answer to a wish to cancel.
type Cancelling struct {
	Seq    uint64       `json:"seq"`
	ID     string       `json:"id,omitempty"`
	Result CancelResult `json:"result"`
	// Final is the event that the message ended with, nil while it has not.
	Final *Event `json:"final,omitempty"`
}

// cancelPatience is how long a gateway that holds the message gets to end it.
const cancelPatience = 3 * time.Second

const reasonCancelled = "cancelled"

// Cancel keeps a message from being sent, if that is still possible. id is its
// delivery id where that is known; it is needed only for a message that has left
// the queue. ask tells every running gateway, and reports whether one of them
// holds the message; nil is for when there is none.
//
// The mark in the control bucket comes first: from then on no gateway submits the
// message that knows of it, and every one that is asked does. Only then, and only
// when nobody holds it, the message is given its final here and taken out of the
// queue; what somebody holds is ended by him. Both go through the key that makes a
// final the only one.
func (c *Client) Cancel(
	ctx context.Context, j *Journal, seq uint64, id string, ask func(context.Context) (held bool, err error),
) (Cancelling, error) {
	r := Cancelling{Seq: seq, ID: id, Result: CancelNotFound}
	if seq == 0 {
		return r, nil
	}
	m, err := c.readLeader(ctx, c.names.Load().mt, readRequest{Seq: seq})
	if errors.Is(err, errNoMessage) {
		return c.endOf(ctx, j, r, time.Time{})
	}
	if err != nil {
		return r, err
	}
	v := c.envelopeOf(m)
	r.ID = v.ID
	record, _, err := c.readRecord(ctx, seq)
	if err != nil {
		return r, err
	}
	if err := c.markCancelled(ctx, seq, deadlineOf(&v, record)); err != nil {
		return r, err
	}
	patient, cancel := context.WithTimeout(ctx, cancelPatience)
	defer cancel()
	for {
		held := false
		if ask != nil {
			if held, err = ask(ctx); err != nil {
				return r, err
			}
		}
		if !held {
			if held, err = c.mayBeHeld(ctx, m, v.Lane); err != nil {
				return r, err
			}
		}
		if !held {
			return c.endCancelled(ctx, j, r, m, v)
		}
		end, err := c.endOf(ctx, j, r, m.Time)
		if err != nil || end.Final != nil {
			return end, err
		}
		select {
		case <-time.After(persistFirst):
		case <-patient.Done():
			r.Result = CancelInFlight
			return r, ctx.Err()
		}
	}
}

// envelopeOf reads what a message says about itself.
func (c *Client) envelopeOf(m *storedMessage) Envelope {
	n := c.names.Load()
	v := Envelope{Lane: n.laneOf(m.Subject), Seq: m.Seq, Published: m.Time, Header: m.Header.Get}
	message, fault := decode(m.Data)
	if !validID(message.ID) {
		message.ID = ""
	}
	v.ID = DeliveryID(m.Header.Get, message, n.mt, m.Seq)
	if fault == nil {
		v.Message = message
	}
	return v
}

func deadlineOf(v *Envelope, record *Waiting) time.Time {
	switch {
	case record != nil && !record.Deadline.IsZero():
		return record.Deadline
	case v.Message != nil:
		return v.Message.Deadline(v.Published, 0)
	default:
		return time.Time{}
	}
}

// markCancelled writes the mark, which outlives the deadline by an hour.
func (c *Client) markCancelled(ctx context.Context, seq uint64, deadline time.Time) error {
	ttl := maxValidity + recordGrace
	if !deadline.IsZero() {
		ttl = max(time.Until(deadline), 0) + recordGrace
	}
	data, err := json.Marshal(struct {
		At time.Time `json:"at"`
	}{time.Now().UTC()})
	if err != nil {
		return err
	}
	m := nats.NewMsg(bucketSubject(c.names.Load().control, cancelKey(seq)))
	m.Data = data
	m.Header.Set(headerTTL, ttlOf(ttl))
	if _, err := c.js.PublishMsg(ctx, m); err != nil {
		return fmt.Errorf("marking message %d as cancelled: %w", seq, err)
	}
	return nil
}

// mayBeHeld reports whether somebody may be at work with a message that is in the
// queue: it was handed out, or may have been, and no record says that it was given
// back. It is read in the order in which these come about, the other way round.
func (c *Client) mayBeHeld(ctx context.Context, m *storedMessage, l Lane) (bool, error) {
	n := c.names.Load()
	stream, err := c.js.Stream(ctx, n.mt)
	if err != nil {
		return false, fmt.Errorf("stream %s: %w", n.mt, err)
	}
	consumer, err := stream.Consumer(ctx, durable(l))
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return false, nil // nobody has ever pulled from it
	}
	if err != nil {
		return false, fmt.Errorf("consumer %s: %w", durable(l), err)
	}
	info := consumer.CachedInfo()
	handedOut := m.Seq <= info.Delivered.Stream || m.Seq <= createdSeq(info.Config)
	if !handedOut && stream.CachedInfo().Config.Replicas < markReplica {
		mark, _, err := c.readMark(ctx, l)
		if err != nil {
			return false, err
		}
		doubt := mark.Doubt
		if mark.Epoch != countsSince(c.nc.ConnectedServerId(), stream.CachedInfo(), info) {
			doubt = mark.Seq // nobody has looked at it since the counts began anew
		}
		handedOut = m.Seq <= doubt
	}
	if !handedOut {
		return false, nil
	}
	record, _, err := c.readRecord(ctx, m.Seq)
	if err != nil {
		return false, err
	}
	waits := record != nil && !record.Open
	return !waits, nil
}

// endOf reads which final a message has. One that was claimed and never stored is
// stored.
func (c *Client) endOf(ctx context.Context, j *Journal, r Cancelling, published time.Time) (Cancelling, error) {
	r.Result = CancelNotFound
	final, err := j.readFinal(ctx, r.Seq)
	if err != nil {
		return r, err
	}
	if final != nil {
		final, err = j.storeFinal(ctx, final, published)
	} else if r.ID != "" {
		t, e := c.readTrail(ctx, r.Seq, r.ID, published)
		final, err = t.final, e
	}
	if err != nil || final == nil {
		return r, err
	}
	r.Final, r.ID, r.Result = final, final.ID, CancelTooLate
	if final.Type == EventCancelled {
		r.Result = CancelDone
	}
	return r, nil
}

// endCancelled gives a message that nobody holds its final, and takes it out of
// the queue.
func (c *Client) endCancelled(ctx context.Context, j *Journal, r Cancelling, m *storedMessage, v Envelope) (Cancelling, error) {
	record, _, err := c.readRecord(ctx, m.Seq)
	if err != nil {
		return r, err
	}
	o := Outcome{Event: Event{Type: EventCancelled, Reason: reasonCancelled}, Final: true}
	if record != nil {
		v.State, v.Delivery = record.State, record.Delivery
		o.State, o.Event.Account, o.Event.Deadline = record.State, record.Account, record.Deadline
		o.Event.SegmentsAccepted = len(record.State.Accepted)
	}
	e := v.Event(o, time.Now())
	e.EventID = seqKey(m.Seq) + ".0." + string(EventCancelled) // no delivery's
	winner, _, err := j.claimFinal(ctx, &e)
	if err != nil {
		return r, err
	}
	if winner == nil {
		winner = &e
	}
	if winner, err = j.storeFinal(ctx, winner, m.Time); err != nil {
		return r, err
	}
	r.Final, r.Result = winner, CancelTooLate
	if winner.Type == EventCancelled {
		r.Result = CancelDone
	}
	if winner != &e {
		return r, nil // whoever claimed it takes the message out of the queue
	}
	if err := c.deleteMessage(ctx, c.names.Load().mt, m.Seq); err != nil {
		return r, fmt.Errorf("message %d has ended %s, and stays in the queue until a gateway finds that: %w", m.Seq, winner.Type, err)
	}
	j.put(j.deleteRecord(m.Seq))
	return r, nil
}
