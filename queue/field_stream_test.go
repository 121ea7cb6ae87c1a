package queue

import (
	"testing"
	"time"
)

// A stream that somebody purged while messages waited: they were removed, and no record passes for one that waits.
func TestG50StreamPurged(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "order-1")[0]
	job := b.next(b.intake(IntakeConfig{}))
	b.settle(job, throttled(job.State(), time.Hour))
	b.wantPlace("order-1", seq, PlaceWaiting, EventThrottled)
	stream, err := b.client.js.Stream(t.Context(), "SMS_MT")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.wantPlace("order-1", seq, PlaceRemoved, EventThrottled)
	for w, err := range b.client.Waiting(t.Context()) {
		t.Errorf("message %d waits (%v), and is gone", w.Seq, err)
	}
}

// One message that somebody deleted is called so, and not one that the journal has forgotten.
func TestG51MessageDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seqs := b.publish(testLane, "order-1", "order-2")
	i := b.intake(IntakeConfig{})
	job := b.next(i)
	b.settle(job, throttled(job.State(), time.Hour))
	stream, err := b.client.js.Stream(t.Context(), "SMS_MT")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), seqs[0]); err != nil {
		t.Fatal(err)
	}
	b.wantPlace("order-1", seqs[0], PlaceRemoved, EventThrottled)
	job = b.next(i)
	for n, want := range []bool{false, true} {
		if in, err := b.client.InStream(t.Context(), seqs[n]); err != nil || in != want {
			t.Errorf("message %d is in the stream: %v (%v), want %v", seqs[n], in, err, want)
		}
	}
	b.settle(job, submitted("smsc-1"))
	b.wantPlace("order-2", seqs[1], PlaceDone, EventSubmitted)
}

// A consumer that somebody paused is shown.
func TestG52ConsumerPaused(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	until := time.Now().Add(time.Hour)
	if _, err := b.client.js.PauseConsumer(t.Context(), "SMS_MT", durable(testLane), until); err != nil {
		t.Fatal(err)
	}
	stats, err := b.client.LaneStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range stats {
		if paused := l.Lane == testLane; paused != l.Paused.Equal(until) || !paused && !l.Paused.IsZero() {
			t.Errorf("%v is paused until %v", l.Lane, l.Paused)
		}
	}
}
