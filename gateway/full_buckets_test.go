package gateway

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// leastStoreConfig is a gateway with the smallest store that a configuration may ask for: so small that a test can fill a
// stream up to the gateway's own limit, which a restart leaves as it is. Two attempts and a short wait for late answers
// make outcomes come within seconds; with terminal_to_deferred a refusal needs room in SMS_DEFERRED.
func leastStoreConfig(t *testing.T, dir string, s smsc) *config.Config {
	t.Helper()
	cfg := testConfig(t, dir, s, "response_timeout: 2s\nunknown: {after: 10ms}",
		"routes: {main: {accounts: acme, attempts: 2, terminal_to_deferred: true}}")
	cfg.NATS.Embedded.MaxStore = 64 << 20
	return cfg
}

// fill writes what means nothing to a subject, until its stream has no room for as much as 1 octet more.
func (r *rig) fill(t *testing.T, subject string) {
	t.Helper()
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	refused := new(jetstream.APIError)
	for i, size := 0, 800_000; ; i++ {
		_, err := js.Publish(t.Context(), fmt.Sprintf("%s%d", subject, i), make([]byte, size))
		switch {
		case err == nil:
		case !errors.As(err, &refused) || refused.ErrorCode != 10077: // maximum bytes exceeded
			t.Fatal(err)
		case size == 0:
			return
		default:
			size /= 4
		}
	}
}

// makeRoom takes out what fill has written.
func (r *rig) makeRoom(t *testing.T, stream, subject string) {
	t.Helper()
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context(), jetstream.WithPurgeSubject(subject+"*")); err != nil {
		t.Fatal(err)
	}
}

// The subjects that fill and makeRoom use: no key of a record, and no copy of a message, are below them.
const (
	junkInWaiting  = "$KV.sluice_waiting.junk-"
	junkInDeferred = "sms.deferred.junk."
)

// checkOutcomes checks that every message, by its number, has one final event of the type wanted, after as many submits.
func (r *rig) checkOutcomes(t *testing.T, s smsc, want map[string]outcomeCase) {
	t.Helper()
	finals := map[string][]queue.EventType{}
	for _, e := range r.events(t) {
		if e.Type.Final() {
			finals[e.ID] = append(finals[e.ID], e.Type)
		}
	}
	sent := map[string]int{}
	for _, sm := range submits(t, s) {
		sent[sm.Destination]++
	}
	for number, w := range want {
		if got := finals[number]; !slices.Equal(got, []queue.EventType{w.event}) || sent[number] != w.submits {
			t.Errorf("%s: %v after %d submits, want %s after %d", number, got, sent[number], w.event, w.submits)
		}
	}
}

// outcomeCase is what a message has to end as, after how many submits.
type outcomeCase struct {
	event   queue.EventType
	submits int
}

// A bucket of records that is full: what waits is explained by the journal, over a restart too. A part that was accepted
// is not sent again, a resend and an attempt stay used, and a throttled message goes out once.
func TestFullWaitingBucketLosesAndDoublesNothing(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %t", restart), func(t *testing.T) {
			t.Parallel()
			sc := testserver.Scenario{Ledger: keepsPDUs()}
			want, list := map[string]outcomeCase{}, []*queue.Message(nil)
			add := func(number string, text string, event queue.EventType, submits int, script ...pdu.Status) {
				m := testserver.Match{To: number}
				if script == nil {
					sc.Faults = append(sc.Faults, testserver.Fault{Match: m, Kind: testserver.FaultSwallow})
				} else {
					sc.Errors = append(sc.Errors, testserver.ErrorRule{Match: m, Script: script})
				}
				want[number] = outcomeCase{event, submits}
				list = append(list, &queue.Message{ID: number, From: "ACME", To: "+" + number, Text: text})
			}
			const throttled, temporary = pdu.StatusThrottled, pdu.StatusSysErr
			for i := range 6 {
				add(fmt.Sprintf("1555000%d", i), long(3), queue.EventSubmitted, 4, 0, throttled)     // part 2 twice
				add(fmt.Sprintf("1555100%d", i), "x", queue.EventSubmitted, 3, throttled, throttled) // no attempt
				add(fmt.Sprintf("1555300%d", i), "x", queue.EventSubmitted, 1, 0)                    // needs no record
			}
			add("15552000", "x", queue.EventDeferred, 2, temporary, temporary) // both attempts; one number makes no account fail
			for i := range 3 {                                                 // few enough for an account that is not silent
				add(fmt.Sprintf("1555400%d", i), "x", queue.EventDeferred, 2) // the one resend
			}
			s, dir := startSMSC(t, sc), t.TempDir()
			r := runGateway(t, leastStoreConfig(t, dir, s), Options{})
			r.fill(t, junkInWaiting)
			r.publish(t, list...)
			if restart {
				await(t, "records that did not fit", func() bool { return r.sum(t, "sluice_stream_full_total", "KV_sluice_waiting") > 5 })
				r.stop()
				r = runGateway(t, leastStoreConfig(t, dir, s), Options{})
			}
			r.await(t, len(list), isFinal)
			r.awaitEmpty(t)
			r.checkOutcomes(t, s, want)
			if r.sum(t, "sluice_queue_redeliveries_total", "journal") == 0 {
				t.Error("no delivery was explained by the journal: the test does not test")
			}
		})
	}
}

