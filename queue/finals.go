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

// onceFinal is the Nats-Msg-Id of a message's final.
func onceFinal(seq uint64) string {
	return string(append(strconv.AppendUint(make([]byte, 0, 32), seq, 10), ".final"...))
}

// claimFinal creates the key that decides which final a message has, with the
// event as its value. It returns nil when e is the one, and the other otherwise;
// fresh says that the key was created just now, so that e is not stored yet.
func (j *Journal) claimFinal(ctx context.Context, e *Event) (winner *Event, fresh bool, err error) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil, false, fmt.Errorf("event %s: %w", e.Type, err)
	}
	err = j.persist(ctx, bucketStream(j.names.final), "the claim of the final", func(ctx context.Context) error {
		err := j.write(ctx, write{
			stream:  bucketStream(j.names.final),
			subject: bucketSubject(j.names.final, seqKey(e.Seq)),
			header:  nats.Header{headerExpected: {"0"}},
			data:    data,
		})
		if isFull(err) { // this one waits: nobody else may end the message meanwhile
			j.noteFull(bucketStream(j.names.final), "finals on a doubtful path wait for room")
			return errors.Join(err, j.dropOldClaims(ctx, time.Now().Add(-j.claimKept)))
		}
		if !refusedAs(err, codeWrongLastSeq) {
			fresh = err == nil
			return err
		}
		winner, err = j.readFinal(ctx, e.Seq)
		if err == nil && winner == nil {
			return errUnconfirmed // it went just now; claim again
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if winner != nil && winner.EventID == e.EventID {
		winner = nil // nobody else won
	}
	return winner, fresh, nil
}

// claimKept is how long a claim is kept where there is no room for others: longer than anybody else may hold the message.
const claimKept = 5 * time.Minute

// dropOldClaims takes the older half of the claims out of their bucket, unless some of them are younger than a time.
func (j *Journal) dropOldClaims(ctx context.Context, before time.Time) error {
	bucket := j.names.final
	s, err := j.client.js.Stream(ctx, bucketStream(bucket))
	if err != nil {
		return fmt.Errorf("making room for claims: %w", err)
	}
	state := s.CachedInfo().State
	middle, err := j.client.readLeader(ctx, bucketStream(bucket),
		readRequest{Seq: state.FirstSeq + (state.LastSeq-state.FirstSeq)/2, NextFor: bucketSubject(bucket, ">")})
	if err != nil {
		return fmt.Errorf("making room for claims: %w", err)
	}
	if middle.Time.After(before) {
		return nil
	}
	if err := s.Purge(ctx, jetstream.WithPurgeSequence(middle.Seq)); err != nil {
		return fmt.Errorf("making room for claims: %w", err)
	}
	return nil
}

// finalOf returns the final that was claimed for a message, nil without one.
func (j *Journal) finalOf(ctx context.Context, seq uint64) (final *Event, err error) {
	err = j.persist(ctx, "", "reading the final", func(ctx context.Context) (err error) {
		final, err = j.readFinal(ctx, seq)
		return err
	})
	return final, err
}

// sentAgain reports whether a message may have been submitted after the delivery,
// of that number now, that the event ends: a later one has it just now, had no answer, or has got a
// part accepted. That is to be asked once the final is claimed. Whoever gets the
// message opens its record and then looks for the claim, so that one of the two
// sees the other.
func (j *Journal) sentAgain(ctx context.Context, e *Event, delivery int) (again bool, err error) {
	err = j.persist(ctx, "", "reading the record", func(ctx context.Context) error {
		record, _, err := j.client.readRecord(ctx, e.Seq)
		again = err == nil && record != nil && record.Delivery > delivery && (record.Open || record.State.SentBeside(e))
		return err
	})
	return again, err
}

// storeFinal stores a final that may have been stored, and returns the one that
// the journal has.
func (j *Journal) storeFinal(ctx context.Context, e *Event, published time.Time) (*Event, error) {
	err := j.store(ctx, e, storeOptions{doubt: true, published: published})
	if other, ok := errors.AsType[*otherFinalError](err); ok {
		return other.final, nil
	}
	return e, err
}

func (j *Journal) readFinal(ctx context.Context, seq uint64) (*Event, error) {
	m, err := j.client.readLeader(ctx, bucketStream(j.names.final),
		readRequest{LastFor: bucketSubject(j.names.final, seqKey(seq))})
	if errors.Is(err, errNoMessage) {
		return nil, nil //nolint:nilnil // nil: there is none
	}
	if err != nil {
		return nil, err
	}
	e := new(Event)
	if err := json.Unmarshal(m.Data, e); err != nil {
		return nil, fmt.Errorf("the final of message %d: %w", seq, err)
	}
	return e, nil
}

// Waits between two tries of a step.
const (
	persistFirst = 50 * time.Millisecond
	persistMost  = 2 * time.Second
)

// persist repeats a step that writes to a stream until it succeeds, ctx ends, or
// it can never succeed. The name of the stream is empty for a step that reads.
func (j *Journal) persist(ctx context.Context, stream, what string, step func(context.Context) error) error {
	for wait := persistFirst; ; wait = min(2*wait, persistMost) {
		err := j.attempt(ctx, stream, step)
		switch {
		case err == nil, errors.Is(err, errSuperseded):
			return err
		case errors.Is(err, errTooLarge), errors.Is(err, ErrClosed), ctx.Err() != nil:
			return fmt.Errorf("%w: %s: %w", ErrNotStored, what, err)
		}
		j.client.logger.Warn("a step of settling is tried again", "step", what, "error", err)
		j.pause(ctx, stream, wait)
	}
}
