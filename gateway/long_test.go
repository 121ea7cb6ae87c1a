package gateway

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/gateway/admin"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/smpp/text"
	"sluice/testserver"
)

// submitted is one submit_sm that the SMSC saw, with its record.
type submitted struct {
	testserver.Record
	*pdu.SubmitSM
}

// number is which part of a text joined by an 8-bit header it is.
func (s submitted) number() int { return int(s.ShortMessage[5]) }

// submits reads the SMSC's ledger, which has to keep PDUs.
func submits(t *testing.T, s smsc) []submitted {
	t.Helper()
	var list []submitted
	for _, rec := range s.Ledger() {
		raw, err := hex.DecodeString(rec.PDU)
		if err != nil {
			t.Fatal(err)
		}
		_, body, err := pdu.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, submitted{rec, body.(*pdu.SubmitSM)})
	}
	return list
}

func numbers(list []submitted) []int {
	var n []int
	for _, s := range list {
		n = append(n, s.number())
	}
	return n
}

func keepsPDUs() testserver.LedgerConfig { return testserver.LedgerConfig{PDUs: true} }

// long is a text of exactly n segments joined by an 8-bit header.
func long(n int) string { return strings.Repeat("a", 153*(n-1)+100) }

// sameOnWire says that two submits of one part do not differ but in their sequence numbers and validity.
func sameOnWire(a, b submitted) bool {
	return bytes.Equal(a.ShortMessage, b.ShortMessage) && a.Reference == b.Reference && a.ESMClass == b.ESMClass
}

func TestF07_RefusedPartAloneIsResent(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{
		Errors: []testserver.ErrorRule{{Script: []pdu.Status{pdu.StatusOK, pdu.StatusThrottled}}}, Ledger: keepsPDUs(),
	})
	r := startGateway(t, t.TempDir(), s, "", "")
	r.publish(t, &queue.Message{ID: "m", From: "ACME", To: "+15550100", Text: long(2)})
	final := r.await(t, 1, isFinal)[0]
	if final.Type != queue.EventSubmitted || final.Attempt != 1 || final.Throttles != 1 || final.Segments != 2 || final.SegmentsAccepted != 2 || final.PossibleDuplicate {
		t.Errorf("final %+v, want submitted, attempt 1, 1 throttle, 2 segments of 2", final)
	}
	list := submits(t, s)
	if got := numbers(list); !slices.Equal(got, []int{1, 2, 2}) {
		t.Fatalf("the SMSC saw parts %v, want 1, 2, 2", got)
	}
	if !sameOnWire(list[1], list[2]) {
		t.Errorf("part 2 changed: %x, then %x", list[1].ShortMessage[:6], list[2].ShortMessage[:6])
	}
	if want := []string{list[0].MessageID, list[2].MessageID}; !slices.Equal(final.MessageIDs, want) {
		t.Errorf("message ids %v, want %v", final.MessageIDs, want)
	}
	for _, e := range r.events(t) {
		if e.Type == queue.EventThrottled && (e.Segments != 2 || e.SegmentsAccepted != 1 || len(e.Answers) != 2 || e.Attempt != 0) {
			t.Errorf("throttled event %+v, want 1 segment of 2 accepted and both answers", e)
		}
	}
}

func TestF11_EachPartHasASequenceNumberOfItsOwn(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{Ledger: keepsPDUs()})
	r := startGateway(t, t.TempDir(), s, "", "")
	r.publish(t, &queue.Message{ID: "m", From: "ACME", To: "+15550100", Text: long(3)})
	r.await(t, 1, isFinal)
	seen := map[uint32]bool{}
	for _, sm := range submits(t, s) {
		seen[sm.Sequence] = true
	}
	if len(seen) != 3 {
		t.Errorf("3 parts went under %d sequence numbers", len(seen))
	}
}

