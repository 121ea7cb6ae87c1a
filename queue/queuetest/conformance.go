// Package queuetest holds the conformance suite of queues: what a gateway may
// rely on, whether its messages come from JetStream or from memory.
package queuetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"sluice/queue"
)

// Source is where jobs come from.
type Source interface {
	Next(ctx context.Context) (queue.Job, error)
	Unseen() bool
}

// Queue is a queue under test, with the lanes of [Lanes].
type Queue interface {
	// Publish stores a payload for a class of the route "main".
	Publish(class string, payload string, header map[string]string) (seq uint64)
	// Source is the present consumer.
	Source() Source
	// Crash kills the consumer with all that it holds; Source is a new one then.
	Crash()
	// Events is the trail of a message.
	Events(seq uint64) []queue.Event
	// Queued counts the messages that are not settled.
	Queued() int
}

// Lanes are those of the suite: one strict, one weighted.
func Lanes() []queue.IntakeLane {
	return []queue.IntakeLane{
		{Lane: queue.Lane{Route: "main", Class: "otp"}, ExpiresIn: time.Hour},
		{Lane: queue.Lane{Route: "main", Class: "bulk"}, Weight: 1, ExpiresIn: time.Hour},
	}
}

const (
	patience = 30 * time.Second
	// soon is a delay long enough to be seen and short enough to wait for.
	soon = 250 * time.Millisecond
)

// Run runs the suite. Each case gets a new queue.
func Run(t *testing.T, open func(t *testing.T) Queue) {
	for _, c := range []struct {
		name string
		run  func(*suite)
	}{
		{"a final takes a message out", (*suite).final},
		{"a job is settled once", (*suite).once},
		{"an outcome must fit its event", (*suite).outcomes},
		{"a throttle comes back with its state", (*suite).throttle},
		{"a release costs nothing", (*suite).release},
		{"the strict lane goes first", (*suite).strict},
		{"what nobody was handed yet is unseen", (*suite).unseen},
		{"a crash without a word is an unknown outcome", (*suite).crash},
		{"a crash after a settle is explained", (*suite).crashSettled},
		{"a late response settles", (*suite).late},
		{"a late response of one part", (*suite).latePart},
		{"a late response after a final", (*suite).lateAfterFinal},
		{"a late response after its own final", (*suite).lateAfterOwnFinal},
		{"a late response before the retry's answer", (*suite).lateBeforeRetry},
		{"a late response after the retry went unanswered", (*suite).lateAfterRetry},
		{"a late response after a part of the retry was accepted", (*suite).lateAfterPart},
		{"malformed messages are handed out", (*suite).malformed},
		{"headers are read", (*suite).headers},
		{"a caller that leaves takes nothing along", (*suite).leave},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(&suite{t, open(t)}) })
	}
}

type suite struct {
	*testing.T
	queue Queue
}

const payload = `{"v":1,"id":"a","to":"+15550100","text":"x","tenant":"t1","meta":{"k":"v"}}`

func (s *suite) next() queue.Job {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	job, err := s.queue.Source().Next(ctx)
	if err != nil {
		s.Fatalf("Next: %v", err)
	}
	return job
}

func (s *suite) settle(job queue.Job, o queue.Outcome) {
	s.Helper()
	if err := job.Settle(s.Context(), o); err != nil {
		s.Fatalf("Settle: %v", err)
	}
}

func (s *suite) wantTypes(seq uint64, want ...queue.EventType) {
	s.Helper()
	var got []queue.EventType
	for _, e := range s.queue.Events(seq) {
		got = append(got, e.Type)
	}
	if !slices.Equal(got, want) {
		s.Errorf("events %v, want %v", got, want)
	}
}

// wantMark checks what the final says of a second submit.
func (s *suite) wantMark(seq uint64, want bool) {
	s.Helper()
	for _, e := range s.queue.Events(seq) {
		if e.Type.Final() && e.PossibleDuplicate != want {
			s.Errorf("the final says possible duplicate %v, want %v", e.PossibleDuplicate, want)
		}
	}
}

