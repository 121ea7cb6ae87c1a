package gateway

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestFairShares(t *testing.T) {
	three := []claimant{{name: "a", demand: 2}, {name: "b", demand: 1}, {name: "c", demand: 1}}
	idle := []claimant{{name: "a"}, {name: "b"}}
	for _, tc := range []struct {
		me        string
		claimants []claimant
		w         whole
		want      stake
	}{
		{"a", three[:1], whole{50, 4}, stake{1, 50, 4}},
		{"a", three, whole{50, 4}, stake{0.5, 25, 2}},
		{"b", three, whole{50, 4}, stake{0.25, 13, 1}},
		{"c", three, whole{50, 4}, stake{0.25, 12, 1}},
		{"a", three, whole{1, 1}, stake{0.5, 1, 1}},
		{"c", three, whole{1, 1}, stake{0.25, 0, 0}},
		{"b", three, whole{}, stake{0.25, 0, 0}},
		{"b", idle, whole{3, 0}, stake{0.5, 1, 0}},
		{"x", three, whole{50, 4}, stake{}},
	} {
		if got := fair(tc.me, tc.claimants, tc.w); got != tc.want {
			t.Errorf("fair(%s, %d claimants, %+v) = %+v, want %+v", tc.me, len(tc.claimants), tc.w, got, tc.want)
		}
	}
}

// board is what instances know of each other: a store that each writes to and reads as a whole.
type board struct {
	said    map[string]claimant
	members map[string]*member
	w       whole
}

// member is one instance in the model.
type member struct {
	tenure
	name   string
	demand int
	others []claimant // as last read
	unread bool       // it has said something and not read since
}

func (b *board) write(m *member) {
	all := append([]claimant{{name: m.name, demand: m.demand}}, m.others...)
	says := m.offer(fair(m.name, all, b.w), m.others, b.w)
	b.said[m.name] = claimant{m.name, m.demand, says}
	m.unread = true
}

func (b *board) read(m *member) {
	m.others = nil
	for name, c := range b.said {
		if name != m.name {
			m.others = append(m.others, c)
		}
	}
	if m.unread {
		m.confirm(m.others, b.w)
		m.unread = false
	}
}

func (b *board) sum() (s stake) {
	for _, m := range b.members {
		s.rate += m.has.rate
		s.window += m.has.window
		s.binds += m.has.binds
	}
	return s
}

func (b *board) exceeded() bool {
	s := b.sum()
	return s.rate > 1+1e-6 || s.window > b.w.window || s.binds > b.w.binds
}

// Whatever the order in which instances come, write, read, lose a write, change their demand and go, they never have more
// than the whole; and once they are left alone they have all of it.
func TestSharesNeverExceedTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &board{said: map[string]claimant{}, members: map[string]*member{}, w: whole{
			window: rapid.IntRange(0, 60).Draw(t, "window"), binds: rapid.IntRange(0, 6).Draw(t, "binds"),
		}}
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		names := 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 6000).Draw(t, "ms")) * time.Millisecond)
			m := b.pick(t)
			switch step := rapid.SampledFrom([]string{"write", "write", "read", "read", "read", "join", "die", "expire", "demand"}).Draw(t, "step"); {
			case step == "join" && len(b.members) < 5 || m == nil:
				names++
				name := fmt.Sprint("gw-", names)
				b.members[name] = &member{name: name, demand: rapid.IntRange(0, 3).Draw(t, "demand")}
				b.read(b.members[name])
			case step == "write":
				b.write(m)
			case step == "read":
				b.read(m)
			case step == "demand":
				m.demand = rapid.IntRange(0, 3).Draw(t, "demand")
			case step == "die": // it stops at once; what it said stays until its lease ends
				delete(b.members, m.name)
			case step == "expire":
				for name := range b.said {
					if b.members[name] == nil {
						delete(b.said, name)
					}
				}
			}
			if b.exceeded() {
				t.Fatalf("together they have %+v of %+v", b.sum(), b.w)
			}
		}
		b.settle(t, now)
	})
}

func (b *board) pick(t *rapid.T) *member {
	if len(b.members) == 0 {
		return nil
	}
	return b.members[rapid.SampledFrom(sortedKeys(b.members)).Draw(t, "who")]
}

// settle lets the instances go on in turn until nothing changes.
func (b *board) settle(t *rapid.T, now time.Time) {
	for name := range b.said {
		if b.members[name] == nil {
			delete(b.said, name)
		}
	}
	for range 20 {
		now = now.Add(3 * time.Second)
		for _, name := range sortedKeys(b.members) {
			b.read(b.members[name])
			b.write(b.members[name])
			b.read(b.members[name])
			if b.exceeded() {
				t.Fatalf("together they have %+v of %+v", b.sum(), b.w)
			}
		}
	}
	if s := b.sum(); len(b.members) > 0 && (math.Abs(s.rate-1) > 1e-6 || s.window != b.w.window || s.binds != b.w.binds) {
		t.Fatalf("left alone they have %+v, want all of %+v", s, b.w)
	}
}

// One comes to another that has everything: it takes its share as soon as the other is read to have given it up; when one
// goes, the other takes its part in the round in which that is known.
func TestShareOfWhoComesAndGoes(t *testing.T) {
	b := &board{said: map[string]claimant{}, members: map[string]*member{}, w: whole{window: 40, binds: 4}}
	first, second := &member{name: "a", demand: 2}, &member{name: "b", demand: 2}
	round := func(members ...*member) {
		for _, m := range members {
			b.read(m)
			b.write(m)
			b.read(m)
		}
	}
	want := func(what string, m *member, has stake) {
		t.Helper()
		if m.has != has {
			t.Errorf("%s: %s has %+v, want %+v", what, m.name, m.has, has)
		}
	}
	round(first)
	want("alone", first, stake{1, 40, 4})
	round(second)
	want("no room yet", second, stake{})
	round(first, second)
	want("makes room at once", first, stake{0.5, 20, 2})
	want("takes it at once", second, stake{0.5, 20, 2})
	delete(b.said, "a")
	round(second)
	want("the other has gone", second, stake{1, 40, 4})
	second.tenure = tenure{} // it could not confirm its lease for a while
	round(second)
	want("back after a lapse", second, stake{1, 40, 4})
}

// Two instances and one bind: the standby takes it over in the round in which it knows that the other has gone, whatever
// its own share of the rate is. A lease stands still for 6 s then, and a round is every 2 s: 8 to 10 s.
func TestStandbyTakesTheOnlyBindOver(t *testing.T) {
	for _, demand := range []int{0, 1} {
		b := &board{said: map[string]claimant{}, members: map[string]*member{}, w: whole{binds: 1}}
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		active, standby := &member{name: "a", demand: 1}, &member{name: "b", demand: demand}
		round := func(members ...*member) {
			now = now.Add(leaseEvery)
			for _, m := range members {
				b.read(m)
				b.write(m)
				b.read(m)
			}
		}
		for range 20 {
			round(active, standby)
		}
		if active.has.binds != 1 || standby.has.binds != 0 {
			t.Fatalf("demand %d: %+v and %+v, want the one bind with the first", demand, active.has, standby.has)
		}
		died := now
		for now.Sub(died) < leaseDeath {
			round(standby)
			if standby.has.binds != 0 {
				t.Fatalf("demand %d: the bind was taken over while the lease lives", demand)
			}
		}
		delete(b.said, "a")
		round(standby)
		if took := now.Sub(died); standby.has.binds != 1 || took > 10*time.Second {
			t.Errorf("demand %d: %v after the death the standby has %+v, want the bind within 10 s", demand, took, standby.has)
		}
	}
}
