package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/smpp/pdu"
	"sluice/testserver"
	"sluice/testserver/limiter"
)

// plan is the SMSC's behaviour over one run and the part of it that is measured.
type plan struct {
	// ceiling is what the SMSC takes, from the first submit on.
	ceiling []limiter.Step
	// warmUp is left out of the goodput, since nothing is known of the ceiling at first.
	warmUp time.Duration
	// patience ends a run that does not end by itself.
	patience time.Duration
}

// fullPlan is what `sluice demo` shows.
func fullPlan() plan {
	return plan{
		ceiling:  []limiter.Step{{Rate: 100}, {At: 20 * time.Second, Rate: 40}, {At: 40 * time.Second, Rate: 120}},
		warmUp:   10 * time.Second,
		patience: 3 * time.Minute,
	}
}

// at is the ceiling in messages per second, so long after the first submit.
func (p plan) at(since time.Duration) float64 { return limiter.Steps(p.ceiling)(since) }

// bucketDepth is how many messages the SMSC takes at once.
const bucketDepth = 10

// The time between a submit and its answer is drawn evenly from this range.
const (
	fastestAnswer = 5 * time.Millisecond
	slowestAnswer = 20 * time.Millisecond
)

// scenario is the fake SMSC of one run. Refusing a bad recipient costs it a token, like accepting a good one, so that
// bad recipients are no way around the ceiling.
func (p plan) scenario(seed uint64) testserver.Scenario {
	return testserver.Scenario{
		Name:     "demo",
		Seed:     seed,
		Bind:     testserver.BindRules{Accounts: map[string]string{systemID: password}},
		Limits:   []testserver.Limit{{Kind: testserver.TokenBucket, Rate: testserver.Steps(p.ceiling...), Burst: bucketDepth}},
		Latency:  testserver.Between(fastestAnswer, slowestAnswer),
		AnyOrder: true,
		Errors: []testserver.ErrorRule{
			{Match: testserver.Match{Prefix: badPrefix}, Status: pdu.StatusInvDstAdr},
		},
		ChargeRefusedDestination: true,
	}
}

// Both senders bind with these.
const (
	systemID = "demo"
	password = "secret"
)

// errAllDone ends a run in order.
var errAllDone = errors.New("every message has its outcome")

// bound is the life of a run: until it is ended, or ctx ends, or the plan's patience is over.
func (p plan) bound(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	patient, release := context.WithTimeoutCause(ctx, p.patience,
		fmt.Errorf("messages are still without an outcome after %v", p.patience))
	life, end := context.WithCancelCause(patient)
	return life, func(why error) { end(why); release() }
}

// ended is why a run is over: nil when every message has its outcome.
func ended(life context.Context) error {
	if why := context.Cause(life); !errors.Is(why, errAllDone) {
		return why
	}
	return nil
}
