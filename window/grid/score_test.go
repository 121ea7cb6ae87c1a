package grid

import (
	"math"
	"runtime"
	"sync"
)

// results hold an outcome for each cell and seed.
type results struct {
	cells    []cell
	outcomes [][]outcome // by cell, by seed
}

// firstSeed is the study's.
const firstSeed = 1000

// measure plays all cells with all seeds of a rival, on all cores.
func measure(cells []cell, r rival) results {
	res := results{cells: cells, outcomes: make([][]outcome, len(cells))}
	type job struct{ cell, seed int }
	jobs := make(chan job)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for j := range jobs {
				res.outcomes[j.cell][j.seed] = play(cells[j.cell], r, firstSeed+int64(j.seed))
			}
		})
	}
	for i := range cells {
		res.outcomes[i] = make([]outcome, r.seeds)
		for seed := range r.seeds {
			jobs <- job{i, seed}
		}
	}
	close(jobs)
	workers.Wait()
	return res
}

// utility is what a cell is worth: each percent throttled costs a tenth of the goodput.
func (o outcome) utility() float64 { return o.capped() * max(0.01, 1-10*o.throttled) }

func (o outcome) capped() float64 { return min(1, max(0.001, o.goodput)) }

// score is the geometric mean of all utilities of a seed: the mean over the seeds, and the worst.
func (r results) score() (mean, worst float64) {
	seeds := len(r.outcomes[0])
	worst = math.Inf(1)
	for seed := range seeds {
		sum := 0.0
		for _, o := range r.outcomes {
			sum += math.Log(o[seed].utility())
		}
		score := math.Exp(sum / float64(len(r.cells)))
		mean += score / float64(seeds)
		worst = min(worst, score)
	}
	return mean, worst
}

// goodput is the geometric mean of the cells, as the mean of the seeds.
func (r results) goodput() (mean float64) {
	seeds := len(r.outcomes[0])
	for seed := range seeds {
		sum := 0.0
		for _, o := range r.outcomes {
			sum += math.Log(o[seed].capped())
		}
		mean += math.Exp(sum/float64(len(r.cells))) / float64(seeds)
	}
	return mean
}

// throttled is the mean of the cells, and the highest mean of one.
func (r results) throttled() (mean, most float64, worst string) {
	for i, outcomes := range r.outcomes {
		sum := 0.0
		for _, o := range outcomes {
			sum += o.throttled / float64(len(outcomes))
		}
		mean += sum / float64(len(r.cells))
		if sum > most {
			most, worst = sum, r.cells[i].name
		}
	}
	return mean, most, worst
}

// only are the results of the cells that are chosen.
func (r results) only(chosen func(cell) bool) (some results) {
	for i, c := range r.cells {
		if chosen(c) {
			some.cells = append(some.cells, c)
			some.outcomes = append(some.outcomes, r.outcomes[i])
		}
	}
	return some
}

func inGrid(c cell) bool  { return !c.heldOut }
func heldOut(c cell) bool { return c.heldOut }

func ofFamily(name string) func(cell) bool { return func(c cell) bool { return c.family == name } }
