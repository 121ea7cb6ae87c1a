package queue

import (
	"context"
	"errors"
	"fmt"
)

// leftoversMost bounds the messages that one round takes out of a lane.
const leftoversMost = 200

// takeOutLeftovers deletes the messages that the server counts as acknowledged
// and still has. One whose disk is full, or that dies between the two, keeps the
// count and loses the deletion: no consumer delivers such a message again, and it
// would be in the way for ever.
func (i *Intake) takeOutLeftovers(running context.Context) {
	if !i.journal.Healthy() || !i.client.nc.IsConnected() {
		return
	}
	for _, l := range i.lanes {
		taken, err := l.takeOutLeftovers(running)
		if taken > 0 {
			i.client.logger.Warn("messages were taken out of the queue that the server had kept after their acknowledgement",
				"consumer", durable(l.Lane), "messages", taken)
		}
		if err != nil && running.Err() == nil {
			i.client.logger.Warn("what is left of acknowledged messages could not be taken out", "consumer", durable(l.Lane),
				"error", err)
		}
	}
}

func (l *lane) takeOutLeftovers(ctx context.Context) (taken int, err error) {
	i := l.intake
	consumer, err := i.client.js.Consumer(ctx, i.names.mt, durable(l.Lane))
	if err != nil {
		return 0, fmt.Errorf("consumer %s: %w", durable(l.Lane), err)
	}
	floor := consumer.CachedInfo().AckFloor.Stream
	for next := uint64(1); taken < leftoversMost; {
		m, err := i.client.readLeader(ctx, i.names.mt, readRequest{NextFor: i.names.mtSubject(l.Lane), Seq: next})
		if errors.Is(err, errNoMessage) || err == nil && m.Seq > floor {
			return taken, nil
		}
		if err != nil {
			return taken, err
		}
		next = m.Seq + 1
		d := &delivery{intake: i, lane: l, seq: m.Seq, published: m.Time, header: m.Header, data: m.Data}
		d.decode()
		trail, err := i.client.readTrail(ctx, d.seq, d.id, d.published)
		if err != nil {
			return taken, err
		}
		if trail.final == nil { // its acknowledgement was not ours, and nothing is known of it
			i.client.logger.Error("a message is acknowledged and has no outcome", "seq", d.seq, "delivery_id", d.id)
			continue
		}
		i.journal.put(i.journal.deleteRecord(d.seq))
		if err := i.client.deleteMessage(ctx, i.names.mt, d.seq); err != nil {
			return taken, err
		}
		taken++
	}
	return taken, nil
}
