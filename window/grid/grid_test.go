//go:build grid

package grid

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// report is what TestMain prints when all tests are over, so that the score is the last line.
var report strings.Builder

func TestMain(m *testing.M) {
	code := m.Run()
	_, _ = io.WriteString(os.Stdout, report.String())
	os.Exit(code)
}

const seeds = 5

// One seed of the window alone: half a minute, to see that a change has not spoilt it. A single seed may be a little
// worse than the mean of five, and its highest cell up to twice as high.
func TestGridSmoke(t *testing.T) {
	cells := allCells()
	for _, x := range []struct {
		rival
		least float64
	}{{sluiceWith("sluice", 0.06, 1), 0.925}, {sluiceWith("sluice, noise.max 0", 0, 1), 0.93}} {
		r := measure(cells, x.rival)
		score, _ := r.only(inGrid).score()
		held, _ := r.only(heldOut).score()
		_, most, worst := r.only(inGrid).throttled()
		fmt.Fprintf(&report, "%s, one seed: %.3f, held out %.3f, highest share throttled %.2f %%\n", x.name, score, held, 100*most)
		if score < x.least || held < 0.87 || most > 0.03 {
			t.Errorf("%s: score %.4f, want %v; held out %.4f, want 0.87; %.2f %% throttled in %s, want at most 3 %%", x.name, score, x.least, held, 100*most, worst)
		}
	}
}

// The whole grid, the held-out cells and the noise, with the targets of the project: means of five seeds.
func TestGrid(t *testing.T) {
	off, on := sluiceWith("sluice, noise.max 0", 0, seeds), sluiceWith("sluice", 0.06, seeds)
	rivals := []rival{
		on, off,
		{name: "oracle at 99 %", seeds: 1, policy: newOracle},
		named("fixed window of 10", "fixed"), named("Kannel, 1 s", "kannel"),
		named("halve and creep", "halve"), named("CUBIC on rate", "cubic"),
	}
	cells := allCells()
	all := make([]results, len(rivals))
	for i, r := range rivals {
		all[i] = measure(cells, r)
		mean, _ := all[i].only(inGrid).score()
		t.Logf("%s: %.4f", r.name, mean)
	}
	writeFamilies(&report, rivals, all)

	noisy := measure(noiseCells(), on)
	noisyOff := measure(noiseCells(), off)
	writeNoise(&report, noisy, noisyOff)

	for _, x := range []struct {
		family string
		least  float64
	}{{"noise 0.5 %", 0.95}, {"noise 1 %", 0.94}, {"noise 2 %", 0.90}} {
		if g := noisy.only(ofFamily(x.family)).goodput(); g < x.least {
			t.Errorf("%s: goodput %.3f, want %.2f", x.family, g, x.least)
		}
	}
	for i, x := range []struct {
		least float64
		grid  results
	}{{0.930, all[0].only(inGrid)}, {0.935, all[1].only(inGrid)}} {
		if mean, _ := x.grid.score(); mean < x.least {
			t.Errorf("%s: score %.4f, want %.3f", rivals[i].name, mean, x.least)
		}
		if _, most, worst := x.grid.throttled(); most > 0.015 {
			t.Errorf("%s: %.2f %% throttled in %s, want at most 1.5 %%", rivals[i].name, 100*most, worst)
		}
		if held, _ := all[i].only(heldOut).score(); held < 0.89 {
			t.Errorf("%s: score %.4f on the held-out cells, want 0.89", rivals[i].name, held)
		}
	}
	on2, _ := all[0].only(inGrid).score()
	off2, _ := all[1].only(inGrid).score()
	fmt.Fprintf(&report, "\nscore with the default noise.max of 6 %%: %.3f\nscore %.3f\n", on2, off2)
}

// families in the order of the cells, with what they are.
func families() [][2]string {
	return [][2]string{
		{"S1", "token bucket of 10 and more"},
		{"S1b1", "token bucket of 1"},
		{"S2", "calendar second"},
		{"S3", "sliding second"},
		{"S4", "finite queue, 0x14"},
		{"S5", "outstanding limit"},
		{"S6", "latency only"},
		{"S7", "penalty that extends"},
		{"S8", "ceiling that moves"},
		{"S9", "2 and 4 blind senders"},
		{"S10", "messages come in"},
		{"S11", "0.5 % odd answers"},
		{"S12", "5 s without connection"},
	}
}

// writeFamilies writes goodput, mean and highest share throttled of each family and rival.
func writeFamilies(w io.Writer, rivals []rival, all []results) {
	row := func(title string, cell func(results) string) {
		cells := []string{title}
		for _, r := range all {
			cells = append(cells, cell(r))
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	head := []string{"goodput / throttled: mean, highest cell (%)"}
	for _, r := range rivals {
		head = append(head, r.name)
	}
	fmt.Fprintf(w, "Means of %d seeds; the other senders with one.\n\n", seeds)
	fmt.Fprintf(w, "| %s |\n|---%s|\n", strings.Join(head, " | "), strings.Repeat("|---", len(rivals)))
	figures := func(chosen func(cell) bool) func(results) string {
		return func(r results) string {
			some := r.only(chosen)
			mean, most, _ := some.throttled()
			return fmt.Sprintf("%.1f / %.2f, %.2f", 100*some.goodput(), 100*mean, 100*most)
		}
	}
	for _, f := range families() {
		row(f[1], figures(func(c cell) bool { return c.family == f[0] && !c.heldOut }))
	}
	row("grid, 74 cells", figures(inGrid))
	row("held out, 36 cells", figures(heldOut))
	score := func(chosen func(cell) bool) func(results) string {
		return func(r results) string {
			mean, worst := r.only(chosen).score()
			if len(r.outcomes[0]) == 1 {
				return fmt.Sprintf("%.3f", mean)
			}
			return fmt.Sprintf("%.4f, worst seed %.4f", mean, worst)
		}
	}
	row("**score**, grid", score(inGrid))
	row("score, held out", score(heldOut))
}

// writeNoise writes a row for each noisy cell.
func writeNoise(w io.Writer, on, off results) {
	fmt.Fprint(w, "\n| goodput / throttled (%) | sluice | noise.max 0 |\n|---|---|---|\n")
	row := func(title string, chosen func(cell) bool) {
		fmt.Fprintf(w, "| %s ", title)
		for _, r := range []results{on, off} {
			some := r.only(chosen)
			mean, _, _ := some.throttled()
			fmt.Fprintf(w, "| %.1f / %.2f ", 100*some.goodput(), 100*mean)
		}
		fmt.Fprint(w, "|\n")
	}
	for i, c := range on.cells {
		row(c.name, func(x cell) bool { return x.name == c.name })
		if i+1 == len(on.cells) || on.cells[i+1].family != c.family {
			row("**"+c.family+", geometric mean**", ofFamily(c.family))
		}
	}
}
