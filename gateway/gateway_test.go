package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

func badRecipients(prefix string) []testserver.ErrorRule {
	return []testserver.ErrorRule{{Match: testserver.Match{Prefix: prefix}, Status: pdu.StatusInvDstAdr}}
}

func TestMessagesFlowToOneFinalOutcome(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{
		Latency: testserver.Between(time.Millisecond, 5*time.Millisecond), Errors: badRecipients("999"),
	})
	r := startGateway(t, t.TempDir(), s, "", "")
	r.publish(t, messages(60, "+1555")...)
	r.publish(t, messages(5, "+999")...)
	finals := map[string]queue.EventType{}
	for _, e := range r.await(t, 65, isFinal) {
		if was, ok := finals[e.ID]; ok {
			t.Errorf("%s ended %s and %s", e.ID, was, e.Type)
		}
		finals[e.ID] = e.Type
		want := queue.EventSubmitted
		if strings.HasPrefix(e.ID, "999") {
			want = queue.EventFailed
		}
		if e.Type != want || e.Route != "main" || e.Class != "normal" || e.Account != "acme" || e.Bind != "acme/1" {
			t.Errorf("%s: %s on %s/%s over %s; want %s on main/normal over acme/1", e.ID, e.Type, e.Route, e.Class, e.Bind, want)
		}
		if want == queue.EventSubmitted && (len(e.MessageIDs) != 1 || e.SegmentsAccepted != 1) {
			t.Errorf("%s: message ids %v, %d segments accepted, want one of each", e.ID, e.MessageIDs, e.SegmentsAccepted)
		}
	}
	stats := s.Stats()
	if stats.Submits != 65 || stats.Accepted != 60 || stats.Duplicated != 0 {
		t.Errorf("the SMSC saw %d submits, accepted %d, %d duplicated; want 65, 60, 0", stats.Submits, stats.Accepted, stats.Duplicated)
	}
	for _, rec := range s.Ledger() {
		if rec.Reference < 0 {
			t.Errorf("a submit carries no user_message_reference")
			break
		}
	}
	r.awaitMetrics(t, `sluice_answers_total{account="acme",code="0x000",outcome="submitted"} 60`,
		`sluice_message_panics_total{account="acme"} 0`, `sluice_possible_duplicates_total{account="acme"} 0`,
		`sluice_answers_total{account="acme",code="0x00B",outcome="failed"} 5`)
}

// Throttles shrink window and pace and cost no attempt; nothing is lost and nothing is sent twice.
func TestThrottledMessagesLoseNothing(t *testing.T) {
	s := startSMSC(t, testserver.Scenario{
		Latency: testserver.Between(time.Millisecond, 5*time.Millisecond),
		Limits:  []testserver.Limit{{Kind: testserver.TokenBucket, Rate: testserver.PerSecond(60), Burst: 3}},
		// On a machine too busy to reach the limit some are throttled as well.
		Errors: []testserver.ErrorRule{{Match: testserver.Match{Every: 50}, Status: pdu.StatusThrottled}},
	})
	r := startGateway(t, t.TempDir(), s, "", "")
	r.publish(t, messages(300, "+1555")...)
	throttled := 0
	for _, e := range r.await(t, 300, isFinal) {
		if e.Type != queue.EventSubmitted || e.Attempt != 1 || e.PossibleDuplicate {
			t.Errorf("%s: %s after %d attempts, possible duplicate %v; want submitted after 1", e.ID, e.Type, e.Attempt, e.PossibleDuplicate)
		}
	}
	for _, e := range r.events(t) {
		if e.Type == queue.EventThrottled {
			throttled++
			if e.Attempt != 0 || e.NextAttemptAt.IsZero() {
				t.Errorf("%s: a throttle with attempt %d and next attempt at %v", e.ID, e.Attempt, e.NextAttemptAt)
			}
		}
	}
	stats := s.Stats()
	if stats.Accepted != 300 || stats.Duplicated != 0 || int(stats.Throttled) != throttled {
		t.Errorf("the SMSC accepted %d, %d duplicated, throttled %d; the journal has %d throttles",
			stats.Accepted, stats.Duplicated, stats.Throttled, throttled)
	}
	if throttled == 0 {
		t.Error("nothing was throttled: the test does not test")
	}
	binds := r.Binds()
	if len(binds) != 1 || len(binds[0].Decisions) == 0 || binds[0].Ceiling > 80 {
		t.Errorf("binds %+v: want one with decisions and a learned ceiling of about 60/s", binds)
	}
}

