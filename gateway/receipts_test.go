package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/smpp/receipt"
	"sluice/testserver"
)

func TestReceiptWaits(t *testing.T) {
	waits := receiptPatience()
	for _, c := range []struct {
		deliveries int
		age, want  time.Duration
	}{
		{1, 0, time.Second},
		{2, time.Second, 5 * time.Second},
		{3, 6 * time.Second, 24 * time.Second},
		{4, 30 * time.Second, 30 * time.Second},
		{5, 60 * time.Second, 0},
		{5, 59 * time.Second, 30 * time.Second}, // given back early by an instance that stopped
		{1, time.Hour, time.Second},             // nobody was there
		{100, 2 * time.Minute, 0},
	} {
		if got := receiptWait(waits, c.age, c.deliveries); got != c.want {
			t.Errorf("delivery %d after %v: %v, want %v", c.deliveries, c.age, got, c.want)
		}
	}
}

func TestReceiptsFold(t *testing.T) {
	type step struct {
		could  []int // one segment, or several that have the same id
		says   receipt.State
		record uint64
		want   saying
	}
	const enroute, delivered, undeliverable = receipt.Enroute, receipt.Delivered, receipt.Undeliverable
	one, two, three, shared := []int{1}, []int{2}, []int{3}, []int{1, 2}
	for name, c := range map[string]struct {
		segments int
		all      bool
		steps    []step
	}{
		"one segment": {1, false, []step{
			{one, enroute, 1, saying{news: true, first: true, segment: 1, state: enroute}},
			{one, delivered, 2, saying{news: true, first: true, segment: 1, settled: true, state: delivered, final: true}},
		}},
		"repeated": {1, false, []step{
			{one, delivered, 1, saying{news: true, first: true, segment: 1, settled: true, state: delivered, final: true}},
			{one, delivered, 2, saying{repeated: true, segment: 1, settled: true, state: delivered, final: true}},
			{one, delivered, 3, saying{repeated: true, segment: 1, settled: true, state: delivered, final: true}},
		}},
		"the same record again, never published": {1, false, []step{
			{one, delivered, 1, saying{news: true, first: true, segment: 1, settled: true, state: delivered, final: true}},
			{one, delivered, 1, saying{first: true, segment: 1, settled: true, state: delivered, final: true}},
		}},
		"back in a state that it has left": {1, false, []step{
			{one, enroute, 1, saying{news: true, first: true, segment: 1, state: enroute}},
			{one, receipt.Accepted, 2, saying{news: true, first: true, segment: 1, state: receipt.Accepted}},
			{one, enroute, 3, saying{news: true, segment: 1, state: enroute}},
			{one, enroute, 3, saying{segment: 1, state: enroute}}, // its record comes back
			{one, enroute, 4, saying{repeated: true, segment: 1, state: enroute}},
		}},
		"no state is no fact that repeats": {1, false, []step{
			{one, receipt.NoState, 1, saying{segment: 1, state: enroute}},
			{one, receipt.NoState, 2, saying{segment: 1, state: enroute}},
		}},
		"out of order": {1, false, []step{
			{one, delivered, 1, saying{news: true, first: true, segment: 1, settled: true, state: delivered, final: true}},
			{one, enroute, 2, saying{news: true, first: true, superseded: true, segment: 1, settled: true, state: delivered, final: true}},
			{one, undeliverable, 3, saying{news: true, first: true, superseded: true, segment: 1, settled: true, state: delivered, final: true}},
			{one, undeliverable, 4, saying{repeated: true, superseded: true, segment: 1, settled: true, state: delivered, final: true}},
		}},
		"three segments": {3, false, []step{
			{two, delivered, 1, saying{news: true, first: true, segment: 2, settled: true, state: enroute}},
			{three, undeliverable, 2, saying{news: true, first: true, segment: 3, settled: true, state: undeliverable}},
			{two, delivered, 3, saying{repeated: true, segment: 2, settled: true, state: undeliverable}},
			{one, delivered, 4, saying{news: true, first: true, segment: 1, settled: true, state: undeliverable, final: true}},
			{three, delivered, 5, saying{news: true, first: true, superseded: true, segment: 3, settled: true, state: undeliverable, final: true}},
		}},
		"two segments with one id": {2, false, []step{
			{shared, delivered, 1, saying{news: true, first: true, segment: 1, state: enroute}},
			{shared, delivered, 1, saying{first: true, segment: 1, state: enroute}}, // its record comes back
			{shared, delivered, 2, saying{news: true, first: true, segment: 2, settled: true, state: delivered, final: true}},
			{shared, delivered, 3, saying{repeated: true, segment: 1, settled: true, state: delivered, final: true}},
		}},
		"two segments with one id, in several steps": {2, false, []step{
			{shared, enroute, 1, saying{news: true, first: true, segment: 1, state: enroute}},
			{shared, enroute, 2, saying{news: true, first: true, segment: 2, state: enroute}},
			{shared, delivered, 3, saying{news: true, first: true, segment: 1, state: enroute}},
			{shared, undeliverable, 4, saying{news: true, first: true, segment: 2, settled: true, state: undeliverable, final: true}},
		}},
		"one receipt for all": {3, true, []step{
			{[]int{1, 2, 3}, enroute, 1, saying{news: true, first: true, state: enroute}},
			{[]int{1, 2, 3}, delivered, 2, saying{news: true, first: true, settled: true, state: delivered, final: true}},
			{[]int{1, 2, 3}, delivered, 3, saying{repeated: true, settled: true, state: delivered, final: true}},
		}},
	} {
		var s queue.ReceiptState
		for i, step := range c.steps {
			got := fold(&s, queue.ReceiptRef{Segment: step.could[0], Segments: c.segments}, step.could, c.all, step.says, step.says.String(), step.record)
			if got != step.want {
				t.Errorf("%s, receipt %d: %+v, want %+v", name, i+1, got, step.want)
			}
		}
	}
}

