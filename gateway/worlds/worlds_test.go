package worlds

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/queue"
	"sluice/testserver/longtest"
)

// TestWorlds lives through SEEDS worlds beginning with FROM, or through the one of SEED; a few of them without either.
// The trace of a world that broke a promise is left in the folder WORLDS_DIR, with KEEP that of any. SHRINK makes such a
// world smaller.
func TestWorlds(t *testing.T) {
	few := 1
	if longtest.Whole(t, "one world of three") {
		few = 3
	}
	from, count := number(t, "FROM", 1), number(t, "SEEDS", few)
	if seed := number(t, "SEED", 0); seed > 0 {
		from, count = seed, 1
	}
	broken := 0
	for seed := from; seed < from+count; seed++ {
		name := fmt.Sprintf("seed %d", seed)
		t.Run(name, func(t *testing.T) {
			small := os.Getenv("SHRINK") != ""
			faults := live(t, draw(uint64(seed)))
			for plays := 1; small && len(faults) == 0 && plays < 5; plays++ {
				faults = live(t, draw(uint64(seed)))
			}
			if len(faults) > 0 {
				if broken++; small {
					shrinks(t, uint64(seed), faults)
				}
				t.Error(errors.Join(faults...))
			}
		})
	}
	t.Logf("%d worlds, %d with broken promises", count, broken)
}

// live plays a world in a bubble.
func live(t *testing.T, w *world) (faults []error) {
	dir := t.TempDir()
	var r *run
	synctest.Test(t, func(t *testing.T) { r, faults = play(t, w, dir) })
	emptyPools()
	accepted := uint64(0)
	for _, s := range r.smscs {
		accepted += s.Stats().Accepted
	}
	told := map[queue.CancelResult]int{}
	for _, c := range r.cancelled {
		told[c.answer.Result]++
	}
	t.Logf("%d instances, %d SMSCs (%s), %d messages, %d faults, %d orders, cancels %v, %d accepted", w.instances, len(w.accounts), w.kind,
		len(w.messages), len(w.faults), len(w.orders), told, accepted)
	if len(faults) > 0 || os.Getenv("KEEP") != "" {
		t.Logf("its trace is in %s", r.leave(t, faults))
	}
	return faults
}

// emptyPools lets one bubble follow another: the NATS client keeps its timers in a pool of the process, and the timers
// of one bubble are no use to the next. Two collections empty the pool.
func emptyPools() {
	runtime.GC()
	runtime.GC()
}

// leave writes what happened for people.
func (r *run) leave(t *testing.T, faults []error) string {
	dir := os.Getenv("WORLDS_DIR")
	if dir == "" {
		dir = os.TempDir()
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, fmt.Sprintf("world-%d.txt", r.seed))
	var b strings.Builder
	fmt.Fprintf(&b, "world %d: %d instances, SMSCs %v (%s), %d messages over %v\n\nbroken promises\n%v\n\nfaults\n", r.seed,
		r.world.instances, r.accounts, r.kind, len(r.messages), r.length, errors.Join(faults...))
	for _, f := range r.faults {
		fmt.Fprintf(&b, "%v\n", f)
	}
	for _, o := range r.orders {
		fmt.Fprintf(&b, "%v\n", o)
	}
	fmt.Fprintf(&b, "\nwhat happened\n%s\n", strings.Join(r.trace, "\n"))
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%q: want a whole number from 0", name, text)
	}
	return n
}
