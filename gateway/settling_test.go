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
			s.add()
		}
		if err := s.await(t.Context(), 4); err != nil {
			t.Fatalf("below the limit: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := s.await(ctx, 3); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("at the limit: %v", err)
		}
		waited := make(chan error)
		go func() { waited <- s.await(t.Context(), 3) }()
		synctest.Wait()
		s.done()
		if err := <-waited; err != nil {
			t.Errorf("after one was stored: %v", err)
		}
	})
}

func TestMostUnsettledFollowsWindowAndPace(t *testing.T) {
	for _, c := range []struct {
		pace   float64
		window int
		want   int
	}{{5, 3, leastUnsettled}, {20, 10, 20}, {1000, 20, 500}} {
		if got := mostUnsettled(c.pace, c.window); got != c.want {
			t.Errorf("pace %v, window %d: %d, want %d", c.pace, c.window, got, c.want)
		}
	}
}