func TestChooseAMessage(t *testing.T) {
	const here, elsewhere = "15550100", "15550199"
	from := &pdu.DeliverSM{Source: pdu.Address{TON: 1, Addr: []byte(here)}, Dest: pdu.Address{Addr: []byte("2000")}}
	ref := func(seq uint64, id, to string) queue.ReceiptRef {
		return queue.ReceiptRef{Seq: seq, MessageID: id, Dest: queue.HashAddress(to)}
	}
	for name, c := range map[string]struct {
		refs []queue.ReceiptRef // newest first
		ids  []string           // of the receipt
		want uint64             // 0: none
		text uint64             // what a text taken for a receipt belongs to
	}{
		"exact before case":             {[]queue.ReceiptRef{ref(3, "a77", here), ref(2, "A77", here), ref(1, "00A77", here)}, []string{"A77"}, 2, 2},
		"exact before zeros":            {[]queue.ReceiptRef{ref(2, "077", here), ref(1, "77", here)}, []string{"77"}, 1, 1},
		"case before zeros":             {[]queue.ReceiptRef{ref(2, "0a77", here), ref(1, "A77", here)}, []string{"a77"}, 1, 1},
		"two that differ alike":         {[]queue.ReceiptRef{ref(2, "077", here), ref(1, "0077", here)}, []string{"77"}, 0, 0},
		"the newest of one id":          {[]queue.ReceiptRef{ref(2, "77", here), ref(1, "77", here)}, []string{"77"}, 2, 2},
		"the number tells":              {[]queue.ReceiptRef{ref(2, "77", elsewhere), ref(1, "77", here)}, []string{"77"}, 1, 1},
		"the number is no veto":         {[]queue.ReceiptRef{ref(2, "77", elsewhere)}, []string{"77"}, 2, 0},
		"exact before the number":       {[]queue.ReceiptRef{ref(2, "77", elsewhere), ref(1, "077", here)}, []string{"77"}, 2, 1},
		"two, and neither number fits":  {[]queue.ReceiptRef{ref(2, "77", elsewhere), ref(1, "77", elsewhere)}, []string{"77"}, 0, 0},
		"by case with the number alone": {[]queue.ReceiptRef{ref(2, "A77", elsewhere)}, []string{"a77"}, 0, 0},
		"nothing":                       {nil, []string{"77"}, 0, 0},
		"an entry without a number":     {[]queue.ReceiptRef{{Seq: 1, MessageID: "77"}}, []string{"77"}, 1, 1},
		"another id":                    {[]queue.ReceiptRef{ref(1, "X077", here)}, []string{"X77"}, 0, 0},
		"the second id":                 {[]queue.ReceiptRef{ref(1, "77", elsewhere)}, []string{"4D", "77"}, 1, 0},
		"exact by the second id":        {[]queue.ReceiptRef{ref(2, "78", here), ref(1, "a77", here)}, []string{"A77", "78"}, 2, 2},
		"two ids, the number tells":     {[]queue.ReceiptRef{ref(2, "78", here), ref(1, "77", elsewhere)}, []string{"77", "78"}, 2, 2},
		"two ids of two, none fits":     {[]queue.ReceiptRef{ref(2, "78", elsewhere), ref(1, "77", elsewhere)}, []string{"77", "78"}, 0, 0},
	} {
		for believed, want := range map[bool]uint64{true: c.want, false: c.text} {
			var found []candidate
			for _, lookup := range (receipt.Matching{}).Lookups(c.ids...) {
				found = append(found, rank(c.refs, from, lookup, lookup.Key())...)
			}
			if got, ok := choose(found, believed); ok != (want > 0) || ok && got.ref.Seq != want {
				t.Errorf("%s, believed %t: message %d, %t; want %d", name, believed, got.ref.Seq, ok, want)
			}
		}
	}
	if _, found := onlyMatch([]queue.ReceiptRef{ref(1, "", here), ref(2, "", here)}, from); found {
		t.Error("one of two messages with the same mark and number was taken")
	}
	if got, found := onlyMatch([]queue.ReceiptRef{ref(1, "", elsewhere), ref(2, "", here)}, from); !found || got.Seq != 2 {
		t.Errorf("message %d, %t; want 2", got.Seq, found)
	}
}

