package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func (b *bench) events(f EventFilter) (events []Event) {
	b.t.Helper()
	for e, err := range b.client.Events(b.t.Context(), f) {
		if err != nil {
			b.t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func TestEventsFilter(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{lanes: []Lane{testLane, {"second", "otp"}}})
	for _, e := range []Event{
		{Seq: 1, ID: "a", Route: "main", Type: EventThrottled, Delivery: 1},
		{Seq: 1, ID: "a", Route: "main", Type: EventSubmitted, Delivery: 2},
		{Seq: 2, ID: "b", Route: "second", Type: EventSubmitted, Delivery: 1},
		{Seq: 1, ID: "a", Route: "main", Type: EventReceipt},
		{Type: EventReceipt, Account: "acme"},
	} {
		if err := b.journal.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	all := b.events(EventFilter{})
	if len(all) != 5 {
		t.Fatalf("%d events, want 5", len(all))
	}
	for name, tc := range map[string]struct {
		filter EventFilter
		want   []int // places in all
	}{
		"route":            {EventFilter{Route: "second"}, []int{2}},
		"no route":         {EventFilter{Route: "none"}, []int{4}},
		"id":               {EventFilter{ID: "a"}, []int{0, 1, 3}},
		"seq":              {EventFilter{Seq: 2}, []int{2}},
		"types":            {EventFilter{Types: []EventType{EventThrottled, EventReceipt}}, []int{0, 3, 4}},
		"types of one id":  {EventFilter{ID: "a", Types: []EventType{EventSubmitted}}, []int{1}},
		"since now":        {EventFilter{Since: time.Now().Add(time.Minute)}, nil},
		"nobody":           {EventFilter{ID: "nobody"}, nil},
		"since long ago":   {EventFilter{Since: time.Now().Add(-time.Minute)}, []int{0, 1, 2, 3, 4}},
		"route and number": {EventFilter{Route: "main", Seq: 2}, nil},
	} {
		var want []string
		for _, at := range tc.want {
			want = append(want, all[at].EventID)
		}
		var got []string
		for _, e := range b.events(tc.filter) {
			got = append(got, e.EventID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for range b.client.Events(t.Context(), EventFilter{}) {
		break // a reader may stop
	}
}

func TestEventsFollow(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan Event)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range b.client.Events(ctx, EventFilter{Follow: true}) {
			if err != nil {
				t.Error(err)
				return
			}
			got <- e
		}
	}()
	for n := range uint64(3) {
		if err := b.journal.Append(t.Context(), Event{Seq: n, ID: "a", Type: EventSubmitted, Delivery: 1}); err != nil {
			t.Fatal(err)
		}
		select {
		case e := <-got:
			if e.Seq != n {
				t.Errorf("event of message %d, want %d", e.Seq, n)
			}
		case <-time.After(patience):
			t.Fatal("nothing came")
		}
	}
	cancel()
	<-done
}

func TestLaneStats(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{lanes: testLanes})
	b.publish(testLanes[0], "a", "b", "c")
	b.next(b.intake(IntakeConfig{}))
	b.publish(testLanes[2], "lost")
	if err := b.client.js.DeleteConsumer(t.Context(), "SMS_MT", "main_bulk"); err != nil {
		t.Fatal(err)
	}
	stats, err := b.client.LaneStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]LaneStats)
	for _, s := range stats {
		got[s.Class] = s
	}
	if s := got["otp"]; s.Route != "main" || s.Pending+s.AckPending != 3 || s.AckPending < 1 || s.Oldest <= 0 || s.Orphan {
		t.Errorf("otp: %+v", s)
	}
	if s := got["normal"]; s.Pending != 0 || s.Oldest != 0 || s.Orphan {
		t.Errorf("normal: %+v", s)
	}
	if s := got["bulk"]; s.Pending != 1 || s.Oldest <= 0 || !s.Orphan || s.Subject != "sms.mt.main.bulk" {
		t.Errorf("bulk: %+v", s)
	}
}

func TestReceiptIndex(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	b.publish(testLane, "a")
	b.settle(b.next(b.intake(IntakeConfig{})), submitted("00DeadBeef"))
	other := b.connect() // with a cache of its own
	for id, want := range map[string]bool{
		"00DeadBeef": true, "deadbeef": true, "0DEADBEEF": true, "deadbee": false, "00deadbeef-": false,
	} {
		for name, c := range map[string]*Client{"cached": b.client, "read": other} {
			ref, ok, err := c.LookupReceipt(t.Context(), "acme", CanonicalID(id), newest)
			if err != nil || ok != want || ok && (ref.MessageID != "00DeadBeef" || ref.Dest != HashAddress("+15550100")) {
				t.Errorf("%s, %s: %+v %v %v, want %v", id, name, ref, ok, err, want)
			}
		}
	}
	if _, ok, err := other.LookupReceipt(t.Context(), "backup", CanonicalID("deadbeef"), newest); ok || err != nil {
		t.Errorf("another account: %v %v", ok, err)
	}
	if err := other.FinishReceipt(t.Context(), "acme", "deadbeef", ReceiptRef{Seq: 1, Segment: 1}); err != nil {
		t.Fatal(err)
	}
	m, err := b.client.readLeader(t.Context(), "KV_sluice_receipts",
		readRequest{LastFor: bucketSubject("sluice_receipts", receiptKey("acme", "deadbeef"))})
	if err != nil || m.Header.Get(headerTTL) != "10m0s" {
		t.Errorf("after a final receipt: %+v, %v; want a TTL of 10m", m, err)
	}
	if err := other.FinishReceipt(t.Context(), "acme", "nobody", ReceiptRef{Seq: 1, Segment: 1}); err != nil {
		t.Errorf("an id that nobody knows: %v", err)
	}
}

// TestReceiptIndexOfHugeIDs has message ids beyond SMPP's limit: they must make no
// subject that the server ends the connection for.
func TestReceiptIndexOfHugeIDs(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{})
	for length, wantKey := range map[int]int{
		maxMessageID: len("acme.") + 87, maxMessageID + 1: len("acme.") + 64, 255: len("acme.") + 64, 60_000: len("acme.") + 64,
	} {
		id := strings.Repeat("X", length)
		if got := len(receiptKey("acme", CanonicalID(id))); got != wantKey {
			t.Errorf("%d octets: a key of %d, want %d", length, got, wantKey)
		}
		b.publish(testLane, fmt.Sprint(length))
		b.settle(b.next(i), submitted(id))
		ref, ok, err := b.connect().LookupReceipt(t.Context(), "acme", CanonicalID(id), newest)
		if err != nil || !ok || ref.ID != fmt.Sprint(length) || ref.MessageID != id[:min(length, 255)] {
			t.Errorf("%d octets: %+v %v %v", length, ref, ok, err)
		}
		if _, ok, err := b.connect().LookupReceipt(t.Context(), "acme", CanonicalID(id+"y"), newest); ok || err != nil {
			t.Errorf("%d octets, another id: %v %v", length, ok, err)
		}
		if err := b.client.FinishReceipt(t.Context(), "acme", CanonicalID(id), ref); err != nil {
			t.Errorf("%d octets: %v", length, err)
		}
	}
	b.queueEmpty()
	if err := b.client.CloseCause(); err != nil {
		t.Error(err)
	}
}

