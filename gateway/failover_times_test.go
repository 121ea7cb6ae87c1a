package gateway

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/queue/memory"
	"sluice/smpp/pdu"
	"sluice/testserver"
	"sluice/testserver/longtest"
	"sluice/window"
)

// relay is a route over two accounts in a bubble.
type relay struct {
	first, second *virtual
	class         string
	published     int
}

// startRelay starts both accounts; the route has one class.
func startRelay(t *testing.T, class, weight string) *relay {
	t.Helper()
	r, _ := joinRelay(t, class, weight, nil)
	return r
}

// joinRelay is startRelay on one more instance, on the queue and the SMSCs of the other where there is one.
func joinRelay(t *testing.T, class, weight string, other *relay) (*relay, *Gateway) {
	t.Helper()
	cfg, err := config.Decode(fmt.Appendf(nil, `
accounts:
  acme: {address: "127.0.0.1:1", system_id: sluice, password: secret}
  backup: {address: "127.0.0.1:2", system_id: sluice, password: secret}
routes: {main: {accounts: [acme, backup], classes: {%s: %s}}}
`, class, weight))
	if err != nil {
		t.Fatal(err)
	}
	source := memory.New(memory.Config{Lanes: lanesOf("main", cfg.Routes["main"])})
	first, second := testserver.New(healthy()), testserver.New(healthy())
	if other != nil {
		source, first, second = other.first.source, other.first.smsc, other.second.smsc
	}
	g := &Gateway{cfg: cfg, log: discard(), metrics: newMetrics(nil), presence: &presence{kick: make(chan struct{}, 1)}}
	return &relay{
		first: g.startVirtual(t, "acme", first, source), second: g.startVirtual(t, "backup", second, source), class: class,
	}, g
}

func (r *relay) stop() {
	r.first.stop()
	r.second.stop()
}

// run publishes that many messages a second for a while, evenly.
func (r *relay) run(t *testing.T, rate int, length time.Duration) {
	t.Helper()
	for range int(length.Seconds() * float64(rate)) {
		r.published++
		m := &queue.Message{ID: fmt.Sprintf("m-%d", r.published), From: "1000", To: fmt.Sprintf("+1555%06d", r.published), Text: "hello"}
		if _, _, err := r.first.source.Publish(context.Background(), "main", r.class, m); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second / time.Duration(rate))
	}
}

// submitted is when which account submitted a message.
func (r *relay) submitted() (events []queue.Event) {
	for _, e := range r.first.source.Events(0) {
		if e.Type == queue.EventSubmitted {
			events = append(events, e)
		}
	}
	return events
}

// back is how long after the given time the first account has its share again: 90 % of what is submitted in any 5 s.
func (r *relay) back(since time.Time) (after time.Duration) {
	const span = 5
	var first, all [300]int // in each second
	for _, e := range r.submitted() {
		if second := int(e.At.Sub(since) / time.Second); e.At.After(since) {
			all[second]++
			if e.Account == "acme" {
				first[second]++
			}
		}
	}
	for n := range len(all) - span {
		mine, total := 0, 0
		for k := range span {
			mine, total = mine+first[n+k], total+all[n+k]
		}
		if total > 0 && 10*mine < 9*total {
			after = time.Duration(n+span) * time.Second
		}
	}
	return after
}

