package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

func expiredAt(s State, deadline, now time.Time) Outcome {
	return Outcome{
		Event: Event{
			Type: EventExpired, Reason: "past_deadline", Account: "acme", Attempt: s.Attempts, Throttles: s.Throttles,
			MissedByMillis: now.Sub(deadline).Milliseconds(),
		},
		State: s, Final: true,
	}
}

// publishFor publishes messages with a validity, 0 for none.
func (b *bench) publishFor(validity time.Duration, ids ...string) (seqs []uint64) {
	b.t.Helper()
	for _, id := range ids {
		m := testMessage(id)
		m.ExpiresIn = validity
		seq, _, err := b.client.Publish(b.t.Context(), testLane.Route, testLane.Class, m)
		if err != nil {
			b.t.Fatal(err)
		}
		seqs = append(seqs, seq)
	}
	return seqs
}

func (b *bench) sweep(s *Sweeper, now time.Time, want int) (next time.Time) {
	b.t.Helper()
	n, next, err := s.Sweep(b.t.Context(), now)
	if err != nil || n != want {
		b.t.Fatalf("swept %d messages (%v), want %d", n, err, want)
	}
	return next
}

func TestSweepEndsWhatIsPastItsDeadline(t *testing.T) {
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{})
	first := b.publishFor(time.Hour, "waiting", "held")
	waiting, held := b.next(i), b.next(i)
	s := throttled(waiting.State(), 2*time.Hour)
	s.State.Attempts = 2
	b.settle(waiting, s)
	fresh := b.publishFor(time.Hour, "never delivered")[0]
	later := b.publishFor(3*time.Hour, "later")[0]
	endless := b.publishFor(0, "endless")[0]

	sweeper := i.NewSweeper(expiredAt)
	now := time.Now()
	if next := b.sweep(sweeper, now, 0); next.After(now.Add(sweepRetry)) {
		t.Errorf("the next look is in %v, want new messages to be looked for within %v", next.Sub(now), sweepRetry)
	}
	b.sweep(sweeper, now.Add(59*time.Minute), 0)
	b.sweep(sweeper, now.Add(61*time.Minute), 2)
	b.sweep(sweeper, now.Add(62*time.Minute), 0)

	b.wantTypes(fresh, EventExpired)
	b.wantTypes(first[0], EventThrottled, EventExpired)
	e := b.journaled(first[0])[1]
	if e.Attempt != 2 || e.Throttles != 1 || e.Account != "acme" || e.ID != "waiting" || e.MissedByMillis <= 0 {
		t.Errorf("event %+v, want the state of the message, the account and by how much it was late", e)
	}
	b.eventually(func() error {
		if r := b.record(first[0]); r != nil {
			return fmt.Errorf("the record %+v is still there", r)
		}
		return nil
	})
	// What is in flight belongs to who has it.
	b.wantTypes(first[1])
	b.settle(held, submitted("m1"))
	b.wantTypes(first[1], EventSubmitted)
	b.wantTypes(later)
	b.wantTypes(endless)
	b.eventually(func() error {
		if info := b.consumerInfo(testLane); info.NumPending != 2 || info.NumAckPending != 0 {
			return fmt.Errorf("%d messages queued and %d in flight or waiting, want 2 and none", info.NumPending, info.NumAckPending)
		}
		return nil
	})
}

// A sweeper that died half-way, and another that goes on, make one event.
func TestSweepGoesOnAfterADeadSweeper(t *testing.T) {
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{})
	seqs := b.publishFor(time.Second, "claimed", "stored")
	now := time.Now().Add(time.Minute)
	for _, seq := range seqs {
		m, err := b.client.readLeader(t.Context(), "SMS_MT", readRequest{Seq: seq})
		if err != nil {
			t.Fatal(err)
		}
		d := i.sweptDelivery(i.lanes[0], m)
		e := d.complete(new(expiredAt(State{}, d.deadline(), now)), now)
		if _, fresh, err := b.journal.claimFinal(t.Context(), e); err != nil || !fresh {
			t.Fatalf("claim: fresh %v, %v", fresh, err)
		}
		if seq == seqs[1] {
			if err := b.journal.store(t.Context(), e, storeOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.sweep(i.NewSweeper(expiredAt), now, 2)
	for _, seq := range seqs {
		b.wantTypes(seq, EventExpired)
	}
	b.queueEmpty()
}

// A gateway that recovers pulls while another instance still sweeps.
func TestSweepAndPullMakeOneFinalEach(t *testing.T) {
	const n = 300
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{})
	var seqs []uint64
	for id := range n {
		seqs = append(seqs, b.publishFor(5*time.Second, fmt.Sprint(id))...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	late := func() time.Time { return time.Now().Add(6 * time.Second) } // one clock is ahead
	var working sync.WaitGroup
	for p := range 4 {
		working.Go(func() {
			for {
				job, err := i.Next(ctx)
				if errors.Is(err, ErrClosed) || ctx.Err() != nil {
					return
				}
				o := submitted(fmt.Sprint("m", job.Seq()))
				if p%2 == 0 {
					o = expiredAt(job.State(), time.Now(), late())
				}
				if err := job.Settle(ctx, o); err != nil {
					t.Error(err)
				}
			}
		})
	}
	sweeper := i.NewSweeper(expiredAt)
	for {
		_, _, err := sweeper.Sweep(ctx, late())
		if err != nil {
			t.Fatal(err)
		}
		info := b.consumerInfo(testLane)
		if info.NumPending+uint64(info.NumAckPending) == 0 {
			break
		}
	}
	if err := i.Close(ctx); err != nil {
		t.Fatal(err)
	}
	working.Wait()
	finals := map[uint64]int{}
	for e, err := range b.client.Events(ctx, EventFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type.Final() {
			finals[e.Seq]++
		}
	}
	for _, seq := range seqs {
		if finals[seq] != 1 {
			t.Errorf("message %d has %d finals, want one", seq, finals[seq])
		}
	}
	b.queueEmpty()
}

// A message that has its outcome and waits for room in the deferred stream does not expire: it ends as it has ended.
func TestSweepLeavesWhatHasItsOutcome(t *testing.T) {
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{})
	limit := func(bytes int64) {
		t.Helper()
		stream, err := b.client.js.Stream(t.Context(), "SMS_DEFERRED")
		if err != nil {
			t.Fatal(err)
		}
		cfg := stream.CachedInfo().Config
		cfg.MaxBytes = bytes
		if _, err := b.client.js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	limit(1)
	b.publishFor(time.Hour, "parked")
	b.settle(b.next(i), setAside("attempts"))
	if events := b.events(EventFilter{}); len(events) != 0 {
		t.Fatalf("%d events before there is room, want none", len(events))
	}
	sweeper := i.NewSweeper(expiredAt)
	b.sweep(sweeper, time.Now(), 0)
	b.sweep(sweeper, time.Now().Add(2*time.Hour), 0)
	if events := b.events(EventFilter{}); len(events) != 0 {
		t.Fatalf("ended %s by the sweeper", events[0].Type)
	}
	limit(1 << 20)
	b.emptiesUnasked(i) // it comes back by itself, after parkFor
	if events := b.events(EventFilter{}); len(events) != 1 || events[0].Type != EventDeferred || events[0].Reason != "attempts" {
		t.Errorf("events %+v, want deferred, attempts", events)
	}
}
