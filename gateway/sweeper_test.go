package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/queue"
	"sluice/testserver"
)

// downSMSC hangs up on every bind.
func downSMSC(t *testing.T) smsc {
	return startSMSC(t, testserver.Scenario{Bind: testserver.BindRules{Refuse: testserver.Refusal{Drop: true, Times: 1 << 30}}})
}

// short makes n messages that live for a time.
func short(n int, prefix string, life time.Duration) []*queue.Message {
	list := messages(n, prefix)
	for _, m := range list {
		m.ExpiresIn = life
	}
	return list
}

// With the SMSC down nothing is pulled, and every message ends within 2 s of its deadline all the same. A machine that
// stands still just then is given another chance: a sweeper that is slow is slow each time. The race detector alone
// makes 2.5 s of it on one processor, and is told nothing about time.
func TestDeadlinesAreKeptWhileTheSMSCIsDown(t *testing.T) {
	t.Parallel()
	const most, chances = 2 * time.Second, 3
	var late time.Duration
	for range chances {
		if late = endsAfterDeadline(t); late <= most || raced {
			return
		}
	}
	t.Errorf("the last of the messages ended %v after its deadline, and %d times later than %v", late, chances, most)
}

// endsAfterDeadline lets a gateway without an SMSC end its messages, and says how long after its deadline the last did.
func endsAfterDeadline(t *testing.T) time.Duration {
	t.Helper()
	const n = 1000
	r := startGateway(t, t.TempDir(), downSMSC(t), "", "")
	defer r.stop()
	r.publishAll(t, short(n, "+1555", 5*time.Second))
	r.publish(t, messages(3, "+1666")...) // these have a day
	var late []time.Duration
	ended := map[uint64]int{}
	for _, e := range r.await(t, n, isFinal) {
		late = append(late, e.At.Sub(e.Deadline))
		ended[e.Seq]++
		if e.Type != queue.EventExpired || e.Reason != reasonPastDeadline || e.Account != "acme" || strings.HasPrefix(e.ID, "1666") {
			t.Fatalf("%s: %s (%s), want expired", e.ID, e.Type, e.Reason)
		}
		if e.Delivery != 0 || e.PossibleDuplicate {
			t.Fatalf("%s was pulled %d times, possible duplicate %v; want never", e.ID, e.Delivery, e.PossibleDuplicate)
		}
		if e.MissedByMillis < 0 || e.At.Before(e.Deadline) {
			t.Fatalf("%s ended at %v, before its deadline %v", e.ID, e.At, e.Deadline)
		}
	}
	for _, e := range r.events(t) {
		if e.Seq != 0 && ended[e.Seq] != 1 {
			t.Fatalf("message %d has %d finals", e.Seq, ended[e.Seq])
		}
	}
	// A message leaves the queue after its event is out.
	await(t, "the 3 that are left to be queued and none to be in flight", func() bool {
		lanes, err := r.client.LaneStats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(lanes, func(l queue.LaneStats) bool { return l.Class == "normal" })
		return lanes[i].Pending == 3 && lanes[i].AckPending == 0
	})
	slices.Sort(late)
	t.Logf("after their deadline: median %v, 99 %% %v, last %v", late[n/2], late[n*99/100], late[n-1])
	return late[n-1]
}

// publishAll publishes without waiting for each.
func (r *rig) publishAll(t *testing.T, list []*queue.Message) {
	t.Helper()
	err := r.client.PublishMany(t.Context(), func(yield func(queue.Outgoing) bool) {
		for _, m := range list {
			if !yield(queue.Outgoing{Route: "main", Class: "normal", Message: m}) {
				return
			}
		}
	}, func(p queue.Published) {
		if p.Err != nil {
			t.Error(p.Err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Two gateways, and an SMSC that comes up while their sweeper is at work: each message has one final, and nothing is
// submitted twice or after its deadline.
func TestRecoveryDuringASweepMakesOneFinalEach(t *testing.T) {
	t.Parallel()
	const n = 400
	s := downSMSC(t)
	r := startGateway(t, t.TempDir(), s, "", "")
	second := joinGateway(t, r, "test-2", s, "")
	// The lives end one after the other, before and after the SMSC comes up.
	for i := range 8 {
		r.publishAll(t, short(n/8, fmt.Sprintf("+155%d", i), time.Duration(7+2*i)*time.Second))
	}
	r.await(t, n/8, isFinal)
	if err := s.SetScenario(testserver.Scenario{}); err != nil {
		t.Fatal(err)
	}
	r.await(t, n, isFinal)
	finals, submitted, expired := map[uint64]int{}, 0, 0
	for _, e := range second.events(t) {
		if !e.Type.Final() {
			continue
		}
		finals[e.Seq]++
		switch e.Type {
		case queue.EventSubmitted:
			submitted++
		case queue.EventExpired:
			expired++
		default:
			t.Errorf("%s: %s (%s)", e.ID, e.Type, e.Reason)
		}
	}
	for seq, count := range finals {
		if count != 1 {
			t.Errorf("message %d has %d finals, want one", seq, count)
		}
	}
	stats := s.Stats()
	if len(finals) != n || stats.Duplicated != 0 || int(stats.Accepted) != submitted {
		t.Errorf("%d finals for %d messages; %d accepted, %d of them twice, and %d reported submitted",
			len(finals), n, stats.Accepted, stats.Duplicated, submitted)
	}
	t.Logf("%d expired, %d submitted", expired, submitted)
}
