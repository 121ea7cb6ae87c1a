package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// scanBatch is how many messages one request of a scan asks for, and scanBytes
// how many octets: the server sends them without waiting for the reader. With
// each request it counts what is left, which takes as long as a long journal.
const (
	scanBatch = 1 << 16
	scanBytes = 8 << 20
)

// batchRequest asks for the messages of a subject, wildcards allowed, from a
// sequence or a time on.
type batchRequest struct {
	Seq      uint64     `json:"seq,omitempty"`
	NextFor  string     `json:"next_by_subj"`
	Start    *time.Time `json:"start_time,omitempty"`
	Batch    int        `json:"batch"`
	MaxBytes int        `json:"max_bytes"`
}

// ErrNoStreams reports that NATS has none of the streams of a gateway.
var ErrNoStreams = errors.New("the streams of a gateway are not there")

// scan calls f for the messages of a stream on a subject, wildcards allowed,
// from a time on unless that is zero, until it returns false. It reads by direct
// gets, which leave the consumers of a work queue alone and may be answered by a
// replica that lags behind: they are for people, not for decisions.
func (c *Client) scan(ctx context.Context, stream, subject string, since time.Time, f func(*storedMessage) bool) error {
	inbox := c.nc.NewRespInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("reading %s: %w", stream, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return fmt.Errorf("reading %s: %w", stream, err)
	}
	r := batchRequest{Seq: 1, NextFor: subject, Batch: scanBatch, MaxBytes: scanBytes}
	if !since.IsZero() {
		r.Seq, r.Start = 0, &since
	}
	for {
		last, more, err := c.scanOnce(ctx, sub, stream, r, f)
		if err != nil {
			return fmt.Errorf("reading %s: %w", stream, err)
		}
		if !more {
			return nil
		}
		r.Seq, r.Start = last+1, nil
	}
}

// scanOnce makes one request and hands out what comes.
func (c *Client) scanOnce(
	ctx context.Context, sub *nats.Subscription, stream string, r batchRequest, f func(*storedMessage) bool,
) (last uint64, more bool, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return 0, false, err
	}
	if err := c.nc.PublishRequest("$JS.API.DIRECT.GET."+stream, sub.Subject, body); err != nil {
		return 0, false, err
	}
	for {
		next, cancel := context.WithTimeout(ctx, readTimeout)
		reply, err := sub.NextMsgWithContext(next)
		cancel()
		if errors.Is(err, nats.ErrNoResponders) {
			err = ErrNoStreams
		}
		if err != nil {
			return 0, false, err
		}
		switch status := reply.Header.Get("Status"); status {
		case "":
		case "404":
			return 0, false, nil
		case "204": // the end of the batch
			pending, _ := strconv.ParseUint(reply.Header.Get("Nats-Num-Pending"), 10, 64)
			return last, last > 0 && pending > 0, nil
		default:
			return 0, false, fmt.Errorf("the server answers %s %s", status, reply.Header.Get("Description"))
		}
		m, err := storedFrom(reply)
		if err != nil {
			return 0, false, err
		}
		last = m.Seq
		if !f(&m) {
			return last, false, nil
		}
	}
}

// laneOf reads the lane from a subject of the work queue; it is zero for one
// that has none.
func (n *names) laneOf(subject string) Lane {
	if rest, ok := strings.CutPrefix(subject, n.mtPrefix); ok {
		if route, class, ok := strings.Cut(rest, "."); ok {
			return Lane{route, class}
		}
	}
	return Lane{}
}
