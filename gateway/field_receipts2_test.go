package gateway

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/smpp/text"
)

// Receipts of public reports, sent as they came on the wire; addresses and ids are invented.

// ackedOK waits for n acknowledgements.
func (r *receiptsRig) ackedOK(t *testing.T, n int) {
	t.Helper()
	for _, ack := range r.acked(t, n) {
		if ack.ID != pdu.IDDeliverSMResp || ack.Status != pdu.StatusOK {
			t.Errorf("answered with %s, %s", ack.ID, ack.Status)
		}
	}
}

// deliverText sends a receipt and waits until it is acknowledged.
func (r *receiptsRig) deliverText(t *testing.T, number, text string, tlvs ...pdu.TLV) {
	t.Helper()
	r.deliver(t, receiptFrom(number, text, tlvs...))
	r.ackedOK(t, 1)
}

// receiptsNow are the receipt events of a message, once all that came in is dealt with.
func (r *receiptsRig) receiptsNow(t *testing.T, id string) (list []queue.Event) {
	t.Helper()
	r.inboundEmpty(t)
	for _, e := range r.events(t) {
		if e.Type == queue.EventReceipt && e.ID == id {
			list = append(list, e)
		}
	}
	return list
}

// only waits for the receipt event of a message and checks what it says.
func (r *receiptsRig) only(t *testing.T, id, messageID, state, errorCode string) *queue.Receipt {
	t.Helper()
	e := r.receipts(t, 1, func(queue.Event) bool { return true })[0]
	if e.ID != id || e.Receipt.MessageID != messageID || e.Receipt.State != state || e.Receipt.Error != errorCode {
		t.Errorf("%+v with %+v; want %s with id %s, %s, error %q", e, e.Receipt, id, messageID, state, errorCode)
	}
	return e.Receipt
}

// G01 (github.com/fiorix/go-smpp/issues/14, github.com/farhadi/node-smpp/issues/68).
func TestG01AsciiReceiptUnderUnicodeCoding(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "")
	r.submit(t, "m", "15550200006", "S21311242091636504458661711")
	r.deliverHex(t, "000000aa000000050000000000000024000101313535353032303030303600000041434d45000400000000000008007a69643a533231333131323432303931363336353034343538363631373131207375623a30303120646c7672643a303031207375626d697420646174653a3236313133303231343020646f6e6520646174653a3236313133303231343120737461743a44454c49565244206572723a30303020746578743a686921")
	if got := r.only(t, "m", "S21311242091636504458661711", "delivered", "000"); got.Data != nil || got.Stat != "DELIVRD" {
		t.Errorf("%+v; want the word and no octets", got)
	}
}

// G01, a sibling: the account packs septets, receipts too.
func TestG01ReceiptInPackedSeptets(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "text: {inbound_alphabet: gsm7-packed}")
	r.submit(t, "m", "15550100", "77")
	packed, err := text.Encode("id:77 stat:DELIVRD err:000", text.Options{Alphabet: text.AlphabetGSM7Packed})
	if err != nil {
		t.Fatal(err)
	}
	r.deliverText(t, "15550100", string(packed.Segments[0].ShortMessage))
	if got := r.only(t, "m", "77", "delivered", "000"); got.Data != nil {
		t.Errorf("octets of a receipt that was read: %+v", got)
	}
}

// G02 (github.com/jookies/jasmin/issues/427 and 953).
func TestG02IDInTheTLVDiffers(t *testing.T) {
	t.Parallel()
	const both = "000000aa000000050000000000000020000101313535353032303030303200000041434d45000400000000000000006869643a31323334353637383930207375623a30303120646c7672643a303031207375626d697420646174653a3236313133303231343020646f6e6520646174653a3236313133303231343120737461743a44454c49565244206572723a30303020746578743a6869001e00093439393630326432000427000102"
	for name, c := range map[string]struct {
		config, response string
		id, other        string // as the event has them
		matches          bool
	}{
		"the text's":                 {"", "1234567890", "1234567890", "499602d2", true},
		"the TLV's":                  {"", "499602D2", "499602d2", "1234567890", true},
		"the text's, configured":     {"receipts: {response_id: decimal, receipt_id: hex}", "1234567890", "499602d2", "1234567890", true},
		"the TLV's, configured":      {"receipts: {response_id: hex, receipt_id: decimal}", "499602d2", "1234567890", "499602d2", true},
		"neither: the event has two": {"", "78", "499602d2", "1234567890", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startReceipts(t, c.config)
			r.submit(t, "m", "15550200002", c.response)
			r.deliverHex(t, both)
			e := r.receipts(t, 1, func(queue.Event) bool { return true })[0]
			if (e.ID == "m") != c.matches || e.Receipt.MessageID != c.id || e.Receipt.OtherMessageID != c.other || e.Receipt.State != "delivered" {
				t.Errorf("%+v with %+v; want ids %s and %s, matched %t", e, e.Receipt, c.id, c.other, c.matches)
			}
		})
	}
}

