package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// asked is what a gateway answers: it notes the mark and says what it holds.
func (h *holder) asked(seq uint64) func(context.Context) (bool, error) {
	return func(context.Context) (bool, error) {
		h.client.NoteCancel(seq)
		return h.intake.Holds(seq), nil
	}
}

func (b *bench) cancel(seq uint64, id string, ask func(context.Context) (bool, error)) Cancelling {
	b.t.Helper()
	r, err := b.client.Cancel(b.t.Context(), b.journal, seq, id, ask)
	if err != nil {
		b.t.Fatalf("cancelling message %d: %v", seq, err)
	}
	return r
}

// cancelledOutcome is what a gateway settles a cancelled message with.
func cancelledOutcome(s State) Outcome {
	return Outcome{Event: Event{Type: EventCancelled, Reason: "cancelled", Account: "acme"}, State: s, Final: true}
}

// nothingPending waits until the consumer owes no acknowledgement.
func (b *bench) nothingPending() {
	b.t.Helper()
	b.eventually(func() error {
		if info := b.consumerInfo(testLane); info.NumAckPending != 0 || info.NumPending != 0 {
			return fmt.Errorf("%d unacknowledged, %d pending", info.NumAckPending, info.NumPending)
		}
		return nil
	})
}

func TestCancelWhatIsQueued(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seqs := b.publish(testLane, "a", "b")
	r := b.cancel(seqs[0], "", nil) // no gateway runs
	if r.Result != CancelDone || r.ID != "a" || r.Final == nil || r.Final.ID != "a" || r.Final.Route != "main" || r.Final.Deadline.IsZero() {
		t.Errorf("%+v", r)
	}
	b.wantTypes(seqs[0], EventCancelled)
	if again := b.cancel(seqs[0], "a", nil); again.Result != CancelDone {
		t.Errorf("again: %+v", again)
	}
	b.wantTypes(seqs[0], EventCancelled)
	i := b.intake(IntakeConfig{})
	job := b.next(i)
	if job.Seq() != seqs[1] || job.Cancelled() {
		t.Errorf("message %d, cancelled %v", job.Seq(), job.Cancelled())
	}
	b.settle(job, submitted("x"))
	b.queueEmpty()
	b.nothingPending()
	if late := b.cancel(seqs[1], "b", nil); late.Result != CancelTooLate || late.Final.Type != EventSubmitted {
		t.Errorf("too late: %+v", late)
	}
	if none := b.cancel(99, "zz", nil); none.Result != CancelNotFound {
		t.Errorf("unknown: %+v", none)
	}
}

func TestCancelWhatWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "a")[0]
	h := b.holder()
	job := h.hold()
	o := throttled(job.State(), time.Hour)
	o.State.Accepted = []Segment{{Part: 1, MessageID: "p1"}}
	b.settle(job, o)
	r := b.cancel(seq, "a", h.asked(seq))
	if r.Result != CancelDone || r.Final.Throttles != 1 || r.Final.Account != "acme" || r.Final.SegmentsAccepted != 1 {
		t.Errorf("%+v", r)
	}
	b.wantTypes(seq, EventThrottled, EventCancelled)
	b.queueEmpty()
	b.nothingPending()
	b.eventually(func() error {
		if r := b.record(seq); r != nil {
			return fmt.Errorf("record %+v", r)
		}
		return nil
	})
	// Its answer comes after all: there was one final already.
	if won, err := job.SettleLate(t.Context(), submitted("late")); err != nil || won {
		t.Errorf("late: %v, %v", won, err)
	}
	b.wantTypes(seq, EventThrottled, EventCancelled, EventLateResponse)
}

func TestCancelWhatIsInFlight(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seqs := b.publish(testLane, "a", "b")
	h := b.holder()
	first, second := h.hold(), h.hold()
	if r := b.cancel(seqs[0], "a", h.asked(seqs[0])); r.Result != CancelInFlight || r.Final != nil {
		t.Errorf("%+v", r)
	}
	if !first.Cancelled() || second.Cancelled() {
		t.Errorf("cancelled: %v and %v, want the first", first.Cancelled(), second.Cancelled())
	}
	// It was accepted in spite of that.
	b.settle(first, submitted("x"))
	b.wantTypes(seqs[0], EventSubmitted)
	if r := b.cancel(seqs[0], "a", h.asked(seqs[0])); r.Result != CancelTooLate {
		t.Errorf("%+v", r)
	}
	// A gateway that died with it is asked in vain.
	h.die()
	if r := b.cancel(seqs[1], "b", nil); r.Result != CancelInFlight {
		t.Errorf("%+v", r)
	}
	b.wantTypes(seqs[1])
}

// The holder ends the message while the caller waits for that.
func TestCancelIsEndedByTheHolder(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "a")[0]
	h := b.holder()
	job := h.hold()
	ended := make(chan error, 1)
	ask := h.asked(seq)
	r := b.cancel(seq, "a", func(ctx context.Context) (bool, error) {
		held, err := ask(ctx)
		if job.Cancelled() && len(ended) == 0 {
			ended <- job.Settle(t.Context(), cancelledOutcome(job.State()))
		}
		return held, err
	})
	if err := <-ended; err != nil || r.Result != CancelDone {
		t.Errorf("%+v, %v", r, err)
	}
	b.wantTypes(seq, EventCancelled)
	b.queueEmpty()
}

