package gateway

import (
	"io"
	"testing"
	"time"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/window"
)

// lonely is a gateway of one account without NATS or SMSC, with a confirmed share of everything.
func lonely(t *testing.T, settings string, now time.Time) (*Gateway, *account) {
	t.Helper()
	cfg, err := config.Decode([]byte("accounts: {acme: {address: \"127.0.0.1:1\", system_id: x, password: y" + settings + "}}"))
	if err != nil {
		t.Fatal(err)
	}
	a := &account{
		name: "acme", cfg: cfg.Accounts["acme"], metrics: newMetrics(nil), counts: newMetrics(nil).of("acme"), log: discard(),
		gate: window.NewGate(window.NewController(window.Config{})), binds: map[window.BindID]*bind{},
	}
	a.openFlow(1)
	g := &Gateway{cfg: cfg, log: discard(), accounts: []*account{a}, presence: &presence{
		name: "gw-1", kick: make(chan struct{}, 1), tenures: map[string]*tenure{"acme": {}}, confirmed: now,
	}}
	t1 := g.presence.tenures["acme"]
	a.offer(now, "gw-1", t1, nil)
	t1.confirm(nil, a.whole())
	a.share(t1.has, now.Add(leaseTrust))
	return g, a
}

// An instance that cannot confirm its lease submits nothing from 4 s on, and unbinds at 6 s where the number of binds is
// limited.
func TestLapsedLeaseStopsSubmitsAndThenBinds(t *testing.T) {
	for settings, bindsAfter := range map[string]int{"": 1, ", binds: 1, max_binds: 2": 0} {
		now := time.Now()
		g, a := lonely(t, settings, now)
		for _, step := range []struct {
			after time.Duration
			open  bool
			binds int
		}{
			{0, true, 1},
			{3900 * time.Millisecond, true, 1},
			{4 * time.Second, false, 1},
			{5900 * time.Millisecond, false, 1},
			{6 * time.Second, false, bindsAfter},
			{time.Hour, false, bindsAfter},
		} {
			at := now.Add(step.after)
			open, _ := a.flow.open(at) // before anybody has looked
			g.lapse(at)
			after, _ := a.flow.open(at)
			why, _ := a.flow.mayBind(1)
			if open != step.open || after != step.open || (why == "") != (step.binds == 1) {
				t.Errorf("%q, %v after the last confirmation: open %v and %v, bind refused for %q; want open %v and %d binds",
					settings, step.after, open, after, why, step.open, step.binds)
			}
		}
	}
}

// A share that is known again after a lapse lets messages through again.
func TestShareReturnsAfterALapse(t *testing.T) {
	now := time.Now()
	g, a := lonely(t, "", now.Add(-time.Minute))
	if open, _ := a.flow.open(now); open {
		t.Fatal("an old share is still used")
	}
	g.lapse(now)
	tn := g.presence.tenures["acme"]
	a.offer(now, "gw-1", tn, []claimant{{name: "gw-2", demand: 1, takes: stake{rate: 0.5}}})
	tn.confirm([]claimant{{name: "gw-2", demand: 1, takes: stake{rate: 0.5}}}, a.whole())
	a.share(tn.has, now.Add(leaseTrust))
	if open, _ := a.flow.open(now); !open || tn.has.rate != 0.5 {
		t.Errorf("after its return it is open %v with %v of the rate, want open with its half", open, tn.has.rate)
	}
}

// The deadlines of an account are watched once nobody has pulled for it for 5 s, as far as anybody can know.
func TestUnavailableMeansOnEveryInstance(t *testing.T) {
	now := time.Now()
	g, a := lonely(t, "", now)
	a.closed = now.Add(-time.Minute)
	second := func(seen time.Duration, p queue.Part) []other {
		i := queue.Instance{Name: "gw-2", Lease: queue.Lease{Parts: map[string]queue.Part{"acme": p}}}
		return []other{{Instance: i, seen: now.Add(-seen)}}
	}
	for name, tc := range map[string]struct {
		others []other
		want   bool
	}{
		"alone":                    {nil, true},
		"the other pulls":          {second(0, queue.Part{}), false},
		"closed for 4 s":           {second(0, queue.Part{Closed: true, ClosedFor: 4000}), false},
		"closed for 5 s":           {second(0, queue.Part{Closed: true, ClosedFor: 5000}), true},
		"it cannot be read":        {[]other{{Instance: queue.Instance{Name: "gw-2", Unreadable: io.ErrUnexpectedEOF}, seen: now}}, false},
		"closed since it was read": {second(2*time.Second, queue.Part{Closed: true, ClosedFor: 3000}), true},
	} {
		g.presence.others = tc.others
		if got := g.presence.unavailable(a, now); got != tc.want {
			t.Errorf("%s: unavailable %v, want %v", name, got, tc.want)
		}
	}
	a.closed = now.Add(-4 * time.Second)
	g.presence.others = nil
	if g.presence.unavailable(a, now) {
		t.Error("unavailable after 4 s")
	}
}