// G03 (github.com/gammu/gammu/issues/63, github.com/kalkun-sms/Kalkun/issues/154).
func TestG03NationalAndInternationalNumber(t *testing.T) {
	t.Parallel()
	const n0001 = "00000093000000050000000000000044000101333234383531323334353600000041434d45000400000000000000006369643a6e30303031207375623a30303120646c7672643a303031207375626d697420646174653a3236313133303231343020646f6e6520646174653a3236313133303231343120737461743a44454c49565244206572723a30303020746578743a6869"
	r := startReceipts(t, "")
	r.ids.Store("0485123456", "n0001")
	r.publish(t, &queue.Message{ID: "m", From: "2000", To: "0485123456", Text: "hello", Receipt: true})
	e := r.await(t, 1, func(e queue.Event) bool { return e.Type == queue.EventSubmitted })[0]
	r.awaitGone(t, e.Seq)
	r.deliverHex(t, n0001)
	r.only(t, "m", "n0001", "delivered", "000")

	// In other case the id is not the SMSC's own: there the number has to fit.
	loose := startReceipts(t, "")
	loose.ids.Store("0485123456", "N0001")
	loose.publish(t, &queue.Message{ID: "m", From: "2000", To: "0485123456", Text: "hello", Receipt: true})
	e = loose.await(t, 1, func(e queue.Event) bool { return e.Type == queue.EventSubmitted })[0]
	loose.awaitGone(t, e.Seq)
	loose.deliverHex(t, n0001)
	loose.only(t, "", "n0001", "delivered", "000")
}

// G04 (github.com/opentelecoms-org/jsmpp/issues/9 and 71, docs.smsportal.com/docs/delivery-statuses).
func TestG04StatesOfTheSMSCsOwn(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "receipts: {states: {BLIST: rejected}}")
	r.submit(t, "m", "15550100", "77")
	for _, text := range []string{
		"id:77 stat:STAGED err:000", "id:77 stat:NOROUTE err:027", "id:77 stat:NOROUTE err:027", "id:77 stat:STAGED err:000", "id:77 stat:BLIST, err:028",
	} {
		r.deliverText(t, "15550100", text)
		r.inboundEmpty(t)
	}
	list, ids := r.receiptsNow(t, "m"), map[string]bool{}
	var got []string
	for _, e := range list {
		got = append(got, fmt.Sprintf("%s %s %s %s", e.Receipt.Stat, e.Receipt.State, e.Receipt.Error, e.Receipt.MessageState))
		ids[e.EventID] = true
	}
	want := "STAGED unknown 000 unknown, NOROUTE unknown 027 unknown, STAGED unknown 000 unknown, BLIST rejected 028 rejected"
	if strings.Join(got, ", ") != want || len(ids) != len(list) {
		t.Errorf("events %q with %d event ids; want %s", got, len(ids), want)
	}
	r.awaitMetrics(t, `sluice_receipts_total{account="acme",match="repeated"} 1`)
	// Without a message, too, two words are two facts.
	for _, word := range []string{"STAGED", "NOROUTE"} {
		r.deliverText(t, "15550199", "id:78 stat:"+word+" err:000")
	}
	for i, e := range r.receipts(t, 2, func(e queue.Event) bool { return e.ID == "" }) {
		if e.Receipt.State != "unknown" || e.Receipt.Stat == "" {
			t.Errorf("event %d: %+v", i, e.Receipt)
		}
	}
}

