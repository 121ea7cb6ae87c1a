package grid

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/window"
)

// wildResult is a case with the means of its seeds.
type wildResult struct {
	wildCase
	mean      wildOutcome // but for highest, the worst seed's
	score     float64
	best      float64 // the oracle's, or the controller's where that is higher
	locked    int     // seeds in which nothing was taken at the end
	runaways  int     // seeds in which the pace was above twice what the limits of a second take
	worstSeed float64
}

// measureWild plays cases with so many seeds, on all cores.
func measureWild(cases []wildCase, seeds int) []wildResult {
	results := make([]wildResult, len(cases))
	jobs := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range jobs {
				results[i] = measureWildCase(cases[i], seeds)
			}
		})
	}
	for i := range cases {
		jobs <- i
	}
	close(jobs)
	workers.Wait()
	return results
}

func measureWildCase(c wildCase, seeds int) wildResult {
	r := wildResult{wildCase: c, worstSeed: 1}
	for seed := range seeds {
		o := playWild(c, newWildSluice(c.binds, window.Config{NoiseMax: 0.06}), uint64(firstSeed+seed))
		n := float64(seeds)
		r.score += o.score() / n
		r.worstSeed = min(r.worstSeed, o.score())
		r.mean.goodput += o.goodput / n
		r.mean.refused += o.refused / n
		r.mean.unanswered += o.unanswered / n
		r.mean.closes += o.closes
		r.mean.highest = max(r.mean.highest, o.highest)
		if o.locked {
			r.locked++
		}
		if o.highest > 2 {
			r.runaways++
		}
	}
	r.best = r.score
	for _, with := range c.best {
		o := playWild(c, newWildOracle(c.binds, with), firstSeed)
		r.best = max(r.best, o.score())
	}
	return r
}

// wildKinds are the kinds of results in their order, each with its results.
func wildKinds(results []wildResult) (kinds [][]wildResult) {
	for _, r := range results {
		if n := len(kinds); n > 0 && kinds[n-1][0].kind == r.kind {
			kinds[n-1] = append(kinds[n-1], r)
			continue
		}
		kinds = append(kinds, []wildResult{r})
	}
	return kinds
}

// writeWild writes a line for each kind and case, and last the mean of the kinds: each has the same weight.
func writeWild(out io.Writer, results []wildResult) {
	kinds := wildKinds(results)
	for _, kind := range kinds {
		score, best, locked, runaways := meansOf(kind)
		fmt.Fprintf(out, "\nkind %s: score %.3f best %.3f (%d cases, locked out in %d, runaway in %d)\n", kind[0].kind, score, best, len(kind), locked, runaways)
		for _, r := range kind {
			fmt.Fprintf(out, "  %-74s score %.3f best %.3f worst seed %.3f | goodput %5.1f %% refused %5.2f %% unanswered %5.2f %% closes %d highest pace ×%.2g\n",
				r.name, r.score, r.best, r.worstSeed, 100*r.mean.goodput, 100*r.mean.refused, 100*r.mean.unanswered, r.mean.closes, r.mean.highest)
		}
	}
	fmt.Fprint(out, "\n| kind | cases | score | best | goodput | locked out | runaway |\n|---|---|---|---|---|---|---|\n")
	var score, best, counted float64
	for _, kind := range kinds {
		s, b, locked, runaways := meansOf(kind)
		goodput := 0.0
		for _, r := range kind {
			goodput += min(1, r.mean.goodput) / float64(len(kind))
		}
		fmt.Fprintf(out, "| %s | %d | %.3f | %.3f | %.0f %% | %d | %d |\n", kind[0].kind, len(kind), s, b, 100*goodput, locked, runaways)
		if !isGuard(kind[0].kind) {
			score, best, counted = score+s, best+b, counted+1
		}
	}
	counted = max(1, counted)
	fmt.Fprintf(out, "score %.3f best %.3f\n", score/counted, best/counted)
}

// meansOf is the mean score of a kind, its best, and its cases with a seed that was locked out or ran away.
func meansOf(kind []wildResult) (score, best float64, locked, runaways int) {
	for _, r := range kind {
		score += r.score / float64(len(kind))
		best += r.best / float64(len(kind))
		locked += min(1, r.locked)
		runaways += min(1, r.runaways)
	}
	return score, best, locked, runaways
}

