package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"sluice/queue/internal/share"
)

// Intake hands out the messages of several lanes. What it has pulled and not
// handed out never exceeds the callers waiting in Next plus the number of lanes
// less one: a lane that is known to hold messages is asked for as many as
// callers wait, every other lane for one, so that the first message of an empty
// lane comes at once. It is safe for concurrent use.
type Intake struct {
	client    *Client
	journal   *Journal
	names     *names
	metrics   *Metrics
	ackWait   time.Duration
	spareHold time.Duration
	timing    intakeTiming

	dirty atomic.Bool // pull requests may be due

	mu        sync.Mutex
	lanes     []*lane
	shares    *share.Shares
	waiters   []*waiter
	spares    int                  // over all lanes
	resolving int                  // redeliveries being explained
	held      map[uint64]*delivery // by seq: spares and jobs not settled
	closed    bool
	quiet     chan struct{} // closed when, after Close, the server owes nothing
	idleSince time.Time     // since when callers wait and nothing comes

	wake      chan struct{} // one element: a lane is to be rebuilt
	cancel    context.CancelFunc
	resolvers sync.WaitGroup
	stopped   sync.WaitGroup
	remove    func()
}

// waiter is one caller in Next.
type waiter struct{ job chan *delivery }

var waiters = sync.Pool{New: func() any { return &waiter{job: make(chan *delivery, 1)} }} //nolint:gochecknoglobals // scratch that any intake may use

// OpenIntake subscribes to the lanes. The streams and consumers exist already,
// from [Client.Ensure].
func (c *Client) OpenIntake(ctx context.Context, j *Journal, cfg IntakeConfig) (*Intake, error) {
	if len(cfg.Lanes) == 0 {
		return nil, errors.New("intake: no lanes")
	}
	i := &Intake{
		client: c, journal: j, names: c.names.Load(), metrics: cfg.Metrics.orDiscard(),
		ackWait: cmp.Or(cfg.AckWait, defaultAckWait), spareHold: cmp.Or(cfg.SpareHold, defaultSpareHold),
		timing: cfg.timing.withDefaults(), shares: share.New(weights(cfg.Lanes)), held: make(map[uint64]*delivery),
		wake: make(chan struct{}, 1), quiet: make(chan struct{}),
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	i.cancel = cancel
	for _, cfg := range cfg.Lanes {
		l := &lane{IntakeLane: cfg, intake: i, api: "$JS.API.CONSUMER.MSG.NEXT." + i.names.mt + "." + durable(cfg.Lane)}
		if err := l.open(ctx, running); err != nil {
			for _, opened := range i.lanes {
				err = errors.Join(err, opened.sub.Unsubscribe())
			}
			cancel()
			return nil, fmt.Errorf("intake of %s: %w", durable(cfg.Lane), err)
		}
		i.lanes = append(i.lanes, l)
	}
	i.remove = c.onConnection(i.connectionChanged)
	i.stopped.Go(func() { i.maintain(running) })
	j.attach(i)
	return i, nil
}

func weights(lanes []IntakeLane) []int {
	var weights []int
	for _, l := range lanes {
		weights = append(weights, l.Weight)
	}
	return weights
}

// Next waits for a message. Call it only with a place in the window in hand:
// the callers waiting here are the credit that messages are pulled with. While
// the journal cannot store, nothing is handed out.
func (i *Intake) Next(ctx context.Context) (Job, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		return nil, ErrClosed
	}
	if d := i.takeSpare(); d != nil {
		i.mu.Unlock()
		return d, nil
	}
	w := waiters.Get().(*waiter)
	if len(i.waiters) == 0 {
		i.idleSince = time.Now()
	}
	i.waiters = append(i.waiters, w)
	i.mu.Unlock()
	i.wantPulls()

	select {
	case d := <-w.job:
		if d == nil {
			return nil, ErrClosed // the channel is closed: w is of no use any more
		}
		waiters.Put(w)
		return d, nil
	case <-ctx.Done():
		i.leave(w)
		return nil, ctx.Err()
	}
}