func (s *suite) wantEmpty() {
	s.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); s.queue.Queued() > 0; <-tick.C {
		if time.Now().After(deadline) {
			s.Fatalf("%d messages are still queued", s.queue.Queued())
		}
	}
}

func submitted() queue.Outcome {
	return queue.Outcome{
		Event: queue.Event{Type: queue.EventSubmitted, Account: "acme", MessageIDs: []string{"AB"}}, Final: true,
	}
}

func throttled(s queue.State, after time.Duration) queue.Outcome {
	s.Throttles++
	return queue.Outcome{
		Event: queue.Event{Type: queue.EventThrottled, Account: "acme"}, State: s, NextAttemptAt: time.Now().Add(after),
	}
}

func unknown(s queue.State, after time.Duration) queue.Outcome {
	s.Unknowns++
	s.PossibleDuplicate = true
	return queue.Outcome{
		Event: queue.Event{Type: queue.EventUnknownOutcome, Account: "acme"}, State: s, NextAttemptAt: time.Now().Add(after),
	}
}

func (s *suite) final() {
	seq := s.queue.Publish("otp", payload, nil)
	job := s.next()
	if job.Seq() != seq || job.ID() != "a" || job.Route() != "main" || job.Class() != "otp" || job.Deliveries() != 1 {
		s.Errorf("job %d %q %s %s delivery %d", job.Seq(), job.ID(), job.Route(), job.Class(), job.Deliveries())
	}
	m, err := job.Message()
	if err != nil || m.To != "+15550100" || string(job.Raw()) != payload {
		s.Errorf("message %+v, %v", m, err)
	}
	if st := job.State(); st.Attempts != 0 || st.Unexplained || st.PossibleDuplicate {
		s.Errorf("state %+v, want a fresh one", st)
	}
	s.settle(job, submitted())
	s.wantEmpty()
	events := s.queue.Events(seq)
	if len(events) != 1 {
		s.Fatalf("%d events, want 1", len(events))
	}
	e := events[0]
	if e.Seq != seq || e.ID != "a" || e.Type != queue.EventSubmitted || e.Delivery != 1 || e.Route != "main" || e.Class != "otp" ||
		e.Tenant != "t1" || e.Meta["k"] != "v" || !e.Deadline.Equal(job.Published().Add(time.Hour)) || e.EventID == "" {
		s.Errorf("event %+v", e)
	}
}

func (s *suite) unseen() {
	for range 2 {
		s.queue.Publish("bulk", payload, nil)
	}
	first := s.next()
	if !s.queue.Source().Unseen() {
		s.Error("nothing is unseen, want the second message")
	}
	s.settle(s.next(), submitted())
	s.settle(first, throttled(first.State(), soon))
	if s.next(); s.queue.Source().Unseen() {
		s.Error("something is unseen, but both were handed out")
	}
}

func (s *suite) once() {
	s.queue.Publish("otp", payload, nil)
	job := s.next()
	if _, err := job.SettleLate(s.Context(), submitted()); !errors.Is(err, queue.ErrSettled) {
		s.Errorf("late before it waits: %v, want ErrSettled", err)
	}
	s.settle(job, submitted())
	if err := job.Settle(s.Context(), submitted()); !errors.Is(err, queue.ErrSettled) {
		s.Errorf("settled twice: %v, want ErrSettled", err)
	}
	if err := job.Release(s.Context(), time.Time{}); !errors.Is(err, queue.ErrSettled) {
		s.Errorf("released after a settle: %v, want ErrSettled", err)
	}
}

func (s *suite) outcomes() {
	seq := s.queue.Publish("otp", payload, nil)
	job := s.next()
	for _, o := range []queue.Outcome{
		{},
		{Event: queue.Event{Type: queue.EventSubmitted}},
		{Event: queue.Event{Type: queue.EventThrottled}, Final: true},
		{Event: queue.Event{Type: queue.EventReceipt}},
	} {
		if err := job.Settle(s.Context(), o); err == nil {
			s.Errorf("an outcome of type %q, final %v, was accepted", o.Event.Type, o.Final)
		}
	}
	s.settle(job, submitted())
	s.wantTypes(seq, queue.EventSubmitted)
}