func TestCanonicalID(t *testing.T) {
	for in, want := range map[string]string{
		"0012": "12", "00AF": "af", "0": "0", "000": "0", "": "0", "X01": "x01", "0x01": "0x01",
		"550E8400-E29B-41D4-A716-446655440000": "550e8400-e29b-41d4-a716-446655440000",
	} {
		if got := CanonicalID(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestReceiptCacheKeepsTheLatest(t *testing.T) {
	c := newReceiptCache()
	for n := range receiptCached + 1 {
		c.put(fmt.Sprint(n), receiptEntry{ReceiptRef: ReceiptRef{Seq: uint64(n)}})
		c.get("0") // used all the time
	}
	if _, ok := c.get("0"); !ok {
		t.Error("the entry in use was dropped")
	}
	if _, ok := c.get("1"); ok {
		t.Error("the entry not used for longest is still there")
	}
	c.put("0", receiptEntry{ReceiptRef: ReceiptRef{Seq: 7}})
	if ref, _ := c.get("0"); ref.Seq != 7 || c.order.Len() != receiptCached {
		t.Errorf("%+v of %d entries", ref, c.order.Len())
	}
}

func TestLearned(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	if _, ok, err := b.client.GetLearned(t.Context(), "acme"); ok || err != nil {
		t.Errorf("before: %v %v", ok, err)
	}
	want := Learned{Ceiling: 97.5, At: time.Now().UTC().Truncate(time.Second)}
	if err := b.client.PutLearned(t.Context(), "acme", want); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := b.client.GetLearned(t.Context(), "acme"); got != want || !ok || err != nil {
		t.Errorf("%+v %v %v, want %+v", got, ok, err, want)
	}
}

func TestBucketsStayBoundedAndSpread(t *testing.T) {
	used := make(map[string]int)
	for n := range 100_000 {
		bucket := Bucket(fmt.Sprint("order-", n))
		if len(bucket) != 3 {
			t.Fatalf("bucket %q", bucket)
		}
		used[bucket]++
	}
	if len(used) != eventBuckets {
		t.Errorf("%d buckets used, want %d", len(used), eventBuckets)
	}
	for bucket, n := range used {
		if n > 4*100_000/eventBuckets {
			t.Errorf("bucket %s holds %d ids", bucket, n)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	m := NewMetrics(reg)
	b := newBench(t, benchConfig{})
	j, err := b.client.OpenJournal(JournalConfig{Metrics: m})
	if err != nil {
		t.Fatal(err)
	}
	i := b.intakeOn(b.client, j, IntakeConfig{Metrics: m})
	b.publish(testLane, "a")
	job := b.next(i)
	b.settle(job, throttled(job.State(), 0))
	b.settle(b.next(i), submitted("1"))
	if err := i.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, f := range families {
		for _, metric := range f.Metric {
			name := f.GetName()
			for _, l := range metric.Label {
				name += "/" + l.GetValue()
			}
			got[name] = metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	for name, want := range map[string]float64{
		"sluice_journal_latency_seconds":         2,
		"sluice_journal_failures_total":          0,
		"sluice_queue_redeliveries_total/record": 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if got["sluice_queue_asked_total"] < 2 {
		t.Errorf("asked for %v messages, want 2 or more", got["sluice_queue_asked_total"])
	}
}
