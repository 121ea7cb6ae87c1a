package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Waits after a refused pull, doubling.
const (
	retryFirst = 100 * time.Millisecond
	retryMost  = 5 * time.Second
)

// lane is one class of one route as the intake pulls it: requests go to the
// consumer, and messages and statuses come back to one inbox. Fields without a
// note are guarded by the intake's lock.
type lane struct {
	IntakeLane
	intake *Intake
	api    string // where to ask; never changes
	// createdSeq is the consumer's: up to there its delivery counts start at 1
	// whatever happened before.
	createdSeq atomic.Uint64

	sub        *nats.Subscription
	ended      <-chan struct{} // closed when the subscription has ended
	inbox      string
	epoch      int // counts the inboxes
	token      uint64
	credit     credit
	pending    int       // messages known to wait at the server, beyond what has come
	heard      time.Time // last message, status or request
	retryAt    time.Time // no request before this
	refused    int       // in a row
	void       bool      // the requests are lost: to be rebuilt
	rebuilding bool
	spares     []spare // first come first
	mark       laneMark
}

// spare is a message that no caller waited for.
type spare struct {
	delivery *delivery
	since    time.Time
}

// open finds the consumer, creating it when it is gone, and starts a new inbox.
// Requests that went out with the old one are void: the server drops a request
// whose inbox nobody listens to. What it had sent already still arrives.
func (l *lane) open(ctx, running context.Context) error {
	i := l.intake
	cfg, err := ensureConsumer(ctx, i.client.js, i.names, l.Lane, i.ackWait)
	if err != nil {
		return err
	}
	if err := l.loadMark(ctx); err != nil {
		return err
	}
	inbox := i.client.nc.NewInbox() + "."
	i.mu.Lock()
	l.epoch++
	epoch := l.epoch
	i.mu.Unlock()
	sub, ended, err := i.client.listen(inbox+"*", func(m *nats.Msg) { l.receive(running, m, epoch) })
	if err != nil {
		return err
	}
	i.mu.Lock()
	old, oldEnded := l.sub, l.ended
	l.createdSeq.Store(createdSeq(cfg))
	l.sub, l.ended, l.inbox, l.credit, l.pending = sub, ended, inbox, credit{}, 0
	closed := i.closed
	i.mu.Unlock()
	if old != nil {
		err = drain(ctx, old, oldEnded)
	}
	if closed { // meanwhile
		err = errors.Join(err, drain(ctx, sub, ended))
	}
	return err
}

// drain ends the inbox after what the server has sent already was handled.
func (l *lane) drain(ctx context.Context) error {
	l.intake.mu.Lock()
	sub, ended := l.sub, l.ended
	l.intake.mu.Unlock()
	return drain(ctx, sub, ended)
}

// ready reports whether the lane may ask now.
func (l *lane) ready(now time.Time) bool {
	return !l.rebuilding && !now.Before(l.retryAt) && l.isOpen()
}

func (l *lane) isOpen() bool { return l.Open == nil || l.Open() }

// request makes a pull request for size messages, under the intake's lock.
func (l *lane) request(size int, now time.Time, expires time.Duration) write {
	l.token++
	l.credit.asked(l.token, size, now.Add(expires))
	l.heard = now
	return write{
		subject: l.api,
		reply:   l.inbox + strconv.FormatUint(l.token, 10),
		data:    fmt.Appendf(nil, `{"batch":%d,"expires":%d}`, size, expires.Nanoseconds()),
	}
}

// receive handles what comes to the inbox of the given epoch.
func (l *lane) receive(running context.Context, m *nats.Msg, epoch int) {
	now := time.Now()
	if len(m.Data) == 0 && m.Header.Get("Status") != "" {
		l.status(m, epoch, now)
		return
	}
	meta, err := m.Metadata()
	if err != nil {
		l.intake.client.logger.Warn("something that is no delivery came to the inbox of a pull", "error", err)
		return
	}
	d := &delivery{
		intake: l.intake, lane: l,
		seq: meta.Sequence.Stream, published: meta.Timestamp, header: m.Header, data: m.Data,
		reply: m.Reply, count: int(meta.NumDelivered), touched: now,
		server: l.intake.client.nc.ConnectedServerId(), losses: l.intake.client.losses.Load(),
	}
	if l.accept(running, d, int(meta.NumPending), epoch, now) {
		l.intake.resolve(running, d)
	}
	l.intake.wantPulls()
}

