package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/queue/turn"
)

// A server that is killed forgets deliveries: it writes a consumer's state, who
// was handed what and how often, at most every 100 ms. A message that was handed
// out, even submitted, then comes back as if it were new. So every lane has a
// mark beside the server's counts, which is stored before the messages below it
// are handed out; after a restart, what lies below the mark may have been.

// mark is the durable note of one lane, shared by all instances. It is a value:
// what changes it is written with compare-and-set.
type mark struct {
	// Seq: no message above it has been handed out. It runs ahead of the
	// messages, so that they need not wait for it.
	Seq uint64 `json:"seq"`
	// Done is the highest sequence received by those who have left.
	Done uint64 `json:"done"`
	// Doubt: up to here the counts of the present epoch prove nothing.
	Doubt uint64 `json:"doubt"`
	// Epoch names the start of the server and the creation of the consumer from
	// which the counts are complete.
	Epoch string `json:"epoch"`
	// Users counts the intakes that joined in this epoch and have not left. One
	// that died is never taken off.
	Users int `json:"users"`
}

// join notes one more user. In a new epoch the counts say nothing about what was
// handed out before it: reach, unless that is more than the stream holds.
func (m mark) join(epoch string, reach, last uint64) mark {
	if m.Epoch != epoch {
		doubt := min(reach, last)
		return mark{Seq: doubt, Done: doubt, Doubt: doubt, Epoch: epoch, Users: 1}
	}
	m.Users++
	return m
}

// raise moves the mark ahead, never back.
func (m mark) raise(seq uint64) mark {
	m.Seq = max(m.Seq, seq)
	return m
}

// leave takes off a user that joined in the epoch and received no message above
// highest. The last to leave takes back what was reserved ahead.
func (m mark) leave(epoch string, highest uint64) mark {
	if m.Epoch != epoch || m.Users == 0 {
		return m // the epoch is over, and its reach with it
	}
	m.Done = max(m.Done, highest)
	m.Users--
	if m.Users == 0 {
		m.Seq = m.Done
	}
	return m
}

// How far ahead of the messages a mark runs, in sequences of the stream, and
// between which times from one step to the next it stays as it is.
const (
	blockLeast  = 16
	blockMost   = 1024
	blockFast   = 100 * time.Millisecond
	blockSlow   = time.Second
	markReplica = 3 // replicas from which a crash forgets no count
)

// stride is how far ahead the next step of a mark goes. Short steps leave few
// messages in doubt after a crash, long ones cost fewer writes.
type stride struct {
	block uint64
	last  time.Time
}

func (s *stride) next(now time.Time) uint64 {
	switch since := now.Sub(s.last); {
	case since <= blockFast:
		s.block *= 2
	case since > blockSlow:
		s.block /= 2
	}
	s.block = min(max(s.block, blockLeast), blockMost)
	s.last = now
	return s.block
}

// laneMark is one intake's side of a lane's mark. The fields are guarded by the
// intake's lock.
type laneMark struct {
	writing turn.Turn // one change at a time; taken before the intake's lock

	server    string // the server that the counts in epoch were checked with
	off       bool   // replicas keep the counts: no mark is needed
	epoch     string // in which this intake joined
	stored    mark
	revision  uint64
	highest   uint64 // received by this intake, in any epoch, or before it began
	stride    stride
	extending bool
}

// covers reports whether the message may be handed out: should the server
// forget that, the mark remembers.
func (m *laneMark) covers(seq uint64) bool { return m.off || seq <= m.stored.Seq }

// doubts reports whether a message that the server calls new may have been
// handed out.
func (m *laneMark) doubts(seq uint64) bool { return !m.off && seq <= m.stored.Doubt }

// due reports whether the mark is to move: half a block before the messages
// reach it.
func (m *laneMark) due() bool { return !m.covers(m.highest + m.stride.block/2) }

