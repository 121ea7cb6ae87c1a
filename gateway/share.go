package gateway

import (
	"cmp"
	"slices"
)

// stake is what one instance takes of one account at most.
type stake struct {
	rate   float64 // of the account's rate, 0 to 1
	window int     // of window.max; 0 also when that is not set
	binds  int
}

// whole is what all instances together may take beside the rate; 0: no limit.
type whole struct{ window, binds int }

// claimant is an instance that lives and serves the account.
type claimant struct {
	name   string
	demand int // what it could use
	takes  stake
}

// fair is what the instance of that name should have: the rate and the window by demand, by heads while nobody could use
// anything, and the binds by heads, for without one there is no demand. Whole numbers go to the largest remainder, then
// by name, so that all instances that know the same claimants divide alike.
func fair(me string, claimants []claimant, w whole) stake {
	demands, heads := make([]int, len(claimants)), make([]int, len(claimants))
	sum := 0
	for n, c := range claimants {
		demands[n], heads[n] = c.demand, 1
		sum += c.demand
	}
	if sum == 0 {
		demands, sum = heads, len(heads)
	}
	at := slices.IndexFunc(claimants, func(c claimant) bool { return c.name == me })
	if at < 0 {
		return stake{}
	}
	return stake{
		rate:   float64(demands[at]) / float64(sum),
		window: apportion(w.window, demands, claimants)[at],
		binds:  apportion(w.binds, heads, claimants)[at],
	}
}

// apportion divides total by weight, which is not 0 for all.
func apportion(total int, weights []int, claimants []claimant) []int {
	sum, given := 0, 0
	for _, w := range weights {
		sum += w
	}
	parts, order := make([]int, len(weights)), make([]int, len(weights))
	for n, w := range weights {
		parts[n], order[n] = total*w/sum, n
		given += parts[n]
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(total*weights[b]%sum, total*weights[a]%sum), cmp.Compare(claimants[a].name, claimants[b].name))
	})
	for _, n := range order[:total-given] {
		parts[n]++
	}
	return parts
}

// tenure is how one instance comes to its stake, so that the sum of all never exceeds the whole although nobody asks
// anybody. What it has is lowered at once, and only then said. For more it says first what it wants, reads what the
// others say, and takes it when there is room for all that is said: of two that want the same room at least the one that
// reads last sees both. It is a value without clock or I/O.
type tenure struct {
	has  stake // what may be used
	says stake // what the others know; never less than has
}

// offer lowers what the instance has to what it should have, and returns what it is to say: all that it should have, as
// far as the others leave room.
func (t *tenure) offer(should stake, others []claimant, w whole) stake {
	t.has = stake{min(t.has.rate, should.rate), min(t.has.window, should.window), min(t.has.binds, should.binds)}
	said := total(others)
	t.says = stake{
		rate:   max(t.has.rate, min(should.rate, 1-said.rate)),
		window: max(t.has.window, min(should.window, w.window-said.window)),
		binds:  max(t.has.binds, min(should.binds, w.binds-said.binds)),
	}
	return t.says
}

// confirm takes what was said, as far as there is room beside what the others were read to say after that.
func (t *tenure) confirm(others []claimant, w whole) {
	const rounding = 1e-9
	said := total(others)
	if t.says.rate+said.rate <= 1+rounding {
		t.has.rate = t.says.rate
	}
	if t.says.window+said.window <= w.window {
		t.has.window = t.says.window
	}
	if t.says.binds+said.binds <= w.binds {
		t.has.binds = t.says.binds
	}
}

func total(claimants []claimant) (sum stake) {
	for _, c := range claimants {
		sum.rate += c.takes.rate
		sum.window += c.takes.window
		sum.binds += c.takes.binds
	}
	return sum
}
