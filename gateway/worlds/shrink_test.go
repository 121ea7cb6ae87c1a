package worlds

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shrinkPlays bounds how many worlds are played to make one smaller.
const shrinkPlays = 120

// left is what is left of a world: the places of its faults, orders, phones and messages as they were drawn.
type left [4][]int

// leftOf is all of a world.
func leftOf(w *world) (l left) {
	for part, n := range []int{len(w.faults), len(w.orders), len(w.phones), len(w.messages)} {
		for i := range n {
			l[part] = append(l[part], i)
		}
	}
	return l
}

// keep draws the world of a seed and leaves out what is not left. What is left is as it was.
func keep(seed uint64, l left) *world {
	w := draw(seed)
	w.faults, w.orders, w.phones, w.messages = pick(w.faults, l[0]), pick(w.orders, l[1]), pick(w.phones, l[2]), pick(w.messages, l[3])
	return w
}

func pick[T any](all []T, places []int) (picked []T) {
	for _, i := range places {
		picked = append(picked, all[i])
	}
	return picked
}

// shrink leaves out what it can, part by part, while the world still fails: first halves, then quarters, and single
// things at the end.
func shrink(l left, fails func(left) bool) left {
	for part := range l {
		for size := (len(l[part]) + 1) / 2; size > 0; size /= 2 {
			for from := 0; from < len(l[part]); {
				less := l
				less[part] = slices.Concat(l[part][:from], l[part][min(from+size, len(l[part])):])
				if fails(less) {
					l = less
				} else {
					from += size
				}
			}
		}
	}
	return l
}

// promise is a complaint without what differs from play to play: numbers, ids and times.
func promise(complaint string) string {
	return regexp.MustCompile(`([0-9][0-9.:]*(ns|µs|ms|s|h|m)*)+`).ReplaceAllString(complaint, "N")
}

// shrinks makes the world of a seed smaller while it breaks the same promise as in its first play, and leaves the trace of
// the smallest. Each candidate is played up to three times.
func shrinks(t *testing.T, seed uint64, faults []error) {
	broken := promise(faults[0].Error())
	plays := 0
	fails := func(l left) bool {
		for range 3 {
			if plays++; plays > shrinkPlays {
				return false
			}
			again := live(t, keep(seed, l))
			if slices.ContainsFunc(again, func(err error) bool { return promise(err.Error()) == broken }) {
				t.Logf("still: %s", l)
				return true
			}
		}
		return false
	}
	smallest := shrink(leftOf(draw(seed)), fails)
	t.Logf("after %d plays, for %q: %s", min(plays, shrinkPlays), broken, smallest)
	w := keep(seed, smallest)
	for _, f := range w.faults {
		t.Logf("  %v", f)
	}
	for _, o := range w.orders {
		t.Logf("  %v", o)
	}
	for range 3 { // its trace is the last that is left
		if len(live(t, w)) > 0 {
			return
		}
		w = keep(seed, smallest)
	}
}

func (l left) String() string {
	return fmt.Sprintf("%d faults, %d orders, %d phones and %d messages are left", len(l[0]), len(l[1]), len(l[2]), len(l[3]))
}

// TestShrink finds the one fault and the two messages that a failure needs.
func TestShrink(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var all left
		for part, n := range []int{12, 3, 20, 300} {
			for i := range n {
				all[part] = append(all[part], i)
			}
		}
		fault, one, other := rnd.IntN(12), rnd.IntN(150), 150+rnd.IntN(150)
		plays := 0
		got := shrink(all, func(l left) bool {
			plays++
			return slices.Contains(l[0], fault) && slices.Contains(l[3], one) && slices.Contains(l[3], other)
		})
		if want := (left{{fault}, nil, nil, {one, other}}); fmt.Sprint(got[0], got[3]) != fmt.Sprint(want[0], want[3]) || len(got[1])+len(got[2]) > 0 {
			t.Errorf("%v is left, want fault %d and the messages %d and %d", got, fault, one, other)
		}
		if plays > shrinkPlays {
			t.Errorf("it took %d plays, more than the %d that there are", plays, shrinkPlays)
		}
	}
}

// TestKept leaves half of a world out: what is left is as it was drawn.
func TestKept(t *testing.T) {
	for seed := uint64(1); seed < 50; seed++ {
		whole := draw(seed)
		l := leftOf(whole)
		for part := range l {
			l[part] = l[part][len(l[part])/2:]
		}
		half := keep(seed, l)
		for i, f := range half.faults {
			if was := whole.faults[l[0][i]]; f.String() != was.String() {
				t.Errorf("world %d: %v was %v", seed, f, was)
			}
		}
		for i, m := range half.messages {
			if was := whole.messages[l[3][i]]; m.at != was.at || m.message.To != was.message.To {
				t.Errorf("world %d: message %s was %s", seed, m.message.ID, was.message.ID)
			}
		}
	}
}

// TestPromise: the same promise broken twice reads alike.
func TestPromise(t *testing.T) {
	one := promise("seq 157 (m0260) was sent 1m2.5s before the time that was said at 12:01:02.003")
	other := promise("seq 9 (m0001) was sent 250ms before the time that was said at 00:00:00.100")
	if one != other || strings.ContainsAny(one, "0123456789") {
		t.Errorf("%q and %q", one, other)
	}
}
