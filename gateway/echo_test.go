package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
)

// lostAnswer sends one message whose submit gets no answer, and waits until its outcome is unknown.
func lostAnswer(t *testing.T, r *receiptsRig, until queue.EventType) queue.Event {
	t.Helper()
	r.publish(t, &queue.Message{ID: "lost", From: "2000", To: "+15550100", Text: "hello", Receipt: true, Meta: map[string]string{"order": "7"}})
	return r.await(t, 1, func(e queue.Event) bool { return e.ID == "lost" && e.Type == until })[0]
}

// A receipt that echoes the user_message_reference of a submit without an answer settles its message: submitted once,
// and not sent again when it comes back.
func TestReceiptEchoingTheMarkSettlesAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "response_timeout: 2s\nunknown: {after: 8s}")
	lostAnswer(t, r, queue.EventUnknownOutcome)
	sent := r.seen()
	reference, ok := sent[0].TLVs.Uint16(pdu.TagUserMessageReference)
	if !ok || len(sent) != 1 {
		t.Fatalf("%d submits, the first with a mark: %t", len(sent), ok)
	}
	r.deliver(t, receiptFrom("15550100", "id:AB77 stat:UNDELIV err:001", pdu.Uint16TLV(pdu.TagUserMessageReference, reference)))
	final := r.await(t, 1, isFinal)[0]
	if final.Type != queue.EventSubmitted || final.Reason != reasonReceipt || final.PossibleDuplicate || final.ID != "lost" ||
		len(final.MessageIDs) != 1 || final.MessageIDs[0] != "AB77" || final.SegmentsAccepted != 1 || final.Attempt != 1 || final.Meta["order"] != "7" {
		t.Errorf("final %+v; want submitted by its receipt, id AB77, once", final)
	}
	e := r.receipts(t, 1, func(queue.Event) bool { return true })[0]
	if e.ID != "lost" || e.Seq != final.Seq || e.Receipt.State != "undeliverable" || e.Receipt.MessageState != "undeliverable" || !e.Receipt.MessageFinal {
		t.Errorf("receipt event %+v with %+v", e, e.Receipt)
	}
	// The id is known from now on.
	r.deliver(t, receiptFrom("15550100", "id:ab77 stat:ENROUTE err:000"))
	if e := r.receipts(t, 2, func(queue.Event) bool { return true })[1]; e.ID != "lost" || !e.Receipt.Superseded {
		t.Errorf("a later receipt without the mark: %+v with %+v", e, e.Receipt)
	}
	r.awaitEmpty(t) // it came back after 8 s, and was acknowledged
	if sent := r.seen(); len(sent) != 1 {
		t.Errorf("%d submits, want 1", len(sent))
	}
	finals := 0
	for _, e := range r.events(t) {
		if e.Type.Final() {
			finals++
		}
	}
	if finals != 1 {
		t.Errorf("%d finals, want 1", finals)
	}
}

// The delivery id in a TLV of the vendor's range does the same, across a restart; and a receipt for another number
// that echoes it does nothing.
func TestReceiptEchoingTheDeliveryIDSettlesAfterARestart(t *testing.T) {
	t.Parallel()
	s := startScripted(t, silentSMSC)
	dir, extra := t.TempDir(), "response_timeout: 2s\nmark: false\nunknown: {after: 10m}\ntext: {id_tlv: 0x1401}"
	waits := []time.Duration{20 * time.Millisecond}
	start := func() *receiptsRig {
		return &receiptsRig{rig: runGateway(t, testConfig(t, dir, smsc{addr: s.addr}, extra, ""), Options{receiptWaits: waits}), scriptedSMSC: s}
	}
	r := start()
	lostAnswer(t, r, queue.EventUnknownOutcome)
	id, ok := s.seen()[0].TLVs.Get(0x1401)
	if _, marked := s.seen()[0].TLVs.Get(pdu.TagUserMessageReference); !ok || string(id) != "lost" || marked {
		t.Fatalf("the submit carries %q in 0x1401, user_message_reference %t; want lost and none", id, marked)
	}
	r.stop()
	r = start()
	r.awaitStatus(t, http.StatusOK, "bound")
	echo := pdu.TLV{Tag: 0x1401, Value: id}
	r.deliver(t, receiptFrom("15550199", "id:1 stat:DELIVRD err:000", echo))
	if e := r.receipts(t, 1, func(queue.Event) bool { return true })[0]; e.ID != "" {
		t.Errorf("the receipt of another number was taken for %q", e.ID)
	}
	r.deliver(t, receiptFrom("15550100", "id:2 stat:DELIVRD err:000", echo))
	if final := r.await(t, 1, isFinal)[0]; final.Type != queue.EventSubmitted || final.ID != "lost" || final.MessageIDs[0] != "2" {
		t.Errorf("final %+v; want submitted with id 2", final)
	}
	if len(s.seen()) != 1 {
		t.Errorf("%d submits, want 1", len(s.seen()))
	}
}