// receiptsRig is a gateway on a scripted SMSC that answers with the id of a message's number.
type receiptsRig struct {
	*rig
	*scriptedSMSC
	ids sync.Map // by the digits of the number; a message to any other gets no answer
}

func startReceipts(t *testing.T, extra string, waits ...time.Duration) *receiptsRig {
	t.Helper()
	r := new(receiptsRig)
	r.scriptedSMSC = startScripted(t, func(sm *pdu.SubmitSM) (string, bool) {
		id, known := r.ids.Load(string(sm.Dest.Addr))
		if !known {
			return "", true
		}
		return id.(string), false
	})
	if len(waits) == 0 {
		waits = []time.Duration{20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond}
	}
	r.rig = runGateway(t, testConfig(t, t.TempDir(), smsc{addr: r.addr}, extra, ""), Options{receiptWaits: waits})
	return r
}

// submit sends a message to a number and waits until it is submitted and its receipt would find it; the SMSC gives it
// the id.
func (r *receiptsRig) submit(t *testing.T, name, number, id string) {
	t.Helper()
	r.ids.Store(number, id)
	r.publish(t, &queue.Message{ID: name, From: "2000", To: "+" + number, Text: "hello", Receipt: true})
	e := r.await(t, 1, func(e queue.Event) bool { return e.ID == name && e.Type == queue.EventSubmitted })[0]
	r.awaitGone(t, e.Seq) // the index is written behind the event
}

// receipts waits for the n-th receipt event that passes the test.
func (r *receiptsRig) receipts(t *testing.T, n int, wanted func(queue.Event) bool) []queue.Event {
	t.Helper()
	return r.await(t, n, func(e queue.Event) bool { return e.Type == queue.EventReceipt && wanted(e) })
}

// receiptFrom is a receipt of a number.
func receiptFrom(number, text string, tlvs ...pdu.TLV) *pdu.DeliverSM {
	return &pdu.DeliverSM{
		Source: pdu.Address{TON: 1, NPI: 1, Addr: []byte(number)}, Dest: pdu.Address{Addr: []byte("2000")}, ESMClass: 4,
		ShortMessage: []byte(text), TLVs: tlvs,
	}
}

