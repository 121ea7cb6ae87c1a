package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Headers of the key-value layer and of the stream.
const (
	headerTTL        = "Nats-TTL"
	headerExpected   = "Nats-Expected-Last-Subject-Sequence"
	headerRollup     = "Nats-Rollup"
	headerOperation  = "KV-Operation"
	headerMarker     = "Nats-Marker-Reason"
	operationPurge   = "PURGE"
	rollupSubject    = "sub"
	headerOnce       = "Nats-Msg-Id"
	recordGrace      = time.Hour
	recordConflicts  = 5
	reasonReleased   = "released"
	reasonRedelivery = "redelivered"
)

// Waiting is the record of one message that waits for its next attempt, and
// why. It is written before the negative acknowledgement, so the next delivery
// knows how this one ended; and before a message is handed out again, so that
// what is found open has not ended.
type Waiting struct {
	Seq     uint64 `json:"seq"`
	ID      string `json:"id"`
	Route   string `json:"route"`
	Class   string `json:"class"`
	Account string `json:"account,omitempty"`
	// Delivery is the number of the delivery that ended with this record, or
	// began with it when Open.
	Delivery int `json:"delivery"`
	// Open says that the message is at work: the record was written before it
	// was handed out again, and nothing has been heard since.
	Open bool `json:"open,omitempty"`
	// Reason is the event's, its type, or "released" for a message that was
	// given back unsent.
	Reason    string    `json:"reason,omitempty"`
	Published time.Time `json:"published"`
	At        time.Time `json:"at"`
	Deadline  time.Time `json:"deadline,omitzero"`
	State     State     `json:"state"`
}

// readRecord reads the record of a message. The revision is that of the key,
// and is not 0 either when a deleted record left its marker there.
func (c *Client) readRecord(ctx context.Context, seq uint64) (record *Waiting, revision uint64, err error) {
	bucket := c.names.Load().waiting
	m, err := c.readLeader(ctx, bucketStream(bucket), readRequest{LastFor: bucketSubject(bucket, seqKey(seq))})
	switch {
	case errors.Is(err, errNoMessage):
		return nil, 0, nil
	case err != nil:
		return nil, 0, fmt.Errorf("reading the record: %w", err)
	case m.gone():
		return nil, m.Seq, nil
	}
	record = new(Waiting)
	if json.Unmarshal(m.Data, record) != nil {
		return nil, m.Seq, nil // it explains nothing, and must not stop the message
	}
	return record, m.Seq, nil
}

// errSuperseded reports that a later delivery has written the record already.
var errSuperseded = errors.New("a later delivery of the message has been recorded")

// storeRecord writes a record over the given revision. When the key has moved
// on, the delivery number decides: a later delivery's record stays
// ([errSuperseded]), an earlier one's is replaced.
func (j *Journal) storeRecord(ctx context.Context, r *Waiting, revision uint64) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	for range recordConflicts {
		err = j.write(ctx, write{
			stream:  bucketStream(j.names.waiting),
			subject: bucketSubject(j.names.waiting, seqKey(r.Seq)),
			header: nats.Header{
				headerTTL:      {ttlOf(recordTTL(r, time.Now()))},
				headerExpected: {strconv.FormatUint(revision, 10)},
			},
			data: data,
		})
		if !refusedAs(err, codeWrongLastSeq) {
			break
		}
		present, at, err := j.client.readRecord(ctx, r.Seq)
		if err != nil {
			return err
		}
		if present != nil && present.Delivery > r.Delivery {
			return errSuperseded
		}
		revision = at
	}
	if err != nil {
		return fmt.Errorf("writing the record: %w", err)
	}
	return nil
}

// errMovedOn reports that the key was written since it was read.
var errMovedOn = errors.New("another has written it meanwhile")

// replace writes to a key that is still at the given revision, and returns the
// new one; the error is [errMovedOn] when it is not.
func (c *Client) replace(ctx context.Context, m *nats.Msg, revision uint64) (uint64, error) {
	if m.Header == nil {
		m.Header = nats.Header{}
	}
	m.Header.Set(headerExpected, strconv.FormatUint(revision, 10))
	ack, err := c.js.PublishMsg(ctx, m)
	var refused *jetstream.APIError
	switch {
	case err == nil:
		return ack.Sequence, nil
	case errors.As(err, &refused) && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant):
		return 0, errMovedOn
	default:
		return 0, err
	}
}

// replaceRecord writes a record over the given revision, and returns the new
// one; the error is [errMovedOn] when the key is at another.
func (c *Client) replaceRecord(ctx context.Context, r *Waiting, revision uint64) (uint64, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("record: %w", err)
	}
	revision, err = c.replace(ctx, &nats.Msg{
		Subject: bucketSubject(c.names.Load().waiting, seqKey(r.Seq)),
		Header:  nats.Header{headerTTL: {ttlOf(recordTTL(r, time.Now()))}},
		Data:    data,
	}, revision)
	if err != nil {
		return 0, fmt.Errorf("replacing the record: %w", err)
	}
	return revision, nil
}

// recordTTL keeps a record for an hour after the deadline; a message without
// one cannot be older than the contract's longest validity.
func recordTTL(r *Waiting, now time.Time) time.Duration {
	if r.Deadline.IsZero() {
		return maxValidity + recordGrace
	}
	return max(r.Deadline.Sub(now), 0) + recordGrace
}

// ttlOf writes a duration as the Nats-TTL header wants it: whole seconds, at
// least one.
func ttlOf(d time.Duration) string {
	return max(d.Truncate(time.Second), time.Second).String()
}

// deleteRecord removes a record; its marker goes by itself after a second.
func (j *Journal) deleteRecord(seq uint64) write {
	return write{
		subject: bucketSubject(j.names.waiting, seqKey(seq)),
		header: nats.Header{
			headerOperation: {operationPurge}, headerRollup: {rollupSubject}, headerTTL: {ttlOf(markerTTL)},
		},
		keep: true,
	}
}
