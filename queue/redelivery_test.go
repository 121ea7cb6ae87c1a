package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// shortWait is an AckWait at which a dead holder's messages come back soon.
const shortWait = 1500 * time.Millisecond

// holder is one instance that can die.
type holder struct {
	*bench
	client  *Client
	journal *Journal
	intake  *Intake
}

func (b *bench) holder() *holder {
	b.t.Helper()
	c := b.connect()
	j := b.openJournal(c)
	return &holder{bench: b, client: c, journal: j, intake: b.intakeOn(c, j, IntakeConfig{})}
}

// hold takes the next message.
func (h *holder) hold() *delivery {
	h.t.Helper()
	return h.next(h.intake).(*delivery)
}

// die ends the instance as kill -9 does: its connection is gone at once.
func (h *holder) die() { h.client.nc.Close() }

// freeze stops the instance's housekeeping, as if its process were stopped, so
// that what it holds is delivered to somebody else while it lives.
func (h *holder) freeze() { h.intake.cancel() }

// TestCrash kills the holder after each step of settling and looks at what the
// next holder is told.
func TestCrash(t *testing.T) {
	t.Parallel()
	status := uint32(0x58)
	throttle := func(d *delivery) Outcome { return throttled(d.State(), 0) }
	for name, tc := range map[string]struct {
		outcome func(*delivery) Outcome
		steps   func(*delivery, context.Context, Outcome) error // before the kill
		want    State                                           // of the next job
		final   bool                                            // no next job
		events  []EventType
	}{
		"after the pull": {
			want: State{Unexplained: true, Ends: 1},
		},
		"after the journal, throttled": {
			outcome: throttle,
			steps: func(d *delivery, ctx context.Context, o Outcome) error {
				return d.append(ctx, d.complete(&o, time.Now()), storeOptions{})
			},
			want:   State{Throttles: 1, Streak: 1, LastStatus: status},
			events: []EventType{EventThrottled},
		},
		"after the record, before the NAK": {
			outcome: throttle,
			steps: func(d *delivery, ctx context.Context, o Outcome) error {
				return errors.Join(
					d.append(ctx, d.complete(&o, time.Now()), storeOptions{}),
					d.intake.journal.storeRecord(ctx, d.record(o.State, 1, "", "throttled"), 0))
			},
			want:   State{Throttles: 1, Streak: 1, LastStatus: status},
			events: []EventType{EventThrottled},
		},
		"after the journal, submitted": {
			outcome: func(*delivery) Outcome { return submitted("AB12") },
			steps: func(d *delivery, ctx context.Context, o Outcome) error {
				return d.append(ctx, d.complete(&o, time.Now()), storeOptions{})
			},
			final:  true,
			events: []EventType{EventSubmitted},
		},
		"after the claim, before the journal": {
			outcome: func(*delivery) Outcome { return submitted("AB12") },
			steps: func(d *delivery, ctx context.Context, o Outcome) error {
				_, _, err := d.intake.journal.claimFinal(ctx, d.complete(&o, time.Now()))
				return err
			},
			final:  true,
			events: []EventType{EventSubmitted},
		},
		"before the Ack": {
			outcome: func(*delivery) Outcome { return submitted("AB12") },
			steps: func(d *delivery, ctx context.Context, o Outcome) error {
				return errors.Join(d.append(ctx, d.complete(&o, time.Now()), storeOptions{}), d.index(ctx, o.Receipts))
			},
			final:  true,
			events: []EventType{EventSubmitted},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, benchConfig{ackWait: shortWait})
			seq := b.publish(testLane, "m")[0]
			first := b.holder()
			d := first.hold()
			if tc.steps != nil {
				if err := tc.steps(d, t.Context(), tc.outcome(d)); err != nil {
					t.Fatal(err)
				}
			}
			first.die()

			second := b.holder()
			if tc.final {
				result := make(chan error, 1)
				ctx, cancel := context.WithCancel(t.Context())
				go func() { _, err := second.intake.Next(ctx); result <- err }()
				b.queueEmpty()
				cancel()
				if err := <-result; !errors.Is(err, context.Canceled) {
					t.Errorf("Next: %v; want nothing handed out", err)
				}
				if ref, ok, err := second.client.LookupReceipt(t.Context(), "acme", CanonicalID("AB12"), newest); err != nil || !ok || ref.Seq != seq {
					t.Errorf("receipt index: %+v %v %v", ref, ok, err)
				}
			} else {
				next := second.hold()
				got := next.State()
				got.NextAttemptAt = time.Time{}
				if next.Seq() != seq || next.Deliveries() != 2 || fmt.Sprint(got) != fmt.Sprint(tc.want) {
					t.Errorf("message %d delivery %d state %+v, want state %+v", next.Seq(), next.Deliveries(), got, tc.want)
				}
				b.settle(next, submitted("AB12"))
				b.queueEmpty()
				tc.events = append(slices.Clone(tc.events), EventSubmitted)
			}
			b.wantTypes(seq, tc.events...)
		})
	}
}

func TestUnexplainedEndsAreCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{ackWait: shortWait})
	seq := b.publish(testLane, "m")[0]
	first := b.holder()
	b.settle(first.hold(), throttled(State{}, 0))
	first.hold() // explained, and then
	first.die()
	for ends := 1; ends <= 3; ends++ {
		h := b.holder()
		d := h.hold()
		if s := d.State(); !s.Unexplained || s.Ends != ends || s.Throttles != 1 {
			t.Fatalf("end %d: state %+v", ends, s)
		}
		if ends < 3 {
			h.die()
			continue
		}
		s := d.State()
		s.Unexplained = false
		b.settle(d, unknown(s, 0))
		again := h.hold()
		if s := again.State(); s.Unexplained || s.Ends != 3 || s.Unknowns != 1 || !s.PossibleDuplicate {
			t.Errorf("after an answer: state %+v", s)
		}
		b.settle(again, submitted("x"))
	}
	events := b.journaled(seq)
	if want := []EventType{EventThrottled, EventUnknownOutcome, EventSubmitted}; !slices.Equal(types(events), want) {
		t.Fatalf("events %v, want %v", types(events), want)
	}
	if !events[2].PossibleDuplicate {
		t.Error("the final does not say possible_duplicate")
	}
}

func TestEarlyRedeliveryWaitsForTheRest(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "m")[0]
	h := b.holder()
	d := h.hold()
	o := throttled(d.State(), 3*time.Second)
	// The record says three seconds; the message comes back at once.
	o.State.NextAttemptAt = o.NextAttemptAt
	if err := errors.Join(
		d.append(t.Context(), d.complete(&o, time.Now()), storeOptions{}),
		h.journal.storeRecord(t.Context(), d.record(o.State, 1, "", "throttled"), 0)); err != nil {
		t.Fatal(err)
	}
	h.intake.forget(d)
	h.journal.put(nak(d.reply, 0))
	next := h.hold()
	if early := time.Until(o.NextAttemptAt); early > 0 {
		t.Errorf("handed out %v early", early)
	}
	if s := next.State(); next.Deliveries() != 3 || s.Unexplained || s.Throttles != 1 {
		t.Errorf("delivery %d, state %+v; want the third, explained", next.Deliveries(), s)
	}
	b.settle(next, submitted("x"))
	b.wantTypes(seq, EventThrottled, EventSubmitted)
}