func (s *suite) throttle() {
	seq := s.queue.Publish("otp", payload, nil)
	first := s.next()
	o := throttled(first.State(), soon)
	s.settle(first, o)
	second := s.next()
	if early := time.Until(o.NextAttemptAt); early > 0 {
		s.Errorf("%v early", early)
	}
	st := second.State()
	if second.Deliveries() != 2 || st.Throttles != 1 || st.Unexplained || st.Ends != 0 || st.Attempts != 0 {
		s.Errorf("delivery %d, state %+v", second.Deliveries(), st)
	}
	s.settle(second, submitted())
	s.wantEmpty()
	s.wantTypes(seq, queue.EventThrottled, queue.EventSubmitted)
	if e := s.queue.Events(seq)[0]; !e.NextAttemptAt.Equal(o.NextAttemptAt) || e.Throttles != 1 || e.State == nil {
		s.Errorf("event %+v", e)
	}
}

func (s *suite) release() {
	seq := s.queue.Publish("otp", payload, nil)
	if err := s.next().Release(s.Context(), time.Time{}); err != nil {
		s.Fatal(err)
	}
	job := s.next()
	if st := job.State(); job.Deliveries() != 2 || st.Unexplained || st.Ends != 0 || st.Attempts != 0 {
		s.Errorf("delivery %d, state %+v", job.Deliveries(), st)
	}
	s.settle(job, submitted())
	s.wantTypes(seq, queue.EventSubmitted)
}

func (s *suite) strict() {
	// A lane hands out nothing beyond its mark until the next one is stored. On a busy disk that may take long enough for
	// the other lane to go ahead: of three rounds one has to show the order.
	const each, rounds = 40, 3
	var seen []int
	for range rounds {
		for range each {
			s.queue.Publish("bulk", payload, nil)
			s.queue.Publish("otp", payload, nil)
		}
		bulk := 0
		for n := range 2 * each {
			job := s.next()
			if job.Class() == "bulk" && n < each {
				bulk++
			}
			s.settle(job, submitted())
		}
		if bulk >= 1 && bulk <= each/5 {
			return
		}
		seen = append(seen, bulk)
	}
	s.Errorf("%v of the first %d are of the lower class, want a few", seen, each)
}

func (s *suite) crash() {
	seq := s.queue.Publish("otp", payload, nil)
	s.settle(s.next(), throttled(queue.State{}, 0))
	for ends := 1; ends <= 2; ends++ {
		s.next()
		s.queue.Crash()
		job := s.next()
		if st := job.State(); !st.Unexplained || st.Ends != 2*ends-1 || st.Throttles != 1 {
			s.Errorf("end %d: state %+v", ends, st)
		}
		s.queue.Crash()
	}
	job := s.next()
	st := job.State()
	st.Unexplained = false
	s.settle(job, throttled(st, 0)) // the doubt stays although it is not said again
	job = s.next()
	if st := job.State(); st.Unexplained || st.Ends != 4 || st.Throttles != 2 || !st.PossibleDuplicate {
		s.Errorf("after an answer: state %+v", st)
	}
	s.settle(job, submitted())
	s.wantTypes(seq, queue.EventThrottled, queue.EventThrottled, queue.EventSubmitted)
	if e := s.queue.Events(seq)[2]; !e.PossibleDuplicate {
		s.Error("the final does not say possible_duplicate")
	}
}

func (s *suite) crashSettled() {
	done, waits := s.queue.Publish("otp", payload, nil), s.queue.Publish("otp", payload, nil)
	s.settle(s.next(), submitted())
	s.settle(s.next(), throttled(queue.State{}, soon))
	s.queue.Crash()
	job := s.next()
	if st := job.State(); job.Seq() != waits || st.Throttles != 1 || st.Unexplained {
		s.Errorf("message %d, state %+v; want message %d, explained", job.Seq(), st, waits)
	}
	s.settle(job, submitted())
	s.wantEmpty()
	s.wantTypes(done, queue.EventSubmitted)
	s.wantTypes(waits, queue.EventThrottled, queue.EventSubmitted)
}