// accept notes a delivery and hands it on. It reports whether its earlier
// deliveries must be explained first.
func (l *lane) accept(running context.Context, d *delivery, pending, epoch int, now time.Time) (resolve bool) {
	i := l.intake
	i.mu.Lock()
	defer i.mu.Unlock()
	if epoch == l.epoch {
		l.credit.delivered()
		l.pending, l.heard, l.refused = pending, now, 0
		i.noteQuiet()
	}
	if holder := i.held[d.seq]; holder != nil {
		// It is here already: the wait for its answer ended too early.
		holder.adopt(d.reply, d.count, now)
		i.metrics.adopted()
		return false
	}
	i.held[d.seq] = d
	if l.markIsStale(d.server) || l.suspects(d) {
		i.resolving++
		return true
	}
	l.admit(running, d, now)
	return false
}

// suspects reports, under the intake's lock, whether the message may have been
// handed out before. The lock guards the count too: it changes only when a
// later delivery is adopted.
func (l *lane) suspects(d *delivery) bool {
	return d.count > 1 || d.seq <= l.createdSeq.Load() || l.mark.doubts(d.seq)
}

// admit lets a message be handed out, under the intake's lock.
func (l *lane) admit(running context.Context, d *delivery, now time.Time) {
	l.spares = append(l.spares, spare{d, now})
	l.intake.spares++
	l.reserve(running, d.seq)
	l.intake.serve()
}

// status handles the end of a pull request.
func (l *lane) status(m *nats.Msg, epoch int, now time.Time) {
	i := l.intake
	code, text := m.Header.Get("Status"), m.Header.Get("Description")
	unsent, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	if err != nil {
		unsent = -1
	}
	token, _ := strconv.ParseUint(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], 10, 64) // 0 is nobody's
	i.metrics.pullEnded(code)

	i.mu.Lock()
	defer i.mu.Unlock()
	if epoch != l.epoch {
		return
	}
	l.heard = now
	switch code {
	case "100": // idle heartbeat
		return
	case "404", "408": // the time is over and the lane empty
		l.credit.returned(token, unsent)
		l.pending, l.refused = 0, 0
	default:
		l.credit.returned(token, unsent)
		l.retryAt = now.Add(min(retryFirst<<min(l.refused, 10), retryMost))
		l.refused++
		if code == "503" || strings.Contains(text, "Consumer Deleted") {
			l.void = true
			i.wakeUp()
		}
	}
	i.noteQuiet()
	i.wantPulls()
}

// resolve explains a redelivery beside the inbox, then hands it out.
func (i *Intake) resolve(running context.Context, d *delivery) {
	i.resolvers.Go(func() {
		handOut := i.explained(running, d)
		i.mu.Lock()
		i.resolving--
		if handOut {
			d.lane.admit(running, d, time.Now())
		}
		i.mu.Unlock()
		if !handOut {
			i.forget(d)
		}
		i.wantPulls()
	})
}

// explained tries until it is known whether the message may be handed out. When
// that takes as long as the server waits for an answer, the message is left to
// its next delivery.
func (i *Intake) explained(running context.Context, d *delivery) (handOut bool) {
	for wait := persistFirst; ; wait = min(2*wait, persistMost) {
		handOut, err := d.explain(running)
		if err == nil {
			return handOut
		}
		i.client.logger.Warn("a redelivery cannot be explained yet", "seq", d.seq, "error", err)
		select {
		case <-time.After(wait):
		case <-running.Done():
			return false
		}
		if d.overdue(time.Now()) {
			return false
		}
	}
}
