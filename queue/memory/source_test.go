package memory

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sluice/queue"
	"sluice/queue/queuetest"
)

// conforming is a source as the suite wants it.
type conforming struct {
	t      *testing.T
	source *Source
}

func (c *conforming) Publish(class, payload string, header map[string]string) uint64 {
	seq, duplicate, err := c.source.PublishRaw("main", class, []byte(payload), header)
	if err != nil || duplicate {
		c.t.Fatalf("publish: duplicate %v, %v", duplicate, err)
	}
	return seq
}

func (c *conforming) Source() queuetest.Source        { return c.source }
func (c *conforming) Crash()                          { c.source.Crash() }
func (c *conforming) Events(seq uint64) []queue.Event { return c.source.Events(seq) }
func (c *conforming) Queued() int                     { return c.source.Queued() }

func TestConformance(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) queuetest.Queue {
		return &conforming{t, New(Config{Lanes: queuetest.Lanes(), AckWait: time.Second})}
	})
}

func newSource() *Source {
	return New(Config{Lanes: queuetest.Lanes(), AckWait: 2 * time.Minute})
}

func publish(t *testing.T, s *Source, id string) uint64 {
	t.Helper()
	seq, _, err := s.Publish(t.Context(), "main", "otp", &queue.Message{ID: id, To: "+15550100", Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func TestAnHourOfVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		publish(t, s, "a")
		began := time.Now()
		for n := range 60 {
			job, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := job.State().Throttles; got != n {
				t.Fatalf("%d throttles, want %d", got, n)
			}
			st := job.State()
			st.Throttles++
			err = job.Settle(t.Context(), queue.Outcome{
				Event: queue.Event{Type: queue.EventThrottled}, State: st, NextAttemptAt: time.Now().Add(time.Minute),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Hour {
			t.Errorf("60 waits of a minute took %v", took)
		}
	})
}

func TestCrashedMessagesComeBackAfterTheAckWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		publish(t, s, "a")
		job, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.Crash()
		died := time.Now()
		if err := job.Settle(t.Context(), queue.Outcome{Event: queue.Event{Type: queue.EventFailed}, Final: true}); !errors.Is(err, queue.ErrNotStored) {
			t.Errorf("the dead settled: %v", err)
		}
		again, err := s.Next(t.Context())
		if err != nil || !again.State().Unexplained || time.Since(died) != 2*time.Minute {
			t.Errorf("%v after %v", err, time.Since(died))
		}
	})
}

func TestFailingJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		publish(t, s, "a")
		publish(t, s, "b")
		job, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.FailJournal(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next: %v, want nothing handed out", err)
		}
		final := queue.Outcome{Event: queue.Event{Type: queue.EventFailed}, Final: true}
		if err := job.Settle(ctx, final); !errors.Is(err, queue.ErrNotStored) {
			t.Errorf("Settle: %v, want ErrNotStored", err)
		}
		time.AfterFunc(time.Minute, func() { s.FailJournal(false) })
		if err := job.Settle(t.Context(), final); err != nil {
			t.Errorf("Settle once it stores again: %v", err)
		}
		if _, err := s.Next(t.Context()); err != nil {
			t.Errorf("Next once it stores again: %v", err)
		}
	})
}

func TestDuplicatesAndRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		seq := publish(t, s, "a")
		if again := publish(t, s, "a"); again != seq {
			t.Errorf("the second got %d, want %d", again, seq)
		}
		time.Sleep(10 * time.Minute)
		if again := publish(t, s, "a"); again == seq {
			t.Error("still a duplicate after the window")
		}
		if _, _, err := s.Publish(t.Context(), "other", "otp", &queue.Message{To: "1", Text: "x"}); !errors.Is(err, queue.ErrNoRoute) {
			t.Errorf("wrong route: %v", err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Next(t.Context()); !errors.Is(err, queue.ErrClosed) {
			t.Errorf("Next after Close: %v", err)
		}
	})
}
