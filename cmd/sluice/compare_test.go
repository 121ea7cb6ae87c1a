package main

import (
	"encoding/json"
	"testing"

	"sluice/cmd/sluice/compare"
)

func TestCompareCommand(t *testing.T) {
	t.Parallel() // it waits more than it works
	out, errs, err := sluice(t, "compare", "--duration", "2s", "--warmup", "1s", "--policy", "fixed", "--policy", "sluice", "--window-max", "5",
		"--scenario", "outstanding-5", "--scenario", "../../configs/scenarios/small-queue.yaml", "--output", "json")
	if err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	var results []compare.Result
	if err := json.Unmarshal([]byte(out), &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 || results[0].Scenario != "outstanding-5" || results[1].Scenario != "small-queue" || results[0].WindowMax != 5 {
		t.Fatalf("results %+v", results)
	}
	for _, r := range results {
		if len(r.Rows) != 2 || r.Rows[0].Policy != "fixed" || r.Rows[1].Policy != "sluice" {
			t.Fatalf("%s: rows %+v", r.Scenario, r.Rows)
		}
		if r.Rows[0].Throttled == 0 || r.Rows[1].Accepted == 0 || r.Rows[1].Lost != 0 {
			t.Errorf("%s: rows %+v", r.Scenario, r.Rows)
		}
	}
	contains(t, "the progress", errs, "outstanding-5: fixed sends for 2s")

	for want, args := range map[string][]string{
		"bucket-10, bucket-100": {"--scenario", "nowhere.yaml"},
		"markdown":              {"--output", "html"},
		"warm-up":               {"--duration", "2s"},
	} {
		if _, errs, err := sluice(t, append([]string{"compare"}, args...)...); err == nil {
			t.Errorf("%v is accepted", args)
		} else {
			contains(t, "the error", errs, want)
		}
	}
}