// A clock that was set back by an hour must not make a message wait for an hour
// more.
func TestClockSetBackDoesNotProlongAWait(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for now, want := range map[time.Duration]time.Duration{
		0: time.Minute, 20 * time.Second: 40 * time.Second, -time.Hour: time.Minute, time.Hour: -59 * time.Minute,
	} {
		if left := rest(at.Add(time.Minute), at, at.Add(now)); left != want {
			t.Errorf("%v after a wait of a minute was noted %v are left, want %v", now, left, want)
		}
	}

	b := newBench(t, benchConfig{})
	b.publish(testLane, "m")
	h := b.holder()
	d := h.hold()
	o := throttled(d.State(), time.Hour+50*time.Millisecond)
	o.State.NextAttemptAt = o.NextAttemptAt
	record := d.record(o.State, 1, "", "throttled")
	record.At = o.NextAttemptAt.Add(-50 * time.Millisecond) // by the clock before it was set back
	if err := h.journal.storeRecord(t.Context(), record, 0); err != nil {
		t.Fatal(err)
	}
	h.intake.forget(d)
	h.journal.put(nak(d.reply, 0))
	next := h.hold()
	if s := next.State(); s.Unexplained || s.Throttles != 1 {
		t.Errorf("state %+v, want it explained", s)
	}
	b.settle(next, submitted("x"))
}

func TestOnlyAckWhenLate(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{ackWait: shortWait})
	seq := b.publish(testLane, "m")[0]
	h := b.holder()
	h.freeze()
	d := h.hold()
	d.mu.Lock()
	d.touched = d.touched.Add(-shortWait)
	d.mu.Unlock()
	b.settle(d, throttled(d.State(), time.Hour))
	if info := b.consumerInfo(testLane); info.NumAckPending != 1 {
		t.Fatalf("%d messages out, want 1", info.NumAckPending)
	}
	// A NAK would have parked it for an hour. It comes back with the AckWait, too
	// early, and is given back for the rest.
	second := b.holder()
	go func() { _, _ = second.intake.Next(t.Context()) }()
	b.eventually(func() error {
		if r := b.record(seq); r == nil || r.Delivery != 2 {
			return fmt.Errorf("record %+v, want one of the second delivery", r)
		}
		return nil
	})
}

func TestAStaleThrottleDoesNotDisturbTheHolder(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{ackWait: shortWait})
	seq := b.publish(testLane, "m")[0]
	first, second := b.holder(), b.holder()
	slow := first.hold()
	first.freeze()
	taken := second.hold()
	b.settle(taken, throttled(taken.State(), time.Hour))
	before := b.record(seq)
	b.settle(slow, throttled(slow.State(), 0))
	if after := b.record(seq); after.Delivery != before.Delivery || !after.At.Equal(before.At) {
		t.Errorf("the record went from %+v to %+v", before, after)
	}
	if info := b.consumerInfo(testLane); info.NumAckPending != 1 {
		t.Errorf("%d messages out or waiting, want 1", info.NumAckPending)
	}
}

func TestAdoptedDeliveryIsSettledUnderItsNumber(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{ackWait: shortWait})
	seq := b.publish(testLane, "m")[0]
	h := b.holder()
	d := h.hold()
	h.freeze()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { _, err := h.intake.Next(ctx); result <- err }()
	b.eventually(func() error { // it comes back to the one who holds it
		if n := d.Deliveries(); n != 2 {
			return fmt.Errorf("delivery %d, want 2", n)
		}
		return nil
	})
	b.settle(d, throttled(d.State(), time.Hour))
	if r := b.record(seq); r == nil || r.Delivery != 2 {
		t.Errorf("record %+v, want one of delivery 2", r)
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("Next: %v; a message was handed out twice", err)
	}
}

