package queue

import (
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Limits of a sweep.
const (
	sweepPage    = 500              // messages in one answer
	sweepPages   = 20               // between two looks at what is due
	sweepWorkers = 32               // messages that are ended at once
	sweepHorizon = 10 * time.Minute // deadlines farther away are not remembered, but looked for again
	sweepAgain   = 5 * time.Minute
	sweepRetry   = time.Second // from one look at a message that is in flight to the next
)

// Sweeper ends messages whose deadline passes while nobody pulls them. Only one may be at work for a lane, see
// [Client.HoldSweep]; but a sweeper and an instance that begins to pull again are no danger to each other: what both may
// end is ended by whoever creates its key in the bucket of finals. A Sweeper is not safe for concurrent use.
type Sweeper struct {
	intake *Intake
	expire func(s State, deadline, now time.Time) Outcome
	lanes  []*sweptLane
}

// sweptLane is what a sweeper knows of a lane.
type sweptLane struct {
	*lane
	next  uint64 // where to read on
	again time.Time
	due   deadlines
	// unserved: nobody has a consumer that is of account, and whether a message was handed out its record tells.
	unserved bool
}

// dueMessage is a message whose deadline is near.
type dueMessage struct {
	seq  uint64
	look time.Time // its deadline, or later when it was in flight then
}

// NewSweeper makes a sweeper of the intake's lanes. The outcome that expire makes ends a message.
func (i *Intake) NewSweeper(expire func(s State, deadline, now time.Time) Outcome) *Sweeper {
	s := &Sweeper{intake: i, expire: expire}
	for _, l := range i.lanes {
		s.lanes = append(s.lanes, &sweptLane{lane: l})
	}
	return s
}

// ReleaseSpares gives back what was pulled and not handed out.
func (i *Intake) ReleaseSpares(ctx context.Context) error {
	return i.releaseSpares(ctx, func(spare) bool { return true })
}

// Sweep ends what is past its deadline at now and in nobody's flight. It returns how many messages it ended, and when to
// look again at the latest; messages that come meanwhile are not known yet.
func (s *Sweeper) Sweep(ctx context.Context, now time.Time) (ended int, next time.Time, err error) {
	next = now.Add(sweepRetry)
	var errs []error
	for _, l := range s.lanes {
		more, err := s.read(ctx, l, now)
		errs = append(errs, err)
		n, err := s.endDue(ctx, l, now)
		errs = append(errs, err)
		ended += n
		if more {
			next = now
		} else if len(l.due) > 0 && l.due[0].look.Before(next) {
			next = l.due[0].look
		}
	}
	return ended, next, errors.Join(errs...)
}

// read notes the deadlines of the messages that it has not read yet.
func (s *Sweeper) read(ctx context.Context, l *sweptLane, now time.Time) (more bool, err error) {
	if !now.Before(l.again) {
		l.next, l.due, l.again = 1, nil, now.Add(sweepAgain)
	}
	i := s.intake
	for range sweepPages {
		page, err := i.client.readPage(ctx, i.names.mt, i.names.mtSubject(l.Lane), l.next)
		if err != nil {
			return false, err
		}
		for _, m := range page {
			l.next = m.Seq + 1
			if deadline := i.sweptDelivery(l.lane, &m).deadline(); !deadline.IsZero() && deadline.Sub(now) < sweepHorizon {
				heap.Push(&l.due, dueMessage{m.Seq, deadline})
			}
		}
		if len(page) < sweepPage {
			return false, nil
		}
	}
	return true, nil
}

// sweptDelivery is a stored message as if it were delivered.
func (i *Intake) sweptDelivery(l *lane, m *storedMessage) *delivery {
	return &delivery{intake: i, lane: l, seq: m.Seq, published: m.Time, header: m.Header, data: m.Data}
}

// deadline is zero for a message without one, and for one that cannot be read.
func (d *delivery) deadline() time.Time {
	d.decode()
	if d.fault != nil {
		return time.Time{}
	}
	return d.message.Deadline(d.published, d.lane.ExpiresIn)
}

// endDue ends the messages whose deadline has passed.
func (s *Sweeper) endDue(ctx context.Context, l *sweptLane, now time.Time) (ended int, err error) {
	var due []uint64
	for len(l.due) > 0 && !l.due[0].look.After(now) {
		due = append(due, heap.Pop(&l.due).(dueMessage).seq)
	}
	if len(due) == 0 {
		return 0, nil
	}
	delivered, err := s.delivered(ctx, l)
	var mu sync.Mutex
	var errs []error
	var working sync.WaitGroup
	free := make(chan struct{}, sweepWorkers)
	for _, seq := range due {
		if err != nil { // nothing is known: look at all of them later
			heap.Push(&l.due, dueMessage{seq, now.Add(sweepRetry)})
			continue
		}
		free <- struct{}{}
		working.Go(func() {
			done, won, err := s.end(ctx, l, seq, seq <= delivered, now)
			mu.Lock()
			defer mu.Unlock()
			<-free
			errs = append(errs, err)
			if won {
				ended++
			}
			if !done {
				heap.Push(&l.due, dueMessage{seq, now.Add(sweepRetry)})
			}
		})
	}
	working.Wait()
	return ended, errors.Join(append(errs, err)...)
}

// delivered returns up to which sequence messages of the lane were handed out, or may have been.
func (s *Sweeper) delivered(ctx context.Context, l *sweptLane) (uint64, error) {
	i := s.intake
	if l.unserved {
		_, err := i.client.js.Consumer(ctx, i.names.mt, durable(l.Lane))
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return 0, nil // nobody was handed anything, or its record tells
		}
	}
	i.mu.Lock()
	stale := l.markIsStale(i.client.nc.ConnectedServerId())
	i.mu.Unlock()
	if stale {
		if err := l.loadMark(ctx); err != nil {
			return 0, err
		}
	}
	consumer, err := i.client.js.Consumer(ctx, i.names.mt, durable(l.Lane))
	if err != nil {
		return 0, fmt.Errorf("consumer %s: %w", durable(l.Lane), err)
	}
	info := consumer.CachedInfo()
	i.mu.Lock()
	defer i.mu.Unlock()
	doubt := l.mark.stored.Doubt
	if l.mark.off {
		doubt = 0
	}
	return max(info.Delivered.Stream, doubt, l.createdSeq.Load()), nil
}

