package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
	"sluice/testserver/longtest"
)

// smallStoreConfig is a gateway with 400 MB of store and two accounts with a route each.
func smallStoreConfig(t *testing.T, s, other smsc) *config.Config {
	t.Helper()
	cfg := testConfig(t, t.TempDir(), s, "", fmt.Sprintf(`
  other: {address: %q, system_id: other, password: secret}
routes:
  main: {accounts: acme}
  second: {accounts: other}
`, other.addr))
	cfg.NATS.Embedded.MaxStore = 400e6
	return cfg
}

// publishTo sends n messages over the other account's route and waits until all are accepted.
func (r *rig) publishToOther(t *testing.T, n int, name string) {
	t.Helper()
	for i := range n {
		m := &queue.Message{ID: fmt.Sprintf("%s-%d", name, i), From: "1000", To: fmt.Sprintf("+1777%04d", i), Text: "of the other", Receipt: true}
		if _, _, err := r.client.Publish(t.Context(), "second", "normal", m); err != nil {
			t.Fatal(err)
		}
	}
	finals := r.await(t, n, func(e queue.Event) bool {
		return isFinal(e) && e.Route == "second" && bytes.HasPrefix([]byte(e.ID), []byte(name))
	})
	for _, e := range finals {
		if e.Type != queue.EventSubmitted {
			t.Errorf("message %s of the other account ended %s (%s)", e.ID, e.Type, e.Reason)
		}
	}
	r.await(t, n, func(e queue.Event) bool {
		return e.Type == queue.EventReceipt && e.Route == "second" && bytes.HasPrefix([]byte(e.ID), []byte(name))
	})
}

// One SMSC that sends without end has at most half of the store's share for inbound, and is asked to keep the rest with
// 0x14; the other account's messages and receipts all pass.
func TestFloodOfDeliverSMStopsNoOtherAccount(t *testing.T) {
	longtest.Only(t, "fills a store of 40 MB")
	t.Parallel()
	s, other := startSMSC(t, testserver.Scenario{}), startSMSC(t, testserver.Scenario{Receipts: testserver.Receipts{}})
	r := runGateway(t, smallStoreConfig(t, s, other), Options{})
	r.awaitStatus(t, http.StatusOK, "bound")
	payload := bytes.Repeat([]byte("x"), 20_000)
	flood := func(n int) {
		for i := range n {
			body := pdu.DeliverSM{Source: pdu.Address{Addr: fmt.Append(nil, 1000+i)}, TLVs: pdu.TLVs{{Tag: pdu.TagMessagePayload, Value: payload}}}
			if err := s.Deliver("sluice", body); err != nil && !errors.Is(err, testserver.ErrNoReceiver) {
				t.Fatal(err)
			}
		}
	}
	// SMS_MO takes 20 MB, and of SMS_IN half of 40 MB is left for this account.
	await(t, "the refusals", func() bool {
		flood(50)
		return r.sum(t, "sluice_inbound_refused_total", "acme") > 100
	})
	r.publishToOther(t, 50, "during")
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	in, err := js.Stream(t.Context(), "SMS_IN")
	if err != nil {
		t.Fatal(err)
	}
	if info := in.CachedInfo(); info.State.Bytes > uint64(info.Config.MaxBytes)/100*55 {
		t.Errorf("SMS_IN holds %d of %d octets, want about half at most", info.State.Bytes, info.Config.MaxBytes)
	}
	if n := r.sum(t, "sluice_inbound_refused_total", "other"); n != 0 {
		t.Errorf("%v PDUs of the other account were refused", n)
	}
}

// A publisher's malformed messages have half of the deferred stream's share; then they end without a copy, and say so.
// Nobody else waits.
func TestFloodOfMalformedMessagesStopsNobody(t *testing.T) {
	longtest.Only(t, "fills a store with 45 MB of malformed messages")
	t.Parallel()
	s, other := startSMSC(t, testserver.Scenario{}), startSMSC(t, testserver.Scenario{Receipts: testserver.Receipts{}})
	r := runGateway(t, smallStoreConfig(t, s, other), Options{})
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	const flood = 150
	bad := append([]byte(`{"v":1,"id":7,"text":"`), bytes.Repeat([]byte("x"), 300_000)...)
	for range flood { // 45 MB
		if _, err := js.Publish(t.Context(), "sms.mt.main.normal", bad); err != nil {
			t.Fatal(err)
		}
	}
	finals := r.await(t, flood, func(e queue.Event) bool { return isFinal(e) && e.Route == "main" })
	copied, without := 0, 0
	for _, e := range finals {
		switch {
		case e.Type != queue.EventFailed || e.Reason != reasonMalformed:
			t.Fatalf("a malformed message ended %s (%s)", e.Type, e.Reason)
		case e.Copy == "none":
			without++
		default:
			copied++
		}
	}
	if copied < 20 || copied > 80 || without == 0 {
		t.Errorf("%d copied, %d without a copy; want about 66 copies of 300 kB in half of 40 MB", copied, without)
	}
	r.publishToOther(t, 50, "after")
	m := messages(1, "+1555")[0]
	r.publish(t, m)
	if e := r.await(t, 1, func(e queue.Event) bool { return isFinal(e) && e.ID == m.ID })[0]; e.Type != queue.EventSubmitted {
		t.Errorf("a good message of the same route ended %s (%s)", e.Type, e.Reason)
	}
}
