package share

import (
	"math"
	"testing"
)

func shareOf(weights []int, picks int, has func(lane int) bool) []float64 {
	s := New(weights)
	got := make([]float64, len(weights))
	for range picks {
		got[s.Pick(has)] += 1 / float64(picks)
	}
	return got
}

func TestShares(t *testing.T) {
	all := func(int) bool { return true }
	for name, tc := range map[string]struct {
		weights []int
		has     func(int) bool
		want    []float64
	}{
		"one":                  {[]int{0}, all, []float64{1}},
		"two strict":           {[]int{0, 0}, all, []float64{1, 0}},
		"weighted":             {[]int{3, 1}, all, []float64{0.75, 0.25}},
		"strict leaves floors": {[]int{0, 3, 1}, all, []float64{0.90, 0.05, 0.05}},
		"small weight":         {[]int{100, 1}, all, []float64{0.95, 0.05}},
		"strict lane is empty": {[]int{0, 3, 1}, func(l int) bool { return l != 0 }, []float64{0, 0.75, 0.25}},
		"only the lowest":      {[]int{0, 3, 1}, func(l int) bool { return l == 2 }, []float64{0, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got := shareOf(tc.weights, 10_000, tc.has)
			for i := range got {
				if math.Abs(got[i]-tc.want[i]) > 0.01 {
					t.Errorf("shares %.3f, want %.3f", got, tc.want)
					break
				}
			}
		})
	}
}

func TestSharesPickNothing(t *testing.T) {
	s := New([]int{0, 1})
	if got := s.Pick(func(int) bool { return false }); got != -1 {
		t.Errorf("picked %d of empty lanes", got)
	}
}

func TestSharesSaveNothingUp(t *testing.T) {
	s := New([]int{0, 3, 1})
	for range 5000 {
		s.Pick(func(l int) bool { return l == 0 })
	}
	// The others wake up: the strict lane keeps nine of ten from the start.
	strict := 0
	for range 100 {
		if s.Pick(func(int) bool { return true }) == 0 {
			strict++
		}
	}
	if strict < 85 {
		t.Errorf("the strict lane got %d of 100 after the others woke up, want about 90", strict)
	}
}
