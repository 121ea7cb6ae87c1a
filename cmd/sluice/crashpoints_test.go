package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/queue"
	"sluice/queue/crashpoint"
	"sluice/smpp/pdu"
	"sluice/testserver"
	"sluice/testserver/longtest"
)

// What has become of a message before the delivery in which the gateway dies.
const (
	never     = "never throttled"
	throttled = "once throttled"
	partly    = "part accepted"
	replayed  = "replayed"
)

// statuses are the answers of the SMSC to the submits in turn; after them it accepts everything.
type statuses []pdu.Status

const (
	accepted = pdu.StatusOK
	throttle = pdu.StatusThrottled
)

// crashCell is one place to die, and what must have become of the message after the restart.
type crashCell struct {
	state string
	point crashpoint.Point
	again bool // the delivery in which it dies is throttled, and not accepted

	script statuses
	nth    int // time that the place is reached

	doubles   int  // submits that were accepted twice
	throttles int  // of the message
	marked    bool // the final says possible_duplicate
	mayMark   bool // or it may: an embedded server that dies forgets who was handed what
}

// cells is the matrix of places and states. Where an outcome of a message that waits is concerned, the SMSC throttles
// it in the delivery in which the gateway dies; and the journal is seen with both kinds of outcome.
func cells() []crashCell {
	before := map[string]struct {
		script                     statuses // up to the delivery in which it dies
		submits, pulls, puts, acks int      // what has happened by then
	}{
		never:     {nil, 0, 0, 0, 0},
		throttled: {statuses{throttle}, 1, 1, 1, 0},
		partly:    {statuses{accepted, throttle, accepted}, 3, 1, 1, 0},
		replayed:  {statuses{pdu.StatusInvDstAdr}, 1, 1, 0, 1},
	}
	var matrix []crashCell
	for _, state := range slices.Sorted(maps.Keys(before)) {
		b := before[state]
		for _, point := range append(crashpoint.Points(), crashpoint.AfterJournal) {
			c := crashCell{state: state, point: point, script: slices.Clone(b.script), throttles: b.puts}
			switch point {
			case crashpoint.AfterPull:
				c.nth, c.mayMark = b.pulls+1, true
			case crashpoint.AfterWrite:
				c.nth, c.doubles, c.marked = b.submits+1, 1, true
			case crashpoint.AfterResponse:
				c.nth, c.doubles, c.marked = b.submits+1, 1, true
			case crashpoint.AfterJournal:
				c.nth = b.pulls + 1
				c.again = len(matrix) > 0 && matrix[len(matrix)-1].point != crashpoint.AfterResponse
			case crashpoint.AfterRecord, crashpoint.BeforeNak:
				c.nth, c.again = b.puts+1, true
			case crashpoint.BeforeAck:
				c.nth = b.acks + 1
			}
			if c.again {
				c.script = append(c.script, throttle)
				c.throttles++
			}
			matrix = append(matrix, c)
		}
	}
	return matrix
}

// settled says that the journal has the final when the gateway dies.
func (c *crashCell) settled() bool {
	return !c.again && (c.point == crashpoint.AfterJournal || c.point == crashpoint.BeforeAck)
}

// The waits of a cell, shortened so that it takes no minutes: crashDown is more than crashAckWait.
const (
	crashAckWait = 5 * time.Second
	crashDown    = 6 * time.Second
)

func (c *crashCell) String() string {
	name := string(c.point)
	if c.again {
		name += " of a throttle"
	}
	return strings.ReplaceAll(c.state+", "+name, " ", "_")
}

// crashOutcome is what was found after the restart.
type crashOutcome struct {
	seq     uint64 // of the message; that of the replay when it was replayed
	ledger  []testserver.Record
	events  []queue.Event
	waiting []queue.Waiting
	killed  bool
	log     *lockedBuffer
	err     error
}

