package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/classify"
	"sluice/gateway/config"
	"sluice/queue"
	"sluice/testserver"
	"sluice/window"
)

// brokenJob is a message whose decoding panics: no real input is known that does.
type brokenJob struct {
	queue.Job // what is not overridden is not called
	settled   []queue.Outcome
}

func (*brokenJob) Seq() uint64                      { return 7 }
func (*brokenJob) ID() string                       { return "broken" }
func (*brokenJob) Route() string                    { return "main" }
func (*brokenJob) Class() string                    { return "normal" }
func (*brokenJob) State() queue.State               { return queue.State{} }
func (*brokenJob) Cancelled() bool                  { return false }
func (*brokenJob) Message() (*queue.Message, error) { panic("a fault in the decoder") }

func (j *brokenJob) Settle(_ context.Context, o queue.Outcome) error {
	j.settled = append(j.settled, o)
	return nil
}

func TestPanicOfOneMessageTakesNoOtherWithIt(t *testing.T) {
	cfg, err := config.Decode([]byte("accounts: {acme: {address: \"127.0.0.1:1\", system_id: x, password: y}}"))
	if err != nil {
		t.Fatal(err)
	}
	work, abandon := context.WithCancel(t.Context())
	a := &account{
		name: "acme", cfg: cfg.Accounts["acme"], table: classify.Default(), metrics: newMetrics(nil), counts: newMetrics(nil).of("acme"), log: discard(),
		random: func() float64 { return 0.5 }, gate: window.NewGate(window.NewController(window.Config{})),
		routes: map[string]routePolicy{"main": {attempts: 5, per: config.Allowance{Count: 3, Per: 10 * time.Minute}}},
		work:   work, abandon: abandon, binds: map[window.BindID]*bind{},
	}
	a.openFlow(1)
	b := &bind{name: "acme/1", ctx: work, end: func(error) {}}
	a.join(b)
	free := a.gate.Snapshot().Binds[0].Reserved
	permit, err := a.gate.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j := &brokenJob{}
	a.deliver(permit, b, j)
	if len(j.settled) != 1 || j.settled[0].Event.Reason != reasonPanic || j.settled[0].State.Ends != 1 || j.settled[0].State.Attempts != 0 {
		t.Errorf("settled as %+v, want once, put back with the reason %q and no attempt", j.settled, reasonPanic)
	}
	if got := a.gate.Snapshot().Binds[0].Reserved; got != free {
		t.Errorf("%d places in the window are still reserved, want %d", got, free)
	}
}

// brokenQueue hands out one message whose handling panics at its last step before the submit, however often.
type brokenQueue struct {
	intake

	id       string
	inFlight func() int // messages that have begun and are not answered
	last     int        // of them when it panicked for the last time, itself counted
}

func (q *brokenQueue) Next(ctx context.Context) (queue.Job, error) {
	job, err := q.intake.Next(ctx)
	if err == nil && job.ID() == q.id {
		return &panickingJob{Job: job, queue: q}, nil
	}
	return job, err
}

type panickingJob struct {
	queue.Job

	queue *brokenQueue
	asked int
}

func (j *panickingJob) Cancelled() bool {
	if j.asked++; j.asked != 2 {
		return false // once before its turn, and when it is settled
	}
	j.queue.last = j.queue.inFlight()
	panic("a fault in the handler")
}

// A message whose handling always panics ends deferred as poison, the third time with nothing in flight beside it; the
// others are submitted once each and never hear of it.
func TestMessageWhoseHandlingPanicsIsPoison(t *testing.T) {
	const n, bad = 400, 30
	synctest.Test(t, func(t *testing.T) {
		v := startVirtual(t, testserver.Scenario{Latency: testserver.Exactly(500 * time.Millisecond)}, "rate: {declared: 50}")
		defer v.stop()
		broken := &brokenQueue{
			intake: v.intake, id: fmt.Sprintf("m-%d", bad),
			inFlight: func() int { return v.gate.Snapshot().Unanswered },
		}
		v.intake = broken
		for i := range n {
			v.publish(t, i, fmt.Sprintf("+1555%04d", i))
		}
		time.Sleep(10 * time.Minute)
		if got := v.finals(); len(got) != 2 || got[queue.EventSubmitted] != n-1 || got[queue.EventDeferred] != 1 {
			t.Errorf("outcomes %v, want %d submitted and one deferred", got, n-1)
		}
		var story []string
		for _, e := range v.source.Events(0) {
			switch {
			case e.ID == broken.id:
				story = append(story, fmt.Sprintf("%s %s", e.Type, e.Reason))
			case e.Type != queue.EventSubmitted || e.Delivery != 1 || e.PossibleDuplicate:
				t.Errorf("%s: %s (%s) in delivery %d", e.ID, e.Type, e.Reason, e.Delivery)
			}
		}
		if want := []string{"retry panic", "retry panic", "deferred poison"}; !slices.Equal(story, want) {
			t.Errorf("the bad one: %q, want %q", story, want)
		}
		if s := v.smsc.Stats(); s.Submits != n-1 || s.MaxOutstanding < 2 {
			t.Errorf("%d submits, at most %d at once; want %d, and several", s.Submits, s.MaxOutstanding, n-1)
		}
		if broken.last != 1 {
			t.Errorf("%d messages were in flight when it panicked the third time, want it alone", broken.last)
		}
	})
}

func TestEndReasonIsAClosedSet(t *testing.T) {
	if got := endReason(errors.New("a text from the network")); got != "network" {
		t.Errorf("a strange error has the label %q, want network", got)
	}
}
