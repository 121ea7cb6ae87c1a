// Package memory is a queue without a server: the rules of package queue for
// delays, redeliveries and settling, on a clock that is passed in. It serves
// tests that need an hour of virtual time, and passes the same conformance
// suite as JetStream.
package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sluice/queue"
	"sluice/queue/internal/share"
)

const (
	defaultAckWait  = 120 * time.Second
	duplicateWindow = 10 * time.Minute
	streamName      = "MEMORY"
)

// Clock is the time of a source.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once, in a goroutine of its own, after d.
	AfterFunc(d time.Duration, f func())
}

// systemClock is package time, which is virtual inside a synctest bubble.
type systemClock struct{}

func (systemClock) Now() time.Time                      { return time.Now() }
func (systemClock) AfterFunc(d time.Duration, f func()) { time.AfterFunc(d, f) }

// Config describes a source.
type Config struct {
	// Lanes in the order of priority.
	Lanes []queue.IntakeLane
	// AckWait is when the messages of a crashed holder come back; 0 means 120 s.
	AckWait time.Duration
	// Clock is package time when nil.
	Clock Clock
}

// Source is a queue in memory with one consumer. It is safe for concurrent use.
type Source struct {
	clock   Clock
	ackWait time.Duration
	lanes   []queue.IntakeLane

	mu       sync.Mutex
	messages []*message // by seq-1; settled ones stay for their trail
	byID     map[string]*message
	ready    [][]*message // by lane: due again first, then new
	fresh    [][]*message
	shares   *share.Shares
	waiters  []chan *job
	life     int // counts the crashes
	closed   bool
	events   []queue.Event
	deferred []Deferred
	failing  chan struct{} // closed when the journal stores again; nil when it does
}

// message is one message and what is remembered of it.
type message struct {
	seq       uint64
	lane      int
	payload   []byte
	header    map[string]string
	published time.Time
	delivered int
	held      bool
	settled   bool // out of the queue
	cancelled bool // by an operator
	record    *record
	last      *queue.Event // newest outcome that is no final
	final     *queue.Event
}

// record is what explains the delivery after it.
type record struct {
	delivery int
	state    queue.State
}

// Deferred is one message that was set aside for a person.
type Deferred struct {
	Reason  string
	Payload []byte
	Event   queue.Event
}

// New makes an empty source.
func New(cfg Config) *Source {
	s := &Source{
		clock: cfg.Clock, ackWait: cmp.Or(cfg.AckWait, defaultAckWait), lanes: cfg.Lanes,
		byID:  make(map[string]*message),
		ready: make([][]*message, len(cfg.Lanes)), fresh: make([][]*message, len(cfg.Lanes)),
	}
	if s.clock == nil {
		s.clock = systemClock{}
	}
	var weights []int
	for _, l := range cfg.Lanes {
		weights = append(weights, l.Weight)
	}
	s.shares = share.New(weights)
	return s
}

// Publish stores one message, as [queue.Client.Publish] does.
func (s *Source) Publish(_ context.Context, route, class string, m *queue.Message) (seq uint64, duplicate bool, err error) {
	if err := m.Validate(); err != nil {
		return 0, false, err
	}
	payload, err := json.Marshal(m)
	if err != nil {
		return 0, false, fmt.Errorf("message: %w", err)
	}
	header := make(map[string]string)
	if m.ID != "" {
		header["Nats-Msg-Id"] = route + ":" + m.ID
	}
	return s.PublishRaw(route, class, payload, header)
}

// PublishRaw stores a payload as it is.
func (s *Source) PublishRaw(route, class string, payload []byte, header map[string]string) (seq uint64, duplicate bool, err error) {
	lane := slices.IndexFunc(s.lanes, func(l queue.IntakeLane) bool { return l.Route == route && l.Class == class })
	if lane < 0 {
		return 0, false, fmt.Errorf("publishing to route %q, class %q: %w", route, class, queue.ErrNoRoute)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	once := header["Nats-Msg-Id"]
	if earlier := s.byID[once]; earlier != nil && now.Sub(earlier.published) < duplicateWindow {
		return earlier.seq, true, nil
	}
	m := &message{seq: uint64(len(s.messages) + 1), lane: lane, payload: payload, header: header, published: now}
	s.messages = append(s.messages, m)
	if once != "" {
		s.byID[once] = m
	}
	s.fresh[lane] = append(s.fresh[lane], m)
	s.serve()
	return m.seq, false, nil
}

// Next waits for a message, as [queue.Intake.Next] does.
func (s *Source) Next(ctx context.Context) (queue.Job, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, queue.ErrClosed
	}
	waiter := make(chan *job, 1)
	s.waiters = append(s.waiters, waiter)
	s.serve()
	s.mu.Unlock()
	select {
	case j := <-waiter:
		if j == nil {
			return nil, queue.ErrClosed
		}
		return j, nil
	case <-ctx.Done():
		return s.leave(waiter, ctx.Err())
	}
}

// Unseen reports whether messages wait that nobody has been handed yet.
func (s *Source) Unseen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.fresh, func(lane []*message) bool { return len(lane) > 0 })
}

