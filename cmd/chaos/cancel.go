package main

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// canceller cancels some messages by the operator's command, a little after they were published.
type canceller struct {
	program, url string
	todo         chan uint64

	mu   sync.Mutex
	done map[uint64]bool // what the command has called cancelled
	runs int
}

const (
	cancelEvery   = 100 // one message in so many
	cancelMost    = 3 * time.Second
	cancelTimeout = 30 * time.Second
	cancellers    = 2
)

func newCanceller(program, url string, messages int) *canceller {
	return &canceller{program: program, url: url, todo: make(chan uint64, messages/cancelEvery+1), done: map[uint64]bool{}}
}

// want has a message cancelled, unless very many wait for that.
func (c *canceller) want(seq uint64) {
	select {
	case c.todo <- seq:
	default:
	}
}

// run cancels until ctx ends.
func (c *canceller) run(ctx context.Context) {
	var working sync.WaitGroup
	for range cancellers {
		working.Go(func() {
			for {
				select {
				case seq := <-c.todo:
					pause(ctx, rand.N(cancelMost))
					c.cancel(ctx, seq)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	working.Wait()
}

// cancel runs the command, whose exit code is 0 when the message is cancelled.
func (c *canceller) cancel(ctx context.Context, seq uint64) {
	limited, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	err := exec.CommandContext(limited, c.program, "cancel", "--nats", c.url, strconv.FormatUint(seq, 10)).Run()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs++
	if err == nil {
		c.done[seq] = true
	}
}
