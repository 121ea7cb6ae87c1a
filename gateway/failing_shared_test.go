package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// leases lets the gateways of a bubble read each other's leases as the bucket would hold them, every 2 s, until ctx ends.
func leases(ctx context.Context, t *testing.T, gateways ...*Gateway) {
	t.Helper()
	for n, g := range gateways {
		g.presence.name, g.presence.log, g.presence.tenures = fmt.Sprintf("gw-%d", n+1), discard(), map[string]*tenure{}
		for _, a := range g.accounts {
			g.presence.tenures[a.name] = &tenure{}
		}
	}
	for revision := uint64(1); pause(ctx, leaseEvery); revision++ {
		now := time.Now()
		var all []queue.Instance
		for _, g := range gateways {
			parts := map[string]queue.Part{}
			for _, a := range g.accounts {
				parts[a.name] = a.offer(now, g.presence.name, g.presence.tenures[a.name], g.presence.claimants(a.name))
			}
			data, err := json.Marshal(g.presence.lease(parts))
			i := queue.Instance{Name: g.presence.name, Revision: revision}
			if err == nil {
				err = json.Unmarshal(data, &i.Lease)
			}
			if err != nil {
				t.Error(err)
			}
			all = append(all, i)
		}
		for _, g := range gateways {
			g.presence.read(all, now)
			g.heedOthers(now)
		}
	}
}

// An account that one instance finds failing sends only probes on the other one too, which loses no attempt and no message
// by it; both are back at their pace after the recovery.
func TestFailingIsSharedAmongInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := startVirtual(t, healthy(), ""), startVirtual(t, healthy(), "")
		defer first.stop()
		defer second.stop()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go leases(ctx, t, first.gateway, second.gateway)

		first.send(t, 50, time.Hour, "+4477", "")
		second.send(t, 50, time.Hour, "+4488", "")
		time.Sleep(20 * time.Second)
		first.scenario(t, outage(testserver.Match{}))
		second.scenario(t, outage(testserver.Match{}))
		first.send(t, 100, time.Hour, "+1555", "")
		time.Sleep(10 * time.Second)
		if s := second.standing(); first.standing().state != Failing || s.state != Failing || second.smsc.Stats().Refused != 0 {
			t.Fatalf("the first instance says %s, the second %s after %d refused; want both failing by the first's word",
				first.standing().state, s.state, second.smsc.Stats().Refused)
		}
		second.send(t, 200, time.Hour, "+1666", "")
		time.Sleep(20 * time.Second)
		n := second.smsc.Stats().Refused
		t.Logf("the second instance was refused %d times in 20 s: %s", n, second.standing().reason)
		if n == 0 || n > 8 {
			t.Errorf("%d refused on the second instance in 20 s, want its probes only: 1 to 8", n)
		}
		first.scenario(t, healthy())
		second.scenario(t, healthy())
		recovered := time.Now()
		time.Sleep(time.Minute)
		for name, v := range map[string]*virtual{"first": first, "second": second} {
			last, n := v.submitted()
			t.Logf("%s: %d submitted, the last one %v after the recovery", name, n, last.Sub(recovered))
			if want := map[string]int{"first": 150, "second": 250}[name]; n != want || v.standing().state != Bound {
				t.Errorf("%s: %d submitted and %s, want %d and bound", name, n, v.standing().state, want)
			}
			for _, e := range v.source.Events(0) {
				if e.Type == queue.EventSubmitted && e.Attempt != 1 {
					t.Errorf("%s has used %d attempts", e.ID, e.Attempt)
				}
			}
		}
	})
}

// Where one instance alone cannot get a message through, the word of another stops nobody whose own messages pass.
func TestFailingOfOneInstanceAloneStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := startVirtual(t, healthy(), ""), startVirtual(t, healthy(), "")
		defer first.stop()
		defer second.stop()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go leases(ctx, t, first.gateway, second.gateway)
		first.send(t, 50, time.Hour, "+4477", "")
		time.Sleep(20 * time.Second)
		first.scenario(t, outage(testserver.Match{}))
		first.send(t, 100, time.Hour, "+1555", "")
		for n := range 60 {
			second.send(t, 10, time.Hour, fmt.Sprintf("+44%02d", n), "")
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Second)
		_, n := second.submitted()
		if first.standing().state != Failing || second.standing().state != Bound || n != 600 {
			t.Errorf("the first is %s; the second %s with %d submitted, want failing, bound and 600", first.standing().state, second.standing().state, n)
		}
	})
}

// The next account of a route is asked by what all instances say: not while one of them gets messages through the first,
// and soon after none does.
func TestFailoverIsDecidedByAllInstances(t *testing.T) {
	fault := func(v *virtual) { v.refuse(true) }
	for name, last := range map[string]func(*testing.T, *virtual){
		"refuses connections": func(_ *testing.T, v *virtual) { fault(v) },
		"0x08":                func(t *testing.T, v *virtual) { t.Helper(); v.scenario(t, outage(testserver.Match{})) },
		"0x58": func(t *testing.T, v *virtual) {
			t.Helper()
			v.scenario(t, testserver.Scenario{Errors: []testserver.ErrorRule{{Status: pdu.StatusThrottled}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, g1 := joinRelay(t, "otp", "strict", nil)
				defer one.stop()
				two, g2 := joinRelay(t, "otp", "strict", one)
				defer two.stop()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				go leases(ctx, t, g1, g2)
				one.run(t, 20, 30*time.Second)
				fault(two.first)
				one.run(t, 20, 40*time.Second)
				if n := one.second.smsc.Stats().Submits; n != 0 {
					t.Errorf("%d submits over the second account while one instance gets them through the first, want none", n)
				}
				began := time.Now()
				last(t, one.first)
				one.run(t, 20, 20*time.Second)
				var left time.Duration
				for _, e := range one.submitted() {
					if e.Account == "backup" {
						left = e.At.Sub(began)
						break
					}
				}
				t.Logf("traffic on the second account after %v", left)
				if left <= 0 || left > 12*time.Second {
					t.Errorf("traffic on the second account after %v, want within 12 s", left)
				}
			})
		})
	}
}

// Two instances of which both are bound leave an account, and come back to it, as soon as one alone does.
func TestTwoInstancesFailOverAsSoonAsOne(t *testing.T) {
	for name, sc := range map[string]testserver.Scenario{
		"0x08":    outage(testserver.Match{}),
		"0x58":    {Errors: []testserver.ErrorRule{{Status: pdu.StatusThrottled}}},
		"nothing": {Faults: []testserver.Fault{{Kind: testserver.FaultSwallow}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, g1 := joinRelay(t, "otp", "strict", nil)
				defer one.stop()
				two, g2 := joinRelay(t, "otp", "strict", one)
				defer two.stop()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				go leases(ctx, t, g1, g2)
				one.run(t, 20, 30*time.Second)
				began := time.Now()
				one.first.scenario(t, sc)
				one.run(t, 20, time.Minute)
				ended := time.Now()
				one.first.scenario(t, healthy())
				one.run(t, 20, 2*time.Minute)
				time.Sleep(2 * time.Minute)
				one.report(t, began, ended, 6*time.Second, name == "0x58", name == "nothing")
			})
		})
	}
}