// leave takes a caller out of the line; one that was served just now takes its
// job with it.
func (s *Source) leave(waiter chan *job, err error) (queue.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.waiters, waiter); at >= 0 {
		s.waiters = slices.Delete(s.waiters, at, at+1)
		return nil, err
	}
	if j := <-waiter; j != nil {
		return j, nil
	}
	return nil, queue.ErrClosed
}

// serve matches callers and messages, under the lock.
func (s *Source) serve() {
	for len(s.waiters) > 0 && s.failing == nil {
		lane := s.shares.Pick(func(l int) bool { return len(s.ready[l])+len(s.fresh[l]) > 0 })
		if lane < 0 {
			return
		}
		from := &s.ready
		if len(s.ready[lane]) == 0 {
			from = &s.fresh
		}
		m := (*from)[lane][0]
		(*from)[lane] = (*from)[lane][1:]
		if j := s.deliver(m); j != nil {
			s.waiters[0] <- j
			s.waiters = s.waiters[1:]
		}
	}
}

// deliver makes the next delivery of a message, and returns nil when what is
// known of the ones before leaves nothing to hand out.
func (s *Source) deliver(m *message) *job {
	m.delivered++
	state, handOut := m.explain()
	if !handOut {
		m.settled = true
		return nil
	}
	if wait := state.NextAttemptAt.Sub(s.clock.Now()); wait > 0 {
		m.record = &record{m.delivered, state}
		s.back(m, wait)
		return nil
	}
	m.held = true
	state.PossibleDuplicate = state.PossibleDuplicate || m.header[queue.HeaderPossibleDuplicate] == "true"
	return newJob(s, m, state)
}

// explain is the rule of redeliveries, see [queue.State].Unexplained.
func (m *message) explain() (state queue.State, handOut bool) {
	before := m.delivered - 1
	switch {
	case m.final != nil:
		return state, false
	case before == 0:
		return state, true
	case m.record != nil && m.record.delivery == before:
		return m.record.state, true
	case m.last != nil && m.last.Delivery == before:
		return *m.last.State, true
	}
	if m.record != nil {
		state = m.record.state
	}
	if m.last != nil && (m.record == nil || m.last.Delivery > m.record.delivery) {
		state = *m.last.State
	}
	state.Unexplained, state.NextAttemptAt = true, time.Time{}
	state.Ends++
	m.record = &record{before, state}
	return state, true
}

// back makes a message due again after a while, under the lock.
func (s *Source) back(m *message, after time.Duration) {
	m.held = false
	delivery := m.delivered
	s.clock.AfterFunc(max(after, 0), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if m.settled || m.held || m.delivered != delivery {
			return
		}
		s.ready[m.lane] = append(s.ready[m.lane], m)
		s.serve()
	})
}

// Crash is the death of the consumer: its callers get [queue.ErrClosed], its
// jobs are dead, and their messages come back when the AckWait is over. The
// source itself goes on, as a server does.
func (s *Source) Crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life++
	for _, w := range s.waiters {
		close(w)
	}
	s.waiters = nil
	for _, m := range s.messages {
		if m.held {
			s.back(m, s.ackWait)
		}
	}
}

// Cancel marks a message as cancelled: whoever holds it next ends it.
func (s *Source) Cancel(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages[seq-1].cancelled = true
}

// Holds reports whether a message is handed out.
func (s *Source) Holds(seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messages[seq-1].held
}

// FailJournal makes the journal fail, or work again. While it fails nothing is
// handed out, and a settle waits.
func (s *Source) FailJournal(fail bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case fail && s.failing == nil:
		s.failing = make(chan struct{})
	case !fail && s.failing != nil:
		close(s.failing)
		s.failing = nil
		s.serve()
	}
}

// Close ends the callers in Next.
func (s *Source) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, w := range s.waiters {
		close(w)
	}
	s.waiters = nil
	return nil
}

// Events returns the journal of one message, or all of it for seq 0.
func (s *Source) Events(seq uint64) []queue.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.events), func(e queue.Event) bool { return seq != 0 && e.Seq != seq })
}

// Deferred returns what was set aside.
func (s *Source) Deferred() []Deferred {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deferred)
}

// Queued counts the messages that are not settled.
func (s *Source) Queued() (queued int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if !m.settled {
			queued++
		}
	}
	return queued
}

// Append stores an event that belongs to no job, as [queue.Journal.Append] does.
func (s *Source) Append(ctx context.Context, e queue.Event) error {
	if err := s.awaitJournal(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.At.IsZero() {
		e.At = s.clock.Now().UTC()
	}
	s.events = append(s.events, e)
	return nil
}

// Healthy reports whether the journal stores, as [queue.Journal.Healthy] does.
func (s *Source) Healthy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing == nil
}

func (s *Source) awaitJournal(ctx context.Context) error {
	for {
		s.mu.Lock()
		failing := s.failing
		s.mu.Unlock()
		if failing == nil {
			return ctx.Err()
		}
		select {
		case <-failing:
		case <-ctx.Done():
			return errors.Join(queue.ErrNotStored, ctx.Err())
		}
	}
}