func TestLateResponseSettlesAWaitingMessage(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "m")[0]
	h := b.holder()
	d := h.hold()
	if _, err := d.SettleLate(t.Context(), submitted("late")); !errors.Is(err, ErrSettled) {
		t.Errorf("late before it waits: %v, want ErrSettled", err)
	}
	b.settle(d, unknown(d.State(), time.Hour))
	won, err := d.SettleLate(t.Context(), submitted("late"))
	if err != nil || !won {
		t.Fatalf("won %v, %v", won, err)
	}
	b.queueEmpty()
	b.wantTypes(seq, EventUnknownOutcome, EventSubmitted)
	b.eventually(func() error {
		if r := b.record(seq); r != nil {
			return fmt.Errorf("record %+v, want none", r)
		}
		return nil
	})
	if won, err := d.SettleLate(t.Context(), submitted("late")); err != nil || won {
		t.Errorf("late twice: won %v, %v; want an event beside the final", won, err)
	}
	b.wantTypes(seq, EventUnknownOutcome, EventSubmitted, EventDuplicateAccepted)
}

func TestLateResponseAfterTheRetry(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		outcome Outcome
		want    EventType
	}{
		"accepted twice": {submitted("retry"), EventDuplicateAccepted},
		"given up": {Outcome{
			Event: Event{Type: EventDeferred, Reason: "outcome_unknown"}, Final: true, DeferredReason: "outcome_unknown",
		}, EventLateResponse},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, benchConfig{})
			seq := b.publish(testLane, "m")[0]
			h := b.holder()
			d := h.hold()
			b.settle(d, unknown(d.State(), 0))
			b.settle(h.hold(), tc.outcome)
			won, err := d.SettleLate(t.Context(), submitted("late"))
			if err != nil || won {
				t.Fatalf("won %v, %v; want lost", won, err)
			}
			b.wantTypes(seq, EventUnknownOutcome, tc.outcome.Event.Type, tc.want)
		})
	}
}

// TestLateResponseStopsTheRetry has a late response journalled by an instance
// that dies before the Ack, while the retry is due.
func TestLateResponseStopsTheRetry(t *testing.T) {
	t.Parallel()
	for name, also := range map[string]bool{"claimed only": false, "journalled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, benchConfig{})
			seq := b.publish(testLane, "m")[0]
			first := b.holder()
			d := first.hold()
			b.settle(d, unknown(d.State(), 300*time.Millisecond))
			e := d.complete(new(submitted("late")), time.Now())
			if _, _, err := first.journal.claimFinal(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if also {
				if err := d.append(t.Context(), e, storeOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			first.die()
			second := b.holder()
			b.queueEmptyWhileWaiting(second.intake)
			b.wantTypes(seq, EventUnknownOutcome, EventSubmitted)
		})
	}
}

// queueEmptyWhileWaiting has a caller wait, and wants the queue to become empty
// without it getting a job.
func (b *bench) queueEmptyWhileWaiting(i *Intake) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	result := make(chan error, 1)
	go func() { _, err := i.Next(ctx); result <- err }()
	b.queueEmpty()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		b.t.Errorf("Next: %v; want nothing handed out", err)
	}
}

func TestDeferredKeepsEverything(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "m")[0]
	h := b.holder()
	d := h.hold()
	b.settle(d, Outcome{Event: Event{Type: EventDeferred, Reason: "attempts"}, Final: true, DeferredReason: "attempts"})
	b.queueEmpty()
	m, err := b.client.readLeader(t.Context(), "SMS_DEFERRED", readRequest{LastFor: "sms.deferred.main.attempts"})
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Data) != string(d.Raw()) {
		t.Errorf("payload %s", m.Data)
	}
	for header, want := range map[string]string{
		"Nats-Msg-Id": "1", HeaderDeliveryID: "m", HeaderDeferredReason: "attempts", HeaderOriginalSubject: "sms.mt.main.otp",
		HeaderOriginalSeq: "1", HeaderOriginalMsgID: "main:m",
	} {
		if got := m.Header.Get(header); got != want {
			t.Errorf("header %s: %q, want %q", header, got, want)
		}
	}
	var e Event
	decodeJSON(t, []byte(m.Header.Get(HeaderEvent)), &e)
	if e.Seq != seq || e.Reason != "attempts" {
		t.Errorf("event %+v", e)
	}
	b.wantTypes(seq, EventDeferred)
}