// G05 (github.com/praekeltfoundation/vumi/pull/637 and 872, github.com/farhadi/node-smpp/issues/140).
func TestG05ReceiptMarkedByItsTextAlone(t *testing.T) {
	t.Parallel()
	const e0001 = "0000009300000005000000000000004b000101313535353032303030303500000041434d45000000000000000000006369643a6530303031207375623a30303120646c7672643a303031207375626d697420646174653a3236313133303231343020646f6e6520646174653a3236313133303231343120737461743a44454c49565244206572723a30303020746578743a6869"
	t.Run("with the setting", func(t *testing.T) {
		t.Parallel()
		r := startReceipts(t, "receipts: {unmarked: true}")
		r.submit(t, "m", "15550200005", "e0001")
		r.deliverHex(t, e0001)
		r.only(t, "m", "e0001", "delivered", "000")
		// A phone may type one: what is about no message of its own number, or of nobody's, is its message.
		for _, typed := range []string{"id:e0001 stat:UNDELIV err:000", "id:e0002 stat:DELIVRD err:000", "id:e0001"} {
			forged := receiptFrom("15550200099", typed)
			forged.ESMClass = 0
			r.deliver(t, forged)
			r.ackedOK(t, 1)
		}
		seen := map[string]bool{}
		for _, mo := range r.mos(t, 3) {
			seen[mo.Text] = true
		}
		if list := r.receiptsNow(t, "m"); len(seen) != 3 || len(list) != 1 {
			t.Errorf("%d texts and %d receipts; want 3 and 1", len(seen), len(list))
		}
	})
	t.Run("without", func(t *testing.T) {
		t.Parallel()
		r := startReceipts(t, "")
		r.submit(t, "m", "15550200005", "e0001")
		r.deliverHex(t, e0001)
		if mo := r.mos(t, 1)[0]; !strings.HasPrefix(mo.Text, "id:e0001 ") || len(r.receiptsNow(t, "m")) != 0 {
			t.Errorf("published %+v; want the text, and no receipt", mo)
		}
	})
}

// startParts runs a gateway on an SMSC that gives all parts of a message the id p3, and submits one of n parts.
func startParts(t *testing.T, extra string, n int) *receiptsRig {
	t.Helper()
	s := startScripted(t, func(*pdu.SubmitSM) (string, bool) { return "p3", false })
	cfg := testConfig(t, t.TempDir(), smsc{addr: s.addr}, extra, "")
	r := &receiptsRig{rig: runGateway(t, cfg, Options{receiptWaits: []time.Duration{20 * time.Millisecond}}), scriptedSMSC: s}
	r.publish(t, &queue.Message{ID: "long", From: "2000", To: "+15550100", Text: long(n), Receipt: true})
	e := r.await(t, 1, isFinal)[0]
	r.awaitGone(t, e.Seq)
	return r
}

// G06 (github.com/jookies/jasmin/issues/1123, 663 and 1136): segments that share one id have a receipt each.
func TestG06OneIDForEverySegment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parts int
		says  []string
		want  string // segment, message_state and message_final of each event
	}{
		"both delivered":        {2, []string{"DELIVRD", "DELIVRD", "DELIVRD"}, "1 enroute false, 2 delivered true"},
		"one delivered":         {2, []string{"DELIVRD", "UNDELIV"}, "1 enroute false, 2 undeliverable true"},
		"more than a key keeps": {6, strings.Fields(strings.Repeat("DELIVRD ", 7)), "1 enroute false, 2 enroute false, 3 enroute false, 4 enroute false, 5 enroute false, 6 delivered true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startParts(t, "", c.parts)
			for _, word := range c.says {
				r.deliverText(t, "15550100", "id:p3 stat:"+word+" err:000")
				r.inboundEmpty(t)
			}
			var got []string
			for _, e := range r.receiptsNow(t, "long") {
				got = append(got, fmt.Sprintf("%d %s %t", e.Receipt.Segment, e.Receipt.MessageState, e.Receipt.MessageFinal))
				if e.Receipt.Superseded || e.Receipt.Segments != c.parts {
					t.Errorf("%+v; want one of %d, nothing superseded", e.Receipt, c.parts)
				}
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("events %q, want %s", got, c.want)
			}
		})
	}
}