// A receipt of a message that asked for none has no entry to be found by: it is published with the SMSC's id alone, which
// the event of the message has too.
func TestReceiptThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{Receipts: testserver.Receipts{Always: true}})
	r := runGateway(t, testConfig(t, t.TempDir(), s, "", ""), Options{receiptWaits: []time.Duration{20 * time.Millisecond, 50 * time.Millisecond}})
	list := messages(2, "+1555")
	list[1].Receipt = true
	r.publish(t, list...)
	ids := map[string]string{}
	for _, e := range r.await(t, 2, isFinal) {
		ids[e.ID] = e.MessageIDs[0]
	}
	for _, e := range r.await(t, 2, func(e queue.Event) bool { return e.Type == queue.EventReceipt }) {
		want := map[string]string{ids[list[0].ID]: "", ids[list[1].ID]: list[1].ID}
		if id, known := want[e.Receipt.MessageID]; !known || e.ID != id || (e.Seq == 0) != (id == "") || e.Receipt.State != "delivered" {
			t.Errorf("receipt of %s: id %q, seq %d, %s; want id %q, delivered", e.Receipt.MessageID, e.ID, e.Seq, e.Receipt.State, id)
		}
	}
	r.awaitMetrics(t, `sluice_receipts_total{account="acme",match="matched"} 1`, `sluice_receipts_total{account="acme",match="unmatched"} 1`)
	await(t, "both acknowledgements", func() bool { return s.Stats().Acknowledged == 2 })
}

