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
	acceptance(t, accepting{mode: "bucket", status: "0x58", marked: true, n: 2000, limit: 26 * time.Second, most: 0.02})
}

func TestFiveOutstanding(t *testing.T) {
	acceptance(t, accepting{mode: "outstanding", status: "0x14", n: 1000, limit: 28 * time.Second, most: 0.04})
}

// accepting is what one of the tests sends, and what it expects.
type accepting struct {
	mode   string
	status string        // what the SMSC refuses with
	marked bool          // it announces SMPP 3.4, so that submits carry user_message_reference; otherwise none does
	n      int           // messages
	limit  time.Duration // from the first submit to the last
	most   float64       // of the submits, refused
}

// acceptance sends the messages, three times at most: where other work keeps the
// machine from waking the gateway in time, the limits are missed.
func acceptance(t *testing.T, a accepting) {
	for try := range 3 {
		within := false
		t.Run(fmt.Sprintf("try %d", try+1), func(t *testing.T) { within = sendAll(t, a) })
		if within || t.Failed() {
			return
		}
	}
	t.Error("the limits were missed three times")
}

// sendAll sends the messages with `sluice send` and holds the SMSC's ledger and the
// gateway's events against the promises. It reports whether the limits were kept.
func sendAll(t *testing.T, a accepting) bool {
	s := startSMSC(t, a.mode)
	g := startGateway(t, s)
	mustRun(t, 3*time.Minute, binary(), "send", "--nats", g.nats, "--route", "main", "--class", "normal",
		"--file", messagesFile(t, a.n), "--wait")

	l := s.read(t)
	share := float64(l.Refused[a.status]) / float64(l.Submits)
	t.Logf("%s; %.2f %% refused with %s", l, 100*share, a.status)
	t.Logf("accepted in each second: %v", l.BySecond)
	t.Logf("the window says: %s", mustRun(t, time.Minute, binary(), "binds", "--nats", g.nats, "--output", "json"))
	if l.Accepted != a.n || len(l.Messages) != a.n || l.twice() != 0 {
		t.Errorf("want %d messages accepted once each", a.n)
	}
	if len(l.Refused) > 1 || l.Submits-l.Accepted != l.Refused[a.status] {
		t.Errorf("want all that is refused to be so with %s", a.status)
	}
	within := l.span() <= a.limit && share <= a.most
	if !within {
		t.Logf("took %s from the first submit to the last, want at most %s; want at most %.0f %% refused", l.span(), a.limit, 100*a.most)
	}
	unmarked := l.Submits
	if a.marked {
		unmarked = 0
	}
	if l.Unmarked != unmarked || l.WithoutValidity != 0 {
		t.Errorf("%d submits had no user_message_reference, want %d; %d had no validity_period, want 0", l.Unmarked, unmarked, l.WithoutValidity)
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
	if len(finals) != a.n {
		t.Errorf("%d messages have a submitted event, want %d", len(finals), a.n)
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
