package queue

import (
	"context"
	"errors"
)

// Publish stores one message for a route and class.
func (c *Client) Publish(ctx context.Context, route, class string, m *Message) (seq uint64, duplicate bool, err error) {
	return 0, false, errors.New("in the making")
}

// Outgoing is one message of a bulk publish.
type Outgoing struct {
	Route, Class string
	Message      *Message
}

// Published is what became of one message of a bulk publish.
type Published struct {
	// Index counts from 0 in the order of the input.
	Index     int
	Seq       uint64
	Duplicate bool
	Err       error
}
