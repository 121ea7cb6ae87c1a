// Package grid measures the controller of package window on the cells of the study that its constants come from: 74 that
// they were chosen on, 36 held out, and noise; `make window-grid` runs all of it. A second set, in the files that begin
// with wild, are SMSCs that no constant was chosen on; `make window-wild` runs those. The package is tests only.
package grid

import "testing"

func TestThereAre74CellsAnd36HeldOut(t *testing.T) {
	grid, held, names := 0, 0, map[string]bool{}
	for _, c := range append(allCells(), noiseCells()...) {
		if names[c.name] {
			t.Errorf("two cells are named %q", c.name)
		}
		names[c.name] = true
	}
	for _, c := range allCells() {
		if c.heldOut {
			held++
		} else {
			grid++
		}
	}
	if grid != 74 || held != 36 {
		t.Errorf("%d cells in the grid and %d held out, want 74 and 36", grid, held)
	}
}

// A few small cells of each sort tell a broken engine or controller long before the whole grid does.
func TestSmallCells(t *testing.T) {
	sluice := sluiceWith("sluice", 0.06, 1)
	for _, c := range allCells() {
		switch c.name {
		case "bucket of 10 at 100 rtt 20 ms", "calendar second of 100 rtt 20 ms", "4 outstanding, rtt 200 ms",
			"2 blind senders at 100", "50/s come in at 100", "5 s without connection at 100":
		default:
			continue
		}
		first := play(c, sluice, firstSeed)
		if first.goodput < 0.95 || first.throttled > 0.01 {
			t.Errorf("%s: goodput %.3f, throttled %.4f: want at least 0.95 and at most 0.01", c.name, first.goodput, first.throttled)
		}
		if second := play(c, sluice, firstSeed); second != first {
			t.Errorf("%s: the same seed gave %+v and %+v", c.name, first, second)
		}
		if other := play(c, named("fixed", "fixed"), firstSeed); other.utility() > first.utility() {
			t.Errorf("%s: a fixed window scores %.3f, more than %.3f", c.name, other.utility(), first.utility())
		}
	}
}