// Each kind of bad input has its own outcome and disturbs nothing else.
func TestBadInputEndsAsAClearOutcome(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{})
	r := startGateway(t, t.TempDir(), s, "", "")
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{
		`{"v":1,"id":"not-json"`,
		`{"v":1,"id":"unknown-field","to":"+15550100","text":"x","expiresin":"4m"}`,
		`{"v":1,"id":"no-recipient","to":"","text":"x"}`,
		`{"v":1,"id":"too-long","to":"+15550100","text":"` + strings.Repeat("a", 255*153+1) + `"}`,
		`{"v":1,"id":"expired","to":"+15550100","text":"x","expires_at":"2020-01-01T00:00:00Z"}`,
		`{"v":1,"id":"huge","to":"+15550100","text":"x","tlvs":[` + strings.Repeat(`{"tag":"0x1400","hex":"`+strings.Repeat("00", 30_000)+`"},`, 2) +
			`{"tag":"0x1401","hex":"` + strings.Repeat("00", 30_000) + `"}]}`,
		`{"v":1,"id":"payload","to":"+15550100","text":"x","tlvs":[{"tag":"message_payload","hex":"61"}]}`,
		`{"v":1,"id":"mark","to":"+15550100","text":"x","tlvs":[{"tag":"0x0204","hex":"0001"}]}`,
		`{"v":1,"id":"good","to":"+15550100","text":"x"}`,
	} {
		if _, err := js.Publish(t.Context(), "sms.mt.main.normal", []byte(payload)); err != nil {
			t.Fatal(err)
		}
	}
	type outcome struct {
		event  queue.EventType
		reason string
	}
	want := map[string]outcome{
		"SMS_MT:1":      {queue.EventFailed, reasonMalformed},
		"unknown-field": {queue.EventDeferred, reasonUnknownField},
		"no-recipient":  {queue.EventFailed, reasonMalformed},
		"too-long":      {queue.EventFailed, reasonTooLong},
		"expired":       {queue.EventExpired, reasonPastDeadline},
		"huge":          {queue.EventFailed, reasonMalformed},
		"payload":       {queue.EventFailed, reasonMalformed},
		"mark":          {queue.EventFailed, reasonMalformed},
		"good":          {queue.EventSubmitted, ""},
	}
	for _, e := range r.await(t, len(want), isFinal) {
		if got := (outcome{e.Type, e.Reason}); got != want[e.ID] {
			t.Errorf("%s: %v, want %v", e.ID, got, want[e.ID])
		}
		if e.Type == queue.EventFailed && e.Detail == "" {
			t.Errorf("%s: failed without a detail", e.ID)
		}
	}
	if n := s.Stats().Submits; n != 1 {
		t.Errorf("the SMSC saw %d submits, want the one good message", n)
	}
	if _, err := js.Publish(t.Context(), "sms.mt.nowhere.normal", []byte(`{}`)); err == nil {
		t.Error("a publish to a route that does not exist was accepted")
	}
}

