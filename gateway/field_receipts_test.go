package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

func receiptsOfIDs(ids ...string) func(queue.Event) bool {
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	return func(e queue.Event) bool { return e.Type == queue.EventReceipt && wanted[e.ID] }
}

func askForReceipts(list []*queue.Message) (ids []string) {
	for _, m := range list {
		m.Receipt = true
		ids = append(ids, m.ID)
	}
	return ids
}

// F31: the receipt comes on another bind of the account.
func TestF31ReceiptOnAnotherBind(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{Receipts: testserver.Receipts{Receipt: testserver.Receipt{OtherBind: true}}})
	r := startGateway(t, t.TempDir(), s, "binds: 2", "")
	list := messages(20, "+1555")
	ids := askForReceipts(list)
	r.awaitBinds(t, s, 2)
	r.publish(t, list...)
	submittedOn := map[string]string{}
	for _, e := range r.await(t, len(ids), isFinal) {
		submittedOn[e.ID] = e.Bind
	}
	for _, e := range r.await(t, len(ids), receiptsOfIDs(ids...)) {
		if e.Bind == "" || e.Receipt.State != "delivered" {
			t.Errorf("%s: %+v with %+v", e.ID, e, e.Receipt)
		}
	}
	// An event may be out before the SMSC has read the acknowledgement.
	await(t, "the acknowledgements", func() bool { return s.Stats().Acknowledged >= uint64(len(ids)) })
	if counts := s.Stats(); counts.Acknowledged != uint64(len(ids)) {
		t.Errorf("%d receipts acknowledged, want %d", counts.Acknowledged, len(ids))
	}
}

// awaitBinds waits until that many sessions are bound at the SMSC.
func (r *rig) awaitBinds(t *testing.T, s smsc, n int) {
	t.Helper()
	await(t, "the binds", func() bool { return len(s.Binds()) >= n })
}

// F31, sibling: the receipt comes to another instance of the gateway than submitted, and either of them works on it.
func TestF31ReceiptAtAnotherInstance(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{
		MessageID: testserver.MessageID{Format: testserver.Hex, Width: 8, First: 0xABCD},
		Receipts:  testserver.Receipts{Receipt: testserver.Receipt{OtherBind: true, ID: testserver.Decimal, Copies: 1}},
	})
	const forms = "receipts: {response_id: hex, receipt_id: decimal}"
	first := startGateway(t, t.TempDir(), s, forms, "")
	cfg := testConfig(t, t.TempDir(), s, forms, "")
	cfg.Instance, cfg.NATS = "test-2", config.NATS{URL: first.NATSURL()}
	second := runGateway(t, cfg, Options{})
	first.awaitBinds(t, s, 2)
	list := messages(40, "+1555")
	ids := askForReceipts(list)
	first.publish(t, list...)
	got := map[string]int{}
	for _, e := range first.await(t, len(ids), receiptsOfIDs(ids...)) {
		got[e.ID]++
	}
	second.stop()
	for _, e := range first.events(t) {
		if e.Type == queue.EventReceipt && (got[e.ID] != 1 || e.Receipt.MessageState != "delivered") {
			t.Errorf("%q: %d events, the last %+v; want one, delivered", e.ID, got[e.ID], e.Receipt)
		}
	}
	if len(got) != len(ids) {
		t.Errorf("%d messages have a receipt, want %d", len(got), len(ids))
	}
}

