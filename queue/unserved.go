package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// unservedKey is the key of the lease on the deadlines of lanes that nobody serves. No account can have that name.
const unservedKey = "unserved.lanes"

// HoldUnserved is [Client.HoldSweep] for the lanes that no instance serves.
func (c *Client) HoldUnserved(ctx context.Context, nonce string) (held bool, err error) {
	return c.HoldSweep(ctx, unservedKey, nonce)
}

// Unserved lists the lanes that hold messages and that no live instance serves, by what their leases say. It is empty
// while that is not known: without a live instance, and beside one of a version that does not say what it serves.
// Route and class are empty for a subject that no gateway can serve.
func (c *Client) Unserved(ctx context.Context) ([]LaneStats, error) {
	n := c.names.Load()
	stream, err := c.js.Stream(ctx, n.mt)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", n.mt, err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(n.mtPrefix+">"))
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", n.mt, err)
	}
	served, known, err := c.servedLanes(ctx)
	if err != nil || !known {
		return nil, err
	}
	var list []LaneStats
	for subject, count := range info.State.Subjects {
		if s := n.laneStats(subject); count > 0 && !served[s.Lane] {
			s.Pending, s.Orphan = count, true
			list = append(list, s)
		}
	}
	slices.SortFunc(list, compareSubjects)
	return list, nil
}

// servedLanes are the lanes of all live instances; known is false where one does not say.
func (c *Client) servedLanes(ctx context.Context) (served map[Lane]bool, known bool, err error) {
	instances, err := c.Instances(ctx)
	if err != nil || len(instances) == 0 {
		return nil, false, err
	}
	served = make(map[Lane]bool)
	for _, i := range instances {
		if i.Unreadable != nil || len(i.Lanes) == 0 {
			return nil, false, nil
		}
		for _, l := range i.Lanes {
			served[l] = true
		}
	}
	return served, true, nil
}

// NewUnservedSweeper makes a sweeper of lanes that nobody serves. Their messages have the lives that they state; what
// states none stays.
func (i *Intake) NewUnservedSweeper(lanes []Lane, expire func(s State, deadline, now time.Time) Outcome) *Sweeper {
	s := &Sweeper{intake: i, expire: expire}
	for _, l := range lanes {
		s.lanes = append(s.lanes, &sweptLane{lane: &lane{IntakeLane: IntakeLane{Lane: l}, intake: i}, unserved: true})
	}
	return s
}