// TestCrashPoints kills the gateway, and its embedded NATS server with it, at each place on the way of a message, starts
// it again, and holds the SMSC's ledger, the journal and the records against the promises: one final; a second submit
// only where the outcome was unknown, and then marked; no attempt and no throttle forgotten or counted twice.
func TestCrashPoints(t *testing.T) {
	longtest.Only(t, "kills the gateway at each of 32 places, and waits each time")
	t.Parallel() // it waits more than it works
	program := buildWithCrashPoints(t)
	matrix := cells()
	if len(matrix) != 4*8 {
		t.Fatalf("%d cells, want each of 7 places, and the journal twice, in 4 states", len(matrix))
	}
	outcomes := make([]crashOutcome, len(matrix))
	const atOnce = 8
	free := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for i := range matrix {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			outcomes[i] = matrix[i].run(ctx, program, t.TempDir())
		})
	}
	running.Wait()
	for i := range matrix {
		t.Run(matrix[i].String(), func(t *testing.T) { matrix[i].check(t, &outcomes[i]) })
	}
}

func (c *crashCell) check(t *testing.T, o *crashOutcome) {
	t.Helper()
	defer func() {
		if t.Failed() {
			for _, r := range o.ledger {
				t.Logf("submit %d: reference %d, %v", r.Number, r.Reference, r.Status)
			}
			for _, e := range o.events {
				t.Logf("event of %d, delivery %d: %s %s, attempt %d, throttles %d, possible duplicate %v", e.Seq, e.Delivery, e.Type,
					e.Reason, e.Attempt, e.Throttles, e.PossibleDuplicate)
			}
			t.Logf("log:\n%s", o.log)
		}
	}()
	if o.err != nil {
		t.Fatal(o.err)
	}
	if !o.killed {
		t.Fatal("the gateway was not killed: the cell does not test")
	}
	taken := map[int]int{} // by user_message_reference: one for each part of each sequence
	for _, r := range o.ledger {
		if r.Status == pdu.StatusOK {
			taken[r.Reference]++
		}
	}
	parts, doubles := 1, 0
	if c.state == partly {
		parts = 3
	}
	for reference, n := range taken {
		if n > 2 {
			t.Errorf("the submit with reference %d was accepted %d times", reference, n)
		}
		doubles += n - 1
	}
	if len(taken) != parts || doubles != c.doubles {
		t.Errorf("%d parts accepted, %d of them twice; want %d and %d", len(taken), doubles, parts, c.doubles)
	}
	var final *queue.Event
	for i := range o.events {
		if e := &o.events[i]; e.Seq == o.seq && e.Type.Final() {
			if final != nil {
				t.Errorf("two finals: %s and %s", final.EventID, e.EventID)
			}
			final = e
		}
	}
	switch {
	case final == nil:
		t.Fatal("no final")
	case final.Type != queue.EventSubmitted, final.SegmentsAccepted != parts, final.Throttles != c.throttles:
		t.Errorf("final %s, %d parts accepted, %d throttles; want submitted, %d, %d", final.Type, final.SegmentsAccepted,
			final.Throttles, parts, c.throttles)
	case final.Attempt != 1:
		t.Errorf("attempt %d, want 1: throttles and deaths use none", final.Attempt)
	case final.PossibleDuplicate && !c.marked && !c.mayMark, !final.PossibleDuplicate && c.marked:
		t.Errorf("possible duplicate %v, want %v", final.PossibleDuplicate, c.marked)
	}
	if len(o.waiting) > 0 {
		t.Errorf("records are left: %+v", o.waiting)
	}
}