// F32: ids in hexadecimal here and in decimal there, with zeros and in upper case: examples D13 to D15 and D02.
func TestF32MixedMessageIDs(t *testing.T) {
	t.Parallel()
	const uuid = "74e02ee1-4e2f-4a6e-a78b-4b247d756a22"
	const hexDec, decHex = "receipts: {response_id: hex, receipt_id: decimal}", "receipts: {response_id: decimal, receipt_id: hex}"
	type pair struct {
		name, response, receipt string
		matches                 bool
	}
	for name, c := range map[string]struct {
		config string
		pairs  []pair
	}{
		"hex and decimal": {hexDec, []pair{
			{"D13", "39f99dd5", "0972660181", true},
			{"the same digits are another number", "12345678", "12345678", false},
			{"D02", uuid, uuid, true},
		}},
		"decimal and hex": {decHex, []pair{
			{"D15", "281605133", "10C8F40D", true},
		}},
		"as they are": {"", []pair{
			{"D14", "00B8BE19", "00B8BE19", true},
			{"D14 lower case", "00B8BE1A", "00b8be1a", true},
			{"D14 without zeros", "00B8BE1B", "B8BE1B", true},
			{"D13 not configured", "39f99dd5", "0972660181", false},
			{"D15 not configured", "281605133", "10C8F40D", false},
			{"D02", uuid, uuid, true},
			{"D02 in upper case", strings.Replace(uuid, "74e0", "74e1", 1), strings.ToUpper(strings.Replace(uuid, "74e0", "74e1", 1)), true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startReceipts(t, c.config)
			for i, p := range c.pairs {
				number := fmt.Sprintf("155501%02d", i)
				r.submit(t, p.name, number, p.response)
				r.deliver(t, receiptFrom(number, "id:"+p.receipt+" stat:DELIVRD err:000"))
				e := r.receipts(t, 1, func(e queue.Event) bool { return e.Receipt.MessageID == p.receipt })[0]
				if p.matches != (e.ID == p.name) || !p.matches && e.ID != "" {
					t.Errorf("%s: response %q, receipt %q: taken for %q, want a match: %t", p.name, p.response, p.receipt, e.ID, p.matches)
				}
			}
		})
	}
}

// F35: receipts are acknowledged once they are stored; the same one three times has three acks and one event.
func TestF35ReceiptThreeTimes(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "")
	r.submit(t, "m", "15550100", "77")
	for range 3 {
		r.deliver(t, receiptFrom("15550100", "id:77 stat:DELIVRD err:000"))
	}
	for _, ack := range r.acked(t, 3) {
		if ack.ID != pdu.IDDeliverSMResp || ack.Status != pdu.StatusOK {
			t.Errorf("answered with %s, %s", ack.ID, ack.Status)
		}
	}
	r.inboundHandled(t, 3)
	r.submit(t, "later", "15550101", "78") // behind the three
	r.deliver(t, receiptFrom("15550101", "id:78 stat:DELIVRD err:000"))
	r.receipts(t, 1, func(e queue.Event) bool { return e.ID == "later" })
	r.inboundEmpty(t)
	count := 0
	for _, e := range r.events(t) {
		if e.Type == queue.EventReceipt && e.ID == "m" {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d events, want 1", count)
	}
	r.awaitMetrics(t, `sluice_receipts_total{account="acme",match="repeated"} 2`, `sluice_receipts_total{account="acme",match="matched"} 2`)
}

// awaitConnected waits until the test's own connection stands again.
func (r *rig) awaitConnected(t *testing.T) {
	t.Helper()
	await(t, "the connection", r.client.Conn().IsConnected)
}

// F35, with NATS away: what cannot be stored is refused with 0x08, as deliver_sm and as data_sm (F34), and taken when
// the SMSC sends it again.
func TestF35StorageDown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nats, err := queue.StartEmbedded(queue.EmbeddedConfig{Dir: dir, Listen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nats.Shutdown() })
	url := nats.URL()
	s := startScripted(t, func(*pdu.SubmitSM) (string, bool) { return "77", false })
	cfg := testConfig(t, dir, smsc{addr: s.addr}, "", "")
	cfg.NATS = config.NATS{URL: url}
	r := &receiptsRig{rig: runGateway(t, cfg, Options{}), scriptedSMSC: s}
	r.submit(t, "m", "15550100", "77")

	text := "id:77 stat:DELIVRD err:000"
	both := []pdu.Body{receiptFrom("15550100", text), &pdu.DataSM{
		Source: pdu.Address{TON: 1, NPI: 1, Addr: []byte("15550100")}, Dest: pdu.Address{Addr: []byte("2000")}, ESMClass: 4,
		TLVs: pdu.TLVs{pdu.CStringTLV(pdu.TagReceiptedMessageID, "77"), pdu.Uint8TLV(pdu.TagMessageState, 2)},
	}}
	send := func(want pdu.Status) (refused bool) {
		for i, body := range both {
			sequence := r.deliver(t, body)
			ack := r.acked(t, 1)[0]
			if ack.ID != body.CommandID().Response() || ack.Sequence != sequence {
				t.Errorf("%s answered with %s, %d", body.CommandID(), ack.ID, ack.Sequence)
			}
			if ack.Status != want {
				if want == pdu.StatusOK && ack.Status == pdu.StatusSysErr {
					return true // still down
				}
				t.Errorf("%s %d: answered with %s, want %s", body.CommandID(), i, ack.Status, want)
			}
		}
		return false
	}
	nats.Shutdown()
	send(pdu.StatusSysErr)
	r.awaitMetrics(t, `sluice_inbound_refused_total{account="acme"} 2`)
	if nats, err = queue.StartEmbedded(queue.EmbeddedConfig{Dir: dir, Listen: strings.TrimPrefix(url, "nats://")}); err != nil {
		t.Fatal(err)
	}
	r.awaitStatus(t, http.StatusOK, "bound")
	r.awaitConnected(t)
	for send(pdu.StatusOK) {
	}
	e := r.receipts(t, 1, func(queue.Event) bool { return true })[0]
	if e.ID != "m" || e.Receipt.State != "delivered" {
		t.Errorf("%+v with %+v", e, e.Receipt)
	}
}
