package main

import (
	"testing"
	"time"
)

// The silence after a fault is measured to the next submit, and a fault beside another one is left out.
func TestSilences(t *testing.T) {
	zero := time.Unix(1_700_000_000, 0)
	at := func(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }
	fault := func(k kind, began, ended float64) struck {
		return struck{fault: fault{kind: k, targets: []string{broker}}, began: at(began), ended: at(ended)}
	}
	e := &evidence{struck: []struck{
		fault(kindFreeze, 10, 20), fault(kindKill, 100, 101), fault(kindRestart, 102, 103), fault(kindDiskFull, 200, 210),
		fault(kindStall, 500, 501),
	}}
	for _, s := range []float64{1, 21.5, 120, 245, 250} {
		entry := entry(0, "a", 0)
		entry.Time = at(s)
		e.ledger = append(e.ledger, entry)
	}
	r := &result{}
	r.silences(e)
	want := map[string]float64{"freeze nats": 1.5, "disk_full nats": 35}
	if len(r.Silences) != len(want) || r.Silences["freeze nats"] != 1.5 || r.Silences["disk_full nats"] != 35 {
		t.Errorf("silences %v, want %v", r.Silences, want)
	}
	if r.Slow != 1 || r.Mute != 1 || r.broken() == nil {
		t.Errorf("%d slow, %d too long, error %v; want one of each", r.Slow, r.Mute, r.broken())
	}
}
