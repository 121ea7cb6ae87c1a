package queue

import (
	"context"
	"iter"
	"time"
)

// EventFilter selects events; zero fields select all.
type EventFilter struct {
	Route string
	Types []EventType
	ID    string
	Seq   uint64
	Since time.Time
	// Follow goes on with what is stored later, until ctx ends.
	Follow bool
}

// Events reads the journal, oldest first.
func (c *Client) Events(ctx context.Context, f EventFilter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {}
}

// Waiting is one message that waits for its next attempt, and why.
type Waiting struct {
	Seq       uint64    `json:"seq"`
	ID        string    `json:"id"`
	Route     string    `json:"route"`
	Class     string    `json:"class"`
	Account   string    `json:"account,omitempty"`
	Delivery  int       `json:"delivery"`
	Reason    string    `json:"reason,omitempty"`
	Published time.Time `json:"published"`
	At        time.Time `json:"at"`
	Deadline  time.Time `json:"deadline,omitzero"`
	State     State     `json:"state"`
}

// Waiting lists the messages that wait, in no order.
func (c *Client) Waiting(ctx context.Context) iter.Seq2[Waiting, error] {
	return func(yield func(Waiting, error) bool) {}
}

// LaneStats are the numbers of one lane.
type LaneStats struct {
	Lane
	// Pending were never handed out, AckPending are in flight or waiting.
	Pending, AckPending, Redelivered uint64
	// WaitingPulls are the pulls of all instances.
	WaitingPulls int
	// Oldest is the age of the oldest message not settled, 0 without one.
	Oldest time.Duration
	// Orphan marks a subject that holds messages and has no consumer.
	Orphan bool
}

// LaneStats reads the numbers of every lane that NATS knows.
func (c *Client) LaneStats(ctx context.Context) ([]LaneStats, error) { return nil, nil }
