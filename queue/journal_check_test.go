package queue

import (
	"testing"
	"time"
)

// A store that refuses writes is known before a message meets it, and so is its recovery.
func TestCheckNoticesAStoreThatRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	if b.journal.Check(0); b.journal.Failure() != nil {
		t.Fatalf("a store that is well: %v", b.journal.Failure())
	}
	s, err := b.client.js.Stream(t.Context(), "SMS_EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	kept := s.CachedInfo().Config
	full := kept
	full.MaxMsgSize = 8
	if _, err := b.client.js.UpdateStream(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	if b.journal.Check(time.Hour); b.journal.Failure() != nil {
		t.Errorf("an event was just stored, and yet it was checked: %v", b.journal.Failure())
	}
	if b.journal.Check(0); b.journal.Failure() == nil {
		t.Error("the store refuses, and nobody knows")
	}
	if _, err := b.client.js.UpdateStream(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	b.eventually(func() error { return b.journal.Failure() })
}
