package queue

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Backlog is what one lane holds.
type Backlog struct {
	Route string `json:"route"`
	Class string `json:"class"`
	// Queued were never handed out, InFlight were and are not settled, Waiting wait
	// for their next attempt, Deferred for a person.
	Queued   uint64 `json:"queued"`
	InFlight uint64 `json:"in_flight"`
	Waiting  uint64 `json:"waiting"`
	Deferred uint64 `json:"deferred"`
	// OldestMillis is the age of the oldest message that is not settled, 0 without
	// one.
	OldestMillis int64 `json:"oldest_ms"`
	// Redelivered of those that are not settled were handed out more than once.
	Redelivered uint64 `json:"redelivered"`
	// Orphan: no gateway takes messages from this lane.
	Orphan bool `json:"orphan,omitempty"`
	// PausedUntil: somebody has paused the lane's consumer.
	PausedUntil time.Time `json:"paused_until,omitzero"`
}

// Backlogs counts what every lane holds, sorted by route and class. The numbers
// are read one after the other while messages move.
func (c *Client) Backlogs(ctx context.Context) ([]Backlog, error) {
	waiting := make(map[Lane]uint64)
	for w, err := range c.Waiting(ctx) {
		if err != nil {
			return nil, err
		}
		waiting[Lane{w.Route, w.Class}]++
	}
	stats, err := c.LaneStats(ctx)
	if err != nil {
		return nil, err
	}
	lanes := make(map[Lane]*Backlog)
	of := func(l Lane) *Backlog {
		if lanes[l] == nil {
			lanes[l] = &Backlog{Route: l.Route, Class: l.Class}
		}
		return lanes[l]
	}
	for _, s := range stats {
		b := of(s.Lane)
		b.Queued, b.Redelivered, b.Orphan = s.Pending, s.Redelivered, s.Orphan
		b.PausedUntil = s.Paused
		b.OldestMillis = s.Oldest.Milliseconds()
		// A record may outlive its message by a moment, or be ahead of the count.
		b.Waiting = min(waiting[s.Lane], s.AckPending)
		b.InFlight = s.AckPending - b.Waiting
	}
	n := c.names.Load()
	err = c.scan(ctx, n.deferred, n.deferPrefix+">", time.Time{}, func(m *storedMessage) bool {
		if d, ok := n.deferredFrom(m); ok {
			of(Lane{d.Route, d.Class}).Deferred++
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	all := make([]Backlog, 0, len(lanes))
	for _, b := range lanes {
		all = append(all, *b)
	}
	slices.SortFunc(all, func(a, b Backlog) int {
		return strings.Compare(a.Route+"."+a.Class, b.Route+"."+b.Class)
	})
	return all, nil
}
