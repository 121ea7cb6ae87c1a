package queue

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestOldClaimsMakeRoom fills the bucket of claims: claims that nobody can need any more go, young ones stay.
func TestOldClaimsMakeRoom(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	j := b.journal
	bucket, err := b.client.js.Stream(t.Context(), bucketStream(j.names.final))
	if err != nil {
		t.Fatal(err)
	}
	cfg := bucket.CachedInfo().Config
	cfg.MaxBytes = 8 << 10
	if _, err := b.client.js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	state := func() jetstream.StreamState {
		info, err := bucket.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return info.State
	}
	claim := func(seq uint64) {
		e := Event{Type: EventExpired, Seq: seq, ID: "m", Delivery: 1, Route: "main", Class: "otp"}
		e.complete(time.Now())
		if winner, fresh, err := j.claimFinal(t.Context(), &e); err != nil || winner != nil || !fresh {
			t.Fatalf("claim %d: winner %v, fresh %v, %v", seq, winner, fresh, err)
		}
	}
	for seq := uint64(1); seq <= 8; seq++ {
		claim(seq)
	}
	if err := j.dropOldClaims(t.Context(), time.Now().Add(-claimKept)); err != nil || state().Msgs != 8 {
		t.Errorf("%d of 8 young claims are left, %v", state().Msgs, err)
	}
	j.claimKept = -time.Hour // all are old
	for seq := uint64(9); seq <= 60; seq++ {
		claim(seq)
	}
	if s := state(); s.Bytes > 8<<10 || s.FirstSeq == 1 || s.LastSeq != 60 {
		t.Errorf("the bucket has the claims %d to %d in %d octets", s.FirstSeq, s.LastSeq, s.Bytes)
	}
}

// TestTwoHoldersMakeOneFinal lets a second instance get a message that the
// first still works on; both are accepted by the SMSC.
func TestTwoHoldersMakeOneFinal(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{ackWait: shortWait})
	seq := b.publish(testLane, "m")[0]
	first, second := b.holder(), b.holder()
	slow := first.hold()
	first.freeze()
	taken := second.hold()
	if s := taken.State(); !s.Unexplained {
		t.Fatalf("state %+v, want unexplained", s)
	}
	b.settle(taken, submitted("second"))
	b.settle(slow, submitted("first"))
	b.wantTypes(seq, EventSubmitted, EventDuplicateAccepted)
	b.queueEmpty()
	for _, id := range []string{"first", "second"} {
		if ref, ok, err := b.client.LookupReceipt(t.Context(), "acme", CanonicalID(id), newest); err != nil || !ok || ref.Seq != seq {
			t.Errorf("receipt index of %s: %+v %v %v", id, ref, ok, err)
		}
	}
}

// TestAFinalThatOutlivesTheAckWait has a settle begin in time and the journal
// away until somebody else has settled the message.
func TestAFinalThatOutlivesTheAckWait(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{ackWait: shortWait})
	seq := b.publish(testLane, "m")[0]
	first, second := b.holder(), b.holder()
	slow := first.hold()
	first.freeze()
	b.settle(second.hold(), submitted("second"))
	const doubtfulWhenItBegan = false
	won, err := slow.settleFinal(t.Context(), slow.complete(new(submitted("first")), time.Now()), nil, doubtfulWhenItBegan)
	if err != nil || won {
		t.Errorf("won %v, %v; want lost", won, err)
	}
	b.wantTypes(seq, EventSubmitted, EventDuplicateAccepted)
}

// TestAFinalThatWasLongUnderWay has the final of a holder that is long gone
// arrive from a connection that stalled: when somebody else has made the message's
// final, and between that one's claim and its event.
func TestAFinalThatWasLongUnderWay(t *testing.T) {
	t.Parallel()
	for name, claimed := range map[string]bool{"after the other": false, "before the other, and after its claim": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, benchConfig{ackWait: shortWait})
			seq := b.publish(testLane, "m")[0]
			first, second := b.holder(), b.holder()
			slow := first.hold()
			first.freeze()
			stray := slow.complete(new(submitted("first")), time.Now())
			arrive := func(want string) {
				err := second.journal.store(t.Context(), stray, storeOptions{})
				var other *otherFinalError
				if got := errors.As(err, &other); got != (want != "") || got && other.final.MessageIDs[0] != want {
					t.Errorf("the stray write: %v, want it to find %q", err, want)
				}
			}
			d := second.hold()
			if claimed {
				if _, _, err := second.journal.claimFinal(t.Context(), d.complete(new(submitted("second")), time.Now())); err != nil {
					t.Fatal(err)
				}
				arrive("")
			}
			b.settle(d, submitted("second"))
			if !claimed {
				arrive("second")
				b.wantTypes(seq, EventSubmitted)
				return
			}
			b.wantTypes(seq, EventSubmitted, EventDuplicateAccepted)
			if e := b.journaled(seq)[1]; !e.PossibleDuplicate || e.MessageIDs[0] != "second" {
				t.Errorf("the second event is %+v, want it marked, with the id of the second", e)
			}
			b.queueEmpty()
		})
	}
}

// TestAFinalOfAnEarlierQueue has the journal know a final of the same sequence,
// of a queue that was deleted and made anew.
func TestAFinalOfAnEarlierQueue(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "m")[0]
	earlier := Event{Type: EventSubmitted, Seq: seq, ID: "another", EventID: "1.1.submitted", Route: "main"}
	if err := b.journal.Append(t.Context(), earlier); err != nil {
		t.Fatal(err)
	}
	b.settle(b.holder().hold(), submitted("1"))
	b.queueEmpty()
	if got := b.events(EventFilter{ID: "m"}); len(got) != 1 || got[0].Type != EventSubmitted {
		t.Errorf("events of the message: %+v, want it submitted", got)
	}
}

// TestASettleThatIsRepeated has a step after the final fail: the next try stores
// no second one.
func TestASettleThatIsRepeated(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "m")[0]
	d := b.holder().hold()
	given, cancel := context.WithCancel(t.Context())
	o := submitted("1")
	e := d.complete(&o, time.Now())
	if _, err := d.appendFinal(given, e, storeOptions{}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := d.Settle(given, o); err == nil {
		t.Error("a settle whose context has ended succeeded")
	}
	b.settle(d, o)
	b.queueEmpty()
	b.wantTypes(seq, EventSubmitted)
}

// TestAClaimJustBeforeTheHandOut has a late response claim the final between the
// look for one and the hand-out: the message is not handed out.
func TestAClaimJustBeforeTheHandOut(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "m")[0]
	h := b.holder()
	first := h.hold()
	b.settle(first, unknown(first.State(), 0))
	second := h.hold()
	if _, _, err := h.journal.claimFinal(t.Context(), first.complete(new(submitted("late")), time.Now())); err != nil {
		t.Fatal(err)
	}
	if out, err := second.handOut(t.Context()); err != nil || out {
		t.Errorf("handed out %v, %v; want not", out, err)
	}
	b.queueEmpty()
	b.wantTypes(seq, EventUnknownOutcome, EventSubmitted)
}