func TestF40_PartsOfOneTextKeepToOneBind(t *testing.T) {
	t.Parallel()
	// Every seventh submit is throttled: those parts come back under a permit of whichever bind.
	s := startSMSC(t, testserver.Scenario{
		Latency: testserver.Between(time.Millisecond, 5*time.Millisecond), Ledger: keepsPDUs(),
		Errors: []testserver.ErrorRule{{Match: testserver.Match{Every: 7}, Status: pdu.StatusThrottled}},
	})
	r := startGateway(t, t.TempDir(), s, "binds: 2\nrate: {declared: 200}", "")
	r.awaitAccount(t, "both binds", func(a admin.Account) bool { return a.Binds == 2 })
	const texts = 20
	for i := range texts {
		r.publish(t, &queue.Message{ID: fmt.Sprint("m", i), From: "ACME", To: fmt.Sprintf("+1555%04d", i), Text: long(5)})
	}
	for _, e := range r.await(t, texts, isFinal) {
		if e.Type != queue.EventSubmitted || len(e.MessageIDs) != 5 {
			t.Errorf("%s: %s with %d ids", e.ID, e.Type, len(e.MessageIDs))
		}
	}
	binds, used := map[string]int{}, map[int]bool{}
	references := map[string]byte{}
	for _, sm := range submits(t, s) {
		used[sm.Bind] = true
		if was, ok := binds[sm.Destination]; ok && was != sm.Bind {
			t.Errorf("parts to one destination went over binds %d and %d", was, sm.Bind)
		}
		binds[sm.Destination] = sm.Bind
		if was, ok := references[sm.Destination]; ok && was != sm.ShortMessage[3] {
			t.Errorf("parts to one destination have the references %d and %d", was, sm.ShortMessage[3])
		}
		references[sm.Destination] = sm.ShortMessage[3]
	}
	if len(used) != 2 {
		t.Errorf("%d binds were used: the test does not test", len(used))
	}
}

func TestF40_WhatABindDiedWithIsResentOnAnother(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{
		Faults: []testserver.Fault{{Match: testserver.Match{Nth: 3}, Kind: testserver.FaultDisconnect, When: testserver.Before}}, Ledger: keepsPDUs(),
	})
	r := startGateway(t, t.TempDir(), s, "binds: 2\nunknown: {after: 10ms}", "")
	r.publish(t, &queue.Message{ID: "m", From: "ACME", To: "+15550100", Text: long(5)})
	final := r.await(t, 1, isFinal)[0]
	if final.Type != queue.EventSubmitted || !final.PossibleDuplicate || len(final.MessageIDs) != 5 {
		t.Errorf("final %+v, want submitted with 5 ids, possible_duplicate", final)
	}
	list := submits(t, s)
	if got := numbers(list); !slices.Equal(got, []int{1, 2, 3, 3, 4, 5}) {
		t.Fatalf("the SMSC saw parts %v, want 1, 2, 3, 3, 4, 5", got)
	}
	if !sameOnWire(list[2], list[3]) || list[2].Bind == list[3].Bind || list[3].Bind != list[5].Bind {
		t.Errorf("part 3 went as %x over bind %d, then as %x over bind %d", list[2].ShortMessage[:6], list[2].Bind, list[3].ShortMessage[:6], list[3].Bind)
	}
}

// Cyrillic and emoji are cut between characters, in big-endian UTF-16 without a byte order mark.
func TestF43_UCS2PartsJoinToTheText(t *testing.T) {
	t.Parallel()
	zhe, emoji := "ж", "😀"
	texts := map[string]int{
		strings.Repeat(zhe, 71): 2, strings.Repeat(emoji, 35): 1, strings.Repeat(emoji, 36): 2,
		strings.Repeat(zhe, 66) + emoji + strings.Repeat(zhe, 66): 3, strings.Repeat(zhe, 134): 2, strings.Repeat(zhe, 135): 3,
	}
	for way, options := range map[string]string{"udh8": "", "udh16": "text: {long: udh16}", "sar": "text: {long: sar}"} {
		t.Run(way, func(t *testing.T) {
			s := startSMSC(t, testserver.Scenario{Ledger: keepsPDUs()})
			r := startGateway(t, t.TempDir(), s, options, "")
			sent := map[string]string{}
			for body := range texts {
				to := fmt.Sprintf("1555%04d", len(sent))
				sent[to] = body
				r.publish(t, &queue.Message{ID: to, From: "ACME", To: "+" + to, Text: body})
			}
			r.await(t, len(sent), isFinal)
			parts := map[string][][]byte{}
			udhi := map[string]bool{}
			for _, sm := range submits(t, s) {
				if sm.DataCoding != text.DataCodingUCS2 {
					t.Errorf("data_coding %d, want 8", sm.DataCoding)
				}
				parts[sm.Destination] = append(parts[sm.Destination], sm.ShortMessage)
				udhi[sm.Destination] = sm.ESMClass&pdu.ESMClassUDHI != 0
			}
			for to, body := range sent {
				if n := texts[body]; len(parts[to]) != n && way != "udh16" {
					t.Errorf("%d parts, want %d", len(parts[to]), n)
				}
				got, err := text.DecodeParts(text.DataCodingUCS2, parts[to], udhi[to], text.AlphabetGSM7)
				if err != nil || got != body {
					t.Errorf("%d parts join to %q (%v), want %q", len(parts[to]), got, err, body)
				}
			}
		})
	}
}