// G06, for an SMSC that sends one receipt for all parts, with the setting that says so.
func TestG06OneReceiptForTheMessage(t *testing.T) {
	t.Parallel()
	r := startParts(t, "receipts: {per: message}", 3)
	r.deliverText(t, "15550100", "id:p3 stat:DELIVRD err:000")
	e := r.receipts(t, 1, func(queue.Event) bool { return true })[0]
	if got := e.Receipt; e.ID != "long" || got.Segment != 0 || got.Segments != 3 || got.MessageState != "delivered" || !got.MessageFinal {
		t.Errorf("%+v with %+v; want the message delivered", e, got)
	}
}

// G07 (github.com/gammu/gammu/issues/363): the SMSC's clock, and no zone that nobody has named.
func TestG07ReceiptZone(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"":                                `"2026-11-30T21:41:00"`,
		"receipts: {zone: Europe/Moscow}": `"2026-11-30T18:41:00Z"`,
		"receipts: {zone: \"-05:00\"}":    `"2026-12-01T02:41:00Z"`,
		"receipts: {zone: UTC}":           `"2026-11-30T21:41:00Z"`,
	} {
		t.Run(config, func(t *testing.T) {
			t.Parallel()
			r := startReceipts(t, config)
			r.submit(t, "m", "15550100", "77")
			r.deliverText(t, "15550100", "id:77 done date:2611302141 stat:DELIVRD err:000")
			e := r.receipts(t, 1, func(queue.Event) bool { return true })[0]
			data, err := json.Marshal(e.Receipt.DoneAt)
			if err != nil || string(data) != want {
				t.Errorf("done_at %s, %v; want %s", data, err, want)
			}
		})
	}
}

// G08 (www.mail-archive.com/devel@kannel.org/msg02229): what cannot be read is published as it came.
func TestG08UnreadableReceiptIsPublished(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "")
	r.submit(t, "m", "15550100", "77")
	for i, c := range []struct {
		text  string
		tlvs  []pdu.TLV
		id    string // of the message
		data  string
		state string
	}{
		{"77,DELIVRD,2611302141", nil, "", "77,DELIVRD,2611302141", "none"},
		{"id:77 NOROUTE text:the quoted text", nil, "m", "id:77 NOROUTE text:", "none"},
		{"id:77 stat:ENROUTE done date:30.11. err:000", nil, "m", "id:77 stat:ENROUTE done date:30.11. err:000", "enroute"},
		{"", []pdu.TLV{{Tag: 0x1403, Value: []byte("77=OK")}, {Tag: pdu.TagCallbackNum, Value: []byte("15550100")}}, "", "", "none"},
	} {
		r.deliverText(t, "15550100", c.text, c.tlvs...)
		e := r.receipts(t, i+1, func(queue.Event) bool { return true })[i]
		got := e.Receipt
		if e.ID != c.id || string(got.Data) != c.data || got.State != c.state {
			t.Errorf("%q: %+v with %+v; want the message %q, %s, octets %q", c.text, e, got, c.id, c.state, c.data)
		}
		if len(c.tlvs) > 0 && (len(got.TLVs) != 1 || got.TLVs[0].Tag != "0x1403" || string(got.TLVs[0].Value) != "77=OK") {
			t.Errorf("TLVs %+v; want the vendor's", got.TLVs)
		}
	}
	r.awaitMetrics(t, `sluice_receipts_unread_total{account="acme"} 4`)
	data, err := json.Marshal(queue.Receipt{Data: []byte("77")})
	if want := `"data":"` + base64.StdEncoding.EncodeToString([]byte("77")); err != nil || !strings.Contains(string(data), want) {
		t.Errorf("%s, %v; want %s", data, err, want)
	}
}

// G09 (beside github.com/jookies/jasmin/issues/418).
func TestG09UUIDInCapitals(t *testing.T) {
	t.Parallel()
	const uuid = "74e02ee1-4e2f-4a6e-a78b-4b247d756a22"
	r := startReceipts(t, "")
	r.submit(t, "m", "15550100", uuid)
	r.deliverText(t, "15550100", "id:"+strings.ToUpper(uuid)+" stat:DELIVRD err:000")
	r.only(t, "m", strings.ToUpper(uuid), "delivered", "000")
}

