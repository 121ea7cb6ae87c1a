package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/testserver"
)

// One dead SMSC of two takes nothing away from /readyz, which load balancers ask; /status says how each account stands,
// and answers 503 for the one that cannot submit.
func TestADeadSMSCLeavesTheInstanceReady(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{})
	cfg := testConfig(t, t.TempDir(), s, "", "  dead: {address: \"127.0.0.1:1\", system_id: sluice, password: secret}\n"+
		"routes:\n  main: {accounts: [acme, dead]}\n")
	r := runGateway(t, cfg, Options{})
	r.awaitStatus(t, http.StatusOK, `"state":"bound"`)
	await(t, "readiness", func() bool {
		code, body := r.get(t, "/readyz")
		return code == http.StatusOK && body == "ready\n"
	})
	if code, _ := r.get(t, "/status?account=dead"); code != http.StatusServiceUnavailable {
		t.Errorf("/status of the dead account answers %d, want 503", code)
	}
	if code, body := r.get(t, "/status?account=other"); code != http.StatusNotFound {
		t.Errorf("/status of an unknown account answers %d %s, want 404", code, body)
	}
	code, body := r.get(t, "/status")
	var status Status
	if err := json.Unmarshal([]byte(body), &status); err != nil || code != http.StatusOK {
		t.Fatalf("/status answers %d %s (%v)", code, body, err)
	}
	if !status.Ready || len(status.Accounts) != 2 || len(status.Lanes) != 3 || !status.Accounts[0].CanSubmit || status.Accounts[1].CanSubmit {
		t.Errorf("/status says %s", body)
	}
}

// An instance whose lease is claimed and never renewed is not ready, and says why.
func TestALeaseThatIsNeverConfirmedIsNotReady(t *testing.T) {
	t.Parallel()
	g, err := New(t.Context(), testConfig(t, t.TempDir(), startSMSC(t, testserver.Scenario{}), "", ""), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.teardown.run() }()
	now := time.Now()
	if faults := g.notReady(now); len(faults) != 0 {
		t.Errorf("at the start: %q", faults)
	}
	if faults := g.notReady(now.Add(time.Minute)); len(faults) != 1 || !strings.HasPrefix(faults[0], "lease: not confirmed for ") {
		t.Errorf("a minute later: %q, want the lease", faults)
	}
}
