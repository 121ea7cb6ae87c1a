package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var testLanes = []Lane{{"main", "otp"}, {"main", "normal"}, {"main", "bulk"}}

func weightedLanes() []IntakeLane {
	return []IntakeLane{{Lane: testLanes[0]}, {Lane: testLanes[1], Weight: 3}, {Lane: testLanes[2], Weight: 1}}
}

// take runs n callers at once and returns their jobs.
func (b *bench) take(i *Intake, n int) []Job {
	b.t.Helper()
	jobs := make([]Job, n)
	var callers sync.WaitGroup
	for at := range jobs {
		callers.Go(func() {
			ctx, cancel := context.WithTimeout(b.t.Context(), patience)
			defer cancel()
			job, err := i.Next(ctx)
			if err != nil {
				b.t.Errorf("Next: %v", err)
				return
			}
			jobs[at] = job
		})
	}
	callers.Wait()
	if b.t.Failed() {
		b.t.FailNow()
	}
	return jobs
}

// out is what the server has handed out and nobody has answered, over all lanes.
func (b *bench) out(lanes []Lane) (out int) {
	for _, l := range lanes {
		out += b.consumerInfo(l).NumAckPending
	}
	return out
}

func TestPulledNeverExceedsTheCallers(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{lanes: testLanes})
	for _, l := range testLanes {
		b.publishMany(l, 200)
	}
	i := b.intake(IntakeConfig{Lanes: weightedLanes()})
	var jobs []Job
	for _, callers := range []int{1, 7, 40, 3, 1} {
		jobs = append(jobs, b.take(i, callers)...)
		if out, most := b.out(testLanes), len(jobs)+len(testLanes)-1; out > most {
			t.Errorf("with %d jobs in hand %d messages are out, want at most %d", len(jobs), out, most)
		}
	}
	for _, job := range jobs {
		b.settle(job, submitted("x"))
	}
}

func TestOneLanePullsExactlyTheCallers(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	b.publishMany(testLane, 100)
	i := b.intake(IntakeConfig{})
	b.take(i, 1)
	b.take(i, 9)
	b.take(i, 30)
	if out := b.out([]Lane{testLane}); out != 40 {
		t.Errorf("%d messages are out, want the 40 that are in hand", out)
	}
}

func TestIdleCallersGetTheFirstMessage(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{lanes: testLanes})
	i := b.intake(IntakeConfig{Lanes: weightedLanes()})
	jobs := make(chan Job, 3)
	for range 3 {
		go func() {
			if job, err := i.Next(t.Context()); err == nil {
				jobs <- job
			}
		}()
	}
	b.waiting(i, 3)
	for _, l := range slices.Backward(testLanes) {
		b.publish(l, "first-"+l.Class)
		if job := b.receive(jobs); job.Class() != l.Class {
			t.Errorf("got a message of %s, want %s", job.Class(), l.Class)
		}
	}
}

func TestStrictLaneGoesFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{lanes: testLanes})
	for _, l := range testLanes {
		b.publishMany(l, 150)
	}
	i := b.intake(IntakeConfig{Lanes: weightedLanes()})
	count := make(map[string]int)
	for range 100 { // a window of one
		job := b.next(i)
		count[job.Class()]++
		b.settle(job, submitted("x"))
	}
	// A lane of which nothing is known yet gives one message, and its turn comes with the next.
	if count["otp"] < 80 || count["normal"] < 1 || count["bulk"] < 1 || count["normal"]+count["bulk"] < 5 {
		t.Errorf("of 100 messages: %v, want about 90 otp and 5 of each other", count)
	}
}

func TestSettlingManyAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{lanes: testLanes})
	const each = 1000
	for _, l := range testLanes {
		b.publishMany(l, each)
	}
	i := b.intake(IntakeConfig{Lanes: weightedLanes()})
	var mu sync.Mutex
	seen := make(map[uint64]int)
	ctx, done := context.WithCancel(t.Context())
	defer done()
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			for {
				job, err := i.Next(ctx)
				if err != nil {
					return
				}
				if err := job.Settle(t.Context(), submitted(fmt.Sprint(job.Seq()))); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen[job.Seq()]++
				if len(seen) == each*len(testLanes) {
					done()
				}
				mu.Unlock()
			}
		})
	}
	finished := make(chan struct{})
	go func() { callers.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-time.After(3 * patience):
		t.Fatalf("%d of %d settled", len(seen), each*len(testLanes))
	}
	for seq, times := range seen {
		if times != 1 {
			t.Errorf("message %d was handed out %d times", seq, times)
		}
	}
	b.queueEmpty()
	count := 0
	for e, err := range b.client.Events(t.Context(), EventFilter{Types: []EventType{EventSubmitted}}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen[e.Seq] != 1 {
			t.Errorf("event of message %d", e.Seq)
		}
		count++
	}
	if count != each*len(testLanes) {
		t.Errorf("%d events, want %d", count, each*len(testLanes))
	}
}

func TestACallerThatLeavesLosesNoMessage(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{})
	for round := range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		var got Job
		go func() {
			job, err := i.Next(ctx)
			got = job
			result <- err
		}()
		b.waiting(i, 1)
		go cancel() // while the message is on its way
		seq := b.publish(testLane, fmt.Sprint("m", round))[0]
		if err := <-result; err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			got = b.next(i)
		}
		if got.Seq() != seq || got.Deliveries() != 1 {
			t.Fatalf("message %d delivery %d, want %d delivery 1", got.Seq(), got.Deliveries(), seq)
		}
		b.settle(got, submitted("x"))
	}
}

