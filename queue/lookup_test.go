package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func (b *bench) trails(id string) []Trail {
	b.t.Helper()
	trails, err := b.client.Trails(b.t.Context(), id, time.Time{})
	if err != nil {
		b.t.Fatal(err)
	}
	return trails
}

// wantPlace checks where the only message of a delivery id is.
func (b *bench) wantPlace(id string, seq uint64, place Place, events ...EventType) Trail {
	b.t.Helper()
	trails := b.trails(id)
	if len(trails) != 1 {
		b.t.Fatalf("%s: %d trails, want 1", id, len(trails))
	}
	tr := trails[0]
	if tr.Seq != seq || tr.Place != place || tr.Route != "main" || tr.Class != "otp" || fmt.Sprint(types(tr.Events)) != fmt.Sprint(events) {
		b.t.Errorf("%s: %+v, want message %d %s with %v", id, tr, seq, place, events)
	}
	return tr
}

func TestTrailFollowsAMessageEverywhere(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "order-1")[0]
	b.wantPlace("order-1", seq, PlaceQueued)
	i := b.intake(IntakeConfig{})
	job := b.next(i)
	tr := b.wantPlace("order-1", seq, PlaceInFlight)
	if !tr.Published.Equal(job.Published()) {
		t.Errorf("published %v, want %v", tr.Published, job.Published())
	}
	b.settle(job, throttled(job.State(), 0))
	job = b.next(i)
	if tr := b.wantPlace("order-1", seq, PlaceInFlight, EventThrottled); tr.Waiting == nil || !tr.Waiting.Open {
		t.Errorf("the record of a message that was handed out again: %+v", tr.Waiting)
	}
	b.settle(job, unknown(job.State(), 300*time.Millisecond))
	if tr := b.wantPlace("order-1", seq, PlaceWaiting, EventThrottled, EventUnknownOutcome); tr.Waiting.Account != "acme" || tr.Waiting.Reason != "no_answer" {
		t.Errorf("the record of a message that waits: %+v", tr.Waiting)
	}
	job = b.next(i)
	b.settle(job, setAside("outcome_unknown"))
	tr = b.wantPlace("order-1", seq, PlaceDeferred, EventThrottled, EventUnknownOutcome, EventDeferred)
	if tr.Deferred == nil || tr.Deferred.Reason != "outcome_unknown" {
		t.Errorf("the copy: %+v", tr.Deferred)
	}
	r := b.replay(tr.Deferred, ReplayOptions{})
	b.settle(b.next(i), submitted("smsc-1"))
	err := b.journal.Append(t.Context(), Event{
		Type: EventReceipt, Seq: r.As, ID: "order-1", Route: "main", Class: "otp", Receipt: &Receipt{MessageID: "smsc-1", State: "delivered"},
	})
	if err != nil {
		t.Fatal(err)
	}
	trails := b.trails("order-1")
	if len(trails) != 2 || trails[0].Seq != seq || trails[0].Place != PlaceDone || trails[1].Seq != r.As || trails[1].ReplayOf != seq ||
		fmt.Sprint(types(trails[1].Events)) != "[submitted receipt]" || len(trails[0].Events) != 4 {
		t.Errorf("after the replay: %+v", trails)
	}
}