// end ends one message unless it is in flight. Done is false when it is to be looked at again, won says that it was
// ended here.
func (s *Sweeper) end(ctx context.Context, l *sweptLane, seq uint64, delivered bool, now time.Time) (done, won bool, err error) {
	i := s.intake
	m, err := i.client.readLeader(ctx, i.names.mt, readRequest{Seq: seq})
	if errors.Is(err, errNoMessage) {
		return true, false, nil
	}
	if err != nil {
		return false, false, err
	}
	d := i.sweptDelivery(l.lane, m)
	if delivered || l.unserved {
		// A record that is closed says that nobody has the message. Without one it is with somebody, or with somebody who
		// died: what became of it must be found out when it is delivered again.
		record, _, err := i.client.readRecord(ctx, seq)
		if err != nil || record == nil && delivered || record != nil && record.Open {
			return false, false, err
		}
		if record != nil && record.State.Parked != nil && !l.unserved {
			return false, false, nil // it has its outcome, and waits for room to be copied
		}
		if record != nil {
			d.state, d.count, delivered = record.State, record.Delivery, true
		}
	}
	o := s.expire(d.State(), d.deadline(), now)
	o.Carry(d.State())
	e := d.complete(&o, now)
	winner, fresh, err := i.journal.claimFinal(ctx, e)
	if err != nil {
		return false, false, err
	}
	if winner != nil {
		return true, false, nil // whoever made it ends the message, or who gets it next
	}
	err = i.journal.store(ctx, e, storeOptions{doubt: !fresh, published: m.Time})
	var other *otherFinalError
	if won = err == nil; err != nil && !errors.As(err, &other) {
		return false, false, err
	}
	if delivered {
		i.journal.put(i.journal.deleteRecord(seq))
	}
	return true, won, i.client.deleteMessage(ctx, i.names.mt, seq)
}

// deleteMessage takes a message out of a stream; one that is gone is no error.
func (c *Client) deleteMessage(ctx context.Context, stream string, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	body := fmt.Appendf(nil, `{"seq":%d,"no_erase":true}`, seq)
	reply, err := c.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.DELETE."+stream, body)
	if err != nil {
		return fmt.Errorf("deleting message %d of %s: %w", seq, stream, err)
	}
	var answer struct {
		Error *serverError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return fmt.Errorf("deleting message %d of %s: %w", seq, stream, err)
	}
	if answer.Error == nil {
		return nil
	}
	if _, err := c.readLeader(ctx, stream, readRequest{Seq: seq}); errors.Is(err, errNoMessage) {
		return nil // who had it too was faster
	}
	return fmt.Errorf("deleting message %d of %s: %w", seq, stream, answer.Error)
}

// readPage reads up to 500 messages of one subject, from a sequence on, with one request. Any replica may answer.
func (c *Client) readPage(ctx context.Context, stream, subject string, from uint64) ([]storedMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	inbox := c.nc.NewRespInbox()
	answers := make(chan *nats.Msg, sweepPage+1) // with room for all: SubscribeSync makes some for 65,536, once a second
	sub, err := c.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", stream, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	body := fmt.Appendf(nil, `{"batch":%d,"seq":%d,"next_by_subj":%q}`, sweepPage, max(from, 1), subject)
	if err := c.nc.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, body); err != nil {
		return nil, fmt.Errorf("reading %s: %w", stream, err)
	}
	var page []storedMessage
	for {
		var m *nats.Msg
		select {
		case m = <-answers:
		case <-ctx.Done():
			return nil, fmt.Errorf("reading %s: %w", stream, ctx.Err())
		}
		switch status := m.Header.Get("Status"); status {
		case "":
		case "204", "404": // the end of the batch; nothing there
			return page, nil
		default:
			return nil, fmt.Errorf("reading %s: the server answers %s %s", stream, status, m.Header.Get("Description"))
		}
		stored, err := storedFrom(m)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", stream, err)
		}
		page = append(page, stored)
	}
}

// storedFrom reads the answer to a direct get.
func storedFrom(m *nats.Msg) (storedMessage, error) {
	s := storedMessage{Subject: m.Header.Get("Nats-Subject"), Header: m.Header, Data: m.Data}
	var err error
	if s.Seq, err = strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64); err != nil {
		return s, fmt.Errorf("an answer without sequence: %w", err)
	}
	if s.Time, err = time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp")); err != nil {
		return s, fmt.Errorf("message %d without time: %w", s.Seq, err)
	}
	return s, nil
}

// deadlines is a heap, the next one first.
type deadlines []dueMessage

func (h deadlines) Len() int           { return len(h) }
func (h deadlines) Less(i, j int) bool { return h[i].look.Before(h[j].look) }
func (h deadlines) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *deadlines) Push(x any)        { *h = append(*h, x.(dueMessage)) }
func (h *deadlines) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
