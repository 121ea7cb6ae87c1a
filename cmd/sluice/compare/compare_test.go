package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/cmd/sluice/course"
	"sluice/cmd/sluice/policy"
	"sluice/cmd/sluice/simulate"
	"sluice/testserver/longtest"
	"sluice/window"
)

// lengthOf is how long each sender has: short, unless SLUICE_COMPARE gives a time.
func lengthOf(t *testing.T) time.Duration {
	t.Helper()
	given := os.Getenv("SLUICE_COMPARE")
	if given == "" {
		return 5 * time.Second
	}
	d, err := time.ParseDuration(given)
	if err != nil {
		t.Fatalf("SLUICE_COMPARE: %v", err)
	}
	return d
}

// fairLength is from where on the order of the scores says something: in less the window has hardly learned, and a busy
// machine keeps it from learning at all.
const fairLength = 20 * time.Second

// All senders run through real parts. Asserted is only what does not depend on the machine: that nothing is lost, and
// the order of the senders.
func TestCompare(t *testing.T) {
	longtest.Only(t, "four senders of 5 s each, over real TCP")
	defer goleak.VerifyNone(t)
	sc, err := Scenario("bucket-10")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	length := lengthOf(t)
	var progress strings.Builder
	r, err := Run(t.Context(), Options{Scenario: sc, Duration: length, WarmUp: length / 2, Progress: &progress, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := r.Table(&table); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", &table)
	rows := map[string]Row{}
	for _, row := range r.Rows {
		rows[row.Policy] = row
		if row.Submits != row.Accepted+row.Throttled || row.Accepted == 0 {
			t.Errorf("%s: %d submits, %d accepted, %d throttled", row.Policy, row.Submits, row.Accepted, row.Throttled)
		}
		if !strings.Contains(progress.String(), row.Policy+" sends for") {
			t.Errorf("no progress of %s in %q", row.Policy, progress.String())
		}
	}
	sluice, fixed, kannel, halve := rows["sluice"], rows["fixed"], rows["kannel"], rows["halve"]
	if sluice.Lost != 0 || sluice.Failed != 0 {
		t.Errorf("Sluice lost %d and failed %d", sluice.Lost, sluice.Failed)
	}
	if fixed.Lost != fixed.Throttled || fixed.Lost == 0 || kannel.Lost+halve.Lost != 0 {
		t.Errorf("lost: fixed %d of %d throttled, kannel %d, halve %d", fixed.Lost, fixed.Throttled, kannel.Lost, halve.Lost)
	}
	for _, other := range []Row{fixed, kannel, halve} {
		if length >= fairLength && other.Score >= sluice.Score {
			t.Errorf("%s scores %.3f, Sluice %.3f", other.Policy, other.Score, sluice.Score)
		}
		if other.Policy != "fixed" && other.ThrottledShare >= fixed.ThrottledShare {
			t.Errorf("%s is throttled more than a fixed window: %.3f and %.3f", other.Policy, other.ThrottledShare, fixed.ThrottledShare)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// What the moving ceiling's figures are measured against is asserted in virtual time, as the mean of five seeds: clean
// within 6 s of the fall, 90 % within 45 s of the rise.
func TestMovingInVirtualTime(t *testing.T) {
	sc, err := Scenario("moving")
	if err != nil {
		t.Fatal(err)
	}
	const seeds = 5
	clean, reached := 0.0, 0.0
	for seed := range uint64(seeds) {
		r, err := simulate.Run(t.Context(), simulate.Options{
			Scenario: sc, Policy: policy.NameSluice, Window: window.Config{NoiseMax: 0.06}, Duration: 4 * time.Minute, Seed: seed,
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Changes) != 2 || r.Changes[0].Clean == nil || r.Changes[1].Reached == nil {
			t.Fatalf("seed %d: changes %v", seed, r.Changes)
		}
		clean += *r.Changes[0].Clean / seeds
		reached += *r.Changes[1].Reached / seeds
	}
	t.Logf("clean %.1f s after the fall, 90 %% %.1f s after the rise", clean, reached)
	if clean > 6 || reached > 45 {
		t.Errorf("clean %.1f s after the fall, 90 %% %.1f s after the rise: want 6 and 45", clean, reached)
	}
}

func TestOutputs(t *testing.T) {
	after := 2.5
	r := Result{Scenario: "moving", Seconds: 180, WarmUp: 45, WindowMax: 5, Rows: []Row{{
		Policy: "sluice", Submits: 18000, Throttled: 90, Accepted: 17910, Seconds: 179.96, Share: 0.995, ThrottledShare: 0.004, Score: 0.955,
		Changes: []course.Change{{At: 60, Rate: 30, Clean: &after}},
	}}}
	var table, markdown bytes.Buffer
	if err := errors.Join(r.Table(&table), r.Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"moving, 180 s each, shares without the first 45 s, window.max 5:",
		"| sluice | 18000 | 90 | 0 | 17910 | 0 | 180.0 | 99.5 % | 0.40 % | 0.955 |",
		"- sluice: ceiling 30/s from 60 s on: clean after 2.5 s, 90 % of it never",
	} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &markdown)
		}
	}
	if !strings.Contains(table.String(), "terminal failures") || !strings.Contains(table.String(), "99.5 %") {
		t.Errorf("the table:\n%s", &table)
	}
	var back Result
	if data, err := json.Marshal(r); err != nil || json.Unmarshal(data, &back) != nil || back.Rows[0].Share != 0.995 {
		t.Errorf("the JSON: %s, %v", data, err)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	_, err := Run(t.Context(), Options{Policies: []string{"cubic"}, WarmUp: time.Minute, WindowMax: -1})
	for _, want := range []string{"duration 0s", "warm-up 1m0s", "window.max -1", `policy "cubic": write one of sluice, fixed, kannel, halve`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if _, err := Scenario("nowhere.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a scenario that is not there: %v", err)
	}
}

func TestAnInterruptEndsIt(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, name := range []string{policy.NameSluice, policy.NameFixed} {
		sc, err := Scenario("bucket-10")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err = Run(ctx, Options{
			Scenario: sc, Policies: []string{name}, Duration: time.Hour, Dir: t.TempDir(), Progress: writerFunc(func() { cancel() }),
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// writerFunc is called for each write.
type writerFunc func()

func (w writerFunc) Write(b []byte) (int, error) { w(); return len(b), nil }
