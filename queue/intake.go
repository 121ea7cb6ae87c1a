package queue

import (
	"context"
	"errors"
	"time"
)

// IntakeLane is one lane of an intake.
type IntakeLane struct {
	Lane
	// Weight shares what strict lanes leave among the weighted ones; 0 makes the
	// lane strict: it goes first.
	Weight int
}

// IntakeConfig describes the source of jobs of one account.
type IntakeConfig struct {
	// Lanes in the order of priority.
	Lanes []IntakeLane
	// AckWait is that of the consumers, as in [Topology].
	AckWait time.Duration
	// SpareHold is how long a message waits here for a caller before it is
	// released; 0 means 10 s.
	SpareHold time.Duration
	Metrics   *Metrics
}

// Intake hands out the messages of several lanes.
type Intake struct {
}

// OpenIntake subscribes to the lanes.
func (c *Client) OpenIntake(ctx context.Context, j *Journal, cfg IntakeConfig) (*Intake, error) {
	return nil, errors.New("in the making")
}

// Next waits for a message. The number of callers waiting is the credit.
func (i *Intake) Next(ctx context.Context) (Job, error) { return nil, errors.New("in the making") }

// Close stops pulling and releases what was pulled and not handed out.
func (i *Intake) Close(ctx context.Context) error { return nil }
