package window

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gateAt makes a gate with one bind at a rate that is known and never probed.
func gateAt(t *testing.T, cfg Config) (*Gate, BindID) {
	t.Helper()
	g := NewGate(NewController(cfg))
	return g, g.AddBind()
}

func acquire(t *testing.T, g *Gate) Permit {
	t.Helper()
	p, err := g.Acquire(t.Context())
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	return p
}

func start(t *testing.T, p Permit) {
	t.Helper()
	if err := p.Start(t.Context()); err != nil {
		t.Fatalf("Start: %v", err)
	}
}

// sendAll sends n messages, one goroutine each, answers them after rtt, and returns when they started.
func sendAll(t *testing.T, g *Gate, n int, rtt time.Duration) []time.Duration {
	t.Helper()
	var (
		mu      sync.Mutex
		starts  []time.Duration
		workers sync.WaitGroup
		begin   = time.Now()
	)
	for range n {
		p := acquire(t, g)
		workers.Go(func() {
			if err := p.Start(t.Context()); err != nil {
				t.Errorf("Start: %v", err)
			}
			mu.Lock()
			starts = append(starts, time.Since(begin))
			mu.Unlock()
			time.Sleep(rtt)
			p.Release(Signal{Answer: Accepted})
		})
	}
	workers.Wait()
	return starts
}

func TestGateKeepsThePace(t *testing.T) {
	for _, declared := range []float64{1, 100, 20_000, 100_000} {
		synctest.Test(t, func(t *testing.T) {
			g, _ := gateAt(t, Config{Declared: declared})
			n := min(int(3*declared), 20_000) + 1
			starts := sendAll(t, g, n, 5*time.Millisecond)
			want := float64(n-1) / (0.98 * declared)
			// A millisecond may be caught up, and a round trip be lost to the window before the first answer.
			if took := starts[n-1].Seconds(); took < want-0.0011 || took > want*1.001+0.005 {
				t.Errorf("at %v/s %d messages took %v s, want %v", declared, n, took, want)
			}
			// Nowhere more than the pace and one millisecond's worth on top.
			for i := range starts {
				if j := i + max(1, int(declared/10)); j < n && starts[j]-starts[i] < 100*time.Millisecond {
					t.Fatalf("at %v/s messages %d to %d took only %v", declared, i, j, starts[j]-starts[i])
				}
			}
		})
	}
}

func TestParkedPermitsAreNoCreditForABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gateAt(t, Config{Declared: 100})
		permits := make([]Permit, 8)
		for i := range permits {
			permits[i] = acquire(t, g)
		}
		time.Sleep(time.Minute)
		begin := time.Now()
		for i, p := range permits {
			start(t, p)
			want := time.Duration(float64(i) / 98 * float64(time.Second))
			if took := time.Since(begin); took < want-2*time.Millisecond || took > want+2*time.Millisecond {
				t.Errorf("start %d after %v, want %v", i, took, want)
			}
		}
	})
}

// A window's worth is in flight and another is reserved; beyond, both Start and Acquire wait.
func TestWindowStopsStartUntilAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gateAt(t, Config{Declared: 1000})
		var out, parked []Permit
		for range blind {
			p := acquire(t, g)
			start(t, p)
			out = append(out, p)
		}
		for range blind {
			parked = append(parked, acquire(t, g))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := parked[0].Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Start beyond the window: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := g.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Acquire of more than a window: %v", err)
		}
		started := make(chan error)
		go func() { started <- parked[0].Start(t.Context()) }()
		synctest.Wait()
		out[0].Release(Signal{})
		if err := <-started; err != nil {
			t.Fatalf("Start after an answer: %v", err)
		}
		if s := g.Snapshot(); s.Unanswered != blind {
			t.Errorf("%d unanswered, want %d", s.Unanswered, blind)
		}
	})
}

