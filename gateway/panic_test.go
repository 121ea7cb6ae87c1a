package gateway

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice/classify"
	"sluice/gateway/config"
	"sluice/queue"
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
		name: "acme", cfg: cfg.Accounts["acme"], table: classify.Default(), metrics: newMetrics(nil), log: discard(),
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

func TestEndReasonIsAClosedSet(t *testing.T) {
	if got := endReason(errors.New("a text from the network")); got != "network" {
		t.Errorf("a strange error has the label %q, want network", got)
	}
}
