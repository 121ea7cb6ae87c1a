package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// defers makes the next message end deferred, and returns its copy.
func (b *bench) defers(i *Intake, o Outcome) *Deferred {
	b.t.Helper()
	job := b.next(i)
	b.settle(job, o)
	return b.deferred(job.Seq())
}

// deferred returns the copy of a message, once that has left the queue.
func (b *bench) deferred(seq uint64) *Deferred {
	b.t.Helper()
	b.eventually(func() error {
		_, err := b.client.readLeader(b.t.Context(), "SMS_MT", readRequest{Seq: seq})
		if errors.Is(err, errNoMessage) {
			return nil
		}
		return fmt.Errorf("message %d is still in the queue: %w", seq, err)
	})
	return b.copyOf(seq)
}

func (b *bench) copyOf(seq uint64) *Deferred {
	b.t.Helper()
	d, err := b.client.deferredOf(b.t.Context(), DeferredFilter{Seq: seq})
	if err != nil {
		b.t.Fatalf("the copy of message %d: %v", seq, err)
	}
	return d
}

func (b *bench) noneDeferred() {
	b.t.Helper()
	for d, err := range b.client.Deferred(b.t.Context(), DeferredFilter{}) {
		if err != nil {
			b.t.Fatal(err)
		}
		b.t.Errorf("message %d is still deferred", d.Seq)
	}
}

// setAside ends a message deferred.
func setAside(reason string) Outcome {
	return Outcome{Event: Event{Type: EventDeferred, Reason: reason, Account: "acme"}, Final: true, DeferredReason: reason}
}

func (b *bench) replay(d *Deferred, o ReplayOptions) Replayed {
	b.t.Helper()
	r, err := b.client.Replay(b.t.Context(), b.journal, d, o)
	if err != nil {
		b.t.Fatalf("replay of message %d: %v", d.Seq, err)
	}
	return r
}

func (b *bench) refused(d *Deferred, o ReplayOptions, words ...string) {
	b.t.Helper()
	_, err := b.client.Replay(b.t.Context(), b.journal, d, o)
	if !errors.Is(err, ErrReplayRefused) {
		b.t.Errorf("replay: %v, want it refused", err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			b.t.Errorf("the refusal lacks %q: %v", w, err)
		}
	}
}

func TestReplayKeepsTheDeliveryAndSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	intake := b.intake(IntakeConfig{})
	seq := b.publish(testLane, "order-1")[0]
	before := b.next(intake)
	deadline := before.Published().Add(time.Hour)
	b.settle(before, setAside("attempts"))

	if r := b.replay(b.deferred(seq), ReplayOptions{DryRun: true}); r.As != 0 || !r.Deadline.Equal(deadline) || r.PossibleDuplicate {
		t.Errorf("dry run: %+v", r)
	}
	b.wantTypes(seq, EventDeferred)
	d := b.deferred(seq)
	r := b.replay(d, ReplayOptions{})
	b.noneDeferred()
	b.wantTypes(seq, EventDeferred, EventReplayed)
	if e := b.journaled(seq)[1]; e.ReplayedAs != r.As || e.ID != "order-1" || e.EventID != "1.replay1" {
		t.Errorf("event %+v", e)
	}
	job := b.next(intake)
	m, err := job.Message()
	if err != nil || job.Seq() != r.As || job.ID() != "order-1" || !m.Deadline(job.Published(), 0).Equal(deadline) {
		t.Errorf("the replay is %d %q, %+v, %v", job.Seq(), job.ID(), m, err)
	}
	if job.Header(HeaderReplayOf) != "1" || job.Header("Nats-Msg-Id") != "1:replay1" || job.Header(HeaderEvent) != "" ||
		job.Header(HeaderDeferredReason) != "" || job.State().PossibleDuplicate {
		t.Errorf("replay of %s, id %s, possible duplicate %v", job.Header(HeaderReplayOf), job.Header("Nats-Msg-Id"), job.State().PossibleDuplicate)
	}
	// It may be deferred and replayed again, this time with an unknown outcome.
	b.settle(job, setAside("outcome_unknown"))
	b.queueEmpty() // its acknowledgement has been taken
	second := b.replay(b.deferred(r.As), ReplayOptions{ExpiresIn: 2 * time.Hour})
	job = b.next(intake)
	if job.Seq() != second.As || job.Header("Nats-Msg-Id") != "2:replay2" || job.ID() != "order-1" || !job.State().PossibleDuplicate {
		t.Errorf("second replay: %d %q id %s, %+v", job.Seq(), job.ID(), job.Header("Nats-Msg-Id"), job.State())
	}
	m, err = job.Message()
	if err != nil || !m.Deadline(job.Published(), 0).Equal(second.Deadline) || time.Until(second.Deadline) < time.Hour {
		t.Errorf("new deadline %v, %v", second.Deadline, err)
	}
	b.settle(job, submitted("x"))
	if e := b.journaled(second.As); len(e) != 1 || e[0].ReplayOf != r.As || !e[0].PossibleDuplicate {
		t.Errorf("final of the replay: %+v", e)
	}
	b.queueEmpty()
	b.noneDeferred()
}

