package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	defaultUnconfirmed    = 4096
	defaultConfirmTimeout = 5 * time.Second
	closeTimeout          = 30 * time.Second
)

// JournalConfig tunes a [Journal]; the zero value works.
type JournalConfig struct {
	// MaxUnconfirmed bounds the writes whose confirmation is awaited; 0 means
	// 4096.
	MaxUnconfirmed int
	// ConfirmTimeout is how long a confirmation may take; 0 means 5 s.
	ConfirmTimeout time.Duration
	Metrics        *Metrics
}

// Journal is the one writer to NATS on the way of a message: events, records,
// index entries, acknowledgements and pull requests go out through its
// goroutine, which writes whatever has come together as one burst. Writing each
// on the goroutine of its message costs a system call each.
type Journal struct {
	client  *Client
	names   *names
	metrics *Metrics
	confirm *confirmations
	timeout time.Duration
	// claimKept is [claimKept] but in tests.
	claimKept time.Duration
	health    health
	lately    lately

	mu      sync.Mutex
	queued  []write
	pullers []puller
	closed  bool

	outgoing nats.Msg    // of the goroutine that writes, like once
	once     nats.Header // with one Nats-Msg-Id

	kick    chan struct{} // one element: something is queued
	stop    chan struct{}
	stopped sync.WaitGroup
	remove  func()
	inbox   *nats.Subscription
}

// write is one message to publish. With a slot somebody waits for its
// confirmation, by the stream named.
type write struct {
	stream  string
	subject string
	header  nats.Header
	once    string // Nats-Msg-Id, where there is no other header
	data    []byte
	slot    *slot
	reply   string
	// keep: when the connection is away, write it when it stands again.
	keep bool
}

// puller is a source of pull requests: an intake.
type puller interface {
	// appendPulls adds the requests that are due to a burst.
	appendPulls(burst []write, now time.Time) []write
	// healthChanged is called when the journal fails or can store again.
	healthChanged()
}

// OpenJournal starts the journal. Open it after [Client.Ensure].
func (c *Client) OpenJournal(cfg JournalConfig) (*Journal, error) {
	j := &Journal{
		client: c, names: c.names.Load(), metrics: cfg.Metrics.orDiscard(),
		confirm: newConfirmations(c.nc.NewInbox(), cmp.Or(cfg.MaxUnconfirmed, defaultUnconfirmed)),
		timeout: cmp.Or(cfg.ConfirmTimeout, defaultConfirmTimeout), claimKept: claimKept,
		health: health{faults: make(map[string]*fault)},
		once:   nats.Header{headerOnce: {""}},
		kick:   make(chan struct{}, 1), stop: make(chan struct{}),
	}
	var err error
	if j.inbox, err = c.nc.Subscribe(j.confirm.prefix+"*", j.confirm.answered); err != nil {
		return nil, fmt.Errorf("journal: subscribing to confirmations: %w", err)
	}
	if err := j.inbox.SetPendingLimits(-1, -1); err != nil {
		return nil, errors.Join(fmt.Errorf("journal: %w", err), j.inbox.Unsubscribe())
	}
	j.remove = c.onConnection(j.connectionChanged)
	j.stopped.Go(j.run)
	j.stopped.Go(j.watch)
	return j, nil
}

// Healthy reports whether what the journal writes is stored, and confirmed within
// about 1 s. While it is not, no intake hands out anything. After a failure it
// turns true again with the first write that is confirmed, and not before.
func (j *Journal) Healthy() bool { return !j.health.ill.Load() }

// Failure is why the journal is not healthy, nil when it is.
func (j *Journal) Failure() error { return j.health.failure() }

// Append stores an event that belongs to no job, and returns when the server
// has it. It tries again while NATS is away, until ctx ends; a repeat is stored
// once, by its event id, which is made from seq, delivery and type when empty. An
// event that comes with an id is stored once within the stream's duplicate window,
// whoever appends it.
func (j *Journal) Append(ctx context.Context, e Event) error {
	once := e.EventID
	e.complete(time.Now())
	return j.store(ctx, &e, storeOptions{once: once})
}

