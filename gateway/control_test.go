package gateway

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/gateway/admin"
	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// want changes what is wanted of the account and waits until every instance follows it.
func (r *rig) want(t *testing.T, change func(*queue.Desired)) {
	t.Helper()
	d, err := r.client.ChangeDesired(t.Context(), "acme", change)
	if err != nil {
		t.Fatal(err)
	}
	r.awaitAccount(t, "the revision", func(a admin.Account) bool { return a.Applied >= d.Revision })
}

// awaitAccount waits until every instance reports the account as wanted.
func (r *rig) awaitAccount(t *testing.T, what string, wanted func(admin.Account) bool) []admin.Account {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		accounts, _, err := admin.Accounts(ctx, r.client)
		if err != nil && !errors.Is(err, admin.ErrNoInstance) { // it may not answer yet
			t.Fatal(err)
		}
		instances, err := r.client.Instances(ctx)
		if err != nil {
			t.Fatal(err)
		}
		all, answered := len(accounts) > 0, map[string]bool{}
		for _, a := range accounts {
			all, answered[a.Instance] = all && wanted(a), true
		}
		if all && len(answered) == len(instances) {
			return accounts
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waiting for %s: the accounts are %+v", what, accounts)
		}
	}
}

func inState(s State) func(admin.Account) bool {
	return func(a admin.Account) bool { return a.State == string(s) }
}

func mode(m queue.Mode) func(*queue.Desired) {
	return func(d *queue.Desired) { d.Mode, d.ProbeAt = m, time.Now() }
}

func TestPauseKeepsTheBindAndTheQueueOverARestart(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{})
	dir := t.TempDir()
	r := startGateway(t, dir, s, "", "")
	r.awaitAccount(t, "the bind", func(a admin.Account) bool { return a.State == string(Bound) && a.Share == 1 })
	r.want(t, mode(queue.ModePause))
	line := r.awaitStatus(t, http.StatusServiceUnavailable, "paused")
	if !strings.Contains(line, "sluice resume") {
		t.Errorf("/status says %q, want the remedy", line)
	}
	r.publish(t, messages(20, "+1555")...)
	if b := r.Binds()[0]; b.State != string(Paused) || len(s.Binds()) != 1 {
		t.Errorf("the bind is %s and the SMSC has %d sessions, want it paused with one", b.State, len(s.Binds()))
	}
	r.stop()

	r = startGateway(t, dir, s, "", "")
	r.awaitAccount(t, "the pause", inState(Paused))
	r.awaitSessions(t, s, 1)
	if n := s.Stats().Submits; n != 0 {
		t.Errorf("%d submits in a pause", n)
	}
	r.want(t, mode(queue.ModeRun))
	r.await(t, 20, isFinal)
	if stats := s.Stats(); stats.Accepted != 20 || stats.Duplicated != 0 {
		t.Errorf("the SMSC accepted %d, %d of them twice, want 20 and none", stats.Accepted, stats.Duplicated)
	}
}

// awaitSessions waits until the SMSC has so many sessions.
func (r *rig) awaitSessions(t *testing.T, s smsc, n int) {
	t.Helper()
	await(t, "the sessions", func() bool { return len(s.Binds()) == n })
}

func TestDrainFinishesWhatIsInFlightAndUnbinds(t *testing.T) {
	t.Parallel()
	const n = 150
	s := startSMSC(t, testserver.Scenario{Latency: testserver.Between(800*time.Millisecond, 1200*time.Millisecond)})
	// All of them take 15 s: many are left when the drain comes, however slow the machine is.
	r := startGateway(t, t.TempDir(), s, "binds: 2\nrate: {declared: 10}", "")
	r.publishAll(t, messages(n, "+1555"))
	r.await(t, 3, isFinal)
	r.want(t, mode(queue.ModeDrain))
	r.awaitSessions(t, s, 0)
	r.awaitAccount(t, "the drain", func(a admin.Account) bool {
		return a.State == string(Draining) && a.Binds == 0 && strings.Contains(a.Reason, "sluice resume")
	})
	stats := s.Stats()
	if stats.Submits <= 3 || stats.Submits == n {
		t.Errorf("%d of %d were submitted before the drain: the test does not test", stats.Submits, n)
	}
	for _, e := range r.events(t) {
		if e.Type != queue.EventSubmitted {
			t.Errorf("%s: %s (%s), want what was in flight to be answered", e.ID, e.Type, e.Reason)
		}
	}
	fast := 200.0
	r.want(t, func(d *queue.Desired) { d.Mode, d.Rate = queue.ModeRun, &fast })
	r.await(t, n, isFinal)
	if stats := s.Stats(); stats.Accepted != n || stats.Duplicated != 0 {
		t.Errorf("the SMSC accepted %d, %d of them twice, want %d and none", stats.Accepted, stats.Duplicated, n)
	}
}