// Whoever replays may die after any step; the next replay goes on from there, and
// the message is published once.
func TestReplayAfterACrash(t *testing.T) {
	t.Parallel()
	forget := func(b *bench) { // the stream forgets the ids: the duplicate window is over
		b.eventually(func() error {
			ack, err := b.client.js.Publish(b.t.Context(), "sms.mt.main.probe", []byte("{}"), jetstream.WithMsgID("probe"))
			if err == nil && ack.Duplicate {
				err = errors.New("the duplicate window is not over")
			}
			return err
		})
	}
	type steps struct {
		publish, store, forget, settle bool
	}
	for name, s := range map[string]steps{
		"after the note":                           {},
		"after the publish":                        {publish: true},
		"after the publish, and long ago":          {publish: true, forget: true},
		"after the publish, and it was sent":       {publish: true, forget: true, settle: true},
		"after the event":                          {publish: true, store: true},
		"after the event, long ago":                {publish: true, store: true, forget: true},
		"after the event, long ago and it is sent": {publish: true, store: true, forget: true, settle: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, benchConfig{lanes: []Lane{testLane, {"main", "probe"}}, duplicates: 100 * time.Millisecond})
			intake := b.intake(IntakeConfig{})
			seq := b.publish(testLane, "m")[0]
			d := b.defers(intake, setAside("attempts"))
			ctx := t.Context()
			intent, began, err := b.client.beginReplay(ctx, d)
			if err != nil || !began {
				t.Fatal(began, err)
			}
			var job Job
			if s.publish {
				if s.forget {
					_, _ = b.client.js.Publish(ctx, "sms.mt.main.probe", []byte("{}"), jetstream.WithMsgID("probe"))
				}
				r := Replayed{Seq: seq, ID: d.ID, Deadline: d.Deadline}
				if r.As, _, err = b.client.publishReplay(ctx, d, r, intent); err != nil {
					t.Fatal(err)
				}
				if s.store {
					if err := b.journal.Append(ctx, d.replayedEvent(r, intent)); err != nil {
						t.Fatal(err)
					}
				}
				if s.settle {
					b.settle(b.next(intake), submitted("x"))
				}
				if s.forget {
					forget(b)
				}
			}
			r := b.replay(d, ReplayOptions{})
			if r.Before != s.publish || r.As <= seq {
				t.Errorf("replay: %+v", r)
			}
			if again, err := b.client.Replay(ctx, b.journal, d, ReplayOptions{}); err != nil || again.As != r.As {
				t.Errorf("and once more: %+v, %v", again, err)
			}
			if !s.settle {
				job = b.next(intake)
				if job.Seq() != r.As {
					t.Errorf("message %d comes, want %d", job.Seq(), r.As)
				}
				b.settle(job, submitted("x"))
			}
			b.nothing(intake, testLane)
			b.wantTypes(seq, EventDeferred, EventReplayed)
			b.wantTypes(r.As, EventSubmitted)
			b.noneDeferred()
		})
	}
}

// Two people replay the same at once.
func TestReplayTwiceAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	intake := b.intake(IntakeConfig{})
	seq := b.publish(testLane, "m")[0]
	d := b.defers(intake, setAside("attempts"))
	const people = 4
	results := make(chan error, people)
	as := make(chan uint64, people)
	for range people {
		c := b.connect()
		j := b.openJournal(c)
		go func() {
			r, err := c.Replay(t.Context(), j, d, ReplayOptions{})
			results <- err
			as <- r.As
		}()
	}
	first := uint64(0)
	for range people {
		if err := <-results; err != nil {
			t.Error(err)
		}
		if got := <-as; first == 0 {
			first = got
		} else if got != first {
			t.Errorf("replayed as %d and as %d", first, got)
		}
	}
	b.settle(b.next(intake), submitted("x"))
	b.nothing(intake, testLane)
	b.wantTypes(seq, EventDeferred, EventReplayed)
}

func TestReplayIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	intake := b.intake(IntakeConfig{})
	one := func(o Outcome) *Deferred {
		b.publish(testLane, fmt.Sprintf("m-%d", time.Now().UnixNano()))
		return b.defers(intake, o)
	}

	// The second submit was unknown too; then its answer came.
	b.publish(testLane, "late")
	job := b.next(intake)
	b.settle(job, unknown(job.State(), 0))
	job = b.next(intake)
	b.settle(job, setAside("outcome_unknown"))
	if won, err := job.SettleLate(t.Context(), submitted("late-1")); err != nil || won {
		t.Fatalf("late: %v %v", won, err)
	}
	b.wantTypes(job.Seq(), EventUnknownOutcome, EventDeferred, EventLateResponse)
	if ref, ok, err := b.client.LookupReceipt(t.Context(), "acme", CanonicalID("late-1"), newest); err != nil || !ok || ref.Seq != job.Seq() {
		t.Errorf("the receipt of a late response finds %+v, %v, %v", ref, ok, err)
	}
	d := b.deferred(job.Seq())
	b.refused(d, ReplayOptions{}, "has accepted", "late_response", "--force")
	b.refused(d, ReplayOptions{DryRun: true}, "has accepted")
	if r := b.replay(d, ReplayOptions{Force: true}); !r.PossibleDuplicate {
		t.Error("a forced replay is not marked")
	}
	if job := b.next(intake); !job.State().PossibleDuplicate {
		t.Error("a forced replay is not marked in the queue")
	} else {
		b.settle(job, submitted("x"))
	}

	// A receipt says that it was sent.
	d = one(setAside("outcome_unknown"))
	err := b.journal.Append(t.Context(), Event{
		Type: EventReceipt, Seq: d.Seq, ID: d.ID, Route: "main", Receipt: &Receipt{MessageID: "7", State: "delivered", Final: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.refused(d, ReplayOptions{}, "a receipt says delivered")
	// A refusal that came late is no acceptance.
	d = one(setAside("outcome_unknown"))
	err = b.journal.Append(t.Context(), Event{Type: EventLateResponse, Seq: d.Seq, ID: d.ID, Route: "main", Verdict: "terminal"})
	if err != nil {
		t.Fatal(err)
	}
	if r := b.replay(d, ReplayOptions{}); !r.PossibleDuplicate {
		t.Error("an unknown outcome is not marked")
	}
	b.settle(b.next(intake), submitted("x"))

	// The copy was written, and whoever wrote it died.
	b.publish(testLane, "died")
	job = b.next(intake)
	e := job.(*delivery).complete(new(setAside("attempts")), time.Now())
	if err := job.(*delivery).copyToDeferred(t.Context(), "attempts", e); err != nil {
		t.Fatal(err)
	}
	b.refused(b.copyOf(job.Seq()), ReplayOptions{Force: true}, "still in the queue")
	b.settle(job, submitted("x"))
	b.eventually(func() error {
		_, err := b.client.Replay(t.Context(), b.journal, b.deferred(job.Seq()), ReplayOptions{DryRun: true})
		if err == nil || !strings.Contains(err.Error(), "has accepted") {
			return fmt.Errorf("a copy of what was submitted: %w", err)
		}
		return nil
	})

	// Its deadline has passed.
	past := time.Now().Add(-time.Hour)
	d = b.defers(b.intakeOf("past", &Message{ID: "past", To: "+15550100", Text: "x", ExpiresAt: past}), setAside("attempts"))
	b.refused(d, ReplayOptions{}, "the deadline of message", "passed 1h0m", "--expires-in")
	b.refused(d, ReplayOptions{Force: true}, "--expires-in") // force is for duplicates
	b.refused(d, ReplayOptions{ExpiresIn: 169 * time.Hour}, "at most 168h")
	if r := b.replay(d, ReplayOptions{ExpiresIn: time.Hour, DryRun: true}); time.Until(r.Deadline) < 50*time.Minute {
		t.Errorf("a new deadline: %+v", r)
	}
}

// intakeOf publishes one message to a lane of its own and returns an intake of it.
func (b *bench) intakeOf(class string, m *Message) *Intake {
	b.t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.intakeOfRaw(class, data)
}

func (b *bench) intakeOfRaw(class string, data []byte) *Intake {
	b.t.Helper()
	lane := Lane{"main", class}
	if _, err := b.client.Ensure(b.t.Context(), Topology{Lanes: []Lane{testLane, lane}}); err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.client.js.PublishMsg(b.t.Context(), &nats.Msg{Subject: "sms.mt.main." + class, Data: data}); err != nil {
		b.t.Fatal(err)
	}
	return b.intake(IntakeConfig{Lanes: []IntakeLane{{Lane: lane, ExpiresIn: 24 * time.Hour}}})
}

// What this version cannot read would come straight back; the copy has the
// payload as it came, for a version that can.
func TestReplayOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	for class, c := range map[string]struct{ payload, reason, word string }{
		"field":     {`{"v":1,"id":"f","to":"+15550100","text":"x","fancy":1,"expires_in":"5m"}`, "unknown_field", `unknown field "fancy"`},
		"malformed": {`{"v":1,"id":"g","to":"+15550100","text":"x","receipt":"yes"}`, "malformed", "receipt: want true, false"},
	} {
		i := b.intakeOfRaw(class, []byte(c.payload))
		job := b.next(i)
		if _, err := job.Message(); err == nil {
			t.Fatal("it can be read")
		}
		b.settle(job, setAside(c.reason))
		d := b.deferred(job.Seq())
		if string(d.Payload()) != c.payload || d.ID == "" || d.Class != class {
			t.Errorf("copy %+v", d)
		}
		if class == "field" && !d.Deadline.Equal(job.Published().Add(5*time.Minute)) {
			t.Errorf("its deadline is %v, published %v", d.Deadline, job.Published())
		}
		b.refused(d, ReplayOptions{}, c.word, "--force")
		b.replay(d, ReplayOptions{Force: true})
		again := b.next(i)
		if string(again.Raw()) != c.payload || again.ID() != d.ID {
			t.Errorf("replayed %s as %q", again.Raw(), again.ID())
		}
		b.settle(again, submitted("x"))
	}
	// An older gateway set this aside; to this version it is fine.
	i := b.intakeOfRaw("upgraded", []byte(`{"v":1,"id":"h","to":"+15550100","text":"x","tenant":"t1","expires_in":"5m"}`))
	d := b.defers(i, setAside("unknown_field"))
	r := b.replay(d, ReplayOptions{})
	job := b.next(i)
	if m, err := job.Message(); err != nil || job.Seq() != r.As || m.Tenant != "t1" || !m.Deadline(time.Now(), 0).Equal(d.Deadline) {
		t.Errorf("message %+v, %v", m, err)
	}
}

func TestDeferredIsListedAndDropped(t *testing.T) {
	t.Parallel()
	b := newBench(t, benchConfig{})
	intake := b.intake(IntakeConfig{})
	for _, reason := range []string{"attempts", "poison", "attempts"} {
		b.publish(testLane, "m-"+fmt.Sprint(time.Now().UnixNano()))
		b.defers(intake, setAside(reason))
	}
	count := func(f DeferredFilter) (n int) {
		for d, err := range b.client.Deferred(t.Context(), f) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Route != "main" || d.Class != "otp" || d.Final.Type != EventDeferred || d.Published.IsZero() || d.Deadline.IsZero() {
				t.Errorf("copy %+v", d)
			}
			n++
		}
		return n
	}
	for want, f := range map[int]DeferredFilter{3: {}, 2: {Reason: "attempts", Route: "main"}, 1: {Seq: 2}, 0: {Route: "other"}} {
		if got := count(f); got != want {
			t.Errorf("%+v lists %d, want %d", f, got, want)
		}
	}
	d := b.deferred(2)
	for range 2 { // a second time it is gone already
		if err := b.client.DropDeferred(t.Context(), d); err != nil {
			t.Error(err)
		}
	}
	if got := count(DeferredFilter{}); got != 2 {
		t.Errorf("%d are left, want 2", got)
	}
	if _, err := b.client.deferredOf(t.Context(), DeferredFilter{Seq: 2}); !errors.Is(err, ErrNoDeferred) {
		t.Errorf("%v, want ErrNoDeferred", err)
	}
}