// Close writes what is queued, waits for the server to have it or ctx to end, at
// most 30 s, and stops the journal. Close the intakes first.
func (j *Journal) Close(ctx context.Context) error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.mu.Unlock()
	close(j.stop)
	j.stopped.Wait()
	j.remove()
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	err := j.confirm.drain(ctx)
	if err == nil { // acknowledgements are not confirmed
		err = j.client.nc.FlushWithContext(ctx)
	}
	if unsubscribed := j.inbox.Unsubscribe(); err == nil && !errors.Is(unsubscribed, nats.ErrConnectionClosed) {
		err = unsubscribed
	}
	if err != nil {
		return fmt.Errorf("closing the journal: %w", err)
	}
	return nil
}

// whileOpen is a context that ends with the journal.
func (j *Journal) whileOpen() (ctx context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithCancel(context.Background())
	go func() {
		select {
		case <-j.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// put queues writes that nobody waits for.
func (j *Journal) put(w write) {
	j.mu.Lock()
	j.queued = append(j.queued, w)
	j.mu.Unlock()
	j.poke()
}

// poke makes the goroutine look for writes and pull requests.
func (j *Journal) poke() {
	select {
	case j.kick <- struct{}{}:
	default:
	}
}

// write stores one message and returns the server's answer.
func (j *Journal) write(ctx context.Context, w write) error {
	slot, err := j.confirm.take(ctx, j.stop)
	if err != nil {
		return err
	}
	began := time.Now()
	w.slot, w.reply = slot, j.confirm.expect(began, slot)
	j.mu.Lock()
	closed := j.closed
	if !closed {
		j.queued = append(j.queued, w)
	}
	j.mu.Unlock()
	if closed {
		j.confirm.fail(slot, ErrClosed)
	}
	j.poke()
	if err = j.confirm.wait(ctx, slot); err == nil && !j.health.failing.Load() {
		j.confirm.release(slot, nil)
		return nil
	}
	verdict := err
	if errors.Is(err, errStoredBefore) {
		verdict = nil // the stream works
	}
	// The write counts as waiting until the conclusion is drawn: a failing journal
	// is not taken for a healthy one in between.
	j.note(w.stream, began, verdict, ctx.Err() != nil)
	j.confirm.release(slot, err)
	return err
}

// run is the goroutine that writes.
func (j *Journal) run() {
	var burst, kept []write
	for stopping := false; !stopping; {
		select {
		case <-j.kick:
		case <-j.stop:
			stopping = true
		}
		runtime.Gosched() // let the messages that are ready join the burst
		j.mu.Lock()
		burst, j.queued = j.queued, burst[:0]
		pullers := j.pullers
		j.mu.Unlock()
		now := time.Now()
		if !stopping {
			for _, p := range pullers {
				burst = p.appendPulls(burst, now)
			}
		}
		kept = j.publish(append(kept, burst...), now)
		clear(burst)
	}
}

// publish writes a burst and returns what to keep for when the connection
// stands again.
func (j *Journal) publish(burst []write, now time.Time) (kept []write) {
	j.confirm.begin(now, burst)
	for i := range burst {
		w := &burst[i]
		m := &j.outgoing
		m.Subject, m.Reply, m.Header, m.Data = w.subject, w.reply, w.header, w.data
		if w.once != "" {
			j.once[headerOnce][0] = w.once
			m.Header = j.once
		}
		err := j.client.nc.PublishMsg(m) // which copies it
		switch {
		case err == nil:
		case w.slot != nil && errors.Is(err, nats.ErrMaxPayload):
			j.confirm.fail(w.slot, errTooLarge)
		case w.slot != nil:
			j.confirm.fail(w.slot, errors.Join(errUnconfirmed, err))
		case w.keep:
			kept = append(kept, *w)
		}
	}
	return kept
}

// watch looks after confirmations that take long, and gives up on those that take
// too long.
func (j *Journal) watch() {
	tick := time.NewTicker(j.slowAfter() / 4)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			oldest := j.confirm.oldest()
			j.noteSlow(!oldest.IsZero() && now.Sub(oldest) > j.slowAfter())
			j.confirm.abandon(now.Add(-j.timeout))
		case <-j.stop:
			return
		}
	}
}

func (j *Journal) connectionChanged(connected bool) {
	// What was sent in the moment of the loss may have been counted as sent after it: no answer comes to that on the new
	// connection.
	j.confirm.abandon(time.Now())
	if connected {
		j.poke() // what was kept
		j.health.hurry()
	}
}

// attach registers a source of pull requests.
func (j *Journal) attach(p puller) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pullers = append(append([]puller(nil), j.pullers...), p) // run reads the old one
}

