package gateway

import (
	"testing"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// What a message has been through goes with it: to another instance when its gateway stops, and over a restart of
// everything. No throttle and no attempt is forgotten, and it is never sent before its time.
func TestAWaitingMessageKeepsItsAccountOverHandoverAndRestart(t *testing.T) {
	t.Parallel()
	const to = "15550100"
	for name, restart := range map[string]bool{"to another instance": false, "over a restart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startSMSC(t, testserver.Scenario{Errors: []testserver.ErrorRule{{Match: testserver.Match{To: to}, Script: []pdu.Status{
				pdu.StatusThrottled, pdu.StatusSysErr, pdu.StatusThrottled, pdu.StatusThrottled,
			}}}})
			const asked = `statuses: {"0x58": {class: throttle, hold: 1s}}`
			dir := t.TempDir()
			server, err := queue.StartEmbedded(queue.EmbeddedConfig{Dir: dir, Listen: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { server.Shutdown() }()
			start := func(name string) *rig {
				cfg := testConfig(t, dir, s, asked, "")
				cfg.Instance, cfg.NATS.URL = name, server.URL()
				return runGateway(t, cfg, Options{})
			}
			first := start("test-1")
			first.publish(t, messages(1, "+4477")...) // so that a temporary error is the message's
			first.await(t, 1, isFinal)
			first.publish(t, &queue.Message{ID: "m", From: "1000", To: "+" + to, Text: "x"})
			first.await(t, 3, func(e queue.Event) bool { return e.Type == queue.EventThrottled || e.Type == queue.EventRetry })
			first.stop()
			next := "test-2"
			if restart {
				if err := server.Restart(); err != nil {
					t.Fatal(err)
				}
				next = "test-1"
			}
			r := start(next)
			defer r.stop()
			r.await(t, 2, isFinal)
			events, submits := r.events(t)[1:], s.Ledger()[1:]
			if len(events) != 5 || len(submits) != 5 {
				t.Fatalf("%d events and %d submits, want 5 of each", len(events), len(submits))
			}
			for i, want := range []struct {
				kind                queue.EventType
				attempts, throttles int
			}{
				{queue.EventThrottled, 0, 1},
				{queue.EventRetry, 1, 1},
				{queue.EventThrottled, 1, 2},
				{queue.EventThrottled, 1, 3},
				{queue.EventSubmitted, 2, 3},
			} {
				e := events[i]
				if e.Type != want.kind || e.Attempt != want.attempts || e.Throttles != want.throttles || e.PossibleDuplicate {
					t.Errorf("event %d: %s, attempt %d, %d throttles, possible duplicate %v; want %s, %d, %d, false", i, e.Type,
						e.Attempt, e.Throttles, e.PossibleDuplicate, want.kind, want.attempts, want.throttles)
				}
				if i == 0 {
					continue
				}
				// JetStream measures a delay from when it got the request: a little after the event was made.
				if early := events[i-1].NextAttemptAt.Sub(submits[i].Time); early > 10*time.Millisecond {
					t.Errorf("submit %d came %v before its time", i+1, early)
				}
				if asked := events[i-1].At.Add(time.Second); events[i-1].Type == queue.EventThrottled && submits[i].Time.Before(asked) {
					t.Errorf("submit %d came %v after the throttle, which asked for 1 s", i+1, submits[i].Time.Sub(events[i-1].At))
				}
			}
		})
	}
}