func TestRateAndWindowAreSetAndForgotten(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{})
	dir := t.TempDir()
	r := startGateway(t, dir, s, "window: {max: 30}", "")
	r.awaitAccount(t, "the bind", inState(Bound))
	rate, window := 80.0, 20
	r.want(t, func(d *queue.Desired) { d.Rate, d.MaxWindow = &rate, &window })
	check := func(declared float64, maxWindow int) {
		t.Helper()
		r.awaitAccount(t, "the numbers", func(a admin.Account) bool {
			w := r.accounts[0].gate.Snapshot()
			return a.Declared == declared && a.MaxWindow == maxWindow && a.Share == 1 && w.Declared == declared && w.MaxWindow == maxWindow
		})
	}
	check(80, 20)
	r.stop()
	r = startGateway(t, dir, s, "window: {max: 30}", "")
	check(80, 20)
	r.want(t, func(d *queue.Desired) { d.Rate, d.MaxWindow = new(float64), nil })
	check(0, 30)
	r.want(t, func(d *queue.Desired) { d.ForgetAt = time.Now() })
	decisions := r.Binds()[0].Decisions
	if all := strings.Join(decisions, "\n"); !strings.Contains(all, "forg") {
		t.Errorf("nothing was forgotten:\n%s", all)
	}
}

// A short hold is said, where it is asked for, and leaves the account bound.
func TestAskedHoldIsSaid(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{Errors: []testserver.ErrorRule{{Match: testserver.Match{Times: 1}, Status: pdu.StatusThrottled}}})
	r := startGateway(t, t.TempDir(), s, "window: {max: 1}\nstatuses: {\"0x58\": {class: throttle, hold: 4m}}", "")
	r.publish(t, messages(1, "+1555")...)
	at := r.awaitAccount(t, "the hold", func(a admin.Account) bool { return !a.HoldUntil.IsZero() })[0]
	if at.State != string(Bound) || !strings.Contains(at.Reason, "throttled until") {
		t.Errorf("in a short hold the account is %s (%s), want bound and until when", at.State, at.Reason)
	}
	var c queue.Control
	await(t, "the hold in the bucket", func() bool {
		var err error
		if c, err = r.client.ReadControl(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
		return c.Hold.Revision != 0
	})
	if c.Hold.Reason != "ESME_RTHROTTLED" || c.Hold.Until.IsZero() {
		t.Errorf("the bucket holds %+v, want the hold with its reason", c.Hold)
	}
}

// A status with hold: nothing is submitted before the wait is over, by what the SMSC saw.
func TestAskedHoldIsNeverShortened(t *testing.T) {
	t.Parallel()
	const hold = 3 * time.Second
	s := startSMSC(t, testserver.Scenario{Errors: []testserver.ErrorRule{{Match: testserver.Match{Nth: 5}, Status: pdu.StatusThrottled}}})
	r := startGateway(t, t.TempDir(), s, "window: {max: 1}\nstatuses: {\"0x58\": {class: throttle, hold: 3s}}", "")
	list := messages(12, "+1555")
	for _, m := range list {
		m.To = "+15550000" // one destination: the fifth submit is refused
	}
	r.publish(t, list...)
	r.await(t, 12, isFinal)
	ledger := s.Ledger()
	var refused time.Time
	for _, record := range ledger {
		switch {
		case record.Status == pdu.StatusThrottled:
			refused = record.Time
		case !refused.IsZero() && record.Time.Sub(refused) < hold:
			t.Errorf("submit %d came %v after the SMSC had asked for %v", record.Number, record.Time.Sub(refused), hold)
		}
	}
	if refused.IsZero() || len(ledger) != 13 {
		t.Errorf("%d submits, refused at %v: the test does not test", len(ledger), refused)
	}
}

// Many in flight are all refused with a wait: what the window would test, it tests after the wait.
func TestAskedHoldOutlastsTheWindowsOwnTests(t *testing.T) {
	t.Parallel()
	const hold = 3 * time.Second
	s := startSMSC(t, testserver.Scenario{
		Latency: testserver.Exactly(400 * time.Millisecond),
		Errors:  []testserver.ErrorRule{{Match: testserver.Match{Prefix: "1555", Times: 6}, Status: pdu.StatusThrottled}},
	})
	r := startGateway(t, t.TempDir(), s, "rate: {declared: 200}\nstatuses: {\"0x58\": {class: throttle, hold: 3s}}", "")
	r.publish(t, messages(30, "+1555")...)
	r.await(t, 30, isFinal)
	events := r.events(t)
	// What had left before the first answer was here may be read a moment later.
	known := events[slices.IndexFunc(events, func(e queue.Event) bool { return e.Type == queue.EventThrottled })].At.Add(hold / 3)
	ledger := s.Ledger()
	first, inFlight := ledger[0].Time, 0
	for _, record := range ledger {
		switch since := record.Time.Sub(first); {
		case record.Time.Before(known):
			inFlight++
		case since < hold:
			t.Errorf("submit %d came %v after the first, whose refusal asked for %v", record.Number, since, hold)
		}
	}
	if inFlight < 2 {
		t.Errorf("%d submits were in flight: the test does not test", inFlight)
	}
}

