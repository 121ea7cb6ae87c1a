package queue

import (
	"context"
	"errors"
	"time"
)

// Lane is one class of one route: one subject and one consumer.
type Lane struct{ Route, Class string }

// Topology is what the gateway needs in NATS.
type Topology struct {
	// Prefix is the first part of every subject; empty keeps the client's.
	Prefix string
	// Replicas is 1 for a single server and 3 for a cluster.
	Replicas int
	// MaxBytes bounds SMS_MT in octets; 0 means 1 GiB.
	MaxBytes int64
	// DuplicateWindow is how long Nats-Msg-Id is remembered; 0 means 10 min.
	DuplicateWindow time.Duration
	// JournalAge is how long events are kept; 0 means 72 h.
	JournalAge time.Duration
	// AckWait is how long a delivery may stay unanswered; 0 means 120 s. The
	// caller computes max(120 s, 3*response_timeout + 30 s).
	AckWait time.Duration
	Lanes   []Lane
}

// Ensure creates what is missing and changes nothing that exists.
func (c *Client) Ensure(ctx context.Context, t Topology) (differences []string, err error) {
	return nil, errors.New("in the making")
}
