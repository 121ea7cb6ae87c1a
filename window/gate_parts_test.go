package window

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// While a message of seven parts is under way in a window of one, the place it gave up with its first start goes to a
// caller that waits for messages and has none. The other parts must not depend on that place.
func TestPartsGoOutBesideAnIdleParkedPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, id := gateAt(t, Config{Declared: 100, MaxWindow: 1})
		p := acquire(t, g)
		start(t, p)
		parked := acquire(t, g) // idle until the end
		for part := 2; part <= 7; part++ {
			if s := g.Snapshot(); s.Unanswered != 1 || s.Binds[0].Window != 1 {
				t.Fatalf("before part %d: %d unanswered, window %d", part, s.Unanswered, s.Binds[0].Window)
			}
			time.Sleep(20 * time.Millisecond)
			p.Answered(Signal{})
			if s := g.Snapshot(); s.Unanswered != 0 || s.Binds[0].Reserved != 2 || p.Bind() != id {
				t.Fatalf("after the answer to part %d: %d unanswered, %d reserved", part-1, s.Unanswered, s.Binds[0].Reserved)
			}
			start(t, p)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := parked.Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start beside the last part, in a window of one: %v", err)
		}
		p.Release(Signal{})
		start(t, parked)
		parked.Release(Signal{})
		if s := g.Snapshot(); s.Unanswered != 0 || s.Binds[0].Reserved != 0 {
			t.Errorf("at the end %d unanswered, %d reserved", s.Unanswered, s.Binds[0].Reserved)
		}
	})
}

func TestNextPartObeysThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gateAt(t, Config{Declared: 10})
		p := acquire(t, g)
		start(t, p)
		begin := time.Now()
		p.Answered(Signal{})
		start(t, p)
		if took := time.Since(begin); took < 100*time.Millisecond {
			t.Errorf("second part after %v, the pace is one in %v", took, g.controller.interval())
		}
	})
}

// Three refused and none accepted make a hold; the places kept are no second test message.
func TestKeptPlacesWaitInAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gateAt(t, Config{Declared: 10})
		p := acquire(t, g)
		var sent []Permit
		for range 3 {
			q := acquire(t, g)
			start(t, q)
			sent = append(sent, q)
		}
		for _, q := range sent {
			q.Answered(Signal{Answer: Refused})
		}
		if s := g.Snapshot(); s.Mode != Hold || s.Binds[0].Reserved != 4 {
			t.Fatalf("mode %v, %d reserved", s.Mode, s.Binds[0].Reserved)
		}
		start(t, sent[0])
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := p.Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second test message: %v", err)
		}
		if _, err := g.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a place handed out beside three kept ones in a hold: %v", err)
		}
	})
}

func TestAnsweredCountsOnlyAfterAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gateAt(t, Config{Declared: 100})
		p := acquire(t, g)
		p.Answered(Signal{Answer: Refused})
		start(t, p)
		p.Answered(Signal{})
		p.Answered(Signal{})
		if s := g.Snapshot(); s.Unanswered != 0 || s.Binds[0].Reserved != 1 || s.Binds[0].Ahead != 0 {
			t.Errorf("after a second Answered: %+v", s)
		}
		p.Release(Signal{Answer: Refused}) // of a permit that is not started: no evidence
		p.Answered(Signal{})
		if s := g.Snapshot(); s.Unanswered != 0 || s.Binds[0].Reserved != 0 || s.Decided != 1 {
			t.Errorf("after Release: %+v", s)
		}
		Permit{}.Answered(Signal{})
		Permit{}.Release(Signal{})
		if err := (Permit{}).Start(t.Context()); !errors.Is(err, ErrPermitUsed) {
			t.Errorf("Start of the zero Permit: %v", err)
		}
	})
}

func TestPartsOnABindThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, first := gateAt(t, Config{Declared: 100})
		under, between := acquire(t, g), acquire(t, g)
		start(t, under)
		start(t, between)
		between.Answered(Signal{})
		g.RemoveBind(first)
		g.AddBind()
		under.Answered(Signal{Answer: Refused})
		for _, p := range []Permit{under, between} {
			if err := p.Start(t.Context()); !errors.Is(err, ErrBindRemoved) {
				t.Errorf("next part: %v", err)
			}
			p.Release(Signal{})
		}
		if s := g.Snapshot(); s.Unanswered != 0 || g.reserved != 0 || s.Binds[0].Reserved != 0 || s.Mode == Hold {
			t.Errorf("snapshot %+v, %d reserved", s, g.reserved)
		}
	})
}

// A place is used again at once; an old handle must neither give it back nor start in its name.
func TestStaleCopiesDoNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gateAt(t, Config{Declared: 100})
		old := acquire(t, g)
		old.Release(Signal{})
		p := acquire(t, g)
		if p.place != old.place {
			t.Fatal("the place was not used again")
		}
		check := func(when string, reserved, unanswered int) {
			t.Helper()
			old.Answered(Signal{Answer: Refused})
			old.Release(Signal{Answer: Refused})
			if err := old.Start(t.Context()); !errors.Is(err, ErrPermitUsed) {
				t.Errorf("%s: Start of a stale copy: %v", when, err)
			}
			if s := g.Snapshot(); s.Binds[0].Reserved != reserved || s.Unanswered != unanswered {
				t.Errorf("%s: %d reserved, %d unanswered, want %d and %d", when, s.Binds[0].Reserved, s.Unanswered, reserved, unanswered)
			}
		}
		check("acquired", 1, 0)
		start(t, p)
		check("started", 0, 1)
		p.Answered(Signal{})
		check("answered", 1, 0)
		p.Release(Signal{})
		check("released", 0, 0)
	})
}

// patron uses permits in random order, one at a time, and knows what must hold.
type patron struct {
	t         *testing.T
	g         *Gate
	rnd       *rand.Rand
	idle, out []Permit // acquired, started
	gone      []Permit // copies of released ones
}

func (m *patron) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(m.t.Context(), time.Duration(m.rnd.IntN(2000))*time.Millisecond)
}

func (m *patron) draw(from *[]Permit) (Permit, bool) {
	if len(*from) == 0 {
		return Permit{}, false
	}
	i := m.rnd.IntN(len(*from))
	p := (*from)[i]
	*from = append((*from)[:i:i], (*from)[i+1:]...)
	return p, true
}

func (m *patron) signal() Signal {
	return Signal{Answer: []Answer{Accepted, Accepted, Accepted, Refused, Other, Lost}[m.rnd.IntN(6)]}
}

func (m *patron) acquire() {
	ctx, cancel := m.context()
	defer cancel()
	if p, err := m.g.Acquire(ctx); err == nil {
		m.idle = append(m.idle, p)
	}
}

// start checks that the window let it, for first and later parts alike.
func (m *patron) start() {
	p, ok := m.draw(&m.idle)
	if !ok {
		return
	}
	ctx, cancel := m.context()
	defer cancel()
	before := m.g.Snapshot()
	if err := p.Start(ctx); err != nil {
		m.idle = append(m.idle, p)
		return
	}
	m.out = append(m.out, p)
	tests := m.g.Snapshot().Mode == Hold // maybe since now, for want of answers
	for _, b := range before.Binds {
		if b.ID == p.Bind() && before.Mode != Hold && !tests && b.Ahead >= b.Window {
			m.t.Fatalf("started %d ahead in a window of %d", b.Ahead, b.Window)
		}
	}
	if before.Unanswered >= before.MaxWindow {
		m.t.Fatalf("started with %d unanswered, the cap is %d", before.Unanswered, before.MaxWindow)
	}
}

func (m *patron) answer() {
	p, ok := m.draw(&m.out)
	if !ok {
		return
	}
	if m.rnd.IntN(3) > 0 {
		p.Answered(m.signal())
		m.idle = append(m.idle, p)
		return
	}
	p.Release(m.signal())
	m.gone = append(m.gone, p)
}

func (m *patron) giveUp() {
	if p, ok := m.draw(&m.idle); ok {
		p.Release(m.signal())
		m.gone = append(m.gone, p)
	}
}

