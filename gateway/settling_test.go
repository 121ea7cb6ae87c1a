package gateway

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSettlingHoldsBackWhatCouldNotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s settling
		for range 3 {
			if err := s.enter(t.Context(), 3); err != nil {
				t.Fatalf("below the limit: %v", err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := s.enter(ctx, 3); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("at the limit: %v", err)
		}
		entered := make(chan error)
		go func() { entered <- s.enter(t.Context(), 3) }()
		synctest.Wait()
		s.leave()
		if err := <-entered; err != nil {
			t.Errorf("after one was stored: %v", err)
		}
	})
}

func TestOneMessageGoesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s settling
		if err := s.enter(t.Context(), 9); err != nil {
			t.Fatal(err)
		}
		alone, after := make(chan error, 1), make(chan error, 1)
		go func() { alone <- s.enterAlone(t.Context()) }()
		synctest.Wait()
		go func() { after <- s.enter(t.Context(), 9) }()
		synctest.Wait()
		if len(alone) != 0 || len(after) != 0 {
			t.Fatal("one went while another was in")
		}
		s.leave()
		synctest.Wait()
		if len(alone) != 1 || len(after) != 0 {
			t.Fatal("with nobody in, it is the turn of the one that goes alone, and of nobody else")
		}
		s.leaveAlone()
		if err := <-after; err != nil {
			t.Errorf("after it: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.enterAlone(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while another is in: %v", err)
		}
		if err := s.enter(t.Context(), 9); err != nil {
			t.Errorf("one that gave up waiting to be alone still keeps others out: %v", err)
		}
	})
}

func TestMostUnsettledFollowsWindowAndPace(t *testing.T) {
	for _, c := range []struct {
		pace   float64
		window int
		want   int
	}{{5, 3, 11}, {20, 10, 20}, {1000, 20, 520}} {
		if got := mostUnsettled(c.pace, c.window); got != c.want {
			t.Errorf("pace %v, window %d: %d, want %d", c.pace, c.window, got, c.want)
		}
	}
}