// The agreed field examples, from the response to the event. D13 to D15 and D02 are in TestF32MixedMessageIDs.
func TestFieldExamplesReachTheirMessage(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "")
	const uuid = "74e02ee1-4e2f-4a6e-a78b-4b247d756a22"
	id77 := pdu.CStringTLV(pdu.TagReceiptedMessageID, "77")
	for i, c := range []struct {
		name, id string
		text     string
		tlvs     []pdu.TLV
		extra    []byte
		state    string
		err      string
	}{
		{name: "D01", id: "0000000012345678", text: "id:0000000012345678 sub:001 dlvrd:001 submit date:1601010100 done date:1601010101 stat:DELIVRD err:000 text:none", state: "delivered", err: "000"},
		{name: "D03", id: uuid, text: "sub:001 id:" + uuid + " err:000 dlvrd:001 done date:110206193110 submit date:110206193041 text: stat:DELIVRD", state: "delivered", err: "000"},
		{name: "D04", id: "1526758174", text: "id:1526758174 submit date:1701240904 done date:1701240904 stat:DELIVRD err:000 text:hellow", state: "delivered", err: "000"},
		{name: "D05", id: "0654354026", text: "id:0654354026 submit date:2302101454 done date:2302101454 stat:DELIVRD err:000", state: "delivered", err: "000"},
		{name: "D06", id: "2E179B310EDE971B2760C72B7F026E1B", text: "id:2E179B310EDE971B2760C72B7F026E1B submit date:20110314181534 done date:20110314181741 stat:DELIVRD err:0", state: "delivered", err: "0"},
		{name: "D07", id: "rdwjwxns18krxr9936ey96ymcw", text: "id:rdwjwxns18krxr9936ey96ymcw sub:000 dlvrd:000 submit date:180711070003912+ done date:180711070000012+ stat:UNDELIV err:000", state: "undeliverable", err: "000"},
		{name: "D08", id: "117062714244798261", text: "id:117062714244798261 sub:001 dlvrd:001 submit date:1706271624 done date:1706271624 stat:DELIVRD err:0000 text:Hllo world", tlvs: []pdu.TLV{{Tag: 0x1400, Value: []byte("abcd")}, {Tag: 0x1418, Value: []byte{1, 2, 3, 4}}}, state: "delivered", err: "0000"},
		{name: "D09", id: "0123456789", text: "id:0123456789 sub:002 dlvrd:001 submit date:1005232039 done date:1005242339 stat:DELIVRD err:21b text:This is a sample mes", state: "delivered", err: "21b"},
		{name: "D10", id: "dbd1d8e8-d2a4-4efe-b508-60761b1ae484", text: "id:dbd1d8e8-d2a4-4efe-b508-60761b1ae484 submit date:201906190720 done date:201906190720 stat:EXPIRED err:030", state: "expired", err: "030"},
		{name: "D11", id: "ce5bc5a9-4f7d-4282-9244-2e1022a9335c", text: "id:ce5bc5a9-4f7d-4282-9244-2e1022a9335c sub:000 dlvrd:000 submit date:180903120815 done date:180903120816 DELIVRD err:000 Text:", state: "delivered", err: "000"},
		{name: "D12", id: "0118Z-0122I-2309U-57DGB", text: "id:0118Z-0122I-2309U-57DGB sub:000 dlvrd:000 submitdate:180122230957 donedate:000000000000 stat:REJECTD err:375 text:", state: "rejected", err: "375"},
		{name: "D16", id: "77", tlvs: []pdu.TLV{id77, pdu.Uint8TLV(pdu.TagMessageState, 2)}, state: "delivered"},
		{name: "D17", id: "77", tlvs: []pdu.TLV{{Tag: pdu.TagMessagePayload, Value: []byte("id:77 stat:DELIVRD err:000")}}, state: "delivered", err: "000"},
		{name: "D18", id: "A77", text: "id:77 sub:001 dlvrd:001 submit date:2401010100 done date:2401010100 stat:DELIVRD err:000", tlvs: []pdu.TLV{pdu.CStringTLV(pdu.TagReceiptedMessageID, "A77"), pdu.Uint8TLV(pdu.TagMessageState, 5), {Tag: pdu.TagNetworkErrorCode, Value: []byte{3, 0, 11}}}, state: "undeliverable", err: "000"},
		{name: "D19", id: "77", text: "id:77 sub:001 dlvrd:000 submit date:2401010100 done date:2401010100 stat:ACCEPTD err:000", state: "accepted", err: "000"},
		{name: "D20", id: "77", text: "id:77 sub:null dlvrd:null submit date:200101010030 done date:200101010030 stat:DELIVRD err:0 text:", state: "delivered", err: "0"},
		{name: "D21", id: "8123", text: "id:8123 sub:001 dlvrd:000 submit date:220704105916 done date:220704105941 stat:REJECTD err:954 text:", state: "rejected", err: "954"},
		{name: "D22", id: "0911897980", text: "id:0911897980 sub:001 dlvrd:000 submit date:1201121551 done date:1201121551 stat:UNDELIV err:075 text:-PROFILE", state: "undeliverable", err: "075"},
		{name: "D23", id: "77", text: "id:77 sub:001 dlvrd:001 submit date:0809011130 done date:0809021131 err:123 stat:DND_REJECTED text:Hello World", state: "rejected", err: "123"},
		{name: "D25", id: "77", text: "id:77 stat:DELIVRD err:000", extra: []byte{0}, state: "delivered", err: "000"},
		{name: "D26", id: "SAR-15550001-1eedf843-2-1", text: "id:SAR-15550001-1eedf843-2-1 sub:001 dlvrd:000 stat:UNDELIV err:001", state: "undeliverable", err: "001"},
	} {
		number := fmt.Sprintf("155501%02d", i)
		r.submit(t, c.name, number, c.id)
		r.deliver(t, receiptFrom(number, c.text, c.tlvs...), c.extra...)
		if ack := r.acked(t, 1)[0]; ack.ID != pdu.IDDeliverSMResp || ack.Status != pdu.StatusOK {
			t.Errorf("%s: answered with %s, %s", c.name, ack.ID, ack.Status)
		}
		e := r.receipts(t, 1, func(e queue.Event) bool { return e.ID == c.name })[0]
		if e.Receipt.State != c.state || e.Receipt.Error != c.err || e.Receipt.MessageID != c.id || e.Seq == 0 || e.Route != "main" {
			t.Errorf("%s: event %+v with %+v; want %s, error %q", c.name, e, e.Receipt, c.state, c.err)
		}
		if network := e.Receipt.NetworkError; c.name == "D18" && (network == nil || *network != queue.NetworkError{Type: 3, Code: 11}) {
			t.Errorf("%s: network error %+v, want type 3 and code 11", c.name, network)
		}
		if c.name == "D19" { // the first receipt ended nothing
			r.deliver(t, receiptFrom(number, "id:77 sub:001 dlvrd:001 submit date:2401010100 done date:2401010101 stat:DELIVRD err:000"))
			second := r.receipts(t, 2, func(e queue.Event) bool { return e.ID == c.name })[1]
			if e.Receipt.Final || e.Receipt.MessageFinal || !second.Receipt.Final || second.Receipt.MessageState != "delivered" || !second.Receipt.MessageFinal {
				t.Errorf("%s: %+v, then %+v; want accepted and not final, then delivered and final", c.name, e.Receipt, second.Receipt)
			}
			r.acked(t, 1)
		}
	}
}

