//go:build interop

package interop

import (
	"context"
	"encoding/hex"
	"net"
	"testing"
	"time"

	"sluice/smpp/pdu"
	"sluice/testserver"
)

// throttled is the destination whose submits the fake SMSC refuses with 0x58.
const throttled = "4915550158"

// fakeSMSC is the fake SMSC on a loopback port, tapped.
type fakeSMSC struct {
	*testserver.Server
	*tapListener
}

// serve runs the fake SMSC until the test ends. wrap puts something around its
// listener, such as TLS.
func serve(t *testing.T, sc testserver.Scenario, wrap func(net.Listener) net.Listener) *fakeSMSC {
	t.Helper()
	sc.Bind.Accounts = map[string]string{systemID: foreignPassword, halvesID: foreignPassword}
	sc.Ledger.PDUs = true
	sc.Receipts.Delay = testserver.Exactly(time.Millisecond)
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeSMSC{testserver.New(sc), &tapListener{Listener: wrap(plain)}}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- f.Serve(ctx, f.tapListener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return f
}

func plain(l net.Listener) net.Listener { return l }

// standard is the scenario of most conversations. An idle client is asked soon
// whether it is there.
func standard() testserver.Scenario {
	return testserver.Scenario{
		Link:   testserver.Link{Interval: 300 * time.Millisecond, Timeout: patience},
		Errors: []testserver.ErrorRule{{Match: testserver.Match{To: throttled}, Status: pdu.StatusThrottled}},
	}
}

func (f *fakeSMSC) port() int { return port(f.Addr()) }

// submitted is what the ledger has of the nth submit, from 1.
func (f *fakeSMSC) submitted(t *testing.T, n int) (testserver.Record, message) {
	t.Helper()
	records := f.Records(testserver.Query{After: uint64(n - 1), Limit: 1})
	if len(records) == 0 {
		t.Fatalf("the ledger has no submit %d", n)
	}
	octets, err := hex.DecodeString(records[0].PDU)
	if err != nil {
		t.Fatal(err)
	}
	_, body, err := pdu.Parse(octets)
	sm, ok := body.(*pdu.SubmitSM)
	if !ok {
		t.Fatalf("the ledger has %x: %v", octets, err)
	}
	return records[0], messageOf(t, sm)
}

// checkLedger wants the nth submit to be m, accepted once.
func (f *fakeSMSC) checkLedger(t *testing.T, n int, m message) testserver.Record {
	t.Helper()
	until(t, "the answer to the submit", func() bool { r, _ := f.submitted(t, n); return r.Answered }) // written after it is counted
	r, got := f.submitted(t, n)
	if got != m {
		t.Errorf("submit %d is\n%+v in the ledger, want\n%+v", n, got, m)
	}
	want := -1
	if m.Reference != 0 {
		want = int(m.Reference)
	}
	if r.Status != pdu.StatusOK || r.MessageID == "" || !r.Answered || r.Duplicate || r.SystemID != systemID ||
		r.Destination != m.Dest || r.Reference != want {
		t.Errorf("the ledger has %+v", r)
	}
	return r
}

// fromPhone is a message of a phone, and its octets for the fake SMSC.
func fromPhone(t *testing.T, text string) (message, pdu.DeliverSM) {
	t.Helper()
	m := split(t, text)[0]
	m.ServiceType, m.ValidityPeriod, m.Source, m.SourceTON, m.SourceNPI, m.Dest = "", "", "4915550123", 1, 1, "1000"
	return m, pdu.DeliverSM(*m.submitSM(t))
}

// acknowledged waits until so many deliveries are.
func (f *fakeSMSC) acknowledged(t *testing.T, n uint64) {
	t.Helper()
	until(t, "deliver_sm_resp", func() bool { return f.Stats().Acknowledged >= n })
}

// until waits for what nothing else reports.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("no %s within %s", what, patience)
		}
	}
}

// checkEnd wants everything that was delivered to be acknowledged.
func (f *fakeSMSC) checkEnd(t *testing.T, deliveries, unbinds, unknown uint64) {
	t.Helper()
	st := f.Stats()
	if st.Deliveries != deliveries || st.Acknowledged != deliveries || st.Rejected != 0 || st.Waiting != 0 ||
		st.Unbinds != unbinds || st.Unknown != unknown || st.Malformed != 0 || st.Bound != 0 || st.Swallowed != 0 {
		t.Errorf("want %d deliveries acknowledged, %d unbinds, %d unknown: %+v", deliveries, unbinds, unknown, st)
	}
}
