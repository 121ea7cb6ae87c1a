package queue

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

const smallStore = 400 << 20

// smallTopology is what a store of 400 MiB is divided into.
func smallTopology() Topology {
	return Topology{
		Lanes: []Lane{testLane}, MaxBytes: smallStore / 4, JournalBytes: smallStore / 5 * 2, InboundBytes: smallStore / 10,
		MOBytes: smallStore / 20, DeferredBytes: smallStore / 10, BucketBytes: smallStore / 10,
	}
}

// A store that an earlier version has made, with 5 GiB reserved and streams without a limit, starts in 400 MiB with all
// that it holds, and says in one line what was changed.
func TestOldStoreIsBroughtToTheLimits(t *testing.T) {
	dir := t.TempDir()
	old, err := StartEmbedded(EmbeddedConfig{Dir: dir, Listen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	c := connectTo(t, old, nil)
	if _, err := c.Ensure(t.Context(), Topology{Lanes: []Lane{testLane}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"SMS_IN", "SMS_MO", "SMS_DEFERRED", "KV_sluice_waiting", "KV_sluice_receipts"} {
		s, err := c.js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		cfg := s.CachedInfo().Config
		cfg.MaxBytes, cfg.DiscardNewPerSubject = -1, false
		if name == "SMS_DEFERRED" {
			cfg.MaxMsgsPerSubject = -1
		} else if !strings.HasPrefix(name, "KV") {
			cfg.Discard = jetstream.DiscardOld
		}
		if _, err := c.js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := c.Publish(t.Context(), "main", "otp", testMessage("kept")); err != nil {
		t.Fatal(err)
	}
	c.Close()
	old.Shutdown()

	small, err := StartEmbedded(EmbeddedConfig{Dir: dir, Listen: "127.0.0.1:-1", MaxStore: smallStore})
	if err != nil {
		t.Fatal(err)
	}
	defer small.Shutdown()
	var log bytes.Buffer
	c = connectTo(t, small, slog.New(slog.NewTextHandler(&log, nil)))
	for range 2 {
		differences, err := c.Ensure(t.Context(), smallTopology())
		if err != nil || len(differences) > 0 {
			t.Fatalf("%v; differences %q", err, differences)
		}
	}
	if got := strings.Count(log.String(), "brought to the limits"); got != 1 {
		t.Errorf("%d lines, want one:\n%s", got, log.String())
	}
	for name, want := range map[string]int64{
		"SMS_MT": smallStore / 4, "SMS_EVENTS": smallStore / 5 * 2, "SMS_IN": smallStore / 10, "SMS_MO": smallStore / 20,
		"SMS_DEFERRED": smallStore / 10, "KV_sluice_waiting": 30 * (smallStore / 10 / 100),
	} {
		s, err := c.js.Stream(t.Context(), name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cfg := s.CachedInfo().Config
		wantDiscard := jetstream.DiscardNew
		if name == "SMS_EVENTS" {
			wantDiscard = jetstream.DiscardOld
		}
		if cfg.MaxBytes != want || cfg.Discard != wantDiscard {
			t.Errorf("%s: max_bytes %d, %v; want %d, %v", name, cfg.MaxBytes, cfg.Discard, want, wantDiscard)
		}
		if name == "SMS_MT" && s.CachedInfo().State.Msgs != 1 {
			t.Errorf("SMS_MT holds %d messages, want the one that was there", s.CachedInfo().State.Msgs)
		}
	}
}

// What a limit would drop keeps the old one, and the command is named.
func TestLimitThatWouldDropIsNotSet(t *testing.T) {
	b := newBench(t, benchConfig{})
	for range 40 {
		if err := b.client.StoreInbound(t.Context(), "acme", InboundRecord{PDU: make([]byte, 50_000)}); err != nil {
			t.Fatal(err)
		}
	}
	small := smallTopology()
	small.InboundBytes = 1 << 20
	differences, err := b.client.Ensure(t.Context(), small)
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(differences, "\n"); !strings.Contains(all, "nats stream edit SMS_IN --max-bytes=1048576 --discard=new") {
		t.Errorf("differences:\n%s\nwant the command for SMS_IN", all)
	}
	s, err := b.client.js.Stream(t.Context(), "SMS_IN")
	if err != nil {
		t.Fatal(err)
	}
	if info := s.CachedInfo(); info.State.Msgs != 40 || info.Config.MaxBytes != 410<<20 {
		t.Errorf("SMS_IN holds %d records with max_bytes %d, want 40 and the old limit", info.State.Msgs, info.Config.MaxBytes)
	}
}

func connectTo(t *testing.T, e *Embedded, log *slog.Logger) *Client {
	t.Helper()
	c, err := Connect(t.Context(), ConnectConfig{URL: e.URL(), Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