// reach is how far the messages of the stored mark may have been handed out. An
// intake that was alone with it knows exactly.
func (m *laneMark) reach(stored mark) uint64 {
	if stored.Users == 1 && m.epoch != "" && stored.Epoch == m.epoch {
		return max(stored.Done, m.highest)
	}
	return max(stored.Seq, m.highest)
}

// loadMark joins the lane's mark when the server has been started or the
// consumer created since this intake last looked.
func (l *lane) loadMark(ctx context.Context) error {
	if err := l.mark.writing.Take(ctx); err != nil {
		return fmt.Errorf("writing the mark of %s: %w", durable(l.Lane), err)
	}
	defer l.mark.writing.Give()
	i := l.intake
	server := i.client.nc.ConnectedServerId()
	if server == "" {
		return errors.New("mark: not connected")
	}
	stream, err := i.client.js.Stream(ctx, i.names.mt)
	if err != nil {
		return fmt.Errorf("mark: stream %s: %w", i.names.mt, err)
	}
	info := stream.CachedInfo()
	if info.Config.Replicas >= markReplica {
		i.mu.Lock()
		l.mark.server, l.mark.off = server, true
		i.mu.Unlock()
		return nil
	}
	consumer, err := stream.Consumer(ctx, durable(l.Lane))
	if err != nil {
		return fmt.Errorf("mark: consumer %s: %w", durable(l.Lane), err)
	}
	epoch := countsSince(server, info, consumer.CachedInfo())
	next := nextAfter(info, consumer.CachedInfo())
	i.mu.Lock()
	joined := l.mark.epoch == epoch
	if joined {
		l.mark.server = server
	}
	i.mu.Unlock()
	if joined {
		return nil
	}
	stored, revision, err := i.client.readMark(ctx, l.Lane)
	if err != nil {
		return err
	}
	stored, revision, err = i.client.changeMark(ctx, l.Lane, stored, revision, func(m mark) mark {
		i.mu.Lock()
		defer i.mu.Unlock()
		// The first messages need not wait for a step of the mark.
		return m.join(epoch, l.mark.reach(m), info.State.LastSeq).raise(next + blockLeast)
	})
	if err != nil {
		return err
	}
	i.mu.Lock()
	l.mark.server, l.mark.epoch, l.mark.off = server, epoch, false
	l.mark.stored, l.mark.revision = stored, revision
	l.mark.highest = max(l.mark.highest, next)
	i.mu.Unlock()
	return nil
}

// nextAfter is the sequence above which the next new message of the lane comes,
// as the server knows it; the consumer was asked after the stream.
func nextAfter(stream *jetstream.StreamInfo, consumer *jetstream.ConsumerInfo) uint64 {
	if consumer.NumPending == 0 {
		return max(stream.State.LastSeq, consumer.Delivered.Stream)
	}
	return consumer.Delivered.Stream
}

// countsSince names the moment from which the consumer's counts are complete. In
// a cluster it is not the server connected to that keeps them, and the server
// that does shows only its name.
func countsSince(server string, stream *jetstream.StreamInfo, consumer *jetstream.ConsumerInfo) string {
	if stream.Cluster != nil && stream.Cluster.Leader != "" && stream.Cluster.Name != "" {
		server = stream.Cluster.Leader
	}
	return server + "/" + consumer.Created.UTC().Format(time.RFC3339Nano)
}

// markIsStale reports, under the intake's lock, whether the message came from a
// server that the mark has not been checked with.
func (l *lane) markIsStale(server string) bool { return server == "" || server != l.mark.server }

// reserve notes a message that is about to be handed out, under the intake's
// lock, and moves the mark ahead when it is time.
func (l *lane) reserve(running context.Context, seq uint64) {
	m := &l.mark
	m.highest = max(m.highest, seq)
	if m.extending || !m.due() {
		return
	}
	m.extending = true
	l.intake.resolvers.Go(func() { l.extend(running) })
}

