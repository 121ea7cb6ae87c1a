package main

import (
	"strings"
	"testing"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// entry is one submit of a message in the ledger; key tells its segments apart.
func entry(index int, key string, status pdu.Status) testserver.Entry {
	return testserver.Entry{Record: testserver.Record{Destination: destination(index), Key: key, Status: status}}
}

func destination(index int) string { return compose(1, index+1)[index].destination }

func final(seq uint64, index int, t queue.EventType, marked bool) queue.Event {
	e := queue.Event{Seq: seq, ID: deliveryID(index), Type: t, PossibleDuplicate: marked}
	if t == queue.EventSubmitted {
		e.SegmentsAccepted = 1
	}
	return e
}

// Each broken promise is seen, named and an error; what holds is none.
func TestJudge(t *testing.T) {
	submitted, deferred, expired := queue.EventSubmitted, queue.EventDeferred, queue.EventExpired
	ok := func() *evidence {
		e := &evidence{messages: compose(1, 3), lastSeq: 3, windows: 100, crashes: 1, deferred: map[uint64]bool{3: true}}
		for i, m := range e.messages {
			m.seqs = []uint64{uint64(i + 1)}
		}
		e.events = []queue.Event{final(1, 0, submitted, false), final(2, 1, submitted, true), final(3, 2, deferred, true)}
		e.ledger = []testserver.Entry{
			entry(0, "a", pdu.StatusThrottled), entry(0, "a", 0), entry(1, "b", 0), entry(1, "b", 0), entry(2, "c", 0),
		}
		return e
	}
	for name, tc := range map[string]struct {
		change func(e *evidence)
		want   string // in the error, none when empty
		lost   int
		marked int
	}{
		"all holds":             {func(*evidence) {}, "", 0, 1},
		"two finals":            {func(e *evidence) { e.events = append(e.events, final(1, 0, submitted, false)) }, "1 messages without exactly one final", 0, 1},
		"no outcome":            {func(e *evidence) { e.events = e.events[1:] }, "3 published, 2 outcomes", 1, 1},
		"still in the queue":    {func(e *evidence) { e.events = e.events[1:]; e.left = map[uint64]bool{1: true} }, "1 messages left in the queue", 0, 1},
		"never at the SMSC":     {func(e *evidence) { e.ledger = e.ledger[2:] }, "lost: c0000000: 1 submitted, and the SMSC has 0 of 1 parts", 1, 1},
		"a double without mark": {func(e *evidence) { e.events[1].PossibleDuplicate = false }, "1 duplicates that nothing marks", 0, 0},
		"a double marked later": {func(e *evidence) {
			e.events[1] = final(2, 1, submitted, false)
			e.events = append(e.events, queue.Event{Seq: 2, ID: deliveryID(1), Type: queue.EventDuplicateAccepted, PossibleDuplicate: true})
		}, "", 0, 1},
		"expired and accepted":   {func(e *evidence) { e.events[0] = final(1, 0, expired, false) }, "1 messages accepted while their final denies it", 0, 1},
		"expired and maybe":      {func(e *evidence) { e.events[0] = final(1, 0, expired, true) }, "", 0, 1},
		"deferred and not there": {func(e *evidence) { e.deferred = nil }, "1 deferred messages were not kept", 0, 1},
		"cancelled": {func(e *evidence) {
			e.events[2] = final(3, 2, queue.EventCancelled, true)
			e.cancelled = map[uint64]bool{3: true}
		}, "", 0, 1},
		"cancelled in word only":   {func(e *evidence) { e.cancelled = map[uint64]bool{1: true} }, "1 messages were called cancelled and are not", 0, 1},
		"three times":              {func(e *evidence) { e.ledger = append(e.ledger, entry(1, "b", 0)) }, "one submit_sm was accepted 3 times", 0, 2},
		"more than faults explain": {func(e *evidence) { e.crashes = 0 }, "1 duplicates, and the faults explain 0", 0, 1},
		"confirmed and forgotten":  {func(e *evidence) { e.lastSeq = 2; e.events = e.events[:2]; e.ledger = e.ledger[:4] }, "c0000002 was confirmed by the queue as [3] and is nowhere", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := ok()
			tc.change(e)
			r := judge(e)
			err := r.broken()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the verdict is %v, want %q", err, tc.want)
			}
			if r.Lost != tc.lost || r.Marked != tc.marked {
				t.Errorf("%d lost, %d marked; want %d, %d", r.Lost, r.Marked, tc.lost, tc.marked)
			}
		})
	}
}