// The window may shrink between Acquire and Start: then Start waits for it.
func TestStartWaitsForAWindowThatShrank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gateAt(t, Config{Declared: 1000})
		sent := make([]Permit, 5)
		for i := range sent {
			sent[i] = acquire(t, g)
			start(t, sent[i])
		}
		parked := make([]Permit, 5)
		for i := range parked {
			parked[i] = acquire(t, g)
		}
		for range 3 { // until nothing is accepted any more: a hold
			sent[0].Release(Signal{Answer: Refused})
			sent = sent[1:]
		}
		if s := g.Snapshot(); s.Mode != Hold || s.Binds[0].Window != 1 {
			t.Fatalf("mode %v, window %d", s.Mode, s.Binds[0].Window)
		}
		started := 0
		var lock sync.Mutex
		for _, p := range parked {
			go func() {
				if err := p.Start(t.Context()); err == nil {
					lock.Lock()
					started++
					lock.Unlock()
				}
			}()
		}
		time.Sleep(time.Hour)
		lock.Lock()
		defer lock.Unlock()
		if started != 1 {
			t.Errorf("%d messages started in a hold, want one test message", started)
		}
	})
}

func TestHoldHandsOutOnePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gateAt(t, Config{Declared: 1000})
		g.AddBind()
		var sent []Permit
		for range 3 {
			sent = append(sent, acquire(t, g))
			start(t, sent[len(sent)-1])
		}
		for _, p := range sent {
			p.Release(Signal{Answer: Refused})
		}
		test := acquire(t, g)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := g.Acquire(ctx); err == nil {
			t.Error("a second place in a hold")
		}
		start(t, test)
		test.Release(Signal{Answer: Other}) // alive
		if s := g.Snapshot(); s.Mode != Cruise {
			t.Errorf("mode %v after an accepted test", s.Mode)
		}
	})
}

func TestMaxWindowCountsWhatIsUnansweredOnAllBinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gateAt(t, Config{Declared: 1000, MaxWindow: 3})
		g.AddBind()
		var out []Permit
		for range 3 {
			out = append(out, acquire(t, g))
			start(t, out[len(out)-1])
		}
		// The newest answer passes the others by in the window, but not here.
		out[2].Release(Signal{})
		p := acquire(t, g)
		start(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := acquire(t, g).Start(ctx); err == nil {
			t.Error("a fourth message beside three unanswered ones")
		}
	})
}

func TestStartsAreFairBetweenBindsAndInOrderOnEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, first := gateAt(t, Config{Declared: 10})
		second := g.AddBind()
		permits := map[BindID][]Permit{}
		for range 8 {
			p := acquire(t, g)
			permits[p.Bind()] = append(permits[p.Bind()], p)
		}
		if len(permits[first]) != 4 || len(permits[second]) != 4 {
			t.Fatalf("%d and %d places", len(permits[first]), len(permits[second]))
		}
		type begun struct {
			bind BindID
			n    int
		}
		var order []begun
		done := make(chan begun)
		// All of the first bind ask before the second one's do.
		for _, id := range []BindID{first, second} {
			for i, p := range permits[id] {
				go func() {
					start(t, p)
					done <- begun{id, i}
				}()
				synctest.Wait()
			}
		}
		for range 8 {
			order = append(order, <-done)
		}
		want := []begun{{first, 0}, {second, 0}, {first, 1}, {second, 1}, {first, 2}, {second, 2}, {first, 3}, {second, 3}}
		// The first may start alone, before anyone else has asked.
		if !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
	})
}

func TestCancelledWaitsLeaveTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gateAt(t, Config{Declared: 1})
		permits := make([]Permit, 4)
		for i := range permits {
			permits[i] = acquire(t, g)
		}
		start(t, permits[0])
		cancelled, cancel := context.WithCancel(t.Context())
		errs := make([]error, 4)
		var workers sync.WaitGroup
		for i := 1; i < 4; i++ {
			ctx := t.Context()
			if i != 2 {
				ctx = cancelled
			}
			workers.Go(func() { errs[i] = permits[i].Start(ctx) })
			synctest.Wait()
		}
		cancel()
		workers.Wait()
		if !errors.Is(errs[1], context.Canceled) || errs[2] != nil || !errors.Is(errs[3], context.Canceled) {
			t.Errorf("errors %v", errs[1:])
		}
		start(t, permits[1]) // may be tried again
		if err := permits[3].Start(cancelled); !errors.Is(err, context.Canceled) {
			t.Errorf("Start with a context that is done: %v", err)
		}
		if _, err := g.Acquire(cancelled); !errors.Is(err, context.Canceled) {
			t.Errorf("Acquire with a context that is done: %v", err)
		}
	})
}

func TestReleaseCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gateAt(t, Config{Declared: 100, MaxWindow: 2})
		a, b := acquire(t, g), acquire(t, g)
		a.Release(Signal{Answer: Refused}) // not started: the place comes back, the signal is no evidence
		a.Release(Signal{})
		if err := a.Start(t.Context()); !errors.Is(err, ErrPermitUsed) {
			t.Errorf("Start after Release: %v", err)
		}
		start(t, b)
		if err := b.Start(t.Context()); !errors.Is(err, ErrPermitUsed) {
			t.Errorf("second Start: %v", err)
		}
		c := acquire(t, g)
		b.Release(Signal{})
		b.Release(Signal{})
		s := g.Snapshot()
		if s.Unanswered != 0 || s.Binds[0].Reserved != 1 || s.Binds[0].Ahead != 0 {
			t.Errorf("snapshot %+v", s)
		}
		waits := make(chan error)
		d := acquire(t, g)
		start(t, c)
		go func() { waits <- d.Start(t.Context()) }()
		synctest.Wait()
		d.Release(Signal{})
		if err := <-waits; !errors.Is(err, ErrPermitUsed) {
			t.Errorf("Start of a permit that was released meanwhile: %v", err)
		}
	})
}

func TestRemoveBindEndsItsPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, lost := gateAt(t, Config{Declared: 1})
		sent, parked, waits := acquire(t, g), acquire(t, g), acquire(t, g)
		start(t, sent)
		failed := make(chan error)
		go func() { failed <- waits.Start(t.Context()) }()
		synctest.Wait()
		g.RemoveBind(lost)
		if err := <-failed; !errors.Is(err, ErrBindRemoved) {
			t.Errorf("Start that waited: %v", err)
		}
		if err := parked.Start(t.Context()); !errors.Is(err, ErrBindRemoved) {
			t.Errorf("Start on a bind that is gone: %v", err)
		}
		got := make(chan Permit)
		go func() { got <- acquire(t, g) }() // waits for a bind
		synctest.Wait()
		next := g.AddBind()
		p := <-got
		if p.Bind() != next {
			t.Errorf("permit of bind %d, want %d", p.Bind(), next)
		}
		sent.Release(Signal{Answer: Refused}) // too late to be evidence
		parked.Release(Signal{})
		waits.Release(Signal{})
		s := g.Snapshot()
		if s.Unanswered != 0 || len(s.Binds) != 1 || s.Binds[0].Reserved != 1 {
			t.Errorf("snapshot %+v", s)
		}
		g.RemoveBind(lost) // again: nothing happens
		last := g.Decisions()[len(g.Decisions())-1]
		if last.Reason != ReasonDisconnect || last.Bind != lost {
			t.Errorf("last decision %v", last)
		}
	})
}

func TestConfigureWakesWhoMayGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := gateAt(t, Config{Declared: 1, MaxWindow: 2})
		a, b := acquire(t, g), acquire(t, g)
		start(t, a)
		began := time.Now()
		done := make(chan time.Duration, 2)
		go func() { start(t, b); done <- time.Since(began) }()
		go func() { start(t, acquire(t, g)); done <- time.Since(began) }()
		synctest.Wait()
		if d := g.Configure(Config{Declared: 1000}); d.Reason != ReasonOperator {
			t.Errorf("decision %v", d)
		}
		for range 2 {
			if took := <-done; took > time.Second/2 { // the climb begins at 5/s and more
				t.Errorf("started after %v", took)
			}
		}
		if d := g.Forget(); d.Reason != ReasonOperator || !d.Forgot {
			t.Errorf("decision %v", d)
		}
	})
}

// A raised rate is climbed to: an SMSC that takes 200/s refuses a few messages, not a second of the new rate.
func TestRaisedRateIsClimbedTo(t *testing.T) {
	c := NewController(Config{Declared: 100})
	id := c.AddBind()
	now := time.Unix(1_800_000_000, 0)
	sent, refused, top := 0, 0, 0.0
	var window []time.Time
	step := func(until time.Time) {
		for now.Before(until) {
			ok, at := c.Next(now, id)
			if !ok {
				t.Fatal("the window is closed although all is answered")
			}
			if at.After(now) {
				now = at
			}
			ticket := c.OnSend(now, id)
			sent++
			for len(window) > 0 && now.Sub(window[0]) >= time.Second {
				window = window[1:]
			}
			s := Signal{Answer: Refused}
			if len(window) < 200 {
				s.Answer, window = Accepted, append(window, now)
			} else {
				refused++
			}
			c.OnResult(now.Add(time.Microsecond), ticket, s)
			top = max(top, c.Snapshot(now).Pace)
		}
	}
	step(now.Add(5 * time.Second))
	c.Configure(now, Config{Declared: 5000})
	if p := c.Snapshot(now).Pace; p > 150 {
		t.Errorf("the pace jumps to %v", p)
	}
	sent, refused = 0, 0
	step(now.Add(10 * time.Second))
	t.Logf("%d of %d refused, pace at most %.0f, now %.0f", refused, sent, top, c.Snapshot(now).Pace)
	if refused > sent/10 || c.Snapshot(now).Pace < 150 || top > 500 {
		t.Errorf("%d of %d refused, pace at most %.0f, now %.0f", refused, sent, top, c.Snapshot(now).Pace)
	}
	if c.Believe(now, 2000); c.Snapshot(now).Ceiling != 2000 {
		t.Errorf("a rate that is believed leaves the ceiling at %v", c.Snapshot(now).Ceiling)
	}
}

// A test starts although the window is full of what is not answered, and its answer makes room for the rest.
func TestStartNowPassesAFullWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(NewController(Config{Declared: 1000}))
		id := g.AddBind()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for {
			p, err := g.AcquireOn(id)
			if err != nil {
				t.Fatal(err)
			}
			if p.Start(ctx) != nil {
				p.Release(Signal{})
				break
			}
		}
		if b := g.Snapshot().Binds[0]; b.Ahead < b.Window {
			t.Fatalf("%d of %d in flight: the window is not full", b.Ahead, b.Window)
		}
		p, err := g.AcquireOn(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.StartNow(); err != nil {
			t.Fatal(err)
		}
		if err := p.StartNow(); !errors.Is(err, ErrPermitUsed) {
			t.Errorf("a second start: %v, want ErrPermitUsed", err)
		}
		p.Release(Signal{Answer: Accepted})
		if b := g.Snapshot().Binds[0]; b.Ahead != 0 || b.Reserved != 0 {
			t.Errorf("%d in flight and %d reserved after the answer, want none", b.Ahead, b.Reserved)
		}
		if p, err = g.AcquireOn(id); err != nil {
			t.Fatal(err)
		}
		g.RemoveBind(id)
		if err := p.StartNow(); !errors.Is(err, ErrBindRemoved) {
			t.Errorf("on a bind that is gone: %v, want ErrBindRemoved", err)
		}
	})
}
