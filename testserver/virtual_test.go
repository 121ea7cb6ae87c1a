package testserver

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sluice/smpp/pdu"
)

func TestLimiterOfAScenario(t *testing.T) {
	sc := Scenario{
		Latency: Between(50*time.Millisecond, 100*time.Millisecond),
		Limits:  []Limit{{Kind: Outstanding, Size: 5}, {Kind: TokenBucket, Rate: PerSecond(1000), Burst: 8}},
		Errors:  []ErrorRule{{Status: pdu.StatusSysErr, Match: Match{Nth: 2}}},
	}
	l, left := sc.Limiter("acme", rand.New(rand.NewPCG(1, 0)))
	if len(left) > 0 {
		t.Errorf("left out: %v", left)
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	if c := l.Capacity(now); c < 66 || c > 67 {
		t.Errorf("capacity %.1f, want 66.7: 5 places for 75 ms each", c)
	}
	var got []pdu.Status
	for range 7 {
		v := l.Arrive(now)
		if v.Service < 50*time.Millisecond || v.Service > 100*time.Millisecond {
			t.Errorf("answer after %v", v.Service)
		}
		got = append(got, pdu.Status(v.Status))
	}
	want := []pdu.Status{0, pdu.StatusSysErr, 0, 0, 0, 0, pdu.StatusThrottled}
	if !slices.Equal(got, want) {
		t.Errorf("answers %v, want %v", got, want)
	}
	l.Done(now)
	if v := l.Arrive(now); v.Refuse {
		t.Error("the place that is free again is not given")
	}
}

func TestLimiterNamesWhatItLeavesOut(t *testing.T) {
	sc := Scenario{
		Bind: BindRules{Max: 1},
		Link: Link{Deaf: true},
		Limits: []Limit{
			{Kind: DestinationQueue, Rate: PerSecond(1), Size: 3},
			{Kind: TokenBucket, Rate: PerSecond(1), Account: "other"},
			{Kind: TokenBucket, Rate: PerSecond(1), Over: CloseSession},
			{Kind: TokenBucket, Rate: PerSecond(1), Scope: PerBind, Slot: 2},
		},
		Errors:   []ErrorRule{{Status: 0x0B, Match: Match{Prefix: "000"}}, {Status: 0x08, Match: Match{Share: 0.5}}},
		Faults:   []Fault{{Kind: FaultSwallow}},
		Receipts: Receipts{Redeliver: time.Second},
	}
	l, left := sc.Limiter("acme", rand.New(rand.NewPCG(1, 0)))
	want := []string{
		"limits[0] (destination_queue)", "limits[1], which is of account other", "limits[2] (over: close)",
		"limits[3], which is of slot 2", "errors[0], which is about destinations",
		"faults[0] (swallow)", "bind", "link", "receipts",
	}
	if !slices.Equal(left, want) {
		t.Errorf("left out %q, want %q", left, want)
	}
	if c := l.Capacity(time.Now()); c != 0 {
		t.Errorf("a limit that is left out has a capacity of %v", c)
	}
}