// Each kind has cases enough, near and far, with one bind and with several; names are unique.
func TestWildCases(t *testing.T) {
	names := map[string]bool{}
	for _, c := range append(wildCases(), wildGuards()...) {
		if name := c.kind + c.name; names[name] {
			t.Errorf("two cases are named %q", name)
		} else {
			names[name] = true
		}
	}
	for _, kind := range wildKinds(asResults(append(wildCases(), wildGuards()...))) {
		near, far, several := 0, 0, 0
		for _, c := range kind {
			near += count(c.rtt >= 5*time.Millisecond && c.rtt <= 20*time.Millisecond)
			far += count(c.rtt >= 200*time.Millisecond && c.rtt <= 500*time.Millisecond)
			several += count(c.binds > 1)
		}
		switch name := kind[0].kind; {
		case len(kind) < 8 && !isGuard(name):
			t.Errorf("kind %s: %d cases, want at least 8", name, len(kind))
		case near+far != len(kind), near == 0, far == 0, several == 0:
			t.Errorf("kind %s: %d cases, %d near, %d far, %d with several binds: want some of each", name, len(kind), near, far, several)
		}
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

func asResults(cases []wildCase) (results []wildResult) {
	for _, c := range cases {
		results = append(results, wildResult{wildCase: c})
	}
	return results
}

// The same seed gives the same course, and the oracle does what a sender that knows the SMSC can do.
func TestWildSmoke(t *testing.T) {
	for _, kind := range wildKinds(asResults(append(wildCases(), wildGuards()...))) {
		c := smallOf(kind)
		play := func() wildOutcome {
			return playWild(c, newWildSluice(c.binds, window.Config{NoiseMax: 0.06}), firstSeed)
		}
		first := play()
		if second := play(); second != first {
			t.Errorf("kind %s, %s: the same seed gave %+v and %+v", c.kind, c.name, first, second)
		}
		best := 0.0
		for _, with := range c.best {
			best = max(best, playWild(c, newWildOracle(c.binds, with), firstSeed).score())
		}
		if least := cmp.Or(wildLeast(c.kind), 0.9); best < least && !isGuard(c.kind) {
			t.Errorf("kind %s, %s: the best that is known scores %.3f, want at least %.2f", c.kind, c.name, best, least)
		}
		if least := smokeLeast(c.kind); first.score() < least {
			t.Errorf("kind %s, %s: %.3f, want at least %.2f: %+v", c.kind, c.name, first.score(), least, first)
		}
		t.Logf("kind %s, %s: %.3f of %.3f: %+v", c.kind, c.name, first.score(), best, first)
	}
}

// smallOf is the third case of a kind, which is neither the slowest nor far away, or else the first, that is quick to play.
func smallOf(kind []wildResult) wildCase {
	for _, r := range append(kind[2:3:3], kind...) {
		if c := r.wildCase; c.could(c.warm)*c.length < 100_000 {
			return c
		}
	}
	return kind[0].wildCase
}

// wildLeast is what an oracle reaches where the kind itself costs something.
func wildLeast(kind string) float64 {
	return map[string]float64{"2 busy host": 0.5, "13 bursts of noise": 0.6}[kind]
}

// smokeLeast is what the controller must reach in that case of a kind, a little below what it does; kinds that it does
// not know yet have none.
func smokeLeast(kind string) float64 {
	return map[string]float64{
		"1 idle, then a burst": 0.85, "2 busy host": 0.75, "3 late refusals": 0.9, "3b late acceptances": 0.93,
		"6 silent above its rate": 0.85, "7 unequal binds": 0.85, "11 maintenance": 0.75, "12 moving ceilings": 0.9, "15 spacing": 0.9,
		"guard network drops": 0.85, "guard SMSC restarts": 0.9, "guard lost answers": 0.45, "guard equal binds with noise": 0.6,
		"guard cron job, and a rival's": 0.85, "guard noise": 0.75, "guard slow and idle": 0.9,
	}[kind]
}

// caseOf is the first case of a kind whose name has that word.
func caseOf(t *testing.T, kind, word string) wildCase {
	t.Helper()
	for _, c := range wildCases() {
		if c.kind == kind && strings.Contains(c.name, word) {
			return c
		}
	}
	t.Fatalf("no case of kind %s is named %q", kind, word)
	return wildCase{}
}

// Who knows the SMSC and sends half as much again as it takes meets what the kind is about.
func TestWildWorldMeetsExcess(t *testing.T) {
	excess := func(c wildCase, change func(*oracleWith)) wildOutcome {
		with := c.best[0]
		with.margin = 1.5
		change(&with)
		return playWild(c, newWildOracle(c.binds, with), firstSeed)
	}
	same := func(*oracleWith) {}
	for _, tt := range []struct {
		kind, word string
		change     func(*oracleWith)
		want       func(wildOutcome) bool
		what       string
	}{
		{"3 late refusals", "60/s", same, func(o wildOutcome) bool { return o.refused > 0.31 && o.refused < 0.35 && o.goodput > 0.99 }, "a third refused"},
		{"4 penalty that extends", "30/s", same, func(o wildOutcome) bool { return o.locked && o.refused == 1 }, "to be locked out"},
		{"5 closes the session", "40/s", same, func(o wildOutcome) bool { return o.closes > 20 && o.unanswered > 0 && o.refused == 0 }, "closed sessions, and nothing refused"},
		{"6 silent above its rate", "50/s", same, func(o wildOutcome) bool { return o.unanswered > 0.3 && o.refused == 0 }, "silence, and nothing refused"},
		{"7 unequal binds", "[15 75]", func(w *oracleWith) { w.each = []float64{30, 30} }, func(o wildOutcome) bool {
			return o.goodput > 0.65 && o.goodput < 0.68 && o.refused > 0.3
		}, "60 of 90 taken"},
		{"8 quotas", "60 a minute", same, func(o wildOutcome) bool { return o.refused > 0.31 && o.refused < 0.35 && o.goodput > 0.99 }, "a third refused"},
		{"10 session quota", "80/s", func(w *oracleWith) { w.margin, w.rebind = 0.98, 0 }, func(o wildOutcome) bool { return o.locked }, "to be locked out"},
		{"11 maintenance", "8/s", func(w *oracleWith) { w.margin, w.rate = 0.98, constant(8) }, func(o wildOutcome) bool {
			return o.refused > 0.08 && o.refused < 0.13 && o.goodput > 0.97
		}, "a tenth refused"},
	} {
		if o := excess(caseOf(t, tt.kind, tt.word), tt.change); !tt.want(o) {
			t.Errorf("kind %s, %s: %+v, want %s", tt.kind, tt.word, o, tt.what)
		}
	}
}

// The two engines were written apart, and agree where they play the same SMSC.
func TestWildEngineAgreesWithTheGrids(t *testing.T) {
	for _, rate := range []float64{10, 100, 1000} {
		for _, rtt := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond} {
			c := cell{rtt: rtt.Seconds(), length: lengthFor(rate), warm: lengthFor(rate) / 4, smsc: bucketOf(constant(rate), depthFor(rate))}
			table := wildTable{}
			table.add(onBucket(way{rate: rate, binds: 1}, "a bucket", c.length), rtt)
			var grid, wild outcome
			const seeds = 4
			for seed := range int64(seeds) {
				g := play(c, sluiceWith("sluice", 0.06, 1), firstSeed+seed)
				w := playWild(table.cases[0], newWildSluice(1, window.Config{NoiseMax: 0.06}), uint64(firstSeed+seed))
				grid.goodput, grid.throttled = grid.goodput+g.goodput/seeds, grid.throttled+g.throttled/seeds
				wild.goodput, wild.throttled = wild.goodput+w.goodput/seeds, wild.throttled+w.refused/seeds
			}
			t.Logf("%g/s, rtt %v: grid %+v, wild %+v", rate, rtt, grid, wild)
			if math.Abs(grid.goodput-wild.goodput) > 0.01 || math.Abs(grid.throttled-wild.throttled) > 0.005 {
				t.Errorf("%g/s, rtt %v: %+v on the grid and %+v in the wild, want the same within 1 and half a point", rate, rtt, grid, wild)
			}
		}
	}
}
