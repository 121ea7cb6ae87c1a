package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Errors of a publish.
var (
	// ErrNoRoute reports that no stream takes messages for a route and class.
	ErrNoRoute = errors.New("no gateway is configured for this route and class")
	// ErrQueueFull reports that the stream has reached its size: try again later.
	ErrQueueFull = errors.New("the queue is full")
)

// publishWindow bounds what a bulk publish has unconfirmed.
const publishWindow = 256

// Publish stores one message for a route and class. A message whose id was
// published for the route before, within the stream's duplicate window, is
// reported as a duplicate and not stored again.
func (c *Client) Publish(ctx context.Context, route, class string, m *Message) (seq uint64, duplicate bool, err error) {
	msg, err := c.outgoing(Outgoing{route, class, m})
	if err != nil {
		return 0, false, err
	}
	ack, err := c.js.PublishMsg(ctx, msg)
	if err != nil {
		return 0, false, publishError(route, class, err)
	}
	return ack.Sequence, ack.Duplicate, nil
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

// PublishMany stores many messages without waiting for each, and calls done for
// every one in the order of the input. A message that fails does not stop the
// others; the error returned is that of ctx.
func (c *Client) PublishMany(ctx context.Context, messages iter.Seq[Outgoing], done func(Published)) error {
	var waiting []unconfirmed
	index := 0
	for out := range messages {
		if len(waiting) == publishWindow {
			done(waiting[0].wait(ctx))
			waiting = waiting[1:]
		}
		waiting = append(waiting, c.publishAsync(out, index))
		index++
		if ctx.Err() != nil {
			break
		}
	}
	for _, u := range waiting {
		done(u.wait(ctx))
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("publishing: %w", err)
	}
	return nil
}

// unconfirmed is a message of a bulk publish on its way.
type unconfirmed struct {
	index        int
	route, class string
	future       jetstream.PubAckFuture
	err          error
}

func (c *Client) publishAsync(out Outgoing, index int) unconfirmed {
	u := unconfirmed{index: index, route: out.Route, class: out.Class}
	msg, err := c.outgoing(out)
	if err == nil {
		u.future, err = c.js.PublishMsgAsync(msg)
	}
	u.err = err
	return u
}

func (u *unconfirmed) wait(ctx context.Context) Published {
	p := Published{Index: u.index, Err: u.err}
	if u.future == nil {
		return p
	}
	select {
	case ack := <-u.future.Ok():
		p.Seq, p.Duplicate = ack.Sequence, ack.Duplicate
	case err := <-u.future.Err():
		p.Err = publishError(u.route, u.class, err)
	case <-ctx.Done():
		p.Err = ctx.Err()
	}
	return p
}

// outgoing validates a message and makes it ready to publish.
func (c *Client) outgoing(out Outgoing) (*nats.Msg, error) {
	err := errors.Join(CheckName("route", out.Route), CheckName("class", out.Class))
	if err == nil {
		err = out.Message.Validate()
	}
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(out.Message)
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	msg := nats.NewMsg(c.names.Load().mtSubject(Lane{out.Route, out.Class}))
	msg.Data = data
	if out.Message.ID != "" {
		msg.Header.Set(headerOnce, out.Route+":"+out.Message.ID)
	}
	return msg, nil
}

func publishError(route, class string, err error) error {
	var refused *jetstream.APIError
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		err = ErrNoRoute
	case errors.As(err, &refused) && refused.ErrorCode == codeStreamFull:
		err = ErrQueueFull
	}
	return fmt.Errorf("publishing to route %q, class %q: %w", route, class, err)
}
