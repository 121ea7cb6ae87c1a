package smpp

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/smpp/pdu"
)

func TestSequenceSkipsWhatIsInFlight(t *testing.T) {
	table := newInflight(1)
	straggler := table.add(0, nil, nil)
	if straggler != 1 {
		t.Fatalf("the first number is %d, want 1", straggler)
	}
	// All other requests are answered at once: the straggler's slot comes round
	// again and again, and its number is never given to another.
	size := uint32(len(table.slots))
	for range 1000 {
		n := table.add(0, nil, nil)
		if n == straggler || n&(size-1) == straggler {
			t.Fatalf("number %d was given out over the straggler's slot", n)
		}
		table.take(n)
	}
	if r, ok := table.take(straggler); !ok || r.sequence != straggler {
		t.Fatalf("the straggler is gone: %+v, %v", r, ok)
	}
}

func TestSequenceWrapsToOne(t *testing.T) {
	table := newInflight(pdu.MaxSequence - 1)
	table.add(0, nil, "a")
	table.add(0, nil, "b")
	if n := table.add(0, nil, "c"); n != 1 {
		t.Fatalf("after 0x7FFFFFFF comes %d, want 1", n)
	}
	// A straggler from before the wrap keeps its number.
	table = newInflight(pdu.MaxSequence)
	table.add(0, nil, "old")
	table.next = pdu.MaxSequence
	if n := table.sequence(); n != 1 {
		t.Fatalf("0x7FFFFFFF is in flight, but the next number is %d, want 1", n)
	}
}

func TestInflightAgainstAModel(t *testing.T) { rapid.Check(t, inflightAgainstAModel) }

func FuzzInflightAgainstAModel(f *testing.F) { f.Fuzz(rapid.MakeFuzz(inflightAgainstAModel)) }

// inflightAgainstAModel compares the ring with a map and a list under any order
// of add and take, from any start, with stragglers over many rounds.
func inflightAgainstAModel(t *rapid.T) {
	start := rapid.OneOf(
		rapid.Uint32Range(1, pdu.MaxSequence),
		rapid.Uint32Range(pdu.MaxSequence-300, pdu.MaxSequence),
	).Draw(t, "start")
	table := newInflight(start)
	var order []uint32 // the model: numbers in the order of sending
	refs := map[uint32]int{}
	ref := 0
	t.Repeat(map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			for range rapid.IntRange(1, 40).Draw(t, "count") {
				ref++
				n := table.add(time.Duration(ref), nil, ref)
				if _, taken := refs[n]; taken || n == 0 || n > pdu.MaxSequence {
					t.Fatalf("number %d is taken or out of range", n)
				}
				refs[n] = ref
				order = append(order, n)
			}
		},
		"take": func(t *rapid.T) {
			for range rapid.IntRange(1, 40).Draw(t, "count") {
				if len(order) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(order)-1).Draw(t, "which")
				n := order[i]
				r, ok := table.take(n)
				if !ok || r.ref != refs[n] {
					t.Fatalf("take(%d) = %+v, %v; want ref %d", n, r, ok, refs[n])
				}
				if _, ok := table.take(n); ok {
					t.Fatalf("number %d was taken twice", n)
				}
				delete(refs, n)
				order = append(order[:i], order[i+1:]...)
			}
		},
		"take a foreign number": func(t *rapid.T) {
			n := rapid.Uint32().Draw(t, "number")
			if _, known := refs[n]; known {
				t.Skip("known")
			}
			if _, ok := table.take(n); ok {
				t.Fatalf("number %d was never given out", n)
			}
		},
		"": func(t *rapid.T) {
			if table.n != len(order) {
				t.Fatalf("%d in flight, want %d", table.n, len(order))
			}
			if 2*table.n > len(table.slots) {
				t.Fatalf("%d requests in a ring of %d: more than half full", table.n, len(table.slots))
			}
			r, ok := table.first()
			for _, n := range order {
				if !ok || r.sequence != n {
					t.Fatalf("order of sending: got %d, %v, want %d", r.sequence, ok, n)
				}
				r, ok = table.after(r)
			}
			if ok {
				t.Fatalf("%d is behind the newest", r.sequence)
			}
		},
	})
}

func TestGraveyardIsBounded(t *testing.T) {
	g := newGraveyard(time.Minute, 3)
	for n := range uint32(5) {
		g.bury(time.Duration(n)*time.Second, request{sequence: n + 1, ref: n + 1})
	}
	if g.len() != 3 {
		t.Fatalf("%d tombstones, want 3", g.len())
	}
	if _, ok := g.take(5*time.Second, 2); ok {
		t.Fatal("the oldest tombstones were not dropped")
	}
	if r, ok := g.take(5*time.Second, 4); !ok || r.ref != uint32(4) {
		t.Fatalf("tombstone 4: %+v, %v", r, ok)
	}
	if _, ok := g.take(5*time.Second, 4); ok {
		t.Fatal("tombstone 4 was found twice")
	}
	g.bury(10*time.Second, request{sequence: 4, ref: "again"}) // the number came round
	g.sweep(63 * time.Second)                                  // the end of the first 4
	if r, ok := g.take(63*time.Second, 4); !ok || r.ref != "again" {
		t.Fatalf("the younger tombstone 4: %+v, %v", r, ok)
	}
	g.sweep(time.Hour)
	if g.len() != 0 || len(g.queue) != 0 {
		t.Fatalf("%d tombstones and %d in the queue after an hour", g.len(), len(g.queue))
	}
}

func TestProber(t *testing.T) {
	const s = time.Second
	p := prober{interval: 30 * s, timeout: 10 * s}
	look := func(now, heard time.Duration, want verdict, wantNext time.Duration) {
		t.Helper()
		v, next := p.look(now, heard)
		if v != want || v == rest && next != wantNext {
			t.Fatalf("look(%v, %v) = %d, %v; want %d, %v", now, heard, v, next, want, wantNext)
		}
	}
	look(0, 0, rest, 30*s)
	look(29*s, 12*s, rest, 42*s)
	look(42*s, 12*s, ask, 0)
	p.sent(42*s, 7)
	look(42*s, 12*s, rest, 52*s)
	if p.answered(8) || p.answered(0) || !p.answered(7) || p.answered(7) {
		t.Fatal("the probe is answered by number 7, once")
	}
	look(43*s, 43*s, rest, 73*s)
	look(73*s, 43*s, ask, 0)
	p.sent(73*s, 8)
	look(83*s-1, 43*s, rest, 83*s)
	look(83*s, 80*s, rest, 110*s) // an octet came: life, though no answer
	look(110*s, 80*s, ask, 0)
	p.sent(110*s, 9)
	look(120*s, 80*s, bury, 0)
}
