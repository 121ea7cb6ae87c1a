package queue

import "time"

const defaultSpareHold = 10 * time.Second

// IntakeLane is one lane of an intake.
type IntakeLane struct {
	Lane
	// Weight shares what strict lanes leave among the weighted ones; 0 makes the
	// lane strict: it goes first. A weighted lane gets at least 5 %.
	Weight int
	// ExpiresIn is the validity of messages that name none; 0 is no limit.
	ExpiresIn time.Duration
	// Open says whether to pull from the lane now, as another account may have
	// the first call on it. It is asked about ten times a second, must not
	// block, and is nil for a lane that is always open.
	Open func() bool
}

// IntakeConfig describes the source of jobs of one account.
type IntakeConfig struct {
	// Lanes in the order of priority.
	Lanes []IntakeLane
	// AckWait is that of the consumers, as in [Topology]; 0 means 120 s.
	AckWait time.Duration
	// SpareHold is how long a message that was pulled waits here for a caller
	// before it is released for another instance; 0 means 10 s.
	SpareHold time.Duration
	Metrics   *Metrics

	timing intakeTiming // zero means the defaults; tests shorten them
}