// Of seven parts the third and fifth are throttled and the sixth is not answered: only those are sent again.
func TestOnlyWhatWasNotAcceptedIsSentAgain(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{
		Errors: []testserver.ErrorRule{{Script: []pdu.Status{0, 0, pdu.StatusThrottled, 0, pdu.StatusThrottled, 0, 0}}},
		Faults: []testserver.Fault{{Match: testserver.Match{Nth: 6}, Kind: testserver.FaultSwallow}}, Ledger: keepsPDUs(),
	})
	r := startGateway(t, t.TempDir(), s, "response_timeout: 2s\nunknown: {after: 10ms}", "")
	r.publish(t, &queue.Message{ID: "m", From: "ACME", To: "+15550100", Text: long(7), Receipt: true})
	final := r.await(t, 1, isFinal)[0]
	if final.Type != queue.EventSubmitted || !final.PossibleDuplicate || final.Attempt != 1 || final.SegmentsAccepted != 7 {
		t.Errorf("final %+v, want submitted, possible_duplicate, attempt 1, 7 segments", final)
	}
	list := submits(t, s)
	if got := numbers(list); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7, 3, 5, 6}) {
		t.Fatalf("the SMSC saw parts %v, want 1 to 7, then 3, 5, 6", got)
	}
	for i, first := range []int{2, 4, 5} {
		if !sameOnWire(list[first], list[7+i]) {
			t.Errorf("part %d changed: %x, then %x", first+1, list[first].ShortMessage[:6], list[7+i].ShortMessage[:6])
		}
	}
	want := []string{
		list[0].MessageID, list[1].MessageID, list[7].MessageID, list[3].MessageID, list[8].MessageID, list[9].MessageID, list[6].MessageID,
	}
	if !slices.Equal(final.MessageIDs, want) {
		t.Errorf("message ids %v, want %v", final.MessageIDs, want)
	}
	finals := 0
	for _, e := range r.events(t) {
		switch {
		case e.Type.Final():
			finals++
		case e.Type == queue.EventUnknownOutcome && (e.SegmentsAccepted != 4 || len(e.Answers) != 7 || e.Answers[5].CommandStatus != nil):
			t.Errorf("unknown_outcome event %+v, want 4 segments of 7 accepted and no answer to part 6", e)
		}
	}
	if finals != 1 {
		t.Errorf("%d finals, want 1", finals)
	}
	r.awaitEmpty(t) // the index is written behind the event
	for i, id := range final.MessageIDs {
		ref, ok, err := r.client.LookupReceipt(t.Context(), "acme", queue.CanonicalID(id), newestRef)
		if err != nil || !ok || ref.ID != "m" || ref.Segment != i+1 || ref.Segments != 7 {
			t.Errorf("receipt index of part %d: %+v, %v, %v", i+1, ref, ok, err)
		}
	}
}

// A late answer to one part spares that part the resend.
func TestLateAnswerToOnePartSparesItTheResend(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{
		Errors: []testserver.ErrorRule{{Script: []pdu.Status{0, pdu.StatusThrottled, 0}}},
		Faults: []testserver.Fault{{Match: testserver.Match{Nth: 3}, Kind: testserver.FaultDelay, By: testserver.Exactly(3 * time.Second)}},
		Ledger: keepsPDUs(),
	})
	r := startGateway(t, t.TempDir(), s, "response_timeout: 2s\nunknown: {after: 5s}", "")
	r.publish(t, &queue.Message{ID: "m", From: "ACME", To: "+15550100", Text: long(3)})
	final := r.await(t, 1, isFinal)[0]
	list := submits(t, s)
	if got := numbers(list); !slices.Equal(got, []int{1, 2, 3, 2}) {
		t.Errorf("the SMSC saw parts %v, want 1, 2, 3, 2", got)
	}
	if final.Type != queue.EventSubmitted || len(final.MessageIDs) != 3 || final.MessageIDs[2] != list[2].MessageID {
		t.Errorf("final %+v, want submitted with the id of the late answer", final)
	}
}

