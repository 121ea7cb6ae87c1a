package queue

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The metric follows the first entry of the stream: when the limit drops the oldest, and when all are gone.
func TestJournalOldestAge(t *testing.T) {
	b := newBench(t, benchConfig{})
	registry := prometheus.NewRegistry()
	j, err := b.client.OpenJournal(JournalConfig{Metrics: NewMetrics(registry)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close(context.Background()) }()
	stream, err := b.client.js.Stream(t.Context(), b.client.names.Load().events)
	if err != nil {
		t.Fatal(err)
	}
	noted := func() time.Time {
		t.Helper()
		if err := j.NoteOldest(t.Context()); err != nil {
			t.Fatal(err)
		}
		return *j.metrics.journalOldest.Load()
	}
	stored := func(seq uint64) time.Time {
		t.Helper()
		m, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		return m.Time
	}
	if got := gaugeOf(t, registry, "sluice_journal_oldest_age_seconds"); got != 0 {
		t.Errorf("before it was read: %v, want 0", got)
	}
	if got := noted(); !got.IsZero() {
		t.Errorf("an empty journal has an entry of %v", got)
	}
	const n = 20
	for i := range n {
		if err := j.Append(t.Context(), Event{Type: EventRetry, Seq: uint64(i + 1), ID: "m", Route: "main", Class: "otp"}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := noted(), stored(1); !got.Equal(want) {
		t.Errorf("the oldest entry is of %v, want %v", got, want)
	}
	if got := gaugeOf(t, registry, "sluice_journal_oldest_age_seconds"); got <= 0 {
		t.Errorf("with %d entries: %v, want an age", n, got)
	}
	// A limit that holds half of them: the bytes end the journal, whatever its age may be.
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cfg := info.Config
	cfg.MaxBytes = int64(info.State.Bytes / 2)
	if _, err := b.client.js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if info, err = stream.Info(t.Context()); err != nil {
		t.Fatal(err)
	}
	if first := info.State.FirstSeq; first < n/4 || first > n {
		t.Fatalf("the limit left the journal to begin at %d: the test does not test", first)
	}
	if got, want := noted(), stored(info.State.FirstSeq); !got.Equal(want) {
		t.Errorf("behind the limit the oldest entry is of %v, want %v", got, want)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := noted(); !got.IsZero() || gaugeOf(t, registry, "sluice_journal_oldest_age_seconds") != 0 {
		t.Errorf("a journal that was purged has an entry of %v", got)
	}
	// What cannot be read changes nothing.
	if err := b.client.js.DeleteStream(t.Context(), b.client.names.Load().events); err != nil {
		t.Fatal(err)
	}
	if err := j.NoteOldest(t.Context()); err == nil || !strings.Contains(err.Error(), "SMS_EVENTS") {
		t.Errorf("without the stream: %v, want an error that names it", err)
	}
}

func TestOldestAge(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	at := func(ago time.Duration) *time.Time { t := now.Add(-ago); return &t }
	for _, c := range []struct {
		stored *time.Time
		want   float64
	}{{nil, 0}, {&time.Time{}, 0}, {at(90 * time.Second), 90}, {at(72 * time.Hour), 259_200}, {at(-time.Second), 0}} {
		if got := oldestAge(c.stored, now); got != c.want {
			t.Errorf("%v: %v, want %v", c.stored, got, c.want)
		}
	}
}

// gaugeOf is the value of a gauge without labels.
func gaugeOf(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
