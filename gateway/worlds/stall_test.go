package worlds

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/queue"
	"sluice/testserver"
	"sluice/testserver/longtest"
)

// steady is a world of one instance with default settings: each rate messages a second for 60 s, an SMSC without a limit
// that answers after half a second, and one fault 20 s after the start.
func steady(rate int, f *fault) *world {
	w := &world{
		seed: 1, instances: 1, accounts: []string{"acme"}, kind: "no limit", length: time.Minute,
		scenario: testserver.Scenario{Seed: 1, Latency: testserver.Exactly(500 * time.Millisecond)},
	}
	f.at, f.instance = 20*time.Second, -1
	w.faults = []*fault{f}
	for i := range rate * 45 {
		w.messages = append(w.messages, planned{
			at: 5*time.Second + time.Duration(i)*time.Second/time.Duration(rate), class: "normal", parts: 1,
			message: &queue.Message{ID: fmt.Sprintf("m%05d", i), From: "1000", To: fmt.Sprintf("+%s%07d", good, i), Text: "steady"},
		})
	}
	return w
}

// A stall of NATS of n seconds, in which its connections live, and a restart cost n and little more: new messages leave
// soon after, however many events were in doubt. (Each of these in doubt once cost 5 s.)
func TestSendsAgainAfterAStallOfNATS(t *testing.T) {
	cases := []struct {
		rate   int
		kind   faultKind
		length time.Duration
		within time.Duration
	}{
		{200, pauseNATS, 10 * time.Second, 2 * time.Second},
		{200, pauseNATS, 12 * time.Second, 2 * time.Second},
		{60, restart, 2 * time.Second, 3 * time.Second},
		{200, restart, 2 * time.Second, 3 * time.Second},
	}
	if !longtest.Whole(t, "one pause and one restart of two") {
		cases = cases[1:3]
	}
	for _, tc := range cases {
		t.Run(fmt.Sprintf("%s of %v at %d a second", tc.kind, tc.length, tc.rate), func(t *testing.T) {
			var r *run
			var faults []error
			dir := t.TempDir()
			w := steady(tc.rate, &fault{kind: tc.kind, length: tc.length})
			synctest.Test(t, func(t *testing.T) { r, faults = play(t, w, dir) })
			emptyPools()
			if len(faults) > 0 {
				t.Error(errors.Join(faults...))
			}
			ended := w.faults[0].ended
			next := slices.IndexFunc(r.sent, func(s sending) bool { return s.at.After(ended) })
			if next < 0 {
				t.Fatalf("nothing left after the fault; its trace is in %s", r.leave(t, faults))
			}
			silent := r.sent[next].at.Sub(ended)
			soon := 0
			for _, s := range r.sent[next:] {
				if s.at.Before(ended.Add(5 * time.Second)) {
					soon++
				}
			}
			t.Logf("the first left %v after the fault, %d in 5 s", silent, soon)
			if silent > tc.within {
				t.Errorf("nothing left for %v after the fault, want at most %v; its trace is in %s", silent, tc.within, r.leave(t, faults))
			}
		})
	}
}
