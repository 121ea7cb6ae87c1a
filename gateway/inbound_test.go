package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

func TestReceiptBecomesAnEventOfItsMessage(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{Receipts: testserver.Receipts{}})
	r := startGateway(t, t.TempDir(), s, "", "")
	m := messages(1, "+1555")[0]
	m.Receipt, m.Meta = true, map[string]string{"order": "77"}
	r.publish(t, m)
	e := r.await(t, 1, func(e queue.Event) bool { return e.Type == queue.EventReceipt })[0]
	if e.ID != m.ID || e.Route != "main" || e.Receipt == nil || e.Receipt.State != "delivered" || !e.Receipt.Final || e.Meta["order"] != "77" {
		t.Errorf("receipt event %+v with %+v: want message %s delivered", e, e.Receipt, m.ID)
	}
}

// What phones send arrives on sms.mo.<account>, long messages joined from their parts.
func TestMOIsPublishedJoined(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{})
	r := startGateway(t, t.TempDir(), s, "", "")
	r.awaitStatus(t, http.StatusOK, "bound")
	for _, m := range []*pdu.DeliverSM{part(9, 2, 2, "world"), part(9, 2, 1, "hello "), {
		Source: pdu.Address{TON: 1, NPI: 1, Addr: []byte("15550100")}, Dest: pdu.Address{Addr: []byte("2000")},
		ShortMessage: []byte("alone"),
	}} {
		if err := s.Deliver("sluice", *m); err != nil {
			t.Fatal(err)
		}
	}
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	consumer, err := js.OrderedConsumer(ctx, "SMS_MO", jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]queue.MO{}
	for len(got) < 2 {
		msg, err := consumer.Next(jetstream.FetchContext(ctx))
		if err != nil {
			t.Fatalf("after %v: %v", got, err)
		}
		var mo queue.MO
		if err := json.Unmarshal(msg.Data(), &mo); err != nil {
			t.Fatal(err)
		}
		if msg.Subject() != "sms.mo.acme" {
			t.Errorf("published on %s, want sms.mo.acme", msg.Subject())
		}
		got[mo.Text] = mo
	}
	if mo := got["alone"]; mo.From != "+15550100" || mo.To != "2000" || mo.Segments != 1 {
		t.Errorf("the short message arrived as %+v", mo)
	}
	if mo := got["hello world"]; mo.Segments != 2 || mo.Missing != 0 {
		t.Errorf("the long message arrived as %+v", mo)
	}
}
