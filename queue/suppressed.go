package queue

import (
	"bytes"
	"context"
	"errors"
)

// Likeness is what the queue holds under an id that was published before.
type Likeness int

// The likenesses.
const (
	LikenessUnknown Likeness = iota // it has left the queue, or may not be read
	SameMessage
	OtherMessage // whoever published it first has kept ours out
)

// Liken compares a message whose publish was reported as a duplicate with what is stored under its sequence. The stream
// drops what comes under a Nats-Msg-Id that it has seen, whoever publishes it and whatever is in it.
func (c *Client) Liken(ctx context.Context, seq uint64, out Outgoing) (Likeness, error) {
	msg, err := c.outgoing(out)
	if err != nil {
		return LikenessUnknown, err
	}
	stored, err := c.readLeader(ctx, c.names.Load().mt, readRequest{Seq: seq})
	switch {
	case errors.Is(err, errNoMessage):
		return LikenessUnknown, nil
	case err != nil:
		return LikenessUnknown, err
	case stored.Subject == msg.Subject && bytes.Equal(stored.Data, msg.Data):
		return SameMessage, nil
	}
	return OtherMessage, nil
}
