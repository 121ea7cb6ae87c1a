package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sluice/queue"
)

// stage is how far a job has come.
type stage uint8

const (
	held stage = iota
	settling
	waiting // settled, and not finally
	final   // settled with a final; a late response may still come
	done
)

// job is one delivery of a message.
type job struct {
	source   *Source
	message  *message
	life     int
	delivery int
	state    queue.State
	id       string
	decoded  *queue.Message
	fault    error

	mu    sync.Mutex
	stage stage
}

func newJob(s *Source, m *message, state queue.State) *job {
	j := &job{source: s, message: m, life: s.life, delivery: m.delivered, state: state}
	j.decoded, j.fault = queue.Decode(m.payload)
	j.id = queue.DeliveryID(j.Header, j.decoded, streamName, m.seq)
	return j
}

func (j *job) Seq() uint64          { return j.message.seq }
func (j *job) ID() string           { return j.id }
func (j *job) Route() string        { return j.lane().Route }
func (j *job) Class() string        { return j.lane().Class }
func (j *job) Published() time.Time { return j.message.published }
func (j *job) Deliveries() int      { return j.delivery }
func (j *job) Raw() []byte          { return j.message.payload }
func (j *job) State() queue.State   { return j.state }

func (j *job) Header(key string) string { return j.message.header[key] }

func (j *job) Message() (*queue.Message, error) { return j.decoded, j.fault }

// Cancelled implements [queue.Job].
func (j *job) Cancelled() bool {
	j.source.mu.Lock()
	defer j.source.mu.Unlock()
	return j.message.cancelled
}

func (j *job) lane() queue.IntakeLane { return j.source.lanes[j.message.lane] }

// Settle implements [queue.Job].
func (j *job) Settle(ctx context.Context, o queue.Outcome) error {
	if !o.Valid() {
		return fmt.Errorf("settling message %d: event type %q with final %v", j.message.seq, o.Event.Type, o.Final)
	}
	after := waiting
	if o.Final {
		after = final
	}
	return j.do(ctx, held, after, func() { j.settle(o) })
}

// SettleLate implements [queue.Job].
func (j *job) SettleLate(ctx context.Context, o queue.Outcome) (won bool, err error) {
	if !o.ValidLate() {
		return false, fmt.Errorf("settling message %d late: event type %q with final %v", j.message.seq, o.Event.Type, o.Final)
	}
	if err = j.do(ctx, final, final, func() { j.tellLate(o) }); !errors.Is(err, queue.ErrSettled) {
		return false, err
	}
	if !o.Final {
		return false, j.do(ctx, waiting, waiting, func() { j.tellLate(o); j.amend(o.State) })
	}
	err = j.do(ctx, waiting, final, func() { won = j.finish(j.event(o)) })
	return won, err
}

// tellLate journals an answer that came late beside the message's final or state.
func (j *job) tellLate(o queue.Outcome) {
	e := j.event(o)
	if final := j.message.final; final != nil {
		e = e.After(*final)
	}
	j.source.events = append(j.source.events, e)
}

// amend corrects the state that the message waits with, while it does so for this job.
func (j *job) amend(state queue.State) {
	if r := j.message.record; r != nil && r.delivery == j.delivery && !j.message.settled {
		state.NextAttemptAt = r.state.NextAttemptAt
		j.message.record = &record{j.delivery, state}
	}
}

// Release implements [queue.Job].
func (j *job) Release(ctx context.Context, until time.Time) error {
	return j.do(ctx, held, done, func() { j.giveBack(j.state, max(until.Sub(j.source.clock.Now()), 0)) })
}

// do runs f under the source's lock when the job is at the given stage and the
// journal stores.
func (j *job) do(ctx context.Context, from, to stage, f func()) error {
	j.mu.Lock()
	if j.stage != from {
		j.mu.Unlock()
		return fmt.Errorf("message %d: %w", j.message.seq, queue.ErrSettled)
	}
	j.stage = settling
	j.mu.Unlock()
	err := j.source.awaitJournal(ctx)
	if err == nil {
		err = j.run(f)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stage = to
	if err != nil {
		j.stage = from
	}
	return err
}

func (j *job) run(f func()) error {
	j.source.mu.Lock()
	defer j.source.mu.Unlock()
	if j.life != j.source.life {
		return errors.Join(queue.ErrNotStored, errors.New("the holder has crashed"))
	}
	f()
	return nil
}

func (j *job) event(o queue.Outcome) queue.Event {
	envelope := queue.Envelope{
		Lane: j.lane().Lane, Seq: j.message.seq, ID: j.id, Delivery: j.delivery, Published: j.message.published,
		Header: j.Header, State: j.state, ExpiresIn: j.lane().ExpiresIn,
	}
	if j.fault == nil {
		envelope.Message = j.decoded
	}
	return envelope.Event(o, j.source.clock.Now())
}

func (j *job) settle(o queue.Outcome) {
	o.Carry(j.state)
	s, m, e := j.source, j.message, j.event(o)
	if o.DeferredReason != "" {
		s.deferred = append(s.deferred, Deferred{o.DeferredReason, m.payload, e})
	}
	if o.Final {
		j.finish(e)
		return
	}
	s.events = append(s.events, e)
	m.last = &e
	if m.final != nil { // a late response came first
		m.settled, m.held = true, false
		return
	}
	j.giveBack(o.State, o.NextAttemptAt.Sub(s.clock.Now()))
}

// finish makes the event the message's final, unless there is one.
func (j *job) finish(e queue.Event) (won bool) {
	s, m := j.source, j.message
	won = m.final == nil
	switch {
	case won:
		later := m.delivered > j.delivery // it is submitted again, or was, unanswered or with a part accepted
		e.PossibleDuplicate = e.PossibleDuplicate || later && (m.held || m.record != nil && m.record.state.SentBeside(&e))
		m.final = &e
		s.events = append(s.events, e)
	case e.Type != queue.EventCancelled:
		s.events = append(s.events, e.After(*m.final))
	}
	m.settled, m.held = true, false
	return won
}

func (j *job) giveBack(state queue.State, after time.Duration) {
	state.NextAttemptAt = time.Time{}
	if after > 0 {
		state.NextAttemptAt = j.source.clock.Now().Add(after)
	}
	j.message.record = &record{j.delivery, state}
	j.source.back(j.message, after)
}
