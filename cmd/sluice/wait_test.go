package main

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/queue"
	"sluice/testserver"
)

func journalOf(err error, events ...queue.Event) iter.Seq2[queue.Event, error] {
	return func(yield func(queue.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(queue.Event{}, err)
		}
	}
}

func TestVerdictOfAWait(t *testing.T) {
	submitted := func(seq uint64) queue.Event { return queue.Event{Type: queue.EventSubmitted, Seq: seq} }
	failed := func(seq uint64) queue.Event { return queue.Event{Type: queue.EventFailed, Seq: seq} }
	broken := errors.New("broken pipe")
	for name, c := range map[string]struct {
		events      iter.Seq2[queue.Event, error]
		interrupted bool
		code        int
		want        string
	}{
		"all submitted":          {journalOf(nil, submitted(1), submitted(9), submitted(2)), false, 0, ""},
		"one failed":             {journalOf(nil, submitted(1), failed(2)), false, 1, "1 of 2 messages were not submitted"},
		"twice the same":         {journalOf(nil, submitted(1), submitted(1)), false, 1, "1 of 2 messages still have no outcome: the journal ended too early"},
		"the journal ends early": {journalOf(nil), false, 1, "2 of 2 messages still have no outcome: the journal ended too early"},
		"the journal breaks":     {journalOf(broken, failed(1)), false, 1, "1 of 2 messages still have no outcome, and 1 were not submitted: broken pipe"},
		"interrupted":            {journalOf(nil, submitted(1)), true, 130, "interrupted: 1 of 2 messages still have no outcome; they stay"},
		"interrupted at first":   {journalOf(context.Canceled), true, 130, "interrupted: 2 of 2 messages still have no outcome; they stay"},
		"interrupted after all":  {journalOf(nil, submitted(1), submitted(2)), true, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.interrupted {
				cancel()
			}
			o := outcomesOf(allSent{{Seq: 1}, {Seq: 2}, {Seq: 2, Duplicate: true}})
			err := o.verdict(ctx, o.follow(c.events, func(*queue.Event) error { return nil }))
			if (err == nil) != (c.code == 0) || err != nil && (exitCode(err) != c.code || !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("%v, want code %d and %q", err, c.code, c.want)
			}
		})
	}
}

// An interrupt says what is not known, and the exit code tells it from success.
func TestInterruptedWaitIsNoSuccess(t *testing.T) {
	_, addr := fakeSMSC(t, testserver.Scenario{Latency: testserver.Exactly(time.Hour)})
	d := newDaemon(t, addr, "", "")
	d.start(t)
	cmd := exec.Command(binary(t), "send", "--nats", d.url(), "--file", messagesFile(t, 3), "--wait")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inQueue(t, d, 3)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); exitStatus(err) != 130 {
		t.Errorf("send --wait ends with %v", err)
	}
	contains(t, "send --wait", errs.String(), "3 ", "messages")
}

// inQueue waits until the queue holds n messages.
func inQueue(t *testing.T, d *daemon, n uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client, err := queue.Connect(ctx, queue.ConnectConfig{URL: d.url(), Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		stats, err := client.LaneStats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		held := uint64(0)
		for _, s := range stats {
			held += s.Pending + s.AckPending
		}
		if held >= n {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the queue holds %d of %d messages", held, n)
		}
	}
}

// A message that somebody deleted from the stream does not wait; its record is passed over once it is due.
func TestWaitingListsNoDeletedMessage(t *testing.T) {
	t.Parallel()
	server, err := queue.StartEmbedded(queue.EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	client, err := queue.Connect(t.Context(), queue.ConnectConfig{URL: server.URL(), Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Ensure(t.Context(), queue.Topology{Lanes: []queue.Lane{{Route: "main", Class: "normal"}}}); err != nil {
		t.Fatal(err)
	}
	publishRaw(t, server.URL(), "sms.mt.main.normal", `{"v":1,"id":"a","to":"+1","text":"x"}`, `{"v":1,"id":"b","to":"+1","text":"x"}`)
	js, err := jetstream.New(client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "SMS_MT")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	past, future := time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	list := []queue.Waiting{
		{Seq: 1, State: queue.State{NextAttemptAt: past}},
		{Seq: 2, State: queue.State{NextAttemptAt: past}},
		{Seq: 1, State: queue.State{NextAttemptAt: future}},
	}
	there, err := withoutDeleted(t.Context(), client, list)
	if err != nil || len(there) != 2 || there[0].Seq != 2 || !there[1].State.NextAttemptAt.Equal(future) {
		t.Errorf("%+v, %v: want message 2, and what is not due yet", there, err)
	}
}