// A long hold is a state of its own, outlives a restart and reaches other instances.
func TestLongHoldIsKept(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{Errors: []testserver.ErrorRule{{Match: testserver.Match{Times: 1}, Status: pdu.StatusThrottled}}})
	dir := t.TempDir()
	account := "window: {max: 1}\nstatuses: {\"0x58\": {class: throttle, hold: 20m}}"
	r := startGateway(t, dir, s, account, "")
	r.publish(t, messages(5, "+1555")...)
	line := r.awaitStatus(t, http.StatusServiceUnavailable, "throttled until")
	if !strings.Contains(line, "ESME_RTHROTTLED") || strings.Contains(line, "throttled: throttled") {
		t.Errorf("/status says %q", line)
	}
	r.stop()
	r = startGateway(t, dir, s, account, "")
	r.awaitSessions(t, s, 1)
	r.awaitAccount(t, "the hold", func(a admin.Account) bool {
		return a.State == string(Throttled) && time.Until(a.HoldUntil) > 15*time.Minute
	})
	second := joinGateway(t, r, "test-2", s, account)
	second.awaitAccount(t, "both", inState(Throttled))
	if n := s.Stats().Submits; n != 1 {
		t.Errorf("%d submits, want 1", n)
	}
}

// What an SMSC asks for while the gateway stops is kept as well.
func TestHoldAskedForDuringAStopIsKept(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{
		Latency: testserver.Exactly(time.Second),
		Errors:  []testserver.ErrorRule{{Match: testserver.Match{Times: 1}, Status: pdu.StatusThrottled}},
	})
	dir := t.TempDir()
	const account = "statuses: {\"0x58\": {class: throttle, hold: 20m}}"
	r := startGateway(t, dir, s, account, "")
	r.publish(t, messages(1, "+1555")...)
	await(t, "the submit", func() bool { return s.Stats().Submits == 1 })
	r.stop() // and the answer comes
	r = startGateway(t, dir, s, account, "")
	r.awaitAccount(t, "the hold", inState(Throttled))
	if n := s.Stats().Submits; n != 1 {
		t.Errorf("%d submits, want 1", n)
	}
}

// An operator who has mended the account need not wait for its probe.
func TestResumeProbesAConfigAccountAtOnce(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{Bind: testserver.BindRules{Accounts: map[string]string{"sluice": "another"}}})
	r := startGateway(t, t.TempDir(), s, "", "")
	r.publish(t, messages(1, "+1555")...)
	r.awaitAccount(t, "the refusal", inState(ConfigFault))
	if err := s.SetScenario(testserver.Scenario{Bind: testserver.BindRules{Accounts: map[string]string{"sluice": "secret"}}}); err != nil {
		t.Fatal(err)
	}
	r.want(t, mode(queue.ModeRun))
	r.await(t, 1, isFinal)
}

// joinGateway runs another instance on the same NATS.
func joinGateway(t *testing.T, with *rig, name string, s smsc, account string) *rig {
	t.Helper()
	return runGateway(t, joinConfig(t, with, name, s, account), Options{})
}

func joinConfig(t *testing.T, with *rig, name string, s smsc, account string) *config.Config {
	t.Helper()
	cfg := testConfig(t, t.TempDir(), s, account, "streams: {ack_wait: "+with.cfg.Streams.AckWait.String()+"}")
	cfg.Instance, cfg.NATS.URL = name, with.NATSURL()
	return cfg
}

func TestOneNameForTwoInstancesIsRefused(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{})
	r := startGateway(t, t.TempDir(), s, "", "")
	_, err := New(t.Context(), joinConfig(t, r, "test-1", s, ""), Options{})
	var taken *queue.NameTakenError
	if !errors.As(err, &taken) || !strings.Contains(err.Error(), "test-1") || !strings.Contains(err.Error(), "`instance`") {
		t.Errorf("a second gateway of the name starts with %v, want the name and the remedy", err)
	}
}

// Two instances share what is declared; the one that was first makes room before the second takes anything.
func TestTwoInstancesShareTheRate(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{})
	account := "rate: {declared: 100}\nwindow: {max: 20}\nbinds: 2\nmax_binds: 3"
	r := startGateway(t, t.TempDir(), s, account, "")
	r.awaitAccount(t, "the whole", func(a admin.Account) bool { return a.Share == 1 && a.Binds == 2 })
	second := joinGateway(t, r, "test-2", s, account)
	r.awaitAccount(t, "the parts", func(a admin.Account) bool { return a.Share > 0 && a.Share < 1 && a.Binds > 0 })
	var declared float64
	window, binds := 0, 0
	for _, g := range []*rig{r, second} {
		w := g.accounts[0].gate.Snapshot()
		declared, window, binds = declared+w.Declared, window+w.MaxWindow, binds+len(w.Binds)
	}
	if declared > 100 || window > 20 || binds > 3 {
		t.Errorf("together they have rate %v, window %d and %d binds, want no more than 100, 20 and 3", declared, window, binds)
	}
	list := messages(40, "+1555")
	r.publish(t, list...)
	r.await(t, 40, isFinal)
	if stats := s.Stats(); stats.Accepted != 40 || stats.Duplicated != 0 {
		t.Errorf("the SMSC accepted %d, %d of them twice, want 40 and none", stats.Accepted, stats.Duplicated)
	}
}
