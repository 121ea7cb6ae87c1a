package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// SettleAccepted takes the news that the SMSC has accepted a segment whose submit
// was not answered, as a receipt that echoes the submit's mark tells: ref is the
// index entry by echo, messageID the receipt's. With all segments accepted the
// message ends submitted, by the given event: its next delivery is acknowledged
// without a submit. A segment of several is noted in the record, so that only the
// others are sent again. It reports whether the message ended here: one that has
// its final, or is at work just now, is left alone.
func (j *Journal) SettleAccepted(ctx context.Context, ref ReceiptRef, messageID string, e Event) (settled bool, err error) {
	t, err := j.client.readTrail(ctx, ref.Seq, ref.ID, ref.Published)
	if err != nil {
		return false, err
	}
	e.Type, e.Seq, e.ID, e.Delivery = EventSubmitted, ref.Seq, ref.ID, ref.Delivery
	e.EventID = eventID(ref.Seq, ref.Delivery, EventSubmitted)
	if t.final != nil && t.final.EventID != e.EventID {
		return false, nil
	}
	accepted, attempts, err := j.noteAccepted(ctx, ref, messageID)
	if err != nil || len(accepted) < ref.Segments {
		return false, err
	}
	now := time.Now()
	e.Route, e.Class, e.Tenant, e.Meta, e.TraceParent = ref.Route, ref.Class, ref.Tenant, ref.Meta, ref.TraceParent
	e.Account, e.PossibleDuplicate, e.Attempt = ref.Account, ref.PossibleDuplicate, attempts+1
	e.Segments, e.SegmentsAccepted, e.QueueAgeMillis = ref.Segments, ref.Segments, now.Sub(ref.Published).Milliseconds()
	e.MessageIDs = nil
	for _, s := range accepted {
		e.MessageIDs = append(e.MessageIDs, s.MessageID)
	}
	e.complete(now)
	winner, _, err := j.claimFinal(ctx, &e)
	if err != nil || winner != nil {
		return false, err
	}
	again, err := j.sentAgain(ctx, &e, ref.Delivery)
	if err != nil {
		return false, err
	}
	e.PossibleDuplicate = e.PossibleDuplicate || again
	if err := j.store(ctx, &e, storeOptions{once: onceFinal(ref.Seq), published: ref.Published, doubt: true}); err != nil {
		return false, err
	}
	for _, s := range accepted {
		if s.MessageID == "" {
			continue
		}
		entry := ref
		entry.MessageID, entry.Segment, entry.Delivery, entry.PossibleDuplicate = s.MessageID, s.Part, 0, false
		key := ReceiptKey{Account: ref.Account, MessageID: s.MessageID, TTL: time.Until(ref.Expires)}
		err := j.persist(ctx, bucketStream(j.names.receipts), "the receipt index", func(ctx context.Context) error {
			return j.storeReceipt(ctx, key, entry)
		})
		if err != nil {
			return false, err
		}
	}
	j.put(j.deleteRecord(ref.Seq)) // the journal explains the next delivery
	return true, nil
}

// noteAccepted adds a segment to those that the record of the message says were
// accepted, and returns them all. While the message is at work nothing is added:
// then fewer than all are returned.
func (j *Journal) noteAccepted(ctx context.Context, ref ReceiptRef, messageID string) (accepted []Segment, attempts int, err error) {
	c, part := j.client, Segment{Part: max(ref.Segment, 1), MessageID: messageID}
	for range recordConflicts {
		record, revision, err := c.readRecord(ctx, ref.Seq)
		if err != nil {
			return nil, 0, err
		}
		if record != nil {
			accepted, attempts = slices.Clone(record.State.Accepted), record.State.Attempts
		}
		if !slices.ContainsFunc(accepted, func(s Segment) bool { return s.Part == part.Part }) {
			accepted = append(accepted, part)
		}
		slices.SortFunc(accepted, func(a, b Segment) int { return a.Part - b.Part })
		switch {
		case len(accepted) >= ref.Segments:
			return accepted, attempts, nil
		case record == nil || record.Open || record.State.Segments != ref.Segments: // what ties the parts is not known
			return nil, attempts, nil
		}
		record.State.Accepted = accepted
		data, err := json.Marshal(record)
		if err != nil {
			return nil, 0, fmt.Errorf("record: %w", err)
		}
		_, err = c.replace(ctx, &nats.Msg{
			Subject: bucketSubject(j.names.waiting, seqKey(ref.Seq)),
			Header:  nats.Header{headerTTL: {ttlOf(recordTTL(record, time.Now()))}},
			Data:    data,
		}, revision)
		if !errors.Is(err, errMovedOn) {
			return accepted, attempts, err
		}
		accepted = nil
	}
	return nil, attempts, errMovedOn
}
