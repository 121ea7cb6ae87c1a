package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestIDsThatShareAKey has ids that differ in case and zeros alone, and one that
// is used again: all are found, newest first, but no more than a few.
func TestIDsThatShareAKey(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{})
	ids := []string{"A77", "a77", "0a77", "A77", "00A77"}
	for n, id := range ids {
		b.publish(testLane, fmt.Sprint(n))
		b.settle(b.next(i), submitted(id))
	}
	for name, c := range map[string]*Client{"cached": b.client, "read": b.connect()} {
		var found []string
		_, ok, err := c.LookupReceipt(t.Context(), "acme", "a77", func(refs []ReceiptRef, _ bool) (ReceiptRef, bool) {
			found = nil
			for _, ref := range refs {
				found = append(found, ref.ID+" "+ref.MessageID)
			}
			return newest(refs, false)
		})
		if want := []string{"4 00A77", "3 A77", "2 0a77", "1 a77"}; err != nil || !ok || !slices.Equal(found, want) {
			t.Errorf("%s: %q, %v; want %q", name, found, err, want)
		}
	}
	// One that is finished goes before the others.
	second := func(refs []ReceiptRef, _ bool) (ReceiptRef, bool) { return refs[1], true }
	ref, _, err := b.client.LookupReceipt(t.Context(), "acme", "a77", second)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.client.FinishReceipt(t.Context(), "acme", "a77", ref); err != nil {
		t.Fatal(err)
	}
	again, _, err := b.client.LookupReceipt(t.Context(), "acme", "a77", second)
	first, _, _ := b.client.LookupReceipt(t.Context(), "acme", "a77", newest)
	if err != nil || again.Seq != ref.Seq || time.Until(again.Expires) > receiptFinalTTL || time.Until(first.Expires) <= receiptFinalTTL {
		t.Errorf("finished: %+v until %v; the other until %v", again, again.Expires, first.Expires)
	}
}

// An entry that this version cannot read, as of another one, stops neither a message that was accepted nor a receipt.
func TestAnUnreadableEntryStopsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{})
	kv, err := b.client.js.KeyValue(t.Context(), b.client.names.Load().receipts)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"77", "78"} {
		if _, err := kv.Put(t.Context(), receiptKey("acme", id), []byte(`{"seq":"another form"}`)); err != nil {
			t.Fatal(err)
		}
	}
	b.publish(testLane, "a")
	job := b.next(i)
	b.settle(job, submitted("77"))
	ref, ok, err := b.connect().LookupReceipt(t.Context(), "acme", "77", newest)
	if err != nil || !ok || ref.Seq != job.Seq() {
		t.Errorf("%+v, %v, %v; want message %d", ref, ok, err, job.Seq())
	}
	if ref, ok, err := b.client.LookupReceipt(t.Context(), "acme", "78", newest); err != nil || ok {
		t.Errorf("a receipt: %+v, %v, %v; want no match", ref, ok, err)
	}
}

func TestEntriesExpireOneByOne(t *testing.T) {
	now := time.Now()
	entry := receiptEntry{
		ReceiptRef: ReceiptRef{Seq: 2, MessageID: "77", Expires: now.Add(-time.Second)},
		Others:     []ReceiptRef{{Seq: 1, MessageID: "077", Expires: now.Add(time.Hour)}},
	}
	if live := entry.live(now); len(live) != 1 || live[0].Seq != 1 || entry.ttl(now) != "1h0m0s" {
		t.Errorf("live %+v for %s, want message 1 for an hour", live, entry.ttl(now))
	}
	if next := entry.with(ReceiptRef{Seq: 1, MessageID: "077"}, now); next.Seq != 1 || len(next.Others) != 0 {
		t.Errorf("stored again: %+v, want one entry", next)
	}
}

