package window

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A timer that fires late must not slow the pace down: several starts are made up for, dated to their slots. After a
// longer stop nothing is made up for.
func TestLateTimers(t *testing.T) {
	for _, tt := range []struct {
		late time.Duration
		want int
	}{
		{0, 2}, // one at the slot, one within the controller's own tolerance
		{3 * time.Millisecond, 5},
		{20 * time.Millisecond, 22},
		{200 * time.Millisecond, 3}, // what one millisecond catches up
	} {
		synctest.Test(t, func(t *testing.T) { // where the timer cannot fire before it is stopped
			g, _ := gateAt(t, Config{Declared: 1000 / cruise})
			now := virtualStart()
			g.controller.OnResult(now, g.controller.OnSend(now, g.binds[0].id), Signal{})
			g.controller.binds[0].mean, g.controller.binds[0].rtt = time.Second, time.Second // window wide open
			for range 100 {
				p := &place{gate: g, bind: g.binds[0], state: waiting, since: now.Add(-time.Second)}
				g.binds[0].starting.push(p)
				g.binds[0].reserved++
				g.reserved++
				g.starting++
			}
			g.startDue(now.Add(time.Millisecond + tt.late))
			g.timer.Stop()
			if got := 100 - g.starting; got != tt.want {
				t.Errorf("timer late by %v: %d started, want %d", tt.late, got, tt.want)
			}
		})
	}
}

func TestDatedToTheSlot(t *testing.T) {
	at := virtualStart()
	before, slot := at.Add(-time.Second), at.Add(late)
	for _, tt := range []struct {
		name         string
		now, waiting time.Time
		want         time.Time
		overdue      bool
	}{
		{"in time", at, before, at, false},
		{"within the tolerance", at.Add(late / 2), before, at.Add(late / 2), false},
		{"late", at.Add(5 * time.Millisecond), before, slot, false},
		{"just on time", slot.Add(overslept), before, slot, false},
		{"too late", slot.Add(overslept + 1), before, slot.Add(overslept + 1), true},
		{"came after the slot", at.Add(5 * time.Millisecond), at.Add(time.Millisecond), at.Add(5 * time.Millisecond), false},
		{"came long after the slot", at.Add(time.Minute), at.Add(time.Second), at.Add(time.Minute), false},
	} {
		if got, overdue := dated(tt.now, at, tt.waiting); !got.Equal(tt.want) || overdue != tt.overdue {
			t.Errorf("%s: %v, overdue %v; want %v, %v", tt.name, got.Sub(at), overdue, tt.want.Sub(at), tt.overdue)
		}
	}
}

// Many senders, answers of every kind, cancelled contexts, and binds that come and go: at the end nobody waits and
// no place is lost.
func TestGateUnderDisorder(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			g, _ := gateAt(t, Config{MaxWindow: 40, NoiseMax: 0.06})
			g.AddBind()
			stop := make(chan struct{})
			var workers, chaos sync.WaitGroup
			chaos.Go(func() {
				rnd := rand.New(rand.NewPCG(seed, 99))
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Duration(rnd.IntN(3000)) * time.Millisecond):
					}
					s := g.Snapshot()
					if len(s.Binds) > 0 && rnd.IntN(2) == 0 {
						g.RemoveBind(s.Binds[rnd.IntN(len(s.Binds))].ID)
					} else if len(s.Binds) < 4 {
						g.AddBind()
					}
				}
			})
			for w := range uint64(100) {
				workers.Go(func() {
					rnd := rand.New(rand.NewPCG(seed, w))
					for range 200 {
						disorderly(t, g, rnd)
					}
				})
			}
			workers.Wait()
			close(stop)
			chaos.Wait()
			s := g.Snapshot()
			if s.Unanswered != 0 || g.reserved != 0 || g.starting != 0 || g.acquiring.first != nil {
				t.Errorf("unanswered %d, reserved %d, starting %d", s.Unanswered, g.reserved, g.starting)
			}
			for _, b := range s.Binds {
				if b.Reserved != 0 || b.Ahead != 0 || b.Unanswered != 0 {
					t.Errorf("bind %+v", b)
				}
			}
		})
	}
}

func disorderly(t *testing.T, g *Gate, rnd *rand.Rand) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rnd.IntN(20_000))*time.Millisecond)
	defer cancel()
	p, err := g.Acquire(ctx)
	if err != nil {
		return
	}
	defer p.Release(Signal{Answer: Answer(rnd.IntN(4))})
	if rnd.IntN(20) == 0 || p.Start(ctx) != nil {
		return
	}
	for range rnd.IntN(3) { // and more parts
		if s := g.Snapshot(); s.Unanswered > 40 {
			t.Errorf("%d unanswered, the cap is 40", s.Unanswered)
		}
		time.Sleep(time.Duration(rnd.IntN(50)) * time.Millisecond)
		p.Answered(Signal{Answer: Answer(rnd.IntN(4))})
		if p.Start(ctx) != nil {
			return
		}
	}
	if rnd.IntN(10) == 0 {
		p.Release(Signal{}) // and once more by defer, when the place may be another's
	}
}

func BenchmarkGate(b *testing.B) {
	g := NewGate(NewController(Config{Declared: fastest}))
	g.AddBind()
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		p, err := g.Acquire(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Start(ctx); err != nil {
			b.Fatal(err)
		}
		p.Release(Signal{})
	}
}

func TestPermitCostsNoAllocation(t *testing.T) {
	g := NewGate(NewController(Config{Declared: fastest}))
	g.AddBind()
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		p, err := g.Acquire(ctx)
		if err != nil || p.Start(ctx) != nil {
			t.Error("no permit")
		}
		p.Answered(Signal{})
		p.Release(Signal{})
	}); n != 0 {
		t.Errorf("%v allocations per permit", n)
	}
}

func BenchmarkController(b *testing.B) {
	c := NewController(Config{Declared: fastest})
	id := c.AddBind()
	now := virtualStart()
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Microsecond)
		if ok, _ := c.Next(now, id); !ok {
			b.Fatal("no room")
		}
		c.OnResult(now, c.OnSend(now, id), Signal{})
	}
}
