//go:build interop

package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The two tests send through an SMSC that Sluice knows nothing about: no
// declared rate, no statuses, no window.max.

func TestTokenBucketOf100ASecond(t *testing.T) {
	acceptance(t, "bucket", "0x58", 2000, 26*time.Second, 0.02)
}

func TestFiveOutstanding(t *testing.T) {
	acceptance(t, "outstanding", "0x14", 1000, 28*time.Second, 0.04)
}

// acceptance sends n messages, three times at most: where other work keeps the
// machine from waking the gateway in time, the limits are missed.
func acceptance(t *testing.T, mode, status string, n int, limit time.Duration, most float64) {
	for try := range 3 {
		within := false
		t.Run(fmt.Sprintf("try %d", try+1), func(t *testing.T) { within = sendAll(t, mode, status, n, limit, most) })
		if within || t.Failed() {
			return
		}
	}
	t.Error("the limits were missed three times")
}

// sendAll sends n messages with `sluice send` and holds the SMSC's ledger and the
// gateway's events against the promises. It reports whether the limits were kept.
func sendAll(t *testing.T, mode, status string, n int, limit time.Duration, most float64) bool {
	s := startSMSC(t, mode)
	g := startGateway(t, s)
	mustRun(t, 3*time.Minute, binary(), "send", "--nats", g.nats, "--route", "main", "--class", "normal",
		"--file", messagesFile(t, n), "--wait")

	l := s.read(t)
	share := float64(l.Refused[status]) / float64(l.Submits)
	t.Logf("%s; %.2f %% refused with %s", l, 100*share, status)
	t.Logf("accepted in each second: %v", l.BySecond)
	t.Logf("the window says: %s", mustRun(t, time.Minute, binary(), "binds", "--nats", g.nats, "--output", "json"))
	if l.Accepted != n || len(l.Messages) != n || l.twice() != 0 {
		t.Errorf("want %d messages accepted once each", n)
	}
	if len(l.Refused) > 1 || l.Submits-l.Accepted != l.Refused[status] {
		t.Errorf("want all that is refused to be so with %s", status)
	}
	within := l.span() <= limit && share <= most
	if !within {
		t.Logf("took %s from the first submit to the last, want at most %s; want at most %.0f %% refused", l.span(), limit, 100*most)
	}
	if l.Unmarked != 0 || l.WithoutValidity != 0 {
		t.Errorf("%d submits had no user_message_reference, %d no validity_period", l.Unmarked, l.WithoutValidity)
	}
	finals := map[string]int{}
	for _, e := range g.events(t) {
		switch e.Type {
		case "submitted":
			finals[e.ID]++
		case "failed", "deferred", "expired", "cancelled":
			t.Errorf("%s ended %s", e.ID, e.Type)
		}
	}
	if len(finals) != n {
		t.Errorf("%d messages have a submitted event, want %d", len(finals), n)
	}
	for id, times := range finals {
		if times != 1 {
			t.Errorf("%s has %d final events", id, times)
		}
	}
	return within
}

// messagesFile writes n messages, one JSON object a line.
func messagesFile(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "messages.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	enc := json.NewEncoder(f)
	for i := range n {
		err := enc.Encode(map[string]any{
			"v": 1, "id": fmt.Sprintf("interop-%05d", i), "from": "1000", "to": fmt.Sprintf("+1555%07d", i),
			"text": fmt.Sprintf("Interop message %d.", i),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
