package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// errNoMessage reports that the stream has no such message.
var errNoMessage = errors.New("no such message")

const readTimeout = 5 * time.Second

// storedMessage is one message of a stream.
type storedMessage struct {
	Subject string
	Seq     uint64
	Time    time.Time
	Header  nats.Header
	Data    []byte
}

// readRequest asks for one message of a stream.
type readRequest struct {
	Seq     uint64     `json:"seq,omitempty"`
	LastFor string     `json:"last_by_subj,omitempty"`
	NextFor string     `json:"next_by_subj,omitempty"`
	Start   *time.Time `json:"start_time,omitempty"`
}

// readLeader reads one message from the stream's leader. Direct gets, which the
// NATS client prefers, may be answered by a replica that lags behind; whether a
// message was submitted must not depend on that.
func (c *Client) readLeader(ctx context.Context, stream string, r readRequest) (*storedMessage, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	reply, err := c.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, body)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", stream, err)
	}
	var answer struct {
		Error   *serverError `json:"error"`
		Message *struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Time    time.Time `json:"time"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return nil, fmt.Errorf("reading %s: %w", stream, err)
	}
	switch {
	case answer.Error != nil && answer.Error.Code == codeMessageNotFound:
		return nil, errNoMessage
	case answer.Error != nil:
		return nil, fmt.Errorf("reading %s: %w", stream, answer.Error)
	case answer.Message == nil:
		return nil, fmt.Errorf("reading %s: the answer has no message", stream)
	}
	m := answer.Message
	s := &storedMessage{Subject: m.Subject, Seq: m.Seq, Time: m.Time, Data: m.Data}
	if len(m.Header) > 0 {
		if s.Header, err = nats.DecodeHeadersMsg(m.Header); err != nil {
			return nil, fmt.Errorf("reading %s: headers of message %d: %w", stream, m.Seq, err)
		}
	}
	return s, nil
}