func TestSparesComeInTheOrderOfTheLanes(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{lanes: testLanes})
	i := b.intake(IntakeConfig{Lanes: weightedLanes(), SpareHold: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 3)
	for range 3 {
		go func() { _, err := i.Next(ctx); result <- err }()
	}
	b.waiting(i, 3)
	b.eventually(func() error { // the doorbells are out
		for _, l := range testLanes {
			if b.consumerInfo(l).NumWaiting == 0 {
				return fmt.Errorf("no pull on %s", l.Class)
			}
		}
		return nil
	})
	cancel()
	for range 3 {
		<-result
	}
	for _, l := range slices.Backward(testLanes) {
		b.publish(l, l.Class)
	}
	b.eventually(func() error {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.spares != 3 {
			return fmt.Errorf("%d spares, want 3", i.spares)
		}
		return nil
	})
	var classes []string
	for range 3 {
		classes = append(classes, b.next(i).Class())
	}
	if want := []string{"otp", "normal", "bulk"}; !slices.Equal(classes, want) {
		t.Errorf("order %v, want %v", classes, want)
	}
}

// leaveSpare makes the intake pull one message that nobody waits for.
func (b *bench) leaveSpare(i *Intake) (seq uint64) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	result := make(chan error, 1)
	go func() { _, err := i.Next(ctx); result <- err }()
	b.waiting(i, 1)
	b.eventually(func() error {
		if b.consumerInfo(testLane).NumWaiting == 0 {
			return errors.New("no pull is out")
		}
		return nil
	})
	cancel()
	<-result
	seq = b.publish(testLane, "spare")[0]
	b.eventually(func() error {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.spares != 1 {
			return fmt.Errorf("%d spares, want 1", i.spares)
		}
		return nil
	})
	return seq
}

func TestCloseReleasesSparesAtNoCost(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{SpareHold: time.Hour})
	seq := b.leaveSpare(i)
	if err := i.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Next after Close: %v, want ErrClosed", err)
	}
	if err := i.Close(t.Context()); err != nil {
		t.Errorf("second Close: %v", err)
	}
	job := b.next(b.intake(IntakeConfig{}))
	if job.Seq() != seq || job.Deliveries() != 2 {
		t.Fatalf("message %d delivery %d", job.Seq(), job.Deliveries())
	}
	if s := job.State(); s.Unexplained || s.Ends != 0 || s.Attempts != 0 || s.PossibleDuplicate {
		t.Errorf("state %+v, want a fresh one", s)
	}
	b.settle(job, submitted("x"))
	b.wantTypes(seq, EventSubmitted)
}

func TestSparesGoToAnotherInstanceInTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{SpareHold: 200 * time.Millisecond})
	seq := b.leaveSpare(i)
	other := b.connect()
	job := b.next(b.intakeOn(other, b.openJournal(other), IntakeConfig{}))
	if job.Seq() != seq || job.State().Unexplained {
		t.Errorf("message %d, state %+v", job.Seq(), job.State())
	}
}

func TestHeldMessagesStayOurs(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{ackWait: 3 * time.Second})
	i := b.intake(IntakeConfig{SpareHold: time.Hour})
	spare := b.leaveSpare(i)
	held := b.next(i)
	if held.Seq() != spare {
		t.Fatalf("message %d, want the spare", held.Seq())
	}
	other := b.connect()
	jobs := make(chan Job, 1)
	second := b.intakeOn(other, b.openJournal(other), IntakeConfig{})
	go func() {
		if job, err := second.Next(t.Context()); err == nil {
			jobs <- job
		}
	}()
	select {
	case job := <-jobs:
		t.Fatalf("message %d was delivered again while it was held", job.Seq())
	case <-time.After(3 * b.ackWait): // InProgress renews it; the length decides nothing but how sure this is
	}
	b.settle(held, submitted("x"))
	b.queueEmpty()
}

func TestCloseWhileCallersWait(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	i := b.intake(IntakeConfig{})
	result := make(chan error, 2)
	for range 2 {
		go func() { _, err := i.Next(t.Context()); result <- err }()
	}
	b.waiting(i, 2)
	if err := i.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-result; !errors.Is(err, ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
	}
}

// A closed lane is left alone, also by the watchdog, and gives its messages once it opens.
func TestClosedLaneIsNotPulled(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{lanes: testLanes})
	var open atomic.Bool
	intake := b.intake(IntakeConfig{
		Lanes:  []IntakeLane{{Lane: testLanes[0], Open: open.Load}, {Lane: testLanes[1], Weight: 1}},
		timing: intakeTiming{watchdog: 50 * time.Millisecond},
	})
	closed := b.publish(testLanes[0], "closed")[0]
	for n := range 20 {
		seq := b.publish(testLanes[1], fmt.Sprint(n))[0]
		if job := b.next(intake); job.Seq() != seq {
			t.Fatalf("got message %d, want %d of the open lane", job.Seq(), seq)
		}
	}
	open.Store(true)
	if job := b.next(intake); job.Seq() != closed {
		t.Errorf("got message %d, want %d of the lane that opened", job.Seq(), closed)
	}
}