// G10 (github.com/onlinecity/php-smpp/issues/70).
func TestG10NetworkErrorCodeOfZero(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "")
	r.submit(t, "m", "15550100", "77")
	r.deliverText(t, "15550100", "id:77 stat:UNDELIV err:027", pdu.TLV{Tag: pdu.TagNetworkErrorCode, Value: []byte{0, 0, 0}})
	if got := r.only(t, "m", "77", "undeliverable", "027"); got.NetworkError != nil {
		t.Errorf("network error %+v beside err:027", got.NetworkError)
	}
}

// G11: what was right, by its report.
func TestG11ReceiptsThatWereRight(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "")
	const uuid = "0118z-0122i-74e0"
	for i, c := range []struct {
		report, number, from, id, text string
		tlvs                           []pdu.TLV
		state                          string
	}{
		{"gammu/gammu/issues/319: 00 for +", "15550100", "0015550100", "a1", "id:a1 stat:DELIVRD err:027", nil, "delivered"},
		{"praekeltfoundation/vumi/pull/897: FAILED", "15550101", "15550101", "a2", "id:a2 stat:FAILED err:027", nil, "undeliverable"},
		{"jookies/jasmin/issues/418: dashes, other case", "15550102", "15550102", uuid, "id:" + strings.ToUpper(uuid) + " stat:DELIVRD err:027", nil, "delivered"},
		{"kneodev/ksmppd/issues/108: no stat", "15550103", "15550103", "a4", "id:a4 sub:000 dlvrd:000 DELIVRD err:027 Text:", nil, "delivered"},
		{"opentelecoms-org/jsmpp/issues/62: no sub, dlvrd", "15550104", "15550104", "a5", "id:a5 submit date:2611302140 done date:2611302141 stat:DELIVRD err:027 text:hi", nil, "delivered"},
		{"onlinecity/php-smpp/issues/29: blanks", "15550105", "15550105", "a6", "id: a6 sub: 001 dlvrd: 001 done date: 2611302141 stat: DELIVRD err: 027 text: hi", nil, "delivered"},
		{"funbox/smppex/issues/46: 16-character dates", "15550106", "15550106", "a7", "id:a7 submit date:261130214000012+ done date:261130214100012+ stat:DELIVRD err:027", nil, "delivered"},
		{"jookies/jasmin/issues/545: more_messages_to_send", "15550107", "15550107", "a8", "id:a8 stat:DELIVRD err:027", []pdu.TLV{pdu.Uint8TLV(pdu.TagMoreMessagesToSend, 1)}, "delivered"},
	} {
		name := fmt.Sprintf("g11-%d", i)
		r.submit(t, name, c.number, c.id)
		r.deliverText(t, c.from, c.text, c.tlvs...)
		e := r.receipts(t, 1, func(e queue.Event) bool { return e.ID == name })[0]
		if e.Receipt.State != c.state || e.Receipt.Error != "027" || !e.Receipt.MessageFinal {
			t.Errorf("%s: %+v", c.report, e.Receipt)
		}
	}
	// RestComm/smscgateway/issues/305: DELIVRD, then UNDELIV.
	r.submit(t, "twice", "15550110", "b1")
	for _, word := range []string{"DELIVRD", "UNDELIV"} {
		r.deliverText(t, "15550110", "id:b1 stat:"+word+" err:000")
		r.inboundEmpty(t)
	}
	if list := r.receiptsNow(t, "twice"); len(list) != 2 || list[1].Receipt.MessageState != "delivered" || !list[1].Receipt.Superseded {
		t.Errorf("DELIVRD, then UNDELIV: %d events; want two, the second superseded", len(list))
	}
	// farhadi/node-smpp/issues/68: sequence 0 and above 0x80000000.
	r.submit(t, "sequence", "15550111", "b2")
	body, err := pdu.Append(nil, pdu.StatusOK, 1, receiptFrom("15550111", "id:b2 stat:ENROUTE err:000"))
	if err != nil {
		t.Fatal(err)
	}
	for _, sequence := range []string{"00000000", "80000001"} {
		octets := hex.EncodeToString(body)
		r.deliverHex(t, octets[:24]+sequence+octets[32:])
	}
	if list := r.receiptsNow(t, "sequence"); len(list) != 1 {
		t.Errorf("%d events, want 1", len(list))
	}
}
