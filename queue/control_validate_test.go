package queue

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// Whoever may write to the bucket may write anything: a rate of 1e308 took 460 MB. What no command writes is not followed.
func TestControlThatNoCommandWritesIsNotFollowed(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	kv, err := b.client.js.KeyValue(t.Context(), b.client.names.Load().control)
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`{"rate": 1e308}`:                        "rate 1e+308: want submits a second from 0.01 to 1000000",
		`{"rate": -1}`:                           "rate -1",
		`{"rate": 0.001}`:                        "rate 0.001",
		`{"max_window": -1}`:                     "max_window -1: want 1 to 10000",
		`{"max_window": 10001}`:                  "max_window 10001",
		`{"mode": "stop"}`:                       `mode "stop": want pause, drain`,
		`{"rate": "80"}`:                         "cannot be read",
		`{"mode": "\u001b[2J"}`:                  `mode "\x1b[2J"`,
		`{"rate": 1000000, "max_window": 10000}`: "",
		`{"rate": 0.01, "mode": "drain"}`:        "",
		`{"rate": 0, "max_window": 0}`:           "",
	} {
		if _, err := kv.Put(t.Context(), controlDesired+"acme", []byte(value)); err != nil {
			t.Fatal(err)
		}
		c, err := b.client.ReadControl(t.Context(), "acme")
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", value, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"acme"`)):
			t.Errorf("%s: %+v, %v; want an error that names the account and %q", value, c, err, want)
		case want != "" && (c.Desired.Rate != nil || c.Desired.Mode != ModeRun):
			t.Errorf("%s: %+v comes with the error", value, c.Desired)
		}
	}
	if _, err := kv.Put(t.Context(), controlDesired+"acme", []byte(`{"rate": 1e308, "mode": "pause"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.ChangeDesired(t.Context(), "acme", func(d *Desired) { d.Mode = ModeRun }); err == nil {
		t.Error("a change keeps a rate that is not possible")
	}
	d, err := b.client.ChangeDesired(t.Context(), "acme", func(d *Desired) { d.Rate = nil }) // as `rate acme configured`
	if err != nil || d.Mode != ModePause {
		t.Errorf("the rate taken back: %+v, %v", d, err)
	}
	for value, want := range map[string]string{
		`{"hold_until": "2027-01-01T00:00:00Z", "for": -1}`:                                              "want a wait of at most",
		`{"hold_until": "2027-01-01T00:00:00Z", "for": 9223372036854775807}`:                             "want a wait of at most",
		`{"hold_until": "2027-01-01T00:00:00Z", "for": 1, "reason": "` + strings.Repeat("x", 257) + `"}`: "257 octets",
		`{"hold_until": "2027-01-01T00:00:00Z", "for": 60000000000, "reason": "ESME_RTHROTTLED"}`:        "",
	} {
		if _, err := kv.Put(t.Context(), controlHold+"acme", []byte(value)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.client.ReadControl(t.Context(), "acme"); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("hold %s: %v, want %q", value, err, want)
		}
	}
}

func TestRatesAndWindowsHaveBounds(t *testing.T) {
	for rate, right := range map[float64]bool{
		0: true, LowestRate: true, 80.5: true, HighestRate: true, 0.009: false, 1000001: false, -1: false, math.Inf(1): false, math.NaN(): false,
	} {
		if err := CheckRate(rate); (err == nil) != right {
			t.Errorf("rate %v: %v", rate, err)
		}
	}
}

// A lease that counts below zero, or beyond what instances have, would have taken the shares of all others, or the process.
func TestLeaseThatIsNotPossibleTellsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	kv, err := b.client.js.KeyValue(t.Context(), b.client.names.Load().instances)
	if err != nil {
		t.Fatal(err)
	}
	for part, right := range map[string]bool{
		`"acme": {"demand": 2, "rate": 0.5, "window": 20, "binds": 1}`: true,
		`"acme": {"demand": -1}`:                  false,
		`"acme": {"demand": 4611686018427387904}`: false,
		`"acme": {"window": -1}`:                  false,
		`"acme": {"binds": 1e9}`:                  false,
		`"acme": {"rate": 1.5}`:                   false,
		`"acme": {"rate": -0.5}`:                  false,
		`"acme": {"closed_for_ms": -1}`:           false,
		`"acme": {"failing_for_ms": -1}`:          false,
		`"acme": {"nothing_taken_for_ms": 9e17}`:  false,
		`"acme": {"demand": 1, "failing_for_ms": 5000, "nothing_taken_for_ms": 7, "returning": true, "later": 1}`: true,
		`"a\u001b[2J": {"demand": 1}`: false,
	} {
		if _, err := kv.Put(t.Context(), leaseKey+"gw-9", []byte(`{"nonce": "n", "parts": {`+part+`}}`)); err != nil {
			t.Fatal(err)
		}
		list, err := b.client.Instances(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("instances %+v, %v", list, err)
		}
		if i := list[0]; (i.Unreadable == nil) != right || !right && (len(i.Parts) > 0 || !errors.Is(i.Unreadable, errImpossible) && !errors.Is(i.Unreadable, errUnreadable)) {
			t.Errorf("%s: %+v", part, i)
		}
	}
	for ceiling, right := range map[string]bool{"120.5": true, "1e308": false, "-4": false} {
		learned, err := b.client.js.KeyValue(t.Context(), b.client.names.Load().learned)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := learned.Put(t.Context(), "acme", []byte(`{"ceiling": `+ceiling+`, "at": "`+time.Now().UTC().Format(time.RFC3339)+`"}`)); err != nil {
			t.Fatal(err)
		}
		if l, ok, err := b.client.GetLearned(t.Context(), "acme"); err != nil || ok != right || !right && l.Ceiling != 0 {
			t.Errorf("ceiling %s: %+v, %v, %v", ceiling, l, ok, err)
		}
	}
}
