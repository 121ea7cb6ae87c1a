package queue

import (
	"errors"
	"testing"
	"time"
)

func TestSubmittedLeavesQueueJournalAndIndex(t *testing.T) {
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "order-1")[0]
	job := b.next(b.intake(IntakeConfig{}))
	if job.Seq() != seq || job.ID() != "order-1" || job.Route() != "main" || job.Class() != "otp" || job.Deliveries() != 1 {
		t.Fatalf("job %d %q %s/%s delivery %d", job.Seq(), job.ID(), job.Route(), job.Class(), job.Deliveries())
	}
	m, err := job.Message()
	if err != nil || m.To != "+15550100" || !m.Receipt {
		t.Fatalf("message %+v, %v", m, err)
	}
	b.settle(job, submitted("00AB12"))

	b.queueEmpty()
	events := b.journaled(seq)
	if len(events) != 1 {
		t.Fatalf("%d events, want 1", len(events))
	}
	e := events[0]
	if e.Type != EventSubmitted || e.ID != "order-1" || e.EventID != "1.1.submitted" || e.Delivery != 1 || e.Deadline.IsZero() {
		t.Errorf("event %+v", e)
	}
	ref, ok, err := b.client.LookupReceipt(t.Context(), "acme", CanonicalID("ab12"), newest)
	if err != nil || !ok || ref.Seq != seq || ref.ID != "order-1" || ref.MessageID != "00AB12" {
		t.Errorf("receipt index: %+v %v %v", ref, ok, err)
	}
	if err := job.Settle(t.Context(), submitted("x")); !errors.Is(err, ErrSettled) {
		t.Errorf("second settle: %v, want ErrSettled", err)
	}
	if err := job.Release(t.Context(), time.Time{}); !errors.Is(err, ErrSettled) {
		t.Errorf("release after settle: %v, want ErrSettled", err)
	}
}

func TestThrottleComesBackWithItsState(t *testing.T) {
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "a")[0]
	intake := b.intake(IntakeConfig{})
	first := b.next(intake)
	o := throttled(first.State(), 300*time.Millisecond)
	b.settle(first, o)
	if r := b.record(seq); r == nil || r.Delivery != 1 || r.State.Throttles != 1 || r.Reason != "throttled" {
		t.Fatalf("record %+v", r)
	}
	var waiting []Waiting
	for w, err := range b.client.Waiting(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		waiting = append(waiting, w)
	}
	if len(waiting) != 1 || waiting[0].Seq != seq || waiting[0].ID != "a" || waiting[0].State.LastStatus != 0x58 {
		t.Errorf("waiting %+v", waiting)
	}

	second := b.next(intake)
	if now := time.Now(); now.Before(o.NextAttemptAt) {
		t.Errorf("came back %v early", o.NextAttemptAt.Sub(now))
	}
	s := second.State()
	if second.Deliveries() != 2 || s.Throttles != 1 || s.Streak != 1 || s.Unexplained || s.Ends != 0 || s.Attempts != 0 {
		t.Fatalf("second delivery %d, state %+v", second.Deliveries(), s)
	}
	for w, err := range b.client.Waiting(t.Context()) {
		t.Errorf("%+v %v waits; want none, since the message is at work", w, err)
	}
	b.settle(second, submitted("1"))
	b.queueEmpty()
	b.wantTypes(seq, EventThrottled, EventSubmitted)
	b.eventually(func() error {
		if b.record(seq) != nil {
			return errors.New("the record outlives the final")
		}
		return nil
	})
}