func TestRefusedPartEndsTheMessage(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{
		Errors: []testserver.ErrorRule{{Script: []pdu.Status{0, pdu.StatusInvDstAdr}}}, Ledger: keepsPDUs(),
	})
	r := startGateway(t, t.TempDir(), s, "", "")
	r.publish(t, &queue.Message{ID: "m", From: "ACME", To: "+15550100", Text: long(4)})
	final := r.await(t, 1, isFinal)[0]
	if final.Type != queue.EventFailed || final.Reason != reasonPartial || final.Segments != 4 || final.SegmentsAccepted != 1 || len(final.MessageIDs) != 1 {
		t.Errorf("final %+v, want failed (partial) with 1 segment of 4 accepted", final)
	}
	if got := numbers(submits(t, s)); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("the SMSC saw parts %v, want 1 and 2", got)
	}
}

func TestLongTextsGoTheAccountsWay(t *testing.T) {
	t.Parallel()
	const body = 400
	for _, c := range []struct {
		options string
		submits int
		check   func(sm submitted) bool
	}{
		{"text: {long: udh16}", 3, func(sm submitted) bool {
			return sm.ESMClass&pdu.ESMClassUDHI != 0 && bytes.HasPrefix(sm.ShortMessage, []byte{6, 8, 4})
		}},
		{"text: {long: sar}", 3, func(sm submitted) bool {
			total, _ := sm.TLVs.Get(pdu.TagSarTotalSegments)
			return sm.ESMClass&pdu.ESMClassUDHI == 0 && bytes.Equal(total, []byte{3})
		}},
		{"text: {long: payload}", 1, func(sm submitted) bool {
			payload, _ := sm.TLVs.Get(pdu.TagMessagePayload)
			return len(sm.ShortMessage) == 0 && len(payload) == body
		}},
	} {
		t.Run(c.options, func(t *testing.T) {
			s := startSMSC(t, testserver.Scenario{Ledger: keepsPDUs()})
			r := startGateway(t, t.TempDir(), s, c.options, "")
			r.publish(t, &queue.Message{ID: "m", From: "ACME", To: "+15550100", Text: strings.Repeat("a", body)})
			final := r.await(t, 1, isFinal)[0]
			if final.Type != queue.EventSubmitted || final.Segments != 3 || final.SegmentsAccepted != 3 || len(final.MessageIDs) != c.submits {
				t.Errorf("final %+v, want submitted, 3 segments, %d ids", final, c.submits)
			}
			list := submits(t, s)
			if len(list) != c.submits {
				t.Fatalf("%d submits, want %d", len(list), c.submits)
			}
			for i, sm := range list {
				if !c.check(sm) {
					t.Errorf("part %d is not joined as configured: %x", i+1, sm.ShortMessage[:min(8, len(sm.ShortMessage))])
				}
			}
		})
	}
}

func TestTextOptions(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{Ledger: keepsPDUs()})
	r := startGateway(t, t.TempDir(), s, "text: {max_segments: 2, transliterate: true, language: turkish}", "")
	r.publish(t,
		&queue.Message{ID: "long", From: "ACME", To: "+15550100", Text: long(3)},
		&queue.Message{ID: "dash", From: "ACME", To: "+15550101", Text: "10–12"},
		&queue.Message{ID: "turkish", From: "ACME", To: "+15550102", Text: "ş"},
	)
	for _, e := range r.await(t, 3, isFinal) {
		switch {
		case e.ID != "long" && e.Type != queue.EventSubmitted:
			t.Errorf("%s: %s (%s)", e.ID, e.Type, e.Detail)
		case e.ID == "long" && (e.Reason != reasonTooLong || !strings.Contains(e.Detail, "2 segments")):
			t.Errorf("too long: %s (%s): %s", e.Type, e.Reason, e.Detail)
		}
	}
	for _, sm := range submits(t, s) {
		want := "10-12"
		if sm.Destination == "15550102" {
			want = "\x03\x24\x01\x01\x1bs"
		}
		if got := string(sm.ShortMessage); got != want || sm.DataCoding != 0 {
			t.Errorf("sent as %q with data_coding %d, want %q in the default alphabet", got, sm.DataCoding, want)
		}
	}
}