func (m *patron) useStale() {
	if len(m.gone) == 0 {
		return
	}
	p := m.gone[m.rnd.IntN(len(m.gone))]
	p.Answered(m.signal())
	p.Release(m.signal())
	if err := p.Start(m.t.Context()); !errors.Is(err, ErrPermitUsed) {
		m.t.Fatalf("Start of a released permit: %v", err)
	}
}

func (m *patron) rebind() {
	s := m.g.Snapshot()
	if len(s.Binds) > 1 && m.rnd.IntN(2) == 0 {
		m.g.RemoveBind(s.Binds[m.rnd.IntN(len(s.Binds))].ID)
	} else if len(s.Binds) < 3 {
		m.g.AddBind()
	}
}

func (m *patron) check() {
	s := m.g.Snapshot()
	if s.Unanswered != len(m.out) {
		m.t.Fatalf("%d unanswered, want %d", s.Unanswered, len(m.out))
	}
	all := 0
	for _, b := range s.Binds {
		want := 0
		for _, p := range m.idle {
			if p.Bind() == b.ID {
				want++
			}
		}
		if all += want; b.Reserved != want {
			m.t.Fatalf("%d reserved on bind %d, want %d", b.Reserved, b.ID, want)
		}
	}
	if m.g.reserved != all {
		m.t.Fatalf("%d reserved, want %d", m.g.reserved, all)
	}
}

// Whatever the order of acquire, start, answer, release, stale use and lost binds: nothing starts beyond the window or
// the cap, and the gate knows of every place just what its user does.
func TestPermitsInAnyOrder(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			g, _ := gateAt(t, Config{MaxWindow: 12})
			m := &patron{t: t, g: g, rnd: rand.New(rand.NewPCG(seed, 4))}
			for range 600 {
				switch n := m.rnd.IntN(40); {
				case n < 10:
					m.acquire()
				case n < 24:
					m.start()
				case n < 34:
					m.answer()
				case n < 36:
					m.giveUp()
				case n < 38:
					m.useStale()
				case n == 38:
					m.rebind()
				default:
					time.Sleep(time.Duration(m.rnd.IntN(3000)) * time.Millisecond)
				}
				m.check()
			}
			for _, p := range append(m.idle, m.out...) {
				p.Release(Signal{Answer: Lost})
			}
			m.idle, m.out = nil, nil
			m.check()
		})
	}
}

// A permit moved to another bind takes a place there, gives its own back, and starts there.
func TestPermitMovesToAnotherBind(t *testing.T) {
	g := NewGate(NewController(Config{}))
	first, second := g.AddBind(), g.AddBind()
	p, err := g.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := first
	if p.Bind() == first {
		other = second
	}
	reserved := func() map[BindID]int {
		m := map[BindID]int{}
		for _, b := range g.Snapshot().Binds {
			m[b.ID] = b.Reserved
		}
		return m
	}
	from := p.Bind()
	moved, ok := p.MoveTo(other)
	if !ok || moved.Bind() != other {
		t.Fatalf("moved %v, to bind %v; want bind %v", ok, moved.Bind(), other)
	}
	if r := reserved(); r[from] != 0 || r[other] != 1 {
		t.Errorf("places reserved: %v, want one on bind %v alone", r, other)
	}
	if err := moved.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := moved.MoveTo(from); ok {
		t.Error("a permit that was started moved")
	}
	for _, b := range g.Snapshot().Binds {
		if want := map[bool]int{true: 1}[b.ID == other]; b.Unanswered != want {
			t.Errorf("bind %v: %d unanswered, want %d", b.ID, b.Unanswered, want)
		}
	}
	moved.Release(Signal{Answer: Accepted})
	if _, ok := moved.MoveTo(from); ok {
		t.Error("a permit that was released moved")
	}
	p, err = g.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.RemoveBind(other)
	if p.Bind() == other {
		if moved, ok = p.MoveTo(from); !ok || moved.Bind() != from || reserved()[from] != 1 {
			t.Errorf("from a bind that is gone: moved %v, places %v", ok, reserved())
		}
	} else if _, ok := p.MoveTo(other); ok || reserved()[from] != 1 {
		t.Errorf("to a bind that is gone: moved %v, places %v", ok, reserved())
	}
}