func (s *suite) late() {
	seq := s.queue.Publish("otp", payload, nil)
	job := s.next()
	s.settle(job, unknown(job.State(), time.Hour))
	if won, err := job.SettleLate(s.Context(), submitted()); err != nil || !won {
		s.Fatalf("won %v, %v", won, err)
	}
	s.wantEmpty()
	s.wantTypes(seq, queue.EventUnknownOutcome, queue.EventSubmitted)
	s.wantMark(seq, false)
	if won, err := job.SettleLate(s.Context(), submitted()); err != nil || won {
		s.Errorf("late twice: won %v, %v; want an event beside the final", won, err)
	}
	s.wantTypes(seq, queue.EventUnknownOutcome, queue.EventSubmitted, queue.EventDuplicateAccepted)
}

// A late answer to one part of a message corrects the state that it comes back with.
func (s *suite) latePart() {
	seq := s.queue.Publish("otp", payload, nil)
	job := s.next()
	s.settle(job, unknown(job.State(), soon))
	st := job.State()
	st.Unknowns, st.Accepted = 1, []queue.Segment{{Part: 2, MessageID: "m2"}}
	part := queue.Outcome{Event: queue.Event{Type: queue.EventLateResponse, SegmentsAccepted: 1}, State: st}
	if won, err := job.SettleLate(s.Context(), part); err != nil || won {
		s.Fatalf("won %v, %v", won, err)
	}
	again := s.next()
	if got := again.State(); len(got.Accepted) != 1 || got.Accepted[0].MessageID != "m2" || got.Unexplained || got.Ends != 0 {
		s.Errorf("came back with the state %+v, want part 2 accepted", got)
	}
	if _, err := job.SettleLate(s.Context(), part); err != nil {
		s.Errorf("while a later holder has it: %v", err)
	}
	s.settle(again, submitted())
	if _, err := again.SettleLate(s.Context(), part); err != nil {
		s.Errorf("after its final: %v", err)
	}
	s.wantEmpty()
	s.wantTypes(seq, queue.EventUnknownOutcome, queue.EventLateResponse, queue.EventLateResponse, queue.EventSubmitted, queue.EventLateResponse)
}

func (s *suite) lateAfterFinal() {
	seq := s.queue.Publish("otp", payload, nil)
	job := s.next()
	s.settle(job, unknown(job.State(), 0))
	s.settle(s.next(), submitted())
	if won, err := job.SettleLate(s.Context(), submitted()); err != nil || won {
		s.Fatalf("won %v, %v; want lost", won, err)
	}
	s.wantTypes(seq, queue.EventUnknownOutcome, queue.EventSubmitted, queue.EventDuplicateAccepted)
}

func (s *suite) lateAfterOwnFinal() {
	seq := s.queue.Publish("otp", payload, nil)
	job := s.next()
	s.settle(job, queue.Outcome{
		Event: queue.Event{Type: queue.EventDeferred, Reason: "outcome_unknown"}, Final: true, DeferredReason: "outcome_unknown",
	})
	if won, err := job.SettleLate(s.Context(), submitted()); err != nil || won {
		s.Fatalf("won %v, %v; want lost", won, err)
	}
	s.wantTypes(seq, queue.EventDeferred, queue.EventLateResponse)
}

func (s *suite) lateBeforeRetry() {
	seq := s.queue.Publish("otp", payload, nil)
	job := s.next()
	s.settle(job, unknown(job.State(), 0))
	retry := s.next()
	if won, err := job.SettleLate(s.Context(), submitted()); err != nil || !won {
		s.Fatalf("won %v, %v", won, err)
	}
	s.settle(retry, throttled(retry.State(), 0))
	s.wantEmpty()
	s.wantTypes(seq, queue.EventUnknownOutcome, queue.EventSubmitted, queue.EventThrottled)
	s.wantMark(seq, true) // nobody knows what becomes of the retry
}