// run lets one message come to the place and the gateway die there, and starts it again.
func (c *crashCell) run(ctx context.Context, program, dir string) (o crashOutcome) {
	o.log = &lockedBuffer{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		o.err = err
		return o
	}
	// A process that kills itself goes on for a moment on its other processors: no answer must come in that.
	sc := testserver.Scenario{Latency: testserver.Exactly(100 * time.Millisecond)}
	if len(c.script) > 0 {
		sc.Errors = []testserver.ErrorRule{{Script: c.script}}
	}
	smsc := testserver.New(sc)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- smsc.Serve(serving, listener) }()
	defer func() { stop(); o.err = errors.Join(o.err, <-served) }()

	g := &crashGateway{program: program, config: filepath.Join(dir, "sluice.yaml"), log: o.log}
	yaml := fmt.Sprintf(`
instance: crash-1
nats: {embedded: {dir: data, listen: "127.0.0.1:0"}}
streams: {ack_wait: %v, duplicate_window: 1s}
http: "off"
accounts:
  acme: {address: %q, system_id: sluice, password: secret, response_timeout: 4s, unknown: {after: 100ms}}
routes:
  main: {accounts: [acme], terminal_to_deferred: %t}
`, crashAckWait, listener.Addr(), c.state == replayed) // there a refusal for good sets the message aside
	if o.err = os.WriteFile(g.config, []byte(yaml), 0o600); o.err != nil {
		return o
	}
	defer g.kill()
	if o.err = c.untilDeath(ctx, g, &o); o.err != nil {
		return o
	}
	if c.settled() { // everything is down past the AckWait and the duplicate window, as it would be over night
		select {
		case <-time.After(crashDown):
		case <-ctx.Done():
		}
	}
	if o.err = g.start(ctx, ""); o.err != nil {
		return o
	}
	if o.seq == 0 {
		if o.err = g.with(ctx, o.replay); o.err != nil {
			return o
		}
	}
	if o.err = g.with(ctx, o.follow); o.err != nil {
		return o
	}
	o.err = g.stop()
	o.ledger = smsc.Ledger()
	return o
}

// untilDeath publishes the message, replays it where it is to be replayed, and waits until the gateway has died.
func (c *crashCell) untilDeath(ctx context.Context, g *crashGateway, o *crashOutcome) error {
	if err := g.start(ctx, fmt.Sprintf("%s:%d", c.point, c.nth)); err != nil {
		return err
	}
	m := &queue.Message{ID: "m", From: "1000", To: "+15550100", Text: "message"}
	if c.state == partly {
		m.Text = strings.Repeat("message ", 50) // three parts
	}
	err := g.with(ctx, func(ctx context.Context, client *queue.Client) (err error) {
		o.seq, _, err = client.Publish(ctx, "main", "otp", m)
		return err
	})
	if err != nil {
		return err
	}
	if c.state == replayed {
		o.seq = 0
		// The gateway may die under the replay: it is repeated then.
		_ = g.with(ctx, o.replay)
	}
	select {
	case <-g.ended:
		var exit *exec.ExitError
		o.killed = errors.As(g.exit, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the gateway does not die: %w", ctx.Err())
	}
}

// replay waits until the message has failed, with a copy set aside, and replays it. What a death has interrupted is finished.
func (o *crashOutcome) replay(ctx context.Context, client *queue.Client) error {
	journal, err := client.OpenJournal(queue.JournalConfig{})
	if err != nil {
		return err
	}
	defer func() { _ = journal.Close(ctx) }() // nothing is queued in it
	for e, err := range client.Events(ctx, queue.EventFilter{Types: []queue.EventType{queue.EventFailed}, Follow: true}) {
		if err != nil {
			return err
		}
		for d, err := range client.Deferred(ctx, queue.DeferredFilter{}) {
			if err != nil {
				return err
			}
			for d.Seq == e.Seq {
				r, err := client.Replay(ctx, journal, d, queue.ReplayOptions{})
				if err == nil {
					o.seq = r.As
					return nil
				}
				if ctx.Err() != nil { // else the message is still in the queue for a moment
					return err
				}
			}
		}
	}
	return ctx.Err()
}

// follow waits for the final of the message, and until the queue and the records are empty.
func (o *crashOutcome) follow(ctx context.Context, client *queue.Client) error {
	for e, err := range client.Events(ctx, queue.EventFilter{Follow: true}) {
		if err != nil {
			return err
		}
		if o.events = append(o.events, e); e.Seq == o.seq && e.Type.Final() {
			break
		}
	}
	js, err := jetstream.New(client.Conn())
	if err != nil {
		return err
	}
	for left := uint64(1); left > 0; {
		stream, err := js.Stream(ctx, "SMS_MT")
		if err != nil {
			return err
		}
		left = stream.CachedInfo().State.Msgs
	}
	for w, err := range client.Waiting(ctx) {
		if err != nil {
			return err
		}
		o.waiting = append(o.waiting, w)
	}
	return ctx.Err()
}
