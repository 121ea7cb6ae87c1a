package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// quick shortens the times of an intake that tests would wait for.
var quick = intakeTiming{pull: 300 * time.Millisecond, watchdog: 600 * time.Millisecond}

// caller asks the intake for jobs until it stops, settles each and reports it.
func (b *bench) caller(i *Intake, settled chan<- Job) {
	go func() {
		for {
			job, err := i.Next(b.t.Context())
			if err != nil {
				return
			}
			if err := job.Settle(b.t.Context(), submitted(seqKey(job.Seq()))); err != nil {
				return
			}
			settled <- job
		}
	}()
}

func (b *bench) receive(settled <-chan Job) Job {
	b.t.Helper()
	select {
	case job := <-settled:
		return job
	case <-time.After(patience):
		b.t.Fatal("no message was settled")
		return nil
	}
}

func TestPullsExpireAndAreAskedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{timing: quick})
	settled := make(chan Job, 1)
	b.caller(i, settled)
	b.waiting(i, 1)
	i.mu.Lock()
	first := i.lanes[0].token
	i.mu.Unlock()
	b.eventually(func() error {
		i.mu.Lock()
		defer i.mu.Unlock()
		if asked := i.lanes[0].token - first; asked < 3 {
			return fmt.Errorf("asked %d times", asked)
		}
		if owed := i.lanes[0].credit.owed; owed > 1 {
			t.Errorf("the server owes %d, want at most 1", owed)
		}
		return nil
	})
	seq := b.publish(testLane, "m")[0]
	if job := b.receive(settled); job.Seq() != seq || job.Deliveries() != 1 {
		t.Errorf("message %d delivery %d", job.Seq(), job.Deliveries())
	}
}

func TestServerRestart(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{lanes: testLanes})
	i := b.intake(IntakeConfig{Lanes: weightedLanes()})
	settled := make(chan Job, 100)
	for range 4 {
		b.caller(i, settled)
	}
	b.waiting(i, 4)
	for round := range 3 {
		b.restart()
		for _, l := range testLanes {
			b.eventually(func() error { // the client comes back by itself
				_, _, err := b.client.Publish(t.Context(), l.Route, l.Class, testMessage(fmt.Sprint(l.Class, round)))
				return err
			})
			if job := b.receive(settled); job.Class() != l.Class || job.Deliveries() != 1 {
				t.Errorf("round %d: message of %s, delivery %d", round, job.Class(), job.Deliveries())
			}
		}
	}
	b.queueEmpty()
}

func TestSettleOutlivesARestart(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seqs := b.publish(testLane, "a", "b")
	i := b.intake(IntakeConfig{})
	first, second := b.next(i), b.next(i)
	b.server.Shutdown()
	results := make(chan error, 2)
	go func() { results <- first.Settle(t.Context(), submitted("1")) }()
	go func() { results <- second.Settle(t.Context(), throttled(second.State(), 0)) }()
	b.eventually(func() error {
		if b.journal.Healthy() {
			return errors.New("the journal does not notice")
		}
		return nil
	})
	if b.journal.Failure() == nil {
		t.Error("no reason for the failure")
	}
	b.startServer()
	for range 2 {
		if err := <-results; err != nil {
			t.Errorf("Settle: %v", err)
		}
	}
	b.healthy()
	again := b.next(i)
	if again.Seq() != seqs[1] || again.State().Throttles != 1 || again.State().Unexplained {
		t.Errorf("message %d, state %+v", again.Seq(), again.State())
	}
	b.settle(again, submitted("2"))
	b.queueEmpty()
	b.wantTypes(seqs[0], EventSubmitted)
	b.wantTypes(seqs[1], EventThrottled, EventSubmitted)
}

func TestSettleEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seq := b.publish(testLane, "a")[0]
	i := b.intake(IntakeConfig{})
	job := b.next(i)
	b.server.Shutdown()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := job.Settle(ctx, submitted("1")); !errors.Is(err, ErrNotStored) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Settle: %v, want ErrNotStored and the context's error", err)
	}
	b.startServer()
	b.settle(job, submitted("1")) // it may be tried again
	b.queueEmpty()
	b.wantTypes(seq, EventSubmitted)
}

// TestLostConfirmation loses the confirmation of an event that was stored. It
// must not be stored twice.
func TestLostConfirmation(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	seqs := b.publish(testLane, "a", "b")
	i := b.intake(IntakeConfig{})
	first, second := b.next(i), b.next(i)
	if err := b.journal.inbox.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	results := make(chan error, 2)
	go func() { results <- first.Settle(t.Context(), submitted("1")) }()
	go func() { results <- second.Settle(t.Context(), throttled(second.State(), 0)) }()
	b.eventually(func() error {
		if b.journal.Healthy() {
			return errors.New("the journal does not notice")
		}
		return nil
	})
	b.wantTypes(seqs[0], EventSubmitted)
	inbox, err := b.client.nc.Subscribe(b.journal.confirm.prefix+"*", b.journal.confirm.answered)
	if err != nil {
		t.Fatal(err)
	}
	b.journal.inbox = inbox
	for range 2 {
		if err := <-results; err != nil {
			t.Errorf("Settle: %v", err)
		}
	}
	b.settle(b.next(i), submitted("2"))
	b.queueEmpty()
	b.wantTypes(seqs[0], EventSubmitted)
	b.wantTypes(seqs[1], EventThrottled, EventSubmitted)
}