// TestReceiptsOfOneMessageFoldAcrossInstances has many receipts of one message at
// once, on two connections: none is lost.
func TestReceiptsOfOneMessageFoldAcrossInstances(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	clients := []*Client{b.client, b.connect()}
	ref := ReceiptRef{Seq: 7, Account: "acme", Expires: time.Now().Add(time.Hour)}
	const segments = 8
	var folding sync.WaitGroup
	for n := range segments {
		folding.Go(func() {
			err := clients[n%2].FoldReceipt(t.Context(), ref, func(s *ReceiptState) (changed, final bool) {
				s.Segments = append(s.Segments, SegmentReceipts{Segment: n + 1, State: "delivered", Said: map[string]uint64{"delivered": 1}})
				return true, len(s.Segments) == segments
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	folding.Wait()
	var got []int
	err := b.client.FoldReceipt(t.Context(), ref, func(s *ReceiptState) (changed, final bool) {
		got = nil
		for _, have := range s.Segments {
			got = append(got, have.Segment)
		}
		return len(s.Segments) == 0, false // the first try knows nothing
	})
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("segments %v, %v", got, err)
	}
	m, err := b.client.readLeader(t.Context(), "KV_sluice_receipts", readRequest{LastFor: bucketSubject("sluice_receipts", stateKey("acme", 7))})
	if err != nil || m.Header.Get(headerTTL) != "10m0s" {
		t.Errorf("kept as %+v, %v; want 10m after the final one", m, err)
	}
}

// echoed is an unknown outcome with index entries by echo for the parts given.
func echoed(s State, delay time.Duration, segments int, parts ...int) Outcome {
	o := unknown(s, delay)
	for _, part := range parts {
		o.Receipts = append(o.Receipts, ReceiptKey{
			Account: "acme", Echo: fmt.Sprint("mark.", part), Segment: part, Segments: segments, TTL: time.Hour,
		})
	}
	return o
}

func (b *bench) echo(part int) ReceiptRef {
	b.t.Helper()
	ref, ok, err := b.client.LookupEcho(b.t.Context(), "acme", fmt.Sprint("mark.", part), newest)
	if err != nil || !ok {
		b.t.Fatalf("no entry for part %d: %v", part, err)
	}
	return ref
}

// emptiesUnasked waits until the queue is empty while somebody asks for messages,
// and gets none.
func (b *bench) emptiesUnasked(i *Intake) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if job, err := i.Next(ctx); err == nil {
			b.t.Errorf("message %d was handed out", job.Seq())
		}
	}()
	b.queueEmpty()
	cancel()
	<-asked
}

// TestAReceiptSettlesAnUnknownOutcome has the receipt come while the message
// waits: it ends submitted, once, and its redelivery is acknowledged.
func TestAReceiptSettlesAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "a")[0]
	intake := b.intake(IntakeConfig{})
	job := b.next(intake)
	b.settle(job, echoed(job.State(), 500*time.Millisecond, 1, 1))
	for n := range 2 { // the receipt's record may come twice
		settled, err := b.journal.SettleAccepted(t.Context(), b.echo(1), "AB77", Event{Reason: "receipt", Bind: "acme/1"})
		if err != nil || !settled && n == 0 {
			t.Fatalf("settled %t, %v", settled, err)
		}
	}
	b.emptiesUnasked(intake)
	b.wantTypes(seq, EventUnknownOutcome, EventSubmitted)
	e := b.journaled(seq)[1]
	if e.EventID != fmt.Sprintf("%d.1.submitted", seq) || e.PossibleDuplicate || !slices.Equal(e.MessageIDs, []string{"AB77"}) || e.Reason != "receipt" || e.Route != testLane.Route {
		t.Errorf("%+v", e)
	}
	if ref, ok, err := b.connect().LookupReceipt(t.Context(), "acme", CanonicalID("AB77"), newest); err != nil || !ok || ref.Seq != seq {
		t.Errorf("the id is not indexed: %+v %t %v", ref, ok, err)
	}
}

// TestAReceiptDuringTheResendSaysSo has the receipt come while the message is sent
// again: it may be double, whether or not the SMSC answers this time.
func TestAReceiptDuringTheResendSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "a")[0]
	intake := b.intake(IntakeConfig{})
	job := b.next(intake)
	b.settle(job, echoed(job.State(), 0, 1, 1))
	b.next(intake)
	if settled, err := b.journal.SettleAccepted(t.Context(), b.echo(1), "AB77", Event{Reason: "receipt"}); err != nil || !settled {
		t.Fatalf("settled %t, %v", settled, err)
	}
	if e := b.journaled(seq)[1]; e.Type != EventSubmitted || !e.PossibleDuplicate {
		t.Errorf("%s, possible duplicate %t; want submitted, true", e.Type, e.PossibleDuplicate)
	}
}

// TestAReceiptSettlesNothingTwice has a message that ended before its receipt.
func TestAReceiptSettlesNothingTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "a")[0]
	job := b.next(b.intake(IntakeConfig{}))
	o := echoed(job.State(), 0, 1, 1)
	o.Event.Type, o.Event.Reason, o.Final, o.DeferredReason, o.NextAttemptAt = EventDeferred, "outcome_unknown", true, "outcome_unknown", time.Time{}
	b.settle(job, o)
	if settled, err := b.journal.SettleAccepted(t.Context(), b.echo(1), "AB77", Event{}); err != nil || settled {
		t.Errorf("settled %t, %v; want neither", settled, err)
	}
	b.wantTypes(seq, EventDeferred)
}

