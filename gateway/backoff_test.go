package gateway

import (
	"math/rand/v2"
	"testing"
	"time"
)

func at(seconds float64) time.Time {
	return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func TestBackoffDoublesInTheUpperHalf(t *testing.T) {
	for _, backed := range []bool{false, true} {
		for _, r := range []float64{0, 0.5, 0.999} {
			h := &target{random: func() float64 { return r }, backed: backed}
			now := at(0)
			for n, span := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60} {
				if span *= time.Second; backed && now.Before(at(60)) {
					span = min(span, backoffSoon)
				} else if n >= 6 {
					span = backoffMost
				}
				h.notBefore = time.Time{}
				h.ended(now, 0)
				wait := h.notBefore.Sub(now)
				if wait < span/2 || wait > span {
					t.Errorf("backed %v, random %v: wait %v, want %v to %v", backed, r, wait, span/2, span)
				}
				now = now.Add(wait)
			}
		}
	}
}

func TestBackoffIsResetOnlyByASteadySession(t *testing.T) {
	h := &target{random: func() float64 { return 0.5 }}
	for range 4 {
		h.ended(at(0), 0)
	}
	h.ended(at(0), steadyAfter-time.Millisecond)
	if h.failures != 5 {
		t.Errorf("a session of under %v left %d failures, want 5", steadyAfter, h.failures)
	}
	h.notBefore = time.Time{}
	h.ended(at(0), steadyAfter)
	if wait := h.notBefore.Sub(at(0)); h.failures != 1 || wait > time.Second {
		t.Errorf("after a steady session: %d failures and a wait of %v, want 1 and at most 1s", h.failures, wait)
	}
}

// Refused TCP for 10 minutes must cost fewer than 25 connects for all binds together.
func TestF20BindsOfOneTargetShareItsBackoff(t *testing.T) {
	for seed := range uint64(50) {
		h := &target{random: rand.New(rand.NewPCG(seed, 1)).Float64}
		connects := 0
		ready := []time.Time{at(0), at(0), at(0), at(0)} // when each of four binds wants its next connect
		for {
			bind := 0
			for i := range ready {
				if ready[i].Before(ready[bind]) {
					bind = i
				}
			}
			connect := ready[bind].Add(h.reserve(ready[bind]))
			if connect.After(at(600)) {
				break
			}
			connects++
			h.ended(connect, 0)
			ready[bind] = connect
		}
		if connects >= 25 {
			t.Errorf("seed %d: %d connects in 10 minutes, want fewer than 25", seed, connects)
		}
	}
}

func TestGhostWaitsThirtyToSixtySeconds(t *testing.T) {
	for _, r := range []float64{0, 0.999} {
		h := &target{random: func() float64 { return r }}
		h.ghost(at(0))
		if wait := h.reserve(at(0)); wait < 30*time.Second || wait > 60*time.Second {
			t.Errorf("random %v: wait %v after 0x05, want 30s to 60s", r, wait)
		}
	}
}

func TestSlowProbeDoublesToAnHour(t *testing.T) {
	var p slowProbe
	for _, want := range []time.Duration{5, 10, 20, 40, 60, 60} {
		if got := p.next(); got != want*time.Minute {
			t.Errorf("probe after %v, want %v", got, want*time.Minute)
		}
	}
	p.reset()
	if got := p.next(); got != probeFirst {
		t.Errorf("after a reset %v, want %v", got, probeFirst)
	}
}

// Many binds that start together connect one after the other, and those of other ports and accounts in between.
func TestConnectsToAHostAreSpaced(t *testing.T) {
	all := newHosts()
	h := all.of("smsc.example.net:2775", "a")
	for _, same := range []string{"smsc.example.net:2776", "SMSC.example.net:2775", "smsc.example.net.:3550"} {
		if all.of(same, "b").host != h.host {
			t.Errorf("%s is taken for another host", same)
		}
	}
	for _, other := range []string{"smsc2.example.net:2775", "[2001:db8::1]:2775"} {
		if all.of(other, "a").host == h.host {
			t.Errorf("%s is taken for the same host", other)
		}
	}
	for i := range 100 {
		if wait := h.host.reserve(at(0)); wait != time.Duration(i)*connectGap {
			t.Fatalf("connect %d waits %v, want %v", i, wait, time.Duration(i)*connectGap)
		}
	}
	if wait := h.host.reserve(at(60)); wait != 0 {
		t.Errorf("a connect a minute later waits %v, want none", wait)
	}
}

// The back-off is that of one system_id at one address: a healthy account was bound 56 s late because another at the same
// host had failed, and one with two addresses waited at the second for the first.
func TestBackoffIsKeptByAddressAndSystemID(t *testing.T) {
	all := newHosts()
	failed := all.of("smsc.example.net:2775", "a")
	for range 10 {
		failed.ended(at(0), 0)
		failed.reserve(at(0))
	}
	if all.of("SMSC.example.net.:2775", "a") != failed || failed.reserve(at(0)) < time.Minute {
		t.Error("the failed account does not wait")
	}
	for _, other := range [][2]string{{"smsc.example.net:2775", "b"}, {"smsc.example.net:2776", "a"}, {"smsc2.example.net:2775", "a"}, {"smsc.example.net:2775", "A"}} {
		if wait := all.of(other[0], other[1]).reserve(at(0)); wait != 0 {
			t.Errorf("%v waits %v for another", other, wait)
		}
		if wait := all.of(other[0], other[1]).host.reserve(at(0)); wait > 3*connectGap {
			t.Errorf("%v waits %v for the connects of another", other, wait)
		}
	}
}