func (j *Journal) detach(p puller) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var left []puller
	for _, other := range j.pullers {
		if other != p {
			left = append(left, other)
		}
	}
	j.pullers = left
}

// storeOptions say what is special about an event.
type storeOptions struct {
	// once is the Nats-Msg-Id of an event that is no final and that another may
	// store as well. A final always has its own.
	once string
	// doubt: an earlier append of the event may have been stored.
	doubt bool
	// published is when the stream stored the message; the event is younger.
	published time.Time
	// ours reports whether the message of the event is still this holder's alone; nil is yes.
	ours func(*Event) bool
}

// otherFinalError reports that a final was not stored, because the journal has
// another one of the message.
type otherFinalError struct{ final *Event }

func (e *otherFinalError) Error() string {
	return fmt.Sprintf("message %d has the final %s already", e.final.Seq, e.final.EventID)
}

// otherThan is nil when what was found is the event itself.
func (e *Event) otherThan(found *Event) error {
	if found.EventID == e.EventID {
		return nil
	}
	return &otherFinalError{found}
}

// errNotOurs reports that an event was not stored because meanwhile another may
// hold the message.
var errNotOurs = errors.New("another may hold the message by now")

// store appends an event until the server has it or ctx ends. Before it appends
// again what may have been stored, it looks. That alone would not keep a final
// from being stored twice: a write that was given up may still lie in a
// connection that stalls, and arrive after the next one, or after the final that
// another instance has made of the message meanwhile. So the server tells finals
// apart by message, for the stream's duplicate window.
func (j *Journal) store(ctx context.Context, e *Event, o storeOptions) error {
	data, err := e.AppendJSON(make([]byte, 0, 512))
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Type, err)
	}
	w := write{stream: j.names.events, subject: e.Subject(j.names.prefix), data: data}
	if e.Type.Final() && e.Seq != 0 {
		o.once = onceFinal(e.Seq)
	}
	w.once = o.once
	for wait := persistFirst; ; wait = min(2*wait, persistMost) {
		err := j.attemptStore(ctx, e, &w, &o)
		if err == nil {
			return nil
		}
		switch other, final := errors.AsType[*otherFinalError](err); {
		case errors.Is(err, errNotOurs), final && other != nil:
			return err
		case errors.Is(err, errTooLarge), errors.Is(err, ErrClosed), ctx.Err() != nil:
			return fmt.Errorf("%w: event %s: %w", ErrNotStored, e.Type, err)
		}
		o.doubt = o.doubt || errors.Is(err, errUnconfirmed)
		j.pause(ctx, w.stream, wait)
	}
}

// attemptStore stores an event once, when it is its turn.
func (j *Journal) attemptStore(ctx context.Context, e *Event, w *write, o *storeOptions) error {
	leave, err := j.turn(ctx, w.stream)
	if err != nil {
		return err
	}
	defer leave()
	if o.ours != nil && !o.ours(e) {
		return errNotOurs
	}
	return j.storeOnce(ctx, e, *w, *o)
}

func (j *Journal) storeOnce(ctx context.Context, e *Event, w write, o storeOptions) error {
	if o.doubt {
		found, err := j.client.storedEvent(ctx, e, o.published)
		if err != nil {
			return err
		}
		if found != nil {
			return e.otherThan(found)
		}
	}
	began := time.Now()
	err := j.write(ctx, w)
	if err != nil && errors.Is(err, errStoredBefore) {
		found, lost := j.client.storedEvent(ctx, e, o.published)
		switch {
		case lost != nil:
			return lost
		case found != nil:
			return e.otherThan(found)
		}
		// The id was that of a message in a queue that has been made anew since.
		w.header, w.once = nil, ""
		err = j.write(ctx, w)
	}
	if err == nil {
		now := time.Now()
		j.metrics.stored(now.Sub(began))
		j.lately.note(e, o.published, now)
	}
	return err
}