// leave takes a caller out of the line. What was handed to it just now goes to
// the next, or waits as a spare.
func (i *Intake) leave(w *waiter) {
	i.mu.Lock()
	at := slices.Index(i.waiters, w)
	if at >= 0 {
		i.waiters = slices.Delete(i.waiters, at, at+1)
		i.mu.Unlock()
		return
	}
	i.mu.Unlock()
	if d := <-w.job; d != nil {
		i.offer(d)
	}
}

// offer hands a message to the caller that waits longest, or keeps it.
func (i *Intake) offer(d *delivery) {
	i.mu.Lock()
	defer i.mu.Unlock()
	d.lane.spares = append(d.lane.spares, spare{d, time.Now()})
	i.spares++
	i.serve()
}

// serve matches spares and callers.
func (i *Intake) serve() {
	for len(i.waiters) > 0 {
		d := i.takeSpare()
		if d == nil {
			return
		}
		w := i.waiters[0]
		i.waiters[0] = nil
		i.waiters = i.waiters[1:]
		i.idleSince = time.Now()
		w.job <- d
	}
}

// takeSpare returns the first spare in the order of the lanes, nil when there is
// none that its lane's mark covers, or the journal fails.
func (i *Intake) takeSpare() *delivery {
	if i.spares == 0 || !i.journal.Healthy() {
		return nil
	}
	for _, l := range i.lanes {
		if len(l.spares) > 0 && l.mark.covers(l.spares[0].delivery.seq) {
			d := l.spares[0].delivery
			l.spares = slices.Delete(l.spares, 0, 1)
			i.spares--
			return d
		}
	}
	return nil
}

// forget drops a settled message from the ones held here.
func (i *Intake) forget(d *delivery) {
	d.forgotten.Store(true)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.held[d.seq] == d {
		delete(i.held, d.seq)
	}
}

// Holds reports whether a message is here, or with somebody to whom it was handed
// out and who has not settled it.
func (i *Intake) Holds(seq uint64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.held[seq] != nil
}

// Unseen reports whether messages wait at the server that nobody has been handed
// yet, as far as its last answers tell.
func (i *Intake) Unseen() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.ContainsFunc(i.lanes, func(l *lane) bool { return l.pending > 0 && l.isOpen() })
}

// wantPulls makes the journal ask for pull requests with its next burst.
func (i *Intake) wantPulls() {
	i.dirty.Store(true)
	i.journal.poke()
}

