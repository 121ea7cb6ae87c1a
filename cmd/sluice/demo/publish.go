package demo

import (
	"cmp"
	"context"
	"fmt"

	"sluice/queue"
)

// publish stores the messages for a route.
func (s *stage) publish(ctx context.Context, route string) error {
	var first error // the others are like it
	err := s.client.PublishMany(ctx, s.traffic.messages(route), func(p queue.Published) {
		if first == nil && p.Err != nil {
			first = fmt.Errorf("publishing message %d: %w", p.Index+1, p.Err)
		}
	})
	return cmp.Or(err, first)
}
