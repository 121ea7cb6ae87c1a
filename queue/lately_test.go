package queue

import (
	"errors"
	"testing"
	"time"
)

// TestWhatTheServerConfirmedAndLostIsStoredAgain has the journal fail just after an outcome was confirmed, as with a
// disk that becomes full, and a server that comes back without the outcome.
func TestWhatTheServerConfirmedAndLostIsStoredAgain(t *testing.T) {
	t.Parallel()
	s := newSickJournal(t, 400*time.Millisecond)
	seqs := s.publish(testLane, "lost", "kept", "later")
	i := s.intake(IntakeConfig{})
	for _, id := range []string{"1", "2"} {
		s.settle(s.next(i), submitted(id))
	}
	third := s.next(i)
	stream, err := s.client.js.Stream(t.Context(), "SMS_EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	heal := s.fall(silent)
	if err := stream.DeleteMsg(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	settled := make(chan error, 1)
	go func() { settled <- third.Settle(t.Context(), submitted("3")) }()
	s.awaitIll()
	heal()
	if err := <-settled; err != nil {
		t.Fatal(err)
	}
	s.queueEmpty()
	s.eventually(func() error {
		if s.log.count("confirmed and lost") != 1 {
			return errors.New("nothing is said of events that were stored again")
		}
		return nil
	})
	for _, seq := range seqs { // each once
		s.wantTypes(seq, EventSubmitted)
	}
	if s.log.count("events=1") != 1 {
		t.Error("another number of events was stored again, want 1")
	}
}

// TestLatelyKeepsTheNewest fills the ring over its end.
func TestLatelyKeepsTheNewest(t *testing.T) {
	var l lately
	begin := time.Unix(1000, 0)
	const beyond = 10
	for n := range latelyMost + beyond {
		l.note(&Event{Seq: uint64(n)}, time.Time{}, begin.Add(time.Duration(n)*time.Millisecond))
	}
	all := l.since(time.Time{})
	if len(all) != latelyMost || all[0].event.Seq != beyond || all[len(all)-1].event.Seq != latelyMost+beyond-1 {
		t.Errorf("%d events, from %d to %d; want the newest %d", len(all), all[0].event.Seq, all[len(all)-1].event.Seq, latelyMost)
	}
	if some := l.since(begin.Add((latelyMost + beyond - 3) * time.Millisecond)); len(some) != 3 || some[0].event.Seq != latelyMost+beyond-3 {
		t.Errorf("%d events since the third last", len(some))
	}
}