// TestJournalGone takes the journal's stream away: nothing is handed out and
// nothing is settled until it is back.
func TestJournalGone(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	b.publish(testLane, "a", "b")
	i := b.intake(IntakeConfig{})
	job := b.next(i)
	if err := b.client.js.DeleteStream(t.Context(), "SMS_EVENTS"); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() { result <- job.Settle(t.Context(), submitted("1")) }()
	b.eventually(func() error {
		if b.journal.Healthy() {
			return errors.New("the journal does not notice")
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if other, err := i.Next(ctx); err == nil {
		t.Errorf("message %d was handed out while the journal fails", other.Seq())
	}
	if n := b.consumerInfo(testLane).NumAckPending; n != 1 {
		t.Errorf("%d messages out, want the one in hand", n)
	}
	if _, err := b.client.Ensure(t.Context(), Topology{Lanes: []Lane{testLane}}); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Errorf("Settle: %v", err)
	}
	b.settle(b.next(i), submitted("2"))
	b.queueEmpty()
}

func TestConsumerDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	ctx := t.Context()
	i := b.intake(IntakeConfig{})

	// One is in hand, one waits for an hour, one was submitted and its Ack lost.
	seqs := b.publish(testLane, "held", "waits", "done")
	held, waits, done := b.next(i), b.next(i), b.next(i).(*delivery)
	b.settle(waits, throttled(waits.State(), time.Hour))
	if err := done.append(ctx, done.complete(new(submitted("3")), time.Now()), storeOptions{}); err != nil {
		t.Fatal(err)
	}
	i.forget(done)

	settled := make(chan Job, 4)
	b.caller(i, settled)
	b.waiting(i, 1)
	if err := b.client.js.DeleteConsumer(ctx, "SMS_MT", durable(testLane)); err != nil {
		t.Fatal(err)
	}
	fresh := b.publish(testLane, "fresh")[0]
	if job := b.receive(settled); job.Seq() != fresh {
		t.Errorf("message %d was handed out, want only the fresh one", job.Seq())
	}
	b.eventually(func() error {
		if held.Deliveries() != 1 { // from the new consumer, which counts anew
			return fmt.Errorf("delivery %d", held.Deliveries())
		}
		if _, err := b.client.readLeader(ctx, "SMS_MT", readRequest{Seq: seqs[2]}); !errors.Is(err, errNoMessage) {
			return errors.New("the submitted message is still there")
		}
		return nil
	})
	b.settle(held, submitted("1"))
	b.wantTypes(seqs[0], EventSubmitted)
	b.wantTypes(seqs[1], EventThrottled)
	b.wantTypes(seqs[2], EventSubmitted)
	b.eventually(func() error {
		if info := b.consumerInfo(testLane); info.NumAckPending != 1 || info.NumPending != 0 {
			return fmt.Errorf("%d out and %d pending, want the one that waits", info.NumAckPending, info.NumPending)
		}
		return nil
	})
}

func TestConsumerDeletedWhileNobodyAsks(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{timing: quick})
	if err := b.client.js.DeleteConsumer(t.Context(), "SMS_MT", durable(testLane)); err != nil {
		t.Fatal(err)
	}
	seq := b.publish(testLane, "m")[0]
	if job := b.next(i); job.Seq() != seq {
		t.Errorf("message %d, want %d", job.Seq(), seq)
	}
}

// TestWatchdog leaves the intake with an inbox that the server does not know:
// its requests are dropped without a word.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{timing: quick})
	settled := make(chan Job, 1)
	b.caller(i, settled)
	b.waiting(i, 1)
	i.mu.Lock()
	sub := i.lanes[0].sub
	i.mu.Unlock()
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	seq := b.publish(testLane, "m")[0]
	if job := b.receive(settled); job.Seq() != seq {
		t.Errorf("message %d, want %d", job.Seq(), seq)
	}
}

// TestCloseDuringLoad closes intakes while messages are on their way: whatever
// was pulled and not handed out must come back explained.
func TestCloseDuringLoad(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{lanes: testLanes, ackWait: 5 * time.Second})
	const each = 100
	for _, l := range testLanes {
		b.publishMany(l, each)
	}
	settled := make(chan Job, each*len(testLanes))
	for round := 0; len(settled) < each*len(testLanes); round++ {
		i := b.intake(IntakeConfig{Lanes: weightedLanes()})
		before := len(settled)
		for range 8 {
			b.caller(i, settled)
		}
		b.eventually(func() error {
			if n := len(settled); n < min(before+30, each*len(testLanes)) {
				return fmt.Errorf("%d settled", n)
			}
			return nil
		})
		if err := i.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.queueEmpty()
	seen := make(map[uint64]bool)
	for range each * len(testLanes) {
		job := <-settled
		if s := job.State(); s.Unexplained || seen[job.Seq()] {
			t.Errorf("message %d, delivery %d: state %+v, seen before: %v", job.Seq(), job.Deliveries(), s, seen[job.Seq()])
		}
		seen[job.Seq()] = true
	}
}