// Whatever the first account of a route does, its traffic is over the second within 12 s, 6 s for a strict class, and 90 %
// of it over the first again within 30 s after the fault. No message is submitted twice.
func TestF6HowSoonTrafficLeavesAndReturns(t *testing.T) {
	with := func(sc testserver.Scenario) func(*testing.T, *virtual, bool) {
		return func(t *testing.T, v *virtual, on bool) {
			t.Helper()
			if on {
				v.scenario(t, sc)
			} else {
				v.scenario(t, healthy())
			}
		}
	}
	lengths := []time.Duration{9 * time.Second, 60 * time.Second}
	if !longtest.Whole(t, "faults of 9 s, not those of a minute") {
		lengths = lengths[:1]
	}
	for _, fault := range []struct {
		name string
		set  func(t *testing.T, v *virtual, on bool)
	}{
		{"refuses connections", func(_ *testing.T, v *virtual, on bool) { v.refuse(on) }},
		{"0x08", with(outage(testserver.Match{}))},
		{"0x58", with(testserver.Scenario{Errors: []testserver.ErrorRule{{Status: pdu.StatusThrottled}}})},
		{"nothing", with(testserver.Scenario{Faults: []testserver.Fault{{Kind: testserver.FaultSwallow}}})},
	} {
		for _, class := range []struct {
			name, weight string
			leaves       time.Duration
		}{{"otp", "strict", 6 * time.Second}, {"normal", "10", 12 * time.Second}} {
			for _, length := range lengths {
				t.Run(fmt.Sprintf("%s, %s, %v", fault.name, class.name, length), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						const rate = 20
						r := startRelay(t, class.name, class.weight)
						defer r.stop()
						r.run(t, rate, 2*time.Minute)
						began := time.Now()
						fault.set(t, r.first, true)
						r.run(t, rate, length)
						ended := time.Now()
						fault.set(t, r.first, false)
						r.run(t, rate, 3*time.Minute)
						time.Sleep(110 * time.Second)
						r.report(t, began, ended, class.leaves, fault.name == "0x58", fault.name == "nothing")
					})
				})
			}
		}
	}
}

// testInterval is the longest wait for a test of the holds since then.
func (v *virtual) testInterval(since time.Time) (wait time.Duration) {
	for _, d := range v.gate.Decisions() {
		if d.Reason == window.ReasonHoldTest && d.At.After(since) {
			wait = max(wait, d.Wait)
		}
	}
	return wait
}

// report says how it went, and checks it.
func (r *relay) report(t *testing.T, began, ended time.Time, leaves time.Duration, holds, swallows bool) {
	t.Helper()
	var left time.Duration
	ids := map[string]int{}
	for _, e := range r.submitted() {
		ids[e.ID]++
		if e.Account == "backup" && left == 0 {
			left = e.At.Sub(began)
		}
	}
	back := r.back(ended)
	t.Logf("traffic on the second account after %v, back on the first %v after the end of the fault; %d submits to the first, %d to the second",
		left, back, r.first.smsc.Stats().Submits, r.second.smsc.Stats().Submits)
	if left <= 0 || left > leaves {
		t.Errorf("traffic on the second account after %v, want within %v", left, leaves)
	}
	most := 30 * time.Second
	if holds {
		interval := r.first.testInterval(began)
		t.Logf("its hold tests came every %v at the end", interval)
		most = max(most, interval+15*time.Second) // to climb, and to tell
	}
	if back > most {
		t.Errorf("90 %% on the first account %v after the end of the fault, want within %v", back, most)
	}
	if len(ids) != r.published {
		t.Errorf("%d of %d messages were submitted: %v", len(ids), r.published, r.first.finals())
	}
	unsure := map[string]bool{} // the first SMSC may have them
	for _, e := range r.first.source.Events(0) {
		unsure[e.ID] = unsure[e.ID] || e.Type == queue.EventUnknownOutcome
		if e.Type == queue.EventSubmitted && unsure[e.ID] && e.Account == "backup" {
			t.Errorf("%s may have reached the first SMSC and was sent to the second", e.ID)
		}
	}
	// What was swallowed is sent again to the same SMSC, marked as a possible duplicate.
	unsure = map[string]bool{}
	for _, e := range r.submitted() {
		if e.PossibleDuplicate {
			unsure[e.ID] = true
		}
	}
	if a, b := r.first.smsc.Stats().Duplicated, r.second.smsc.Stats().Duplicated; int(a) != len(unsure) || b != 0 || !swallows && a != 0 {
		t.Errorf("%d and %d messages came twice to an SMSC, %d of them marked", a, b, len(unsure))
	}
	for id, n := range ids {
		if n != 1 {
			t.Errorf("%s was submitted %d times", id, n)
		}
	}
}
