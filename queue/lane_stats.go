package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// LaneStats are the numbers of one lane.
type LaneStats struct {
	Lane
	// Pending were never handed out; AckPending are in flight or wait.
	Pending, AckPending, Redelivered uint64
	// WaitingPulls are the pulls of all instances.
	WaitingPulls int
	// Oldest is the age of the oldest message that is not settled, 0 without one.
	Oldest time.Duration
	// Orphan marks a subject that holds messages and that nobody serves: it has no
	// consumer, or no live instance has the route and class. Lane is zero when the subject is not one of a lane.
	Orphan bool
	// Paused says until when somebody has paused the consumer: nothing is handed
	// out. Zero: it is not paused.
	Paused time.Time
	// Subject is where the messages are published.
	Subject string
}

// LaneStats reads the numbers of every lane that NATS knows, by subject.
func (c *Client) LaneStats(ctx context.Context) ([]LaneStats, error) {
	n := c.names.Load()
	stream, err := c.js.Stream(ctx, n.mt)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", n.mt, err)
	}
	bySubject := make(map[string]LaneStats)
	consumers := stream.ListConsumers(ctx)
	for info := range consumers.Info() {
		s := n.laneStats(info.Config.FilterSubject)
		s.Pending, s.AckPending = info.NumPending, uint64(info.NumAckPending)
		if info.Paused && info.Config.PauseUntil != nil {
			s.Paused = *info.Config.PauseUntil
		}
		s.Redelivered, s.WaitingPulls = uint64(info.NumRedelivered), info.NumWaiting
		bySubject[s.Subject] = s
	}
	if err := consumers.Err(); err != nil {
		return nil, fmt.Errorf("consumers of %s: %w", n.mt, err)
	}
	if err := c.addOrphans(ctx, stream, bySubject); err != nil {
		return nil, err
	}
	stats := make([]LaneStats, 0, len(bySubject))
	for subject, s := range bySubject {
		if s.Oldest, err = c.oldest(ctx, n.mt, subject); err != nil {
			return nil, err
		}
		stats = append(stats, s)
	}
	slices.SortFunc(stats, compareSubjects)
	return stats, c.flagUnserved(ctx, stats)
}

func compareSubjects(a, b LaneStats) int { return strings.Compare(a.Subject, b.Subject) }

// flagUnserved marks the lanes with messages that have a consumer, and no instance that pulls from it.
func (c *Client) flagUnserved(ctx context.Context, stats []LaneStats) error {
	served, known, err := c.servedLanes(ctx)
	if err != nil || !known {
		return err
	}
	for i := range stats {
		s := &stats[i]
		s.Orphan = s.Orphan || s.Pending+s.AckPending > 0 && !served[s.Lane]
	}
	return nil
}

func (c *Client) addOrphans(ctx context.Context, stream jetstream.Stream, bySubject map[string]LaneStats) error {
	n := c.names.Load()
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(n.mtPrefix+">"))
	if err != nil {
		return fmt.Errorf("stream %s: %w", n.mt, err)
	}
	for subject, count := range info.State.Subjects {
		if _, known := bySubject[subject]; !known {
			s := n.laneStats(subject)
			s.Pending, s.Orphan = count, true
			bySubject[subject] = s
		}
	}
	return nil
}

func (n *names) laneStats(subject string) LaneStats {
	return LaneStats{Subject: subject, Lane: n.laneOf(subject)}
}

// oldest is the age of the first message on a subject: a work queue holds what
// is not settled, and nothing else.
func (c *Client) oldest(ctx context.Context, stream, subject string) (time.Duration, error) {
	m, err := c.readLeader(ctx, stream, readRequest{Seq: 1, NextFor: subject})
	if errors.Is(err, errNoMessage) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return max(time.Since(m.Time), time.Millisecond), nil
}
