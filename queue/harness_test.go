package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// patience bounds every wait of a test. Nothing depends on its length unless
// the test fails.
const patience = time.Minute

// testLane is the lane of tests that need one only.
var testLane = Lane{"main", "otp"}

// bench is one gateway's side of the queue on a server of its own.
type bench struct {
	t       *testing.T
	server  *Embedded
	listen  string
	dir     string
	client  *Client
	journal *Journal
	ackWait time.Duration
}

type benchConfig struct {
	lanes      []Lane
	ackWait    time.Duration
	duplicates time.Duration
}

func newBench(t *testing.T, cfg benchConfig) *bench {
	t.Helper()
	if len(cfg.lanes) == 0 {
		cfg.lanes = []Lane{testLane}
	}
	b := &bench{t: t, dir: t.TempDir(), listen: "127.0.0.1:-1", ackWait: cfg.ackWait}
	b.startServer()
	t.Cleanup(func() { b.server.Shutdown() })
	b.client = b.connect()
	if _, err := b.client.Ensure(t.Context(), Topology{Lanes: cfg.lanes, AckWait: cfg.ackWait, DuplicateWindow: cfg.duplicates}); err != nil {
		t.Fatal(err)
	}
	b.journal = b.openJournal(b.client)
	return b
}

func (b *bench) startServer() {
	b.t.Helper()
	server, err := StartEmbedded(EmbeddedConfig{Dir: b.dir, Listen: b.listen})
	if err != nil {
		b.t.Fatal(err)
	}
	b.server = server
	b.listen = strings.TrimPrefix(server.URL(), "nats://")
}

// restart stops the server and starts it on the same port and store.
func (b *bench) restart() {
	b.t.Helper()
	b.server.Shutdown()
	b.startServer()
}

func (b *bench) connect() *Client {
	b.t.Helper()
	var logger *slog.Logger
	if testing.Verbose() && os.Getenv("QUEUE_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(b.t.Output(), nil))
	}
	c, err := Connect(b.t.Context(), ConnectConfig{URL: b.server.URL(), Name: b.t.Name(), Logger: logger})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	return c
}

func (b *bench) openJournal(c *Client) *Journal {
	b.t.Helper()
	j, err := c.OpenJournal(JournalConfig{ConfirmTimeout: time.Second})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = j.Close(ctx) // the server may be gone
	})
	return j
}

// intake opens an intake on the bench's journal, closed before it.
func (b *bench) intake(cfg IntakeConfig) *Intake {
	b.t.Helper()
	return b.intakeOn(b.client, b.journal, cfg)
}

func (b *bench) intakeOn(c *Client, j *Journal, cfg IntakeConfig) *Intake {
	b.t.Helper()
	if len(cfg.Lanes) == 0 {
		cfg.Lanes = []IntakeLane{{Lane: testLane}}
	}
	cfg.AckWait = b.ackWait
	if cfg.timing.pull == 0 {
		cfg.timing.pull = 400 * time.Millisecond // closing waits for it
	}
	i, err := c.OpenIntake(b.t.Context(), j, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = i.Close(ctx) // the server may be gone
	})
	return i
}

func (b *bench) publish(l Lane, ids ...string) (seqs []uint64) {
	b.t.Helper()
	for _, id := range ids {
		seq, _, err := b.client.Publish(b.t.Context(), l.Route, l.Class, testMessage(id))
		if err != nil {
			b.t.Fatal(err)
		}
		seqs = append(seqs, seq)
	}
	return seqs
}

