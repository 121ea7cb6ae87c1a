package gateway

import (
	"testing"
	"testing/synctest"
)

// Whoever waits for the turn gets it when it is given back, one at a time.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work turn
		work.take()
		got := make(chan int)
		for n := range 3 {
			go func() {
				work.take()
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
			work.give()
			<-got
			synctest.Wait()
		}
		work.give()
		work.take()
	})
}
