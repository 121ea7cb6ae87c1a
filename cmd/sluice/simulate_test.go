package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sluice/cmd/sluice/simulate"
)

// Every scenario that we ship can be simulated, and says what is left out.
func TestSimulateEveryScenario(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../configs/scenarios/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			out, errs, err := sluice(t, "simulate", "-f", file, "--duration", "20s", "--output", "json")
			if err != nil {
				t.Fatalf("%v: %s", err, errs)
			}
			var r simulate.Result
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatal(err)
			}
			none := filepath.Base(file) == "f45-account-refused-at-submit.yaml"
			if r.Submits == 0 || none != (r.Accepted == 0) || len(r.Decisions) == 0 {
				t.Errorf("%d submits, %d accepted, %d reasons: want some of each", r.Submits, r.Accepted, len(r.Decisions))
			}
			for _, note := range r.Notes {
				contains(t, "the warnings", errs, note)
			}
		})
	}
}

func TestSimulateDraws(t *testing.T) {
	dir := t.TempDir()
	scenario := "../../configs/scenarios/step.yaml"
	out, errs, err := sluice(t, "simulate", "-f", scenario, "--policy", "kannel", "--duration", "1m")
	if err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	contains(t, "the output", out, "░ throttled", "policy            kannel, seed 1", "share of ceiling")
	svg, png := filepath.Join(dir, "a.svg"), filepath.Join(dir, "a.png")
	if _, errs, err := sluice(t, "simulate", "-f", scenario, "--duration", "1m", "--svg", svg, "--png", png); err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	for _, path := range []string{svg, png} {
		if info, err := os.Stat(path); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", path, err)
		}
	}
	for want, args := range map[string][]string{
		"--noise-max": {"--noise-max", "six"},
		"policy":      {"--policy", "vegas"},
		"duration":    {"--duration", "1ms"},
	} {
		if _, errs, err := sluice(t, append([]string{"simulate", "-f", scenario}, args...)...); err == nil {
			t.Errorf("%v is accepted", args)
		} else {
			contains(t, "the error", errs, want)
		}
	}
}
