package queue

import (
	"context"
	"time"
)

// history is what the journal says about one message, for those who decide
// whether it may be sent again.
type history struct {
	final *Event
	// accepted is an event which says that the SMSC has taken the message.
	accepted *Event
	// replayed is the event of its replay.
	replayed *Event
	// successor is the sequence of a message that is a replay of it.
	successor uint64
	// doubtful: an outcome of it was unknown, or a part of it was taken.
	doubtful bool
}

// readHistory reads the journal's leader from the time the message was stored.
func (c *Client) readHistory(ctx context.Context, seq uint64, id string, published time.Time) (history, error) {
	var h history
	err := c.walkBucket(ctx, id, published, func(e *Event) bool {
		if e.ReplayOf == seq && e.Type != EventReplayed {
			h.successor = max(h.successor, e.Seq)
		}
		if e.Seq != seq {
			return true
		}
		switch {
		case e.Type == EventReplayed:
			h.replayed = e
		case e.accepts():
			h.accepted = e
		case e.PossibleDuplicate, e.Type == EventUnknownOutcome, e.SegmentsAccepted > 0:
			h.doubtful = true
		}
		if e.Type.Final() {
			h.final = e
		}
		return true
	})
	return h, err
}

// accepts reports whether the event says that the SMSC has the message.
func (e *Event) accepts() bool {
	switch e.Type {
	case EventSubmitted, EventDuplicateAccepted, EventReceipt:
		return true
	case EventLateResponse:
		return e.Verdict == "ok"
	default:
		return false
	}
}
