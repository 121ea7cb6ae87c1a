package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// lockedLog is a log that is written and read at once.
type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), s)
}

const (
	logCannot = "the journal cannot store"
	logAgain  = "the journal can store again"
)

// sickJournal is a journal whose stream does not get what is published for it:
// as with a server whose disk is full, the buckets still take writes.
type sickJournal struct {
	*bench
	log    *lockedLog
	events chan *nats.Msg // what the stream would have got
}

func newSickJournal(t *testing.T, timeout time.Duration) *sickJournal {
	t.Helper()
	s := &sickJournal{bench: newBench(t, benchConfig{}), log: new(lockedLog), events: make(chan *nats.Msg, 1000)}
	s.client.logger = slog.New(slog.NewTextHandler(s.log, nil))
	var err error
	if s.journal, err = s.client.OpenJournal(JournalConfig{ConfirmTimeout: timeout}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.journal.Close(ctx) // a write may still wait for its answer
	})
	return s
}

func (s *sickJournal) subjects(subject string) {
	s.t.Helper()
	stream, err := s.client.js.Stream(s.t.Context(), "SMS_EVENTS")
	if err != nil {
		s.t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.Subjects = []string{subject}
	if _, err := s.client.js.UpdateStream(s.t.Context(), cfg); err != nil {
		s.t.Fatal(err)
	}
}

// fall makes the journal's stream fail until heal is called; respond answers in
// its place.
func (s *sickJournal) fall(respond func(*nats.Msg)) (heal func()) {
	s.t.Helper()
	s.subjects("elsewhere")
	c := s.connect()
	sub, err := c.nc.Subscribe("sms.evt.>", func(m *nats.Msg) {
		s.events <- m
		respond(m)
	})
	if err == nil {
		err = c.nc.Flush()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return func() {
		if err := sub.Unsubscribe(); err != nil {
			s.t.Error(err)
		}
		s.subjects("sms.evt.>")
	}
}

func silent(*nats.Msg) {}

// tried waits until the stream would have got something.
func (s *sickJournal) tried() *nats.Msg {
	s.t.Helper()
	select {
	case m := <-s.events:
		return m
	case <-time.After(patience):
		s.t.Fatal("the stream is not tried")
		return nil
	}
}

func (s *sickJournal) awaitIll() {
	s.t.Helper()
	s.eventually(func() error {
		if s.journal.Healthy() {
			return errors.New("the journal does not notice")
		}
		return nil
	})
	if s.journal.Failure() == nil {
		s.t.Error("no reason for the failure")
	}
}

// TestJournalFailsUntilAnEventIsStored has a stream that does not answer beside
// buckets that do. Nothing but a stored event ends the failure.
func TestJournalFailsUntilAnEventIsStored(t *testing.T) {
	t.Parallel()
	s := newSickJournal(t, 400*time.Millisecond)
	seqs := s.publish(testLane, "a", "b", "c", "d")
	i := s.intake(IntakeConfig{})
	jobs := []Job{s.next(i), s.next(i), s.next(i)}
	heal := s.fall(silent)
	results := make(chan error, len(jobs))
	for n, job := range jobs {
		go func() { results <- job.Settle(t.Context(), submitted(fmt.Sprint(n))) }()
	}
	s.awaitIll()
	handed := make(chan Job, 1)
	go func() {
		if job, err := i.Next(t.Context()); err == nil {
			handed <- job
		}
	}()
	for range len(jobs) + 3 { // each once, and then the one that probes
		s.tried()
		if s.journal.Healthy() {
			t.Error("healthy although no event was stored")
		}
	}
	if cannot, again := s.log.count(logCannot), s.log.count(logAgain); cannot != 1 || again != 0 {
		t.Errorf("logged the failure %d times and its end %d times, want 1 and 0", cannot, again)
	}
	select {
	case job := <-handed:
		t.Fatalf("message %d was handed out while the journal fails", job.Seq())
	default:
	}
	heal()
	for range jobs {
		if err := <-results; err != nil {
			t.Errorf("Settle: %v", err)
		}
	}
	s.settle(s.receive(handed), submitted("d"))
	s.eventually(func() error { // whoever mends says so afterwards
		if again := s.log.count(logAgain); again != 1 {
			return fmt.Errorf("logged the end of the failure %d times, want once", again)
		}
		return nil
	})
	for _, seq := range seqs {
		s.wantTypes(seq, EventSubmitted)
	}
}

// TestOneWriteProbes counts what a failing stream gets: each event once, and then
// no more than one at a time.
func TestOneWriteProbes(t *testing.T) {
	t.Parallel()
	s := newSickJournal(t, 400*time.Millisecond)
	const all = 50
	heal := s.fall(silent)
	var group sync.WaitGroup
	for n := range all {
		group.Go(func() {
			if err := s.journal.Append(t.Context(), Event{Type: EventReceipt, Seq: uint64(n + 1)}); err != nil {
				t.Error(err)
			}
		})
	}
	s.awaitIll()
	for range all {
		s.tried()
	}
	waiting := func() (n int) {
		s.journal.confirm.mu.Lock()
		defer s.journal.confirm.mu.Unlock()
		for _, slot := range s.journal.confirm.slots {
			if !slot.queued.IsZero() {
				n++
			}
		}
		return n
	}
	s.eventually(func() error {
		if n := waiting(); !errors.Is(s.journal.Failure(), errUnconfirmed) || n > 1 {
			return fmt.Errorf("%d of the first writes have not failed yet", n)
		}
		return nil
	})
	for range 3 {
		s.tried()
		if n := waiting(); n > 1 {
			t.Errorf("%d writes wait for their confirmation, want one at a time", n)
		}
	}
	heal()
	group.Wait()
}

func TestRefusedEventFailsAtOnce(t *testing.T) {
	t.Parallel()
	s := newSickJournal(t, 10*time.Minute) // no time-out has a part in this
	heal := s.fall(func(m *nats.Msg) {
		_ = m.Respond([]byte(`{"error":{"code":500,"err_code":10077,"description":"no space left on device"},"stream":"SMS_EVENTS"}`))
	})
	result := make(chan error, 1)
	go func() { result <- s.journal.Append(t.Context(), Event{Type: EventReceipt, Seq: 1}) }()
	s.awaitIll()
	if err := s.journal.Failure(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("failure %v, want the server's words", err)
	}
	heal()
	if err := <-result; err != nil {
		t.Error(err)
	}
	s.healthy()
}

// TestSlowConfirmationHoldsTheIntake keeps a confirmation back for longer than
// the intake goes on without, and not for as long as the write has.
func TestSlowConfirmationHoldsTheIntake(t *testing.T) {
	t.Parallel()
	s := newSickJournal(t, 10*time.Minute)
	s.publish(testLane, "a")
	i := s.intake(IntakeConfig{})
	s.fall(silent)
	result := make(chan error, 1)
	go func() { result <- s.journal.Append(t.Context(), Event{Type: EventReceipt, Seq: 1}) }()
	event := s.tried()
	s.awaitIll()
	if err := s.journal.Failure(); !errors.Is(err, errSlow) {
		t.Errorf("failure %v, want errSlow", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if job, err := i.Next(ctx); err == nil {
		t.Errorf("message %d was handed out", job.Seq())
	}
	select {
	case err := <-result:
		t.Errorf("the write ended with %v before its time-out", err)
	default:
	}
	if err := event.Respond([]byte(`{"stream":"SMS_EVENTS","seq":1}`)); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
	s.next(i)
	if n := s.log.count(logCannot); n != 0 {
		t.Errorf("a slow confirmation was logged %d times as a failure", n)
	}
}

// TestProbeWithoutAnEvent leaves the journal with nobody who wants to store. Its
// own entry ends the failure, and no reader takes it for an event.
func TestProbeWithoutAnEvent(t *testing.T) {
	t.Parallel()
	s := newSickJournal(t, 200*time.Millisecond)
	heal := s.fall(silent)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.journal.Append(ctx, Event{Type: EventReceipt, Seq: 1}); !errors.Is(err, ErrNotStored) {
		t.Fatalf("Append: %v, want ErrNotStored", err)
	}
	s.awaitIll()
	heal()
	s.healthy()
	for e, err := range s.client.Events(t.Context(), EventFilter{}) {
		t.Errorf("event %+v, %v; want none", e, err)
	}
	stream, err := s.client.js.Stream(t.Context(), "SMS_EVENTS")
	if err != nil || stream.CachedInfo().State.Msgs == 0 {
		t.Errorf("no entry was stored, %v", err)
	}
}

func TestRefusalsThatConcernOneWrite(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"sequence":  {&serverError{Code: codeWrongLastSeq}, true},
		"limit":     {&serverError{Code: codeStreamFull, Description: "maximum bytes exceeded"}, true},
		"disk":      {&serverError{Code: codeStreamFull, Description: "no space left on device"}, false},
		"storage":   {&serverError{Code: codeNoStorage}, false},
		"resources": {&serverError{Code: codeNoResources}, false},
		"silence":   {errUnconfirmed, false},
		"no stream": {errNoStream, false},
	} {
		if got := concernsOne(tc.err); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
