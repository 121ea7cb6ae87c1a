package queue

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestNothingIsLeftRunning opens and closes everything. It runs before the
// parallel tests go on, whose goroutines are known.
func TestNothingIsLeftRunning(t *testing.T) {
	known := goleak.IgnoreCurrent()
	server, err := StartEmbedded(EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Connect(t.Context(), ConnectConfig{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ensure(t.Context(), Topology{Lanes: []Lane{testLane}}); err != nil {
		t.Fatal(err)
	}
	j, err := c.OpenJournal(JournalConfig{})
	if err != nil {
		t.Fatal(err)
	}
	i, err := c.OpenIntake(t.Context(), j, IntakeConfig{Lanes: []IntakeLane{{Lane: testLane}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Publish(t.Context(), "main", "otp", testMessage("a")); err != nil {
		t.Fatal(err)
	}
	job, err := i.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := job.Settle(t.Context(), submitted("1")); err != nil { // after the intake, before the journal
		t.Error(err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := j.Append(ctx, Event{Type: EventReceipt}); err == nil {
		t.Error("a closed journal stored an event")
	}
	c.Close()
	server.Shutdown()
	var leaked error
	for end := time.Now().Add(patience); time.Now().Before(end); { // goleak itself waits for less than a second
		if leaked = goleak.Find(known); leaked == nil {
			return
		}
	}
	t.Error(leaked)
}