// Whoever cancels may die between the claim and the rest: the next one, or the
// next gateway that gets the message, goes on.
func TestCancelAfterACrash(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]bool{"after the claim": false, "after the event": true} {
		for _, by := range []string{"a person", "a gateway"} {
			t.Run(name+", by "+by, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, benchConfig{})
				seq := b.publish(testLane, "a")[0]
				if err := b.client.markCancelled(t.Context(), seq, time.Time{}); err != nil {
					t.Fatal(err)
				}
				e := Event{Type: EventCancelled, Seq: seq, ID: "a", Route: "main", Class: "otp", EventID: "1.0.cancelled"}
				e.complete(time.Now())
				if winner, _, err := b.journal.claimFinal(t.Context(), &e); err != nil || winner != nil {
					t.Fatal(winner, err)
				}
				if stored {
					if err := b.journal.store(t.Context(), &e, storeOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				if by == "a person" {
					if r := b.cancel(seq, "a", nil); r.Result != CancelDone {
						t.Errorf("%+v", r)
					}
				} else {
					h := b.holder()
					if err := h.client.WatchCancels(t.Context()); err != nil {
						t.Fatal(err)
					}
					job := h.hold()
					if !job.Cancelled() {
						t.Fatal("the mark is not known")
					}
					b.settle(job, cancelledOutcome(job.State()))
				}
				b.queueEmpty()
				b.nothingPending()
				b.wantTypes(seq, EventCancelled)
			})
		}
	}
}

// What is cancelled while a gateway sends it has one final, whoever is first, and
// what is reported as cancelled was not sent.
func TestCancelRacesWithSubmits(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	const messages = 150
	b.publishMany(testLane, messages)
	h := b.holder()
	if err := h.client.WatchCancels(t.Context()); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	sent := map[uint64]bool{}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var workers, cancelling sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for {
				job, err := h.intake.Next(ctx)
				if err != nil {
					return
				}
				o := cancelledOutcome(job.State())
				if !job.Cancelled() {
					mu.Lock()
					sent[job.Seq()] = true
					mu.Unlock()
					o = submitted(fmt.Sprint(job.Seq()))
					if job.Seq()%3 == 0 && job.Deliveries() == 1 {
						o = throttled(job.State(), 0)
						mu.Lock()
						delete(sent, job.Seq())
						mu.Unlock()
					}
				}
				if !o.Final && job.Cancelled() {
					o = cancelledOutcome(job.State())
				}
				if err := job.Settle(t.Context(), o); err != nil {
					t.Error(err)
				}
			}
		})
	}
	results := make([]CancelResult, messages+1)
	for n := range 3 {
		c := b.connect()
		j := b.openJournal(c)
		cancelling.Go(func() {
			for seq := uint64(messages - n); seq >= 1 && seq <= messages; seq -= 3 { // against the others
				r, err := c.Cancel(t.Context(), j, seq, fmt.Sprintf("otp-%d", seq-1), h.asked(seq))
				if err != nil {
					t.Errorf("message %d: %v", seq, err)
				}
				mu.Lock()
				results[seq] = r.Result
				mu.Unlock()
			}
		})
	}
	cancelling.Wait()
	b.queueEmpty()
	stop()
	workers.Wait()
	count := map[CancelResult]int{}
	for seq := uint64(1); seq <= messages; seq++ {
		count[results[seq]]++
		var final []Event
		for _, e := range b.journaled(seq) {
			if e.Type.Final() {
				final = append(final, e)
			}
		}
		if len(final) != 1 {
			t.Errorf("message %d has %d finals: %v", seq, len(final), types(final))
			continue
		}
		wasCancelled := final[0].Type == EventCancelled
		if wasCancelled && sent[seq] || results[seq] != CancelInFlight && wasCancelled != (results[seq] == CancelDone) {
			t.Errorf("message %d: final %s, answer %s, sent %v", seq, final[0].Type, results[seq], sent[seq])
		}
	}
	t.Logf("%v", count)
	b.nothingPending()
}

func TestCancelsAreWatched(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	other := b.connect()
	seqs := b.publish(testLane, "a", "b")
	if err := b.client.markCancelled(t.Context(), seqs[0], time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := other.WatchCancels(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !other.cancels.has(seqs[0]) || other.cancels.has(seqs[1]) {
		t.Error("what was marked before is not known")
	}
	if err := b.client.markCancelled(t.Context(), seqs[1], time.Time{}); err != nil {
		t.Fatal(err)
	}
	knows := func(seq uint64) func() error {
		return func() error {
			if !other.cancels.has(seq) {
				return errors.New("the mark is not known")
			}
			return nil
		}
	}
	b.eventually(knows(seqs[1]))
	b.restart()
	b.eventually(func() error { return b.client.markCancelled(t.Context(), 77, time.Time{}) })
	b.eventually(knows(77))
}

func TestCancelsForgetWhatIsOver(t *testing.T) {
	now := time.Now()
	c := cancels{noted: map[uint64]time.Time{}}
	c.note(1, now)
	c.note(2, now.Add(-2*cancelKept))
	c.replace(now.Add(time.Second), []uint64{3})
	for seq, want := range map[uint64]bool{1: true, 2: false, 3: true} {
		if c.has(seq) != want {
			t.Errorf("%d is noted: %v, want %v", seq, !want, want)
		}
	}
	c.replace(now.Add(2*cancelKept), nil)
	if c.has(1) || c.has(3) || c.count.Load() != 0 {
		t.Error("what is over is still noted")
	}
}