// lateAfterRetry is about a late response to the first of two submits that both went unanswered.
func (s *suite) lateAfterRetry() {
	seq := s.queue.Publish("otp", payload, nil)
	job := s.next()
	s.settle(job, unknown(job.State(), 0))
	retry := s.next()
	s.settle(retry, unknown(retry.State(), time.Hour))
	if won, err := job.SettleLate(s.Context(), submitted()); err != nil || !won {
		s.Fatalf("won %v, %v", won, err)
	}
	s.wantEmpty()
	s.wantTypes(seq, queue.EventUnknownOutcome, queue.EventUnknownOutcome, queue.EventSubmitted)
	s.wantMark(seq, true)
}

// lateAfterPart is about a late response to the first submit of a long message, of which a part has been accepted again.
func (s *suite) lateAfterPart() {
	seq := s.queue.Publish("otp", payload, nil)
	job := s.next()
	s.settle(job, unknown(job.State(), 0))
	retry := s.next()
	state := retry.State()
	state.Accepted = []queue.Segment{{Part: 1, MessageID: "again"}}
	s.settle(retry, throttled(state, time.Hour))
	if won, err := job.SettleLate(s.Context(), submitted()); err != nil || !won {
		s.Fatalf("won %v, %v", won, err)
	}
	s.wantEmpty()
	s.wantTypes(seq, queue.EventUnknownOutcome, queue.EventThrottled, queue.EventSubmitted)
	s.wantMark(seq, true)
}

func (s *suite) malformed() {
	for in, id := range map[string]string{
		`{"to":"+15550100","text":7,"id":"b"}`: "b",
		`no json`:                              "from-msg-id",
	} {
		seq := s.queue.Publish("otp", in, map[string]string{"Nats-Msg-Id": id})
		job := s.next()
		_, err := job.Message()
		if fault := (*queue.MalformedError)(nil); !errors.As(err, &fault) {
			s.Errorf("%s: %v, want a MalformedError", in, err)
		}
		if job.ID() != id || string(job.Raw()) != in {
			s.Errorf("id %q of %s", job.ID(), job.Raw())
		}
		s.settle(job, queue.Outcome{
			Event: queue.Event{Type: queue.EventFailed, Reason: "malformed"}, Final: true, DeferredReason: "malformed",
		})
		s.wantTypes(seq, queue.EventFailed)
	}
}

func (s *suite) headers() {
	const traceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	s.queue.Publish("otp", payload, map[string]string{
		queue.HeaderDeliveryID: "from-header", queue.HeaderPossibleDuplicate: "true", queue.HeaderReplayOf: "7", "traceparent": traceParent, "tracestate": "vendor=1",
	})
	job := s.next()
	if job.ID() != "from-header" || job.Header("traceparent") != traceParent || !job.State().PossibleDuplicate {
		s.Errorf("id %q, header %q, state %+v", job.ID(), job.Header("traceparent"), job.State())
	}
	s.settle(job, submitted())
	e := s.queue.Events(job.Seq())[0]
	if e.ID != "from-header" || e.ReplayOf != 7 || e.TraceParent != traceParent || e.TraceState != "vendor=1" || !e.PossibleDuplicate {
		s.Errorf("event %+v", e)
	}
}

func (s *suite) leave() {
	ctx, cancel := context.WithTimeout(s.Context(), soon)
	defer cancel()
	if job, err := s.queue.Source().Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		s.Fatalf("Next on an empty queue: %v, %v", job, err)
	}
	seq := s.queue.Publish("otp", payload, nil)
	job := s.next()
	if job.Seq() != seq || job.Deliveries() != 1 {
		s.Errorf("message %d delivery %d", job.Seq(), job.Deliveries())
	}
	s.settle(job, submitted())
}
