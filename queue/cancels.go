package queue

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// cancelReread is how often the marks of cancelled messages are read anew: a
// watcher may be blind for some time after a restart of the server.
const cancelReread = 5 * time.Second

// cancelKept is how long a mark is remembered that a reading did not find: the
// replica that answered may have lagged behind.
const cancelKept = time.Minute

const cancelPrefix = "cancel."

func cancelKey(seq uint64) string { return cancelPrefix + seqKey(seq) }

// cancels are the messages that are marked as cancelled, by seq, as far as this
// process knows.
type cancels struct {
	count atomic.Int64 // most of the time 0: then nobody takes the lock

	mu    sync.RWMutex
	noted map[uint64]time.Time // when it was noted
}

func (c *cancels) has(seq uint64) bool {
	if c.count.Load() == 0 {
		return false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, ok := c.noted[seq]
	return ok
}

func (c *cancels) note(seq uint64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noted[seq] = now
	c.count.Store(int64(len(c.noted)))
}

// replace takes over what a reading found. What it did not find is forgotten
// after a while: its time is over.
func (c *cancels) replace(began time.Time, found []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := make(map[uint64]time.Time, len(found))
	for seq, at := range c.noted {
		if began.Sub(at) < cancelKept {
			next[seq] = at
		}
	}
	for _, seq := range found {
		next[seq] = began
	}
	c.noted = next
	c.count.Store(int64(len(next)))
}

// WatchCancels reads which messages are cancelled, and follows that until ctx
// ends: by a watch, and anew every 5 s and whenever the connection stands again.
// Call it before an intake is opened: it returns once the marks that exist are
// known.
func (c *Client) WatchCancels(ctx context.Context) error {
	kv, err := c.js.KeyValue(ctx, c.names.Load().control)
	if err != nil {
		return fmt.Errorf("bucket %s: %w", c.names.Load().control, err)
	}
	watcher, err := c.readCancels(ctx, kv)
	if err != nil {
		return err
	}
	again := make(chan struct{}, 1)
	remove := c.onConnection(func(connected bool) {
		if connected {
			select {
			case again <- struct{}{}:
			default:
			}
		}
	})
	go func() {
		defer remove()
		c.followCancels(ctx, kv, watcher, again)
	}()
	return nil
}

func (c *Client) followCancels(ctx context.Context, kv jetstream.KeyValue, watcher jetstream.KeyWatcher, again <-chan struct{}) {
	tick := time.NewTicker(cancelReread)
	defer tick.Stop()
	for {
		var updates <-chan jetstream.KeyValueEntry
		if watcher != nil {
			updates = watcher.Updates()
		}
		select {
		case entry, ok := <-updates:
			if !ok {
				watcher = nil
				continue
			}
			if seq, marked := cancelled(entry); marked {
				c.cancels.note(seq, time.Now())
			}
			continue
		case <-tick.C:
		case <-again:
		case <-ctx.Done():
		}
		if watcher != nil {
			_ = watcher.Stop() // its consumer may be gone
		}
		if ctx.Err() != nil {
			return
		}
		var err error
		if watcher, err = c.readCancels(ctx, kv); err != nil && ctx.Err() == nil {
			c.logger.Warn("the marks of cancelled messages cannot be read yet", "error", err)
		}
	}
}

// readCancels reads all marks, and returns the watcher that goes on with what
// comes.
func (c *Client) readCancels(ctx context.Context, kv jetstream.KeyValue) (jetstream.KeyWatcher, error) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	began := time.Now()
	watcher, err := kv.Watch(ctx, cancelPrefix+"*", jetstream.MetaOnly(), jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("reading the marks of cancelled messages: %w", err)
	}
	var found []uint64
	for {
		select {
		case entry, ok := <-watcher.Updates():
			if ok && entry != nil {
				if seq, marked := cancelled(entry); marked {
					found = append(found, seq)
				}
				continue
			}
			c.cancels.replace(began, found)
			return watcher, nil
		case <-reading.Done():
			_ = watcher.Stop()
			return nil, fmt.Errorf("reading the marks of cancelled messages: %w", reading.Err())
		}
	}
}

// cancelled reads the sequence from a mark.
func cancelled(entry jetstream.KeyValueEntry) (seq uint64, ok bool) {
	if entry == nil || entry.Operation() != jetstream.KeyValuePut {
		return 0, false
	}
	seq, err := strconv.ParseUint(strings.TrimPrefix(entry.Key(), cancelPrefix), 10, 64)
	return seq, err == nil
}

// NoteCancel tells this process at once that a message is marked as cancelled.
func (c *Client) NoteCancel(seq uint64) { c.cancels.note(seq, time.Now()) }
