package gateway

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/classify"
	"sluice/gateway/admin"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// A wrong password stops the account, is probed slowly, keeps the queue, and is said in binds and /status.
func TestF21WrongPasswordStopsTheAccountAndKeepsTheQueue(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{Bind: testserver.BindRules{Accounts: map[string]string{"sluice": "another"}}})
	r := startGateway(t, t.TempDir(), s, "", "")
	r.publish(t, messages(3, "+1555")...)
	line := r.awaitStatus(t, http.StatusServiceUnavailable, "config")
	for _, want := range []string{"config: bind refused", "ESME_RINVPASWD", "next try"} {
		if !strings.Contains(line, want) {
			t.Errorf("/status says %q, want it to name %q", line, want)
		}
	}
	var binds []admin.Bind
	await(t, "an answer", func() bool {
		var gathered admin.Gathered
		var err error
		binds, gathered, err = admin.Binds(t.Context(), r.client)
		if err != nil && !errors.Is(err, admin.ErrNoInstance) || gathered.Answered > 1 {
			t.Fatalf("binds: %v, %+v, %v", binds, gathered, err)
		}
		return len(binds) == 1
	})
	b := binds[0]
	if b.State != string(ConfigFault) || !strings.Contains(b.Reason, "ESME_RINVPASWD") || time.Until(b.Until) > probeFirst {
		t.Errorf("bind %+v: want config, the status, and a probe within %v", b, probeFirst)
	}
	if strings.Contains(b.Reason+line, "secret") {
		t.Error("the password is shown")
	}
	lanes, err := r.client.LaneStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var queued uint64
	for _, l := range lanes {
		queued += l.Pending
	}
	if queued != 3 || s.Stats().Submits != 0 {
		t.Errorf("%d messages queued and %d submitted, want 3 and 0", queued, s.Stats().Submits)
	}
}

// A status of class config stops the account after one submit and costs the message nothing.
func TestF45NoRightsStopTheAccountAndKeepTheMessage(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{Errors: []testserver.ErrorRule{{Status: pdu.StatusInvCmdID}}})
	r := startGateway(t, t.TempDir(), s, "window: {max: 1}", "")
	r.publish(t, messages(3, "+1555")...)
	r.awaitStatus(t, http.StatusServiceUnavailable, "config")
	e := r.await(t, 1, func(e queue.Event) bool { return e.Type == queue.EventRetry })[0]
	if e.Reason != reasonAccountConfig || e.Attempt != 0 {
		t.Errorf("%s (%s) with %d attempts, want retry (%s) with none", e.Type, e.Reason, e.Attempt, reasonAccountConfig)
	}
	if n := s.Stats().Submits; n != 1 {
		t.Errorf("%d submits, want 1", n)
	}
}

// Several binds of one account share one pace and take turns.
func TestBindsOfOneAccountShareTheWork(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{
		Latency: testserver.Between(5*time.Millisecond, 20*time.Millisecond),
		Limits:  []testserver.Limit{{Kind: testserver.TokenBucket, Rate: testserver.PerSecond(200), Burst: 10}},
	})
	r := startGateway(t, t.TempDir(), s, "binds: 3", "")
	r.awaitAccount(t, "three binds", func(a admin.Account) bool { return a.Binds == 3 })
	r.publish(t, messages(300, "+1555")...)
	perBind := map[string]int{}
	for _, e := range r.await(t, 300, isFinal) {
		perBind[e.Bind]++
		if e.Type != queue.EventSubmitted {
			t.Errorf("%s: %s", e.ID, e.Type)
		}
	}
	if len(perBind) != 3 {
		t.Errorf("the work went over %v, want three binds", perBind)
	}
	if binds := r.Binds(); len(binds) != 3 || binds[2].Number != 3 || binds[2].State != string(Bound) {
		t.Errorf("binds %+v, want three that are bound", binds)
	}
	if stats := s.Stats(); stats.Duplicated != 0 || stats.Accepted != 300 {
		t.Errorf("the SMSC accepted %d, %d of them twice", stats.Accepted, stats.Duplicated)
	}
}

// A pair submits over its transmitter and gets receipts over its receiver.
func TestTransmitterAndReceiverMakeOneBind(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{})
	r := startGateway(t, t.TempDir(), s, "bind: transmitter+receiver", "")
	m := messages(1, "+1555")[0]
	m.Receipt = true
	r.publish(t, m)
	e := r.await(t, 1, func(e queue.Event) bool { return e.Type == queue.EventReceipt })[0]
	if e.ID != m.ID {
		t.Errorf("the receipt is about %q, want %q", e.ID, m.ID)
	}
	modes := map[string]int{}
	for _, b := range s.Binds() {
		modes[b.Command]++
	}
	if modes["bind_transmitter"] != 1 || modes["bind_receiver"] != 1 || len(modes) != 2 {
		t.Errorf("the SMSC has sessions %v, want one transmitter and one receiver", modes)
	}
}

// One message of a shape that the SMSC refuses fails alone; a run of them over many recipients stops the account.
func TestRefusedShapesEscalateToTheAccount(t *testing.T) {
	s := startSMSC(t, testserver.Scenario{Errors: []testserver.ErrorRule{{Status: pdu.StatusInvDstTON}}})
	r := startGateway(t, t.TempDir(), s, "window: {max: 1}", "")
	r.publish(t, messages(20, "+1555")...)
	r.awaitStatus(t, http.StatusServiceUnavailable, "config")
	if n := s.Stats().Submits; n != classify.EscalatePairs {
		t.Errorf("%d submits before the account stopped, want %d", n, classify.EscalatePairs)
	}
	for _, e := range r.await(t, classify.EscalatePairs, isFinal) {
		if e.Type != queue.EventFailed {
			t.Errorf("%s: %s, want failed", e.ID, e.Type)
		}
	}
}

// A queue that is lost for good ends the gateway: a supervisor can start it again, a process that waits cannot.
func TestLostQueueEndsTheGateway(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{})
	cfg := testConfig(t, t.TempDir(), s, "", "")
	g, err := New(t.Context(), cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Run(t.Context()) }()
	g.client.Conn().Close()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "closed for good") {
		t.Errorf("Run ended with %v, want the reason", err)
	}
}

// An SMSC that is down: the bind says why and when it is tried again, and the message loses nothing by the outage.
func TestOutageIsSaidAndCostsNothing(t *testing.T) {
	t.Parallel()
	s := downSMSC(t)
	r := startGateway(t, t.TempDir(), s, "", "")
	r.publish(t, messages(1, "+1555")...)
	line := r.awaitStatus(t, http.StatusServiceUnavailable, "next try")
	if !strings.Contains(line, "unbound") {
		t.Errorf("/status says %q", line)
	}
	if err := s.SetScenario(testserver.Scenario{}); err != nil {
		t.Fatal(err)
	}
	if e := r.await(t, 1, isFinal)[0]; e.Type != queue.EventSubmitted || e.Attempt != 1 || e.PossibleDuplicate {
		t.Errorf("%s after %d attempts, possible duplicate %v; want submitted after 1", e.Type, e.Attempt, e.PossibleDuplicate)
	}
}