// D24: a phone that types a receipt sends an ordinary message, and ends nothing.
func TestFieldExampleD24(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "")
	const number, typed = "15550100", "id:77 sub:001 dlvrd:001 stat:DELIVRD err:000 text:"
	r.submit(t, "D24", number, "77")
	forged := receiptFrom(number, typed)
	forged.ESMClass = 0
	r.deliver(t, forged)
	if mo := r.mos(t, 1)[0]; mo.Text != typed || mo.From != "+"+number {
		t.Errorf("published %+v", mo)
	}
	for _, e := range r.events(t) {
		if e.Type == queue.EventReceipt {
			t.Errorf("a receipt event: %+v", e)
		}
	}
}

// A final state stays: what comes later is told, and changes nothing.
func TestReceiptsOutOfOrder(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "")
	r.submit(t, "m", "15550100", "77")
	for _, state := range []string{"DELIVRD", "ENROUTE", "UNDELIV"} {
		r.deliver(t, receiptFrom("15550100", "id:77 stat:"+state+" err:000"))
		r.acked(t, 1)
		r.receipts(t, 1, func(e queue.Event) bool { return e.Receipt.State[:3] == strings.ToLower(state[:3]) })
	}
	for i, e := range r.receipts(t, 3, func(queue.Event) bool { return true }) {
		if got := e.Receipt; got.MessageState != "delivered" || !got.MessageFinal || got.Superseded != (i > 0) {
			t.Errorf("receipt %d: %+v; want message_state delivered, superseded %t", i+1, got, i > 0)
		}
	}
}

// A receipt that comes before its response waits for it.
func TestReceiptBeforeItsResponse(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	s := startScripted(t, func(*pdu.SubmitSM) (string, bool) {
		close(arrived)
		<-release
		return "77", false
	})
	waits := []time.Duration{50 * time.Millisecond, 500 * time.Millisecond, 10 * time.Second, 10 * time.Second}
	r := &receiptsRig{rig: runGateway(t, testConfig(t, t.TempDir(), smsc{addr: s.addr}, "", ""), Options{receiptWaits: waits}), scriptedSMSC: s}
	r.publish(t, &queue.Message{ID: "m", From: "2000", To: "+15550100", Text: "hello", Receipt: true})
	<-arrived
	s.deliver(t, receiptFrom("15550100", "id:77 stat:DELIVRD err:000"))
	r.inboundHandled(t, 2) // looked for, in vain
	close(release)
	if e := r.receipts(t, 1, func(queue.Event) bool { return true })[0]; e.ID != "m" || e.Receipt.State != "delivered" {
		t.Errorf("%+v with %+v; want m delivered", e, e.Receipt)
	}
}

// awaitInbound waits until the account's consumer of stored messages is as wanted.
func (r *rig) awaitInbound(t *testing.T, what string, wanted func(*jetstream.ConsumerInfo) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := js.Consumer(ctx, "SMS_IN", "in_acme"); err == nil && wanted(c.CachedInfo()) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(what)
		}
	}
}

// inboundHandled waits until stored messages of the SMSC have been handed out n times.
func (r *rig) inboundHandled(t *testing.T, n uint64) {
	t.Helper()
	r.awaitInbound(t, "too few were handed out", func(i *jetstream.ConsumerInfo) bool { return i.Delivered.Consumer >= n })
}

