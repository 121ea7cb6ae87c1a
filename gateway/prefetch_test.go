package gateway

import (
	"testing"
	"time"

	"sluice/gateway/admin"
	"sluice/queue"
	"sluice/testserver"
)

// Two gateways on one NATS whose acknowledgement wait is shorter than the SMSC takes to answer: nothing that one holds,
// or has pulled ahead, is submitted twice. Should the machine be too slow to keep a message with its holder, the other
// finds its record open and does not submit it either; that none is handed out twice is tested in the queue.
func TestTwoGatewaysAndAShortAckWaitMakeNoDuplicate(t *testing.T) {
	t.Parallel()
	const n = 80
	s := startSMSC(t, testserver.Scenario{Latency: testserver.Between(4*time.Second, 5*time.Second)})
	cfg := testConfig(t, t.TempDir(), s, "window: {max: 40}\nrate: {declared: 40}", "")
	cfg.Streams.AckWait = 3 * time.Second // less than the configuration allows, which wants it above the response timeout
	r := runGateway(t, cfg, Options{})
	second := joinConfig(t, r, "test-2", s, "window: {max: 40}\nrate: {declared: 40}")
	second.Streams.AckWait = 3 * time.Second
	runGateway(t, second, Options{})
	r.awaitAccount(t, "a share for both", func(a admin.Account) bool { return a.Share > 0 && a.Share < 1 && a.State == string(Bound) })
	r.publish(t, messages(n, "+1555")...)
	by := map[string]int{}
	for _, e := range r.await(t, n, isFinal) {
		by[e.Bind]++
		if e.Type != queue.EventSubmitted || e.PossibleDuplicate {
			t.Errorf("%s: %s (%s), possible duplicate %v; want submitted", e.ID, e.Type, e.Reason, e.PossibleDuplicate)
		}
	}
	stats := s.Stats()
	if stats.Submits != n || stats.Accepted != n || stats.Duplicated != 0 {
		t.Errorf("%d submits, %d accepted, %d of them twice; want %d, all and none", stats.Submits, stats.Accepted, stats.Duplicated, n)
	}
	sessions := map[int]int{}
	for _, record := range s.Ledger() {
		sessions[record.Bind]++
	}
	if len(sessions) != 2 {
		t.Errorf("the submits came over sessions %v, want both gateways to work", sessions)
	}
}