// Of a long message each receipt that echoes a part's mark spares that part the resend; the last one settles it.
func TestReceiptsEchoingMarksSpareTheirParts(t *testing.T) {
	t.Parallel()
	var again atomic.Bool
	s := startScripted(t, func(sm *pdu.SubmitSM) (string, bool) {
		return fmt.Sprintf("id-%d", sm.ShortMessage[5]), sm.ShortMessage[5] != 2 && !again.Load()
	})
	cfg := testConfig(t, t.TempDir(), smsc{addr: s.addr}, "response_timeout: 2s\nunknown: {after: 8s}", "")
	r := &receiptsRig{rig: runGateway(t, cfg, Options{}), scriptedSMSC: s}
	r.publish(t, &queue.Message{ID: "long", From: "2000", To: "+15550100", Text: long(3), Receipt: true})
	r.await(t, 1, func(e queue.Event) bool { return e.Type == queue.EventUnknownOutcome })
	again.Store(true)
	for _, sm := range s.seen() {
		if reference, ok := sm.TLVs.Uint16(pdu.TagUserMessageReference); ok && sm.ShortMessage[5] == 3 {
			r.deliver(t, receiptFrom("15550100", "id:by-receipt stat:DELIVRD err:000", pdu.Uint16TLV(pdu.TagUserMessageReference, reference)))
		}
	}
	if e := r.receipts(t, 1, func(queue.Event) bool { return true })[0]; e.ID != "long" || e.Receipt.Segment != 3 || e.Receipt.Segments != 3 {
		t.Errorf("%+v with %+v; want the receipt of part 3", e, e.Receipt)
	}
	final := r.await(t, 1, isFinal)[0]
	if final.Type != queue.EventSubmitted || strings.Join(final.MessageIDs, " ") != "id-1 id-2 by-receipt" || !final.PossibleDuplicate {
		t.Errorf("final %+v; want submitted with the receipt's id for part 3", final)
	}
	var parts []byte
	for _, sm := range s.seen() {
		parts = append(parts, sm.ShortMessage[5])
	}
	if string(parts) != "\x01\x02\x03\x01" {
		t.Errorf("parts submitted: %v, want 1 2 3, then 1 again", parts)
	}
}

// Once it was deferred nothing is settled any more, but the receipt's event says which message it was.
func TestReceiptOfADeferredMessageNamesIt(t *testing.T) {
	t.Parallel()
	r := startReceipts(t, "response_timeout: 2s\nunknown: {max: 0}")
	deferred := lostAnswer(t, r, queue.EventDeferred)
	reference, _ := r.seen()[0].TLVs.Uint16(pdu.TagUserMessageReference)
	r.deliver(t, receiptFrom("15550100", "id:AB77 stat:DELIVRD err:000", pdu.Uint16TLV(pdu.TagUserMessageReference, reference)))
	e := r.receipts(t, 1, func(queue.Event) bool { return true })[0]
	if e.ID != "lost" || e.Seq != deferred.Seq || e.Receipt.MessageID != "AB77" || e.Receipt.State != "delivered" {
		t.Errorf("%+v with %+v; want the receipt of message %d", e, e.Receipt, deferred.Seq)
	}
	finals := 0
	for _, e := range r.events(t) {
		if e.Type.Final() {
			finals++
		}
	}
	if finals != 1 || deferred.Reason != reasonOutcomeUnknown {
		t.Errorf("%d finals, deferred for %q; want 1, %s", finals, deferred.Reason, reasonOutcomeUnknown)
	}
}