// inboundEmpty waits until all of them are dealt with. A consumer learns of a message a moment after it was stored.
func (r *rig) inboundEmpty(t *testing.T) {
	t.Helper()
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	if stream, err := js.Stream(t.Context(), "SMS_IN"); err == nil {
		if m, err := stream.GetLastMsgForSubject(t.Context(), "sms.in.acme"); err == nil {
			last = m.Sequence
		}
	}
	r.awaitInbound(t, "some are left", func(i *jetstream.ConsumerInfo) bool {
		return i.NumAckPending == 0 && i.NumPending == 0 && i.AckFloor.Stream >= last
	})
}

// streamMessages counts what a stream holds.
func (r *rig) streamMessages(t *testing.T, name string) uint64 {
	t.Helper()
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

// A receipt that nobody knows waits, and is then published without a message.
func TestReceiptOfNobody(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "")
	r.awaitStatus(t, http.StatusOK, "bound")
	r.deliver(t, receiptFrom("15550199", "id:78 stat:UNDELIV err:001"))
	r.acked(t, 1)
	lost := r.receipts(t, 1, func(e queue.Event) bool { return e.Receipt.MessageID == "78" })[0]
	if lost.ID != "" || lost.Seq != 0 || lost.Receipt.State != "undeliverable" || lost.Account != "acme" || lost.Receipt.MessageState != "" {
		t.Errorf("%+v with %+v; want no message", lost, lost.Receipt)
	}
}

// A long message has the receipt state of its worst part, and it is final once that of all parts is.
func TestReceiptsOfALongMessageFold(t *testing.T) {
	t.Parallel()
	s := startScripted(t, func(sm *pdu.SubmitSM) (string, bool) { return fmt.Sprintf("id-%d", sm.ShortMessage[5]), false })
	r := &receiptsRig{rig: runGateway(t, testConfig(t, t.TempDir(), smsc{addr: s.addr}, "", ""), Options{}), scriptedSMSC: s}
	r.publish(t, &queue.Message{ID: "long", From: "2000", To: "+15550100", Text: long(3), Receipt: true})
	r.await(t, 1, isFinal)
	for i, c := range []struct {
		part  int
		says  string
		state string
		final bool
	}{
		{2, "DELIVRD", "enroute", false},
		{3, "UNDELIV", "undeliverable", false},
		{2, "DELIVRD", "", false}, // a repeat: no event
		{3, "DELIVRD", "undeliverable", false},
		{1, "DELIVRD", "undeliverable", true},
	} {
		r.deliver(t, receiptFrom("15550100", fmt.Sprintf("id:id-%d stat:%s err:000", c.part, c.says)))
		r.acked(t, 1)
		if c.state == "" {
			continue
		}
		n := i + 1
		if i > 2 {
			n--
		}
		e := r.receipts(t, n, func(queue.Event) bool { return true })[n-1]
		if got := e.Receipt; e.ID != "long" || got.Segment != c.part || got.Segments != 3 || got.MessageState != c.state || got.MessageFinal != c.final {
			t.Errorf("%s of part %d: %+v; want the message %s, final %t", c.says, c.part, got, c.state, c.final)
		}
	}
}

// A number that a message did not go to is no reason to believe an id that is not the message's very own.
func TestReceiptOfAnotherNumber(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "")
	r.submit(t, "m", "15550100", "A77")
	r.deliver(t, receiptFrom("15550199", "id:a77 stat:DELIVRD err:000"))
	e := r.receipts(t, 1, func(queue.Event) bool { return true })[0]
	if e.ID != "" || e.Seq != 0 {
		t.Errorf("taken for message %d: %+v", e.Seq, e)
	}
}

// mos waits for n messages from phones.
func (r *rig) mos(t *testing.T, n int) (mos []queue.MO) {
	t.Helper()
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
	for range n {
		msg, err := consumer.Next(jetstream.FetchContext(ctx))
		if err != nil {
			t.Fatalf("after %d of %d: %v", len(mos), n, err)
		}
		var mo queue.MO
		if err := json.Unmarshal(msg.Data(), &mo); err != nil {
			t.Fatal(err)
		}
		mos = append(mos, mo)
	}
	return mos
}

func newestRef(refs []queue.ReceiptRef, _ bool) (queue.ReceiptRef, bool) {
	if len(refs) == 0 {
		return queue.ReceiptRef{}, false
	}
	return refs[0], true
}