// A stream of deferred messages that is full: what is to be copied waits with the outcome that it has, is not submitted
// again, and ends once with its copy when there is room, over a restart and with a bucket of records that is full too.
// Another lane goes on meanwhile.
func TestFullDeferredStreamLosesAndDoublesNothing(t *testing.T) {
	for _, c := range []struct{ restart, waitingToo bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprintf("restart %t, no room for records %t", c.restart, c.waitingToo), func(t *testing.T) {
			t.Parallel()
			sc := testserver.Scenario{Ledger: keepsPDUs(), Errors: badRecipients("1555"), Faults: []testserver.Fault{
				{Match: testserver.Match{Prefix: "1666"}, Kind: testserver.FaultSwallow},
			}}
			want, list := map[string]outcomeCase{}, []*queue.Message(nil)
			for i := range 3 {
				for number, w := range map[string]outcomeCase{
					fmt.Sprintf("1555000%d", i): {queue.EventFailed, 1},   // refused for good
					fmt.Sprintf("1666000%d", i): {queue.EventDeferred, 2}, // no answer, twice
				} {
					want[number] = w
					list = append(list, &queue.Message{ID: number, From: "ACME", To: "+" + number, Text: "x"})
				}
			}
			s, dir := startSMSC(t, sc), t.TempDir()
			r := runGateway(t, leastStoreConfig(t, dir, s), Options{})
			r.fill(t, junkInDeferred)
			if c.waitingToo {
				r.fill(t, junkInWaiting)
			}
			r.publish(t, list...)
			await(t, "outcomes that wait", func() bool { return r.sum(t, "sluice_stream_full_total", "SMS_DEFERRED") >= 2 })
			other := &queue.Message{ID: "17770000", From: "ACME", To: "+17770000", Text: "x"}
			if _, _, err := r.client.Publish(t.Context(), "main", "otp", other); err != nil {
				t.Fatal(err)
			}
			want[other.ID] = outcomeCase{queue.EventSubmitted, 1}
			if e := r.await(t, 1, isFinal)[0]; e.ID != other.ID {
				t.Errorf("%s ended %s without room for its copy, before the message of another lane", e.ID, e.Type)
			}
			if c.restart {
				r.stop()
				r = runGateway(t, leastStoreConfig(t, dir, s), Options{})
			}
			r.makeRoom(t, "SMS_DEFERRED", junkInDeferred)
			r.await(t, len(want), isFinal)
			r.awaitEmpty(t)
			r.checkOutcomes(t, s, want)
			copies := map[string]int{}
			for d, err := range r.client.Deferred(t.Context(), queue.DeferredFilter{}) {
				if err != nil {
					t.Fatal(err)
				}
				copies[d.ID]++
			}
			for _, m := range list {
				if copies[m.ID] != 1 {
					t.Errorf("%s has %d copies, want 1", m.ID, copies[m.ID])
				}
			}
			if len(copies) != len(list) {
				t.Errorf("%d messages have a copy, want %d", len(copies), len(list))
			}
		})
	}
}