// What the SMSC takes without answering is sent once more, marked, and then waits for a person.
func TestSwallowedAnswerIsResentOnceAndMarked(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{Faults: []testserver.Fault{
		{Kind: testserver.FaultSwallow, Match: testserver.Match{Prefix: "1777"}},
		{Kind: testserver.FaultSwallow, Match: testserver.Match{Prefix: "1888", Times: 1}},
	}})
	r := startGateway(t, t.TempDir(), s, "response_timeout: 2s\nunknown: {after: 10ms}", "")
	r.publish(t, messages(1, "+1777")...)
	r.publish(t, messages(1, "+1888")...)
	for _, e := range r.await(t, 2, isFinal) {
		want := queue.EventSubmitted
		if strings.HasPrefix(e.ID, "1777") {
			want = queue.EventDeferred
		}
		if e.Type != want || !e.PossibleDuplicate {
			t.Errorf("%s: %s, possible duplicate %v; want %s, marked", e.ID, e.Type, e.PossibleDuplicate, want)
		}
	}
	if n := s.Stats().Submits; n != 4 {
		t.Errorf("%d submits, want two of each message", n)
	}
}

// A stop finishes what is in flight and unbinds; the next start goes on, and nothing is sent twice.
func TestStopAndStartLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{
		Latency: testserver.Between(5*time.Millisecond, 20*time.Millisecond),
		Limits:  []testserver.Limit{{Kind: testserver.TokenBucket, Rate: testserver.PerSecond(100), Burst: 5}},
	})
	dir := t.TempDir()
	r := startGateway(t, dir, s, "", "")
	r.publish(t, messages(200, "+1555")...)
	r.await(t, 50, isFinal)
	r.stop()
	r = startGateway(t, dir, s, "", "")
	finals := map[string]int{}
	for _, e := range r.await(t, 200, isFinal) {
		finals[e.ID]++
		if e.Type != queue.EventSubmitted || e.PossibleDuplicate {
			t.Errorf("%s: %s, possible duplicate %v", e.ID, e.Type, e.PossibleDuplicate)
		}
	}
	stats := s.Stats()
	if len(finals) != 200 || stats.Accepted != 200 || stats.Duplicated != 0 {
		t.Errorf("%d messages have a final, %d accepted, %d duplicated; want 200, 200, 0", len(finals), stats.Accepted, stats.Duplicated)
	}
}

// awaitStatus polls until /status says of the account with that status of HTTP what holds the word.
func (r *rig) awaitStatus(t *testing.T, status int, word string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		code, body := r.get(t, "/status?account=acme")
		if code == status && strings.Contains(body, word) {
			return body
		}
		select {
		case <-ctx.Done():
			t.Fatalf("/status stays %d %q, want %d and %q", code, body, status, word)
		case <-tick.C:
		}
	}
}

// awaitMetrics polls until /metrics has all of the lines: an outcome is counted after its event is out.
func (r *rig) awaitMetrics(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		await(t, "/metrics with "+line, func() bool {
			_, body := r.get(t, "/metrics")
			return strings.Contains(body, line+"\n")
		})
	}
}

func (r *rig) get(t *testing.T, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.HTTPAddr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// queue_full: destination says that 0x14 speaks about one recipient: its messages wait, the account keeps its rate.
func TestQueueFullOfOneDestinationLeavesThePaceAlone(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{Errors: []testserver.ErrorRule{{
		Match: testserver.Match{Prefix: "1777"}, Status: pdu.StatusMsgQFull,
	}}})
	r := startGateway(t, t.TempDir(), s, "queue_full: destination", "")
	r.publish(t, messages(10, "+1777")...)
	r.publish(t, messages(40, "+1555")...)
	for _, e := range r.await(t, 40, isFinal) {
		if e.Type != queue.EventSubmitted || strings.HasPrefix(e.ID, "1777") {
			t.Errorf("%s: %s", e.ID, e.Type)
		}
	}
	throttled := 0
	for _, e := range r.events(t) {
		if e.Type == queue.EventThrottled {
			throttled++
			if e.Attempt != 0 || !strings.HasPrefix(e.ID, "1777") {
				t.Errorf("%s was throttled with attempt %d", e.ID, e.Attempt)
			}
		}
	}
	if throttled == 0 {
		t.Error("nothing was throttled: the test does not test")
	}
	for _, d := range r.Binds()[0].Decisions {
		if strings.Contains(d, "refused") {
			t.Errorf("the window took it for load: %s", d)
		}
	}
}
