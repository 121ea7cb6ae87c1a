package main

import (
	"reflect"
	"testing"
	"time"
)

// A schedule follows from its seed, strikes one thing with one fault at a time, ends with the run and leaves no kind
// out.
func TestDraw(t *testing.T) {
	for _, tc := range []struct {
		length time.Duration
		short  bool
	}{{2 * time.Minute, true}, {30 * time.Minute, false}} {
		for seed := range uint64(20) {
			plan := draw(seed, tc.length, tc.short)
			if !reflect.DeepEqual(plan, draw(seed, tc.length, tc.short)) {
				t.Errorf("seed %d: two schedules", seed)
			}
			until := map[string]time.Duration{}
			kinds := map[kind]bool{}
			for _, f := range plan {
				kinds[f.kind] = true
				for _, target := range f.targets {
					if f.at < until[target] {
						t.Errorf("seed %d: %v, while %s suffers until %v", seed, f, target, until[target])
					}
					until[target] = f.at + f.length
				}
				if f.at+f.length > tc.length {
					t.Errorf("seed %d: %v ends after the run of %v", seed, f, tc.length)
				}
			}
			for _, c := range deck(tc.short) {
				if !kinds[c.kind] && !tc.short {
					t.Errorf("seed %d: no %s in %v", seed, c.kind, tc.length)
				}
			}
			if len(kinds) < 12 {
				t.Errorf("seed %d: only %d kinds", seed, len(kinds))
			}
		}
	}
}

// All messages come, in order, within the time, and more than half of them in bursts.
func TestWhen(t *testing.T) {
	const count, length = 1000, 100 * time.Second
	last, inBursts := time.Duration(-1), 0
	for n := range count {
		at := when(n, count, length)
		if at < last || at >= length {
			t.Fatalf("message %d comes at %v, after one at %v, in a run of %v", n, at, last, length)
		}
		last = at
		if at%burstPeriod < 3*time.Second {
			inBursts++
		}
	}
	if inBursts < 590 || inBursts > 620 {
		t.Errorf("%d of %d messages come in bursts, want about 600", inBursts, count)
	}
}
