package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A fault of n seconds may cost n + 3 s. On a machine that five runs share more is reported and no error, up to
// silenceMost.
const (
	silenceAllowed = 3 * time.Second
	silenceMost    = 30 * time.Second
)

// silences measures how long nothing reached the SMSC after each fault. Faults that follow or overlap another one
// within the measured time are left out: they have their own.
func (r *result) silences(e *evidence) {
	r.Silences = map[string]float64{}
	times := make([]time.Time, 0, len(e.ledger))
	for i := range e.ledger {
		times = append(times, e.ledger[i].Time)
	}
	slices.SortFunc(times, time.Time.Compare)
	r.longest(times, e.struck)
	for i, f := range e.struck {
		n, _ := slices.BinarySearchFunc(times, f.ended, time.Time.Compare)
		if n == len(times) { // nothing was left to be sent
			continue
		}
		silent := times[n].Sub(f.ended)
		if disturbed(e.struck, i, times[n]) {
			continue
		}
		name := fmt.Sprintf("%s %s", f.kind, strings.Join(f.targets, "+"))
		r.Silences[name] = max(r.Silences[name], silent.Seconds())
		if silent > silenceAllowed {
			r.Slow++
		}
		if silent > silenceMost {
			r.Mute++
			r.complain("nothing was sent for %.1f s after %v", silent.Seconds(), f.fault)
		}
	}
}

// disturbed says whether another fault was at work between the begin of fault i and the next submit.
func disturbed(all []struck, i int, next time.Time) bool {
	for j, other := range all {
		if j != i && other.began.Before(next) && other.ended.Add(silenceAllowed).After(all[i].began) {
			return true
		}
	}
	return false
}

// longest describes the longest time between two submits, and the faults at work in it or shortly before.
func (r *result) longest(times []time.Time, faults []struck) {
	var from, to time.Time
	for i := 1; i < len(times); i++ {
		if times[i].Sub(times[i-1]) > to.Sub(from) {
			from, to = times[i-1], times[i]
		}
	}
	var beside []string
	for _, f := range faults {
		if f.began.Before(to) && f.ended.Add(silenceAllowed).After(from) {
			beside = append(beside, f.String())
		}
	}
	r.Longest = fmt.Sprintf("%.1f s: %s", to.Sub(from).Seconds(), strings.Join(beside, "; "))
}