func TestTrailsOfOneIDStayApart(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	var seqs []uint64
	for _, payload := range []string{
		`{"v":1,"id":"same","to":"+15550100","text":"x","tenant":"t1"}`,
		`{"v":1,"id":"same","to":"+15550100","text":"x","tenant":"t2"}`,
		`{"v":1,"id":"s\u0061me","to":"+15550100","text":"x"}`,
	} {
		ack, err := b.client.js.Publish(t.Context(), "sms.mt.main.otp", []byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, ack.Sequence)
	}
	b.publish(testLane, "same-not", "notsame")
	i := b.intake(IntakeConfig{})
	b.settle(b.next(i), submitted("1"))
	b.settle(b.next(i), submitted("2"))
	trails := b.trails("same")
	if len(trails) != 3 {
		t.Fatalf("%d trails, want 3: %+v", len(trails), trails)
	}
	for n, want := range []struct {
		tenant string
		place  Place
		events int
	}{{"t1", PlaceDone, 1}, {"t2", PlaceDone, 1}, {"", PlaceQueued, 0}} {
		tr := trails[n]
		if tr.Seq != seqs[n] || tr.Tenant != want.tenant || tr.Place != want.place || len(tr.Events) != want.events {
			t.Errorf("trail %d: %+v, want %+v", n, tr, want)
		}
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	const messages = 300
	b.publishMany(testLane, messages)
	i := b.intake(IntakeConfig{})
	for n := range messages - 2 {
		job := b.next(i)
		o := submitted(fmt.Sprint(n))
		if n%50 == 7 {
			o = setAside("attempts")
		}
		b.settle(job, o)
	}
	for _, seq := range []uint64{1, 2, 8, 58, 150, 297, 298, 299, 300} {
		id, _, err := b.client.Identify(t.Context(), seq)
		if want := fmt.Sprintf("otp-%d", seq-1); err != nil || id != want {
			t.Errorf("message %d is %q, %v; want %q", seq, id, err, want)
		}
	}
	for _, seq := range []uint64{0, messages + 1, 1 << 40} {
		if id, _, err := b.client.Identify(t.Context(), seq); !errors.Is(err, ErrUnknownMessage) {
			t.Errorf("message %d is %q, %v; want ErrUnknownMessage", seq, id, err)
		}
	}
}

func TestBacklogsCountEachMessageOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{lanes: []Lane{testLane, {"main", "bulk"}}})
	i := b.intake(IntakeConfig{})
	b.publish(Lane{"main", "bulk"}, "bulk-1", "bulk-2")
	b.publish(testLane, "a", "b", "c", "d", "e")
	job := b.next(i)
	b.settle(job, throttled(job.State(), time.Hour))
	b.defers(i, setAside("attempts"))
	held := b.next(i)
	b.eventually(func() error {
		all, err := b.client.Backlogs(t.Context())
		if err != nil {
			return err
		}
		if len(all) != 2 || all[0].Class != "bulk" || all[0].Queued != 2 || all[0].InFlight+all[0].Waiting+all[0].Deferred != 0 || all[0].OldestMillis == 0 {
			return fmt.Errorf("bulk: %+v", all)
		}
		// What the intake has pulled and not handed out counts as in flight.
		if o := all[1]; o.Waiting != 1 || o.Deferred != 1 || o.InFlight < 1 || o.Queued+o.InFlight != 3 || o.Orphan {
			return fmt.Errorf("otp: %+v", o)
		}
		return nil
	})
	b.settle(held, submitted("x"))
}

// A trail is read from its bucket alone, and a sequence from the time of its publish on, however long the journal is.
func TestLookupsReadLittleOfALongJournal(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	const messages = 20_000
	var bucket int
	for n := 1; n <= messages; n++ {
		id := fmt.Sprintf("order-%d", n)
		if Bucket(id) == Bucket("order-7") {
			bucket++
		}
		e := Event{Type: EventSubmitted, Seq: uint64(n), ID: id, Route: "main", Class: "otp", Delivery: 1}
		e.complete(time.Now())
		data, err := json.Marshal(e)
		if err == nil {
			_, err = b.client.js.PublishAsync(e.Subject("sms"), data, jetstream.WithStallWait(patience))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	<-b.client.js.PublishAsyncComplete()
	stream, err := b.client.js.Stream(t.Context(), "SMS_MT")
	if err == nil {
		err = stream.Purge(t.Context(), jetstream.WithPurgeSequence(messages+1))
	}
	if err != nil {
		t.Fatal(err)
	}
	c := b.connect()
	received := func() uint64 { return c.nc.Stats().InMsgs }
	before := received()
	trails, err := c.Trails(t.Context(), "order-7", time.Time{})
	if err != nil || len(trails) != 1 || len(trails[0].Events) != 1 {
		t.Fatalf("%+v, %v", trails, err)
	}
	if got := received() - before; got > uint64(bucket)+20 {
		t.Errorf("%d messages were received for a bucket of %d", got, bucket)
	}
	for _, seq := range []uint64{7, messages / 2, messages} {
		before = received()
		if id, _, err := c.Identify(t.Context(), seq); err != nil || id != fmt.Sprintf("order-%d", seq) {
			t.Errorf("message %d is %q, %v", seq, id, err)
		}
		// What the server sends ahead of the reader counts too.
		if got := received() - before; got > messages/2 {
			t.Errorf("%d of %d events were received for message %d", got, messages, seq)
		}
	}
}