// TestReceiptsOfSegmentsAmendTheRecord has a message of three parts of which two
// got no answer: each receipt takes one off what is sent again, and the last ends
// the message.
func TestReceiptsOfSegmentsAmendTheRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "a")[0]
	intake := b.intake(IntakeConfig{})
	job := b.next(intake)
	s := job.State()
	s.Accepted, s.Segments = []Segment{{2, "id-2"}}, 3
	b.settle(job, echoed(s, time.Second, 3, 1, 3))
	if settled, err := b.journal.SettleAccepted(t.Context(), b.echo(3), "id-3", Event{}); err != nil || settled {
		t.Fatalf("two of three parts: settled %t, %v", settled, err)
	}
	if r := b.record(seq); r == nil || !slices.Equal(r.State.Accepted, []Segment{{2, "id-2"}, {3, "id-3"}}) || r.Delivery != 1 {
		t.Errorf("the record %+v", r)
	}
	again := b.next(intake)
	if got := again.State().Accepted; len(got) != 2 || again.Seq() != seq {
		t.Errorf("delivered again with %v, want two accepted parts", got)
	}
	// It is at work: its holder knows nothing of a record that changes now.
	if settled, err := b.journal.SettleAccepted(t.Context(), ReceiptRef{
		Seq: seq, ID: "a", Account: "acme", Segment: 4, Segments: 5, Published: again.Published(), Delivery: 1,
	}, "id-4", Event{}); err != nil || settled {
		t.Errorf("at work: settled %t, %v", settled, err)
	}
	if r := b.record(seq); r == nil || !r.Open || len(r.State.Accepted) != 2 {
		t.Errorf("the record of a message at work was changed: %+v", r)
	}
	b.settle(again, echoed(again.State(), 300*time.Millisecond, 3, 1))
	if settled, err := b.journal.SettleAccepted(t.Context(), b.echo(1), "id-1", Event{}); err != nil || !settled {
		t.Fatalf("all parts: settled %t, %v", settled, err)
	}
	events := b.journaled(seq)
	if e := events[len(events)-1]; e.Type != EventSubmitted || strings.Join(e.MessageIDs, " ") != "id-1 id-2 id-3" || e.SegmentsAccepted != 3 {
		t.Errorf("ended as %+v", e)
	}
	b.emptiesUnasked(intake)
}

// Segments that the SMSC gave one id share one entry, however many they are.
func TestSegmentsOfOneIDShareAnEntry(t *testing.T) {
	now := time.Now()
	entry := receiptEntry{ReceiptRef: ReceiptRef{Seq: 1, MessageID: "p3", Segment: 1}}
	for n := 2; n <= 9; n++ {
		entry = entry.with(ReceiptRef{Seq: 1, MessageID: "p3", Segment: n}, now)
	}
	entry = entry.with(ReceiptRef{Seq: 1, MessageID: "p3", Segment: 4}, now) // stored again
	entry = entry.with(ReceiptRef{Seq: 2, MessageID: "p3", Segment: 1}, now)
	live := entry.live(now)
	if len(live) != 2 || live[0].Seq != 2 || fmt.Sprint(live[1].Sharing()) != "[1 2 3 4 5 6 7 8 9]" || live[1].Segment != 4 {
		t.Errorf("%+v; want message 2, and message 1 with 9 segments", live)
	}
}

func TestReceiptTimes(t *testing.T) {
	at := time.Date(2026, 11, 30, 21, 41, 0, 0, time.FixedZone("", 3*3600))
	for want, had := range map[string]ReceiptTime{
		`"2026-11-30T18:41:00Z"`: {at, true}, `"2026-11-30T21:41:00"`: {at, false},
	} {
		data, err := json.Marshal(had)
		if err != nil || string(data) != want {
			t.Errorf("%s, %v; want %s", data, err, want)
		}
		var back ReceiptTime
		if err := json.Unmarshal(data, &back); err != nil || back.Zoned != had.Zoned || back.Minute() != 41 {
			t.Errorf("%s was read as %+v, %v", data, back, err)
		}
	}
	var none ReceiptTime
	if err := json.Unmarshal([]byte(`"soon"`), &none); err == nil {
		t.Error("a word was read as a time")
	}
}