// Who has changed something is told that an instance follows once it does, and no earlier.
func TestAppliedIsSaidOnceItIsInEffect(t *testing.T) {
	now := time.Now()
	_, a := lonely(t, "", now)
	a.keepers, a.moved = []*keeper{newKeeper(a, 1)}, func() {}
	var early []uint64
	a.flow.changed = func() { early = append(early, a.summary("gw-1", now).Applied) }
	a.control(now, queue.Control{Desired: queue.Desired{Mode: queue.ModePause, Revision: 7}})
	if after := a.summary("gw-1", now).Applied; after != 7 || len(early) == 0 || early[0] != 0 {
		t.Errorf("revision %d is applied, %v when the account was being stopped; want 7, and 0 before", after, early)
	}
}

// One whose lease stands still while the bucket can be read is dead after 6 s, its share is there for others, and its
// deadlines are watched. Time in which nothing could be read is no evidence.
func TestADeadInstanceIsKnownByItsRevision(t *testing.T) {
	now := time.Now()
	g, _ := lonely(t, "", now)
	p := g.presence
	p.log = discard()
	lease := func(revision uint64) []queue.Instance {
		return []queue.Instance{{Name: "gw-2", Revision: revision, Lease: queue.Lease{Parts: map[string]queue.Part{"acme": {Demand: 1, Rate: 0.5}}}}}
	}
	alive := func(what string, want bool) {
		t.Helper()
		if got := len(p.claimants("acme")) == 1; got != want {
			t.Errorf("%s: alive %v, want %v", what, got, want)
		}
	}
	p.read(lease(1), now)
	p.read(lease(1), now.Add(2*time.Second))
	p.read(lease(1), now.Add(4*time.Second))
	alive("4 s", true)
	p.read(lease(1), now.Add(6*time.Second))
	alive("6 s", false)
	p.read(lease(2), now.Add(8*time.Second))
	alive("renewed", true)
	p.read(lease(2), now.Add(60*time.Second))
	alive("after a time in which nothing could be read", true)
}

// Another instance takes messages for an account while its lease says so, and no longer than that is fresh.
func TestWhenAnAccountIsTakenElsewhere(t *testing.T) {
	now := time.Now()
	g, _ := lonely(t, "", now)
	const after = 8 * time.Second
	for name, tc := range map[string]struct {
		seen time.Duration
		part queue.Part
		want bool
	}{
		"bound":                            {0, queue.Part{Demand: 1}, true},
		"bound, by an older version":       {5 * time.Second, queue.Part{Demand: 2, Rate: 0.5}, true},
		"no bind for long":                 {0, queue.Part{}, false},
		"failing":                          {0, queue.Part{Demand: 1, FailingFor: 1}, false},
		"not bound yet, or coming back":    {0, queue.Part{Demand: 1, Returning: true}, false},
		"closed for 7 s":                   {0, queue.Part{Demand: 1, Closed: true, ClosedFor: 7000}, true},
		"closed for 8 s":                   {0, queue.Part{Demand: 1, Closed: true, ClosedFor: 8000}, false},
		"closed for 6 s, read 2 s ago":     {2 * time.Second, queue.Part{Demand: 1, Closed: true, ClosedFor: 6000}, false},
		"closed just now":                  {0, queue.Part{Demand: 1, Closed: true}, true},
		"nothing taken for 7 s":            {0, queue.Part{Demand: 1, IdleFor: 7000}, true},
		"nothing taken for 8 s":            {0, queue.Part{Demand: 1, IdleFor: 8000}, false},
		"nothing taken for 5 s, 4 s since": {4 * time.Second, queue.Part{Demand: 1, IdleFor: 5000}, false},
	} {
		g.presence.others = []other{{
			Instance: queue.Instance{Name: "gw-2", Lease: queue.Lease{Parts: map[string]queue.Part{"acme": tc.part}}}, seen: now.Add(-tc.seen),
		}}
		if got := g.presence.takenElsewhere("acme", now, after); got != tc.want {
			t.Errorf("%s: taken elsewhere %v, want %v", name, got, tc.want)
		}
	}
	g.presence.others[0].Parts["acme"], g.presence.others[0].still = queue.Part{Demand: 1}, leaseDeath
	if g.presence.takenElsewhere("acme", now, after) {
		t.Error("a dead instance takes messages")
	}
}