// appendPulls implements puller.
func (i *Intake) appendPulls(burst []write, now time.Time) []write {
	if !i.dirty.Swap(false) || !i.journal.Healthy() || !i.client.nc.IsConnected() {
		return burst
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || len(i.waiters) == 0 {
		return burst
	}
	for n, size := range i.plan(now) {
		if size > 0 {
			burst = append(burst, i.lanes[n].request(size, now, i.timing.pull))
			i.metrics.pulled(size)
		}
	}
	return burst
}

// plan decides how many messages to ask each lane for.
func (i *Intake) plan(now time.Time) []int {
	sizes := make([]int, len(i.lanes))
	callers := len(i.waiters) - i.spares - i.resolving // without a message in sight
	room := callers + len(i.lanes) - 1
	for _, l := range i.lanes {
		room -= l.credit.owed
		if l.pending > 0 {
			callers -= l.credit.owed
		}
	}
	for n, l := range i.lanes { // the doorbells
		if room > 0 && l.pending == 0 && l.credit.owed == 0 && l.ready(now) {
			sizes[n] = 1
			room--
		}
	}
	has := func(n int) bool {
		l := i.lanes[n]
		return l.pending > l.credit.owed+sizes[n] && l.ready(now)
	}
	for ; callers > 0 && room > 0; callers, room = callers-1, room-1 {
		n := i.shares.Pick(has)
		if n < 0 {
			break
		}
		sizes[n]++
	}
	return sizes
}

// healthChanged implements puller.
func (i *Intake) healthChanged() {
	i.mu.Lock()
	i.idleSince = time.Now()
	i.serve()
	i.mu.Unlock()
	i.wantPulls()
}

// Close stops pulling and releases what was pulled and not handed out: first
// recorded, then given back at once. It waits for the pull requests that are out
// to end, which takes up to 2 s. Jobs that were handed out stay valid; settle
// them before the journal is closed.
func (i *Intake) Close(ctx context.Context) error {
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		return nil
	}
	i.closed = true
	waiters := i.waiters
	i.waiters = nil
	i.noteQuiet()
	i.mu.Unlock()
	for _, w := range waiters {
		close(w.job)
	}
	i.remove()
	i.journal.detach(i)
	errs := []error{i.awaitQuiet(ctx)}
	for _, l := range i.lanes {
		errs = append(errs, l.drain(ctx))
	}
	errs = append(errs, i.awaitResolvers(ctx))
	errs = append(errs, i.releaseSpares(ctx, func(spare) bool { return true }))
	i.cancel()
	i.stopped.Wait()
	for _, l := range i.lanes {
		errs = append(errs, l.leaveMark(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing the intake: %w", err)
	}
	return nil
}

// noteQuiet tells Close when the server owes nothing any more, under the lock.
func (i *Intake) noteQuiet() {
	if !i.closed {
		return
	}
	for _, l := range i.lanes {
		if l.credit.owed > 0 {
			return
		}
	}
	select {
	case <-i.quiet:
	default:
		close(i.quiet)
	}
}

// awaitQuiet waits until the pull requests have ended. A message that the server
// sends to an inbox that has just gone would count as delivered, and nobody
// could explain it.
func (i *Intake) awaitQuiet(ctx context.Context) error {
	if !i.client.nc.IsConnected() {
		return nil
	}
	select {
	case <-i.quiet:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitResolvers waits until the redeliveries at hand are explained.
func (i *Intake) awaitResolvers(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		i.resolvers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		i.cancel()
		<-done
		return ctx.Err()
	}
}

// releaseSpares gives back the spares that are chosen.
func (i *Intake) releaseSpares(ctx context.Context, chosen func(spare) bool) error {
	var released []*delivery
	i.mu.Lock()
	for _, l := range i.lanes {
		l.spares = slices.DeleteFunc(l.spares, func(s spare) bool {
			if chosen(s) {
				released = append(released, s.delivery)
				i.spares--
				return true
			}
			return false
		})
	}
	i.mu.Unlock()
	var errs []error
	for _, d := range released {
		if err := d.Release(ctx, time.Time{}); err != nil {
			errs = append(errs, err)
			i.offer(d) // it is still ours
			continue
		}
		i.metrics.released()
	}
	return errors.Join(errs...)
}

// connectionChanged voids the pulls of the connection that was lost.
func (i *Intake) connectionChanged(connected bool) {
	if !connected {
		return
	}
	i.mu.Lock()
	for _, l := range i.lanes {
		l.void = true
	}
	i.mu.Unlock()
	i.wakeUp()
}

// wakeUp makes the maintenance look at the lanes.
func (i *Intake) wakeUp() {
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

var _ puller = (*Intake)(nil)

// listen subscribes without a limit of messages that wait: the credit is the limit. ended is closed when everything that
// came has been handled after the end of the subscription, whoever ended it.
func (c *Client) listen(subject string, handle nats.MsgHandler) (sub *nats.Subscription, ended <-chan struct{}, err error) {
	if sub, err = c.nc.Subscribe(subject, handle); err != nil {
		return nil, nil, err
	}
	// The handler is set once and for all: the one of a second closer would replace that of the first, and a
	// subscription that has ended calls none.
	done := make(chan struct{})
	var once sync.Once
	sub.SetClosedHandler(func(string) { once.Do(func() { close(done) }) })
	if !sub.IsValid() { // the connection was closed meanwhile
		once.Do(func() { close(done) })
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, nil, errors.Join(err, sub.Unsubscribe())
	}
	return sub, done, nil
}

// drain ends a subscription and waits until everything the server sent to it has been handled.
func drain(ctx context.Context, sub *nats.Subscription, ended <-chan struct{}) error {
	err := sub.Drain()
	switch {
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrBadSubscription):
		return nil
	case err != nil:
		return err
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