// extend moves the mark until it is far enough ahead.
func (l *lane) extend(running context.Context) {
	i := l.intake
	wait := persistFirst
	for {
		i.mu.Lock()
		if running.Err() != nil || i.closed || !l.mark.due() {
			l.mark.extending = false
			i.mu.Unlock()
			return
		}
		target := l.mark.highest + l.mark.stride.next(time.Now())
		i.mu.Unlock()

		err := l.changeOwnMark(running, func(m mark) mark { return m.raise(target) })
		if err == nil {
			i.mu.Lock()
			i.serve() // those who waited for it
			i.mu.Unlock()
			wait = persistFirst
			continue
		}
		i.client.logger.Warn("the mark of a lane cannot be moved yet; its new messages wait",
			"consumer", durable(l.Lane), "error", err)
		select {
		case <-time.After(wait):
		case <-running.Done():
		}
		wait = min(2*wait, persistMost)
	}
}

// leaveMark takes this intake off the mark, after the last message was handled.
// A change whose confirmation is lost is not tried again: it may have been made.
func (l *lane) leaveMark(ctx context.Context) error {
	i := l.intake
	i.mu.Lock()
	epoch, highest, off := l.mark.epoch, l.mark.highest, l.mark.off
	i.mu.Unlock()
	if off {
		return nil
	}
	return l.changeOwnMark(ctx, func(m mark) mark { return m.leave(epoch, highest) })
}

func (l *lane) changeOwnMark(ctx context.Context, change func(mark) mark) error {
	if err := l.mark.writing.Take(ctx); err != nil {
		return fmt.Errorf("writing the mark of %s: %w", durable(l.Lane), err)
	}
	defer l.mark.writing.Give()
	i := l.intake
	i.mu.Lock()
	stored, revision := l.mark.stored, l.mark.revision
	i.mu.Unlock()
	stored, revision, err := i.client.changeMark(ctx, l.Lane, stored, revision, change)
	if err != nil {
		return err
	}
	i.mu.Lock()
	l.mark.stored, l.mark.revision = stored, revision
	i.mu.Unlock()
	return nil
}

func (c *Client) markSubject(l Lane) string {
	return bucketSubject(c.names.Load().control, "mark."+l.Route+"."+l.Class)
}

// readMark reads a lane's mark; there is none before its first intake.
func (c *Client) readMark(ctx context.Context, l Lane) (m mark, revision uint64, err error) {
	stored, err := c.readLeader(ctx, bucketStream(c.names.Load().control), readRequest{LastFor: c.markSubject(l)})
	switch {
	case errors.Is(err, errNoMessage):
		return mark{}, 0, nil
	case err != nil:
		return mark{}, 0, fmt.Errorf("reading the mark of %s: %w", durable(l), err)
	}
	if stored.Header.Get(headerOperation) != "" || stored.Header.Get(headerMarker) != "" {
		return mark{}, stored.Seq, nil
	}
	if err := json.Unmarshal(stored.Data, &m); err != nil {
		return mark{}, 0, fmt.Errorf("the mark of %s in bucket %s cannot be read: %w", durable(l), c.names.Load().control, err)
	}
	return m, stored.Seq, nil
}

// changeMark stores a change to a mark that was last read as given, or to what
// others have made of it since. It returns what is stored then.
func (c *Client) changeMark(
	ctx context.Context, l Lane, m mark, revision uint64, change func(mark) mark,
) (mark, uint64, error) {
	var err error
	for range recordConflicts {
		next := change(m)
		if next == m && revision != 0 {
			return m, revision, nil
		}
		var data []byte
		if data, err = json.Marshal(next); err != nil {
			return m, revision, fmt.Errorf("mark of %s: %w", durable(l), err)
		}
		var at uint64
		if at, err = c.replace(ctx, &nats.Msg{Subject: c.markSubject(l), Data: data}, revision); err == nil {
			return next, at, nil
		}
		if !errors.Is(err, errMovedOn) {
			break
		}
		if m, revision, err = c.readMark(ctx, l); err != nil {
			return m, revision, err
		}
		err = errMovedOn
	}
	return m, revision, fmt.Errorf("writing the mark of %s: %w", durable(l), err)
}
