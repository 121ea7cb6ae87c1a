package demo

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/testserver/limiter"
)

// shortPlan has the steps of the full one within seconds.
func shortPlan() *plan {
	return &plan{
		ceiling:  []limiter.Step{{Rate: 100}, {At: time.Second, Rate: 40}, {At: 2 * time.Second, Rate: 120}},
		warmUp:   time.Second,
		patience: 2 * time.Minute,
	}
}

// TestDemo runs both senders through the real NATS server and real TCP.
func TestDemo(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	var progress strings.Builder
	r, err := Run(t.Context(), Options{Out: &progress, JSON: true, Messages: 300, Dir: dir, plan: shortPlan()})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	if r.Offered != 300 || r.Bad != 6 {
		t.Errorf("offered %d, bad %d, want 300 and 6", r.Offered, r.Bad)
	}
	if s := r.Sluice; s.Lost != 0 || s.Failed != r.Bad || s.Accepted != 294 || s.Submits != 300+s.Throttled {
		t.Errorf("Sluice: %+v", s)
	}
	if n := r.Naive; n.Submits != 300 || n.Accepted+n.Failed != 300 || n.Lost != 294-n.Accepted {
		t.Errorf("naive: %+v", n)
	}
	if !strings.Contains(progress.String(), "300 of 300 done") {
		t.Errorf("the last line of a run is missing in\n%s", progress.String())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	checkShape(t, r)
}

// checkShape asserts the keys that a program reads.
func checkShape(t *testing.T, r Result) {
	t.Helper()
	data, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var shape struct {
		Offered, Bad  json.Number
		Naive, Sluice map[string]json.Number
	}
	if err := json.Unmarshal(data, &shape); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"submits", "throttled", "failed", "accepted", "lost", "seconds"} {
		if shape.Naive[key] == "" || shape.Sluice[key] == "" {
			t.Errorf("no %s in %s", key, data)
		}
	}
	if len(shape.Naive) != 6 || len(shape.Sluice) != 7 || shape.Sluice["goodput"] == "" {
		t.Errorf("keys of %s", data)
	}
}

// interrupting cancels a context when something particular is written.
type interrupting struct {
	strings.Builder
	at     string
	cancel context.CancelFunc
}

func (w *interrupting) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.at) {
		w.cancel()
	}
	return w.Builder.Write(p)
}

func (w *interrupting) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

func TestAnInterruptLeavesNothingBehind(t *testing.T) {
	for _, at := range []string{"naive    1 s", "sluice   1 s"} {
		t.Run(at, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &interrupting{at: at, cancel: cancel}
			r, err := Run(ctx, Options{Out: out, Terminal: true, Width: 70, Messages: 1000, Dir: dir, plan: shortPlan()})
			if !errors.Is(err, context.Canceled) || r != (Result{}) {
				t.Errorf("ended with %v and %+v", err, r)
			}
			if !strings.HasSuffix(out.String(), clearBelow+showCursor) {
				t.Errorf("the terminal is left after %q", out.String()[max(0, out.Len()-40):])
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestTooFewMessages(t *testing.T) {
	_, err := Run(t.Context(), Options{Messages: 49})
	if err == nil || !strings.Contains(err.Error(), "messages 49: at least 50") {
		t.Errorf("error %v", err)
	}
}
