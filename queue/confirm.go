package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Ways for a write to fail. In all but the first nothing was stored.
var (
	// errUnconfirmed: the write may have been stored.
	errUnconfirmed = errors.New("the server's confirmation did not come")
	// errNoStream: nothing listens on the subject.
	errNoStream = errors.New("no stream takes the subject")
	// errStoredBefore: nothing was stored, because a write with the same
	// Nats-Msg-Id was.
	errStoredBefore = errors.New("it was stored before")
	// errTooLarge: the server will never take it.
	errTooLarge = errors.New("larger than the server takes")
)

// Error codes of the JetStream API that decide something here.
const (
	codeMessageNotFound  = 10037
	codeWrongLastSeq     = 10071
	codeConsumerNotFound = 10014
	codeNoResources      = 10023
	codeNoStorage        = 10047
	codeStreamFull       = 10077 // or could not be written
)

// serverError is a refusal by JetStream.
type serverError struct {
	Status      int    `json:"code"`
	Code        int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *serverError) Error() string {
	return fmt.Sprintf("jetstream: %s (%d)", e.Description, e.Code)
}

func refusedAs(err error, code int) bool {
	var refused *serverError
	return errors.As(err, &refused) && refused.Code == code
}

// confirmations matches the server's confirmations with the writes that wait
// for them. A write publishes with the reply subject of a slot, and the number
// of slots bounds what is unconfirmed. That costs 14 allocations a message less
// than futures do.
type confirmations struct {
	prefix string
	free   chan *slot
	slots  []*slot

	mu sync.Mutex // guards the fields of the slots below their reply
}

type slot struct {
	index  int
	answer chan error // one element: the answer of the present name

	reply   string
	round   int
	queued  time.Time // zero while nothing waits
	sent    time.Time // zero while nothing waits, or is not sent yet
	waiting bool
}

func newConfirmations(inbox string, size int) *confirmations {
	c := &confirmations{prefix: inbox + ".", free: make(chan *slot, size), slots: make([]*slot, size)}
	for i := range c.slots {
		c.slots[i] = &slot{index: i, answer: make(chan error, 1)}
		c.rename(c.slots[i])
		c.free <- c.slots[i]
	}
	return c
}

// rename gives the slot a new reply subject, so that an answer to the old one
// finds nobody.
func (c *confirmations) rename(s *slot) {
	s.round++
	s.reply = c.prefix + strconv.Itoa(s.index) + "-" + strconv.Itoa(s.round)
}

// take waits for a free slot.
func (c *confirmations) take(ctx context.Context, closed <-chan struct{}) (*slot, error) {
	select {
	case s := <-c.free:
		return s, nil
	default:
	}
	select {
	case s := <-c.free:
		return s, nil
	case <-closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin notes that writes go out now. Those that were given up meanwhile are
// left alone.
func (c *confirmations) begin(now time.Time, burst []write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range burst {
		if s := burst[i].slot; s != nil && s.waiting {
			s.sent = now
		}
	}
}

// expect opens the slot for its answer; call it before the write is queued.
func (c *confirmations) expect(now time.Time, s *slot) (reply string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.waiting, s.queued = true, now
	return s.reply
}

// wait returns the answer to the slot's write.
func (c *confirmations) wait(ctx context.Context, s *slot) error {
	select {
	case err := <-s.answer:
		return err
	case <-ctx.Done():
		return errors.Join(errUnconfirmed, ctx.Err())
	}
}

// release gives the slot back, with what wait returned.
func (c *confirmations) release(s *slot, err error) {
	c.mu.Lock()
	s.waiting, s.queued, s.sent = false, time.Time{}, time.Time{}
	if errors.Is(err, errUnconfirmed) {
		c.rename(s)
	}
	for len(s.answer) > 0 { // a second answer came meanwhile
		<-s.answer //nolint:errcheck // it belongs to a write that was given up
	}
	c.mu.Unlock()
	c.free <- s
}

// idle says that nobody waits for an answer.
func (c *confirmations) idle() bool { return len(c.free) == len(c.slots) }

// oldest is when the write that waits longest was queued, zero when none waits.
func (c *confirmations) oldest() (queued time.Time) {
	if c.idle() {
		return queued
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slots {
		if !s.queued.IsZero() && (queued.IsZero() || s.queued.Before(queued)) {
			queued = s.queued
		}
	}
	return queued
}

// answered is the handler of the inbox.
func (c *confirmations) answered(m *nats.Msg) {
	name, _, _ := strings.Cut(strings.TrimPrefix(m.Subject, c.prefix), "-")
	index, err := strconv.Atoi(name)
	if err != nil || index < 0 || index >= len(c.slots) {
		return
	}
	s := c.slots[index]
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.reply == m.Subject {
		c.resolve(s, answerOf(m))
	}
}

// fail ends one write that was not sent.
func (c *confirmations) fail(s *slot, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resolve(s, err)
}

// abandon ends every write sent before the given time as unconfirmed.
func (c *confirmations) abandon(before time.Time) {
	if c.idle() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slots {
		if s.waiting && !s.sent.IsZero() && s.sent.Before(before) {
			c.resolve(s, errUnconfirmed)
		}
	}
}

// drain waits until nobody waits for an answer, and abandons who still does when
// ctx ends. No slot can be taken afterwards.
func (c *confirmations) drain(ctx context.Context) error {
	for range c.slots {
		select {
		case <-c.free:
		case <-ctx.Done():
			c.abandon(time.Now())
			return ctx.Err()
		}
	}
	return nil
}

// resolve hands the answer to the one who waits; a second answer to one write
// has no effect.
func (c *confirmations) resolve(s *slot, err error) {
	if !s.waiting {
		return
	}
	select {
	case s.answer <- err:
	default:
	}
}

// answerOf reads a confirmation: {"stream":"SMS_EVENTS","seq":12} or an error.
func answerOf(m *nats.Msg) error {
	if m.Header.Get("Status") == "503" {
		return errNoStream
	}
	if !bytes.Contains(m.Data, []byte(`"error"`)) && !bytes.Contains(m.Data, []byte(`"duplicate"`)) && len(m.Data) > 0 {
		return nil
	}
	var answer struct {
		Error     *serverError `json:"error"`
		Duplicate bool         `json:"duplicate"`
	}
	switch err := json.Unmarshal(m.Data, &answer); {
	case err == nil && answer.Error != nil:
		return answer.Error
	case err == nil && answer.Duplicate:
		return errStoredBefore
	default:
		return fmt.Errorf("%w: it cannot be read", errUnconfirmed)
	}
}
