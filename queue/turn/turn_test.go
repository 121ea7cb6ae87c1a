package turn

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever waits for the turn gets it when it is given back, one at a time.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work Turn
		if err := work.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := make(chan int)
		for n := range 3 {
			go func() {
				_ = work.Take(context.Background()) // it does not end
				got <- n
			}()
		}
		synctest.Wait()
		for range 3 {
			select {
			case n := <-got:
				t.Fatalf("%d works while another does", n)
			default:
			}
			work.Give()
			<-got
			synctest.Wait()
		}
		work.Give()
		if err := work.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// Waiting ends with the context, and takes nothing.
func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work Turn
		_ = work.Take(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := work.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting ended with %v, want the deadline", err)
		}
		work.Give()
		if err := work.Take(t.Context()); err != nil {
			t.Errorf("the turn is not free: %v", err)
		}
	})
}
