package queue

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLeftoversAreTakenOut gives the server back what it deleted, as it stands
// after a disk that took the acknowledgement and not the deletion.
func TestLeftoversAreTakenOut(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{ackWait: shortWait})
	b.publish(testLane, "settled", "after it")
	held := b.intake(IntakeConfig{})
	jobs := b.take(held, 2)

	// The messages as they are before the first is acknowledged.
	stored := filepath.Join(b.dir, "jetstream", "$G", "streams", "SMS_MT", "msgs")
	b.server.Shutdown()
	before := t.TempDir()
	if err := os.CopyFS(filepath.Join(before, "msgs"), os.DirFS(stored)); err != nil {
		t.Fatal(err)
	}
	b.startServer()
	b.eventually(func() error { return b.client.nc.FlushTimeout(time.Second) })
	for _, job := range jobs {
		b.settle(job, submitted(job.ID()))
	}
	b.queueEmpty()
	if err := held.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.server.Shutdown()
	if err := os.RemoveAll(stored); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(stored, os.DirFS(filepath.Join(before, "msgs"))); err != nil {
		t.Fatal(err)
	}
	b.startServer()
	b.eventually(func() error { return b.client.nc.FlushTimeout(time.Second) })
	s, err := b.client.js.Stream(t.Context(), "SMS_MT")
	if err != nil {
		t.Fatal(err)
	}
	if n := s.CachedInfo().State.Msgs; n != 2 {
		t.Fatalf("the server holds %d messages, want both again: the test does not test", n)
	}

	b.intake(IntakeConfig{})
	b.queueEmpty()
	b.wantTypes(1, EventSubmitted)
	b.wantTypes(2, EventSubmitted)
}