func (b *bench) publishMany(l Lane, n int) {
	b.t.Helper()
	err := b.client.PublishMany(b.t.Context(), func(yield func(Outgoing) bool) {
		for i := range n {
			if !yield(Outgoing{l.Route, l.Class, testMessage(l.Class + "-" + strconv.Itoa(i))}) {
				return
			}
		}
	}, func(p Published) {
		if p.Err != nil {
			b.t.Error(p.Err)
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func testMessage(id string) *Message {
	return &Message{ID: id, From: "ACME", To: "+15550100", Text: "Your parcel left today.", Receipt: true, ExpiresIn: time.Hour}
}

// next waits for a job.
func (b *bench) next(i *Intake) Job {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	job, err := i.Next(ctx)
	if err != nil {
		b.t.Fatalf("Next: %v", err)
	}
	return job
}

// nothing asserts that no job comes while the intake is asked and idle: it
// publishes a message behind everything and sees that come first.
func (b *bench) nothing(i *Intake, l Lane) {
	b.t.Helper()
	marker := fmt.Sprintf("marker-%d", time.Now().UnixNano())
	b.publish(l, marker)
	job := b.next(i)
	if job.ID() != marker {
		b.t.Fatalf("got message %s, want none before the marker", job.ID())
	}
	b.settle(job, submitted("x"))
}

func (b *bench) settle(job Job, o Outcome) {
	b.t.Helper()
	if err := job.Settle(b.t.Context(), o); err != nil {
		b.t.Fatalf("Settle: %v", err)
	}
}

func submitted(messageID string) Outcome {
	return Outcome{
		Event: Event{Type: EventSubmitted, Account: "acme", Verdict: "ok", MessageIDs: []string{messageID}},
		Final: true,
		Receipts: []ReceiptKey{{
			Account: "acme", MessageID: messageID, Segment: 1, Segments: 1, Dest: HashAddress("15550100"), TTL: time.Hour,
		}},
	}
}

func throttled(s State, delay time.Duration) Outcome {
	s.Throttles++
	s.Streak++
	status := uint32(0x58)
	s.LastStatus = status
	return Outcome{
		Event:         Event{Type: EventThrottled, Account: "acme", CommandStatus: &status, Verdict: "throttle", Reason: "throttled"},
		State:         s,
		NextAttemptAt: time.Now().Add(delay),
	}
}

func unknown(s State, delay time.Duration) Outcome {
	s.Unknowns++
	s.PossibleDuplicate = true
	return Outcome{
		Event: Event{Type: EventUnknownOutcome, Account: "acme", Reason: "no_answer"}, State: s, NextAttemptAt: time.Now().Add(delay),
	}
}

// journaled returns the events of one message, oldest first.
func (b *bench) journaled(seq uint64) (events []Event) {
	b.t.Helper()
	for e, err := range b.client.Events(b.t.Context(), EventFilter{Seq: seq}) {
		if err != nil {
			b.t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func types(events []Event) (types []EventType) {
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}

func (b *bench) wantTypes(seq uint64, want ...EventType) {
	b.t.Helper()
	if got := types(b.journaled(seq)); !slices.Equal(got, want) {
		b.t.Errorf("events of message %d: %v, want %v", seq, got, want)
	}
}

// eventually waits until check returns nil.
func (b *bench) eventually(check func() error) {
	b.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			b.t.Fatal(err)
		}
	}
}

// healthy waits until the journal stores again: a write that was slow is looked at now and then only.
func (b *bench) healthy() {
	b.t.Helper()
	b.eventually(func() error {
		if !b.journal.Healthy() {
			return fmt.Errorf("the journal still fails: %w", b.journal.Failure())
		}
		return nil
	})
}

// queueEmpty waits until SMS_MT holds nothing.
func (b *bench) queueEmpty() {
	b.t.Helper()
	b.eventually(func() error {
		s, err := b.client.js.Stream(b.t.Context(), "SMS_MT")
		if err != nil {
			return err
		}
		if n := s.CachedInfo().State.Msgs; n != 0 {
			return fmt.Errorf("SMS_MT holds %d messages, want none", n)
		}
		return nil
	})
}

func (b *bench) record(seq uint64) *Waiting {
	b.t.Helper()
	r, _, err := b.client.readRecord(b.t.Context(), seq)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) consumerInfo(l Lane) *jetstream.ConsumerInfo {
	b.t.Helper()
	c, err := b.client.js.Consumer(b.t.Context(), "SMS_MT", durable(l))
	if err != nil {
		b.t.Fatal(err)
	}
	return c.CachedInfo()
}

// waiting waits until n callers stand in Next.
func (b *bench) waiting(i *Intake, n int) {
	b.t.Helper()
	b.eventually(func() error {
		i.mu.Lock()
		defer i.mu.Unlock()
		if len(i.waiters) != n {
			return fmt.Errorf("%d callers wait, want %d", len(i.waiters), n)
		}
		return nil
	})
}

func decodeJSON(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// newest chooses the entry that was stored last.
func newest(refs []ReceiptRef, _ bool) (ReceiptRef, bool) {
	if len(refs) == 0 {
		return ReceiptRef{}, false
	}
	return refs[0], true
}
