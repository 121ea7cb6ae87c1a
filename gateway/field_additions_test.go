package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
)

// These tests are about field report 35: an SMSC that refuses what only the gateway adds to a submit_sm.

// refuses lets a scripted SMSC answer with a status that is not 0.
func refuses(status func(*pdu.SubmitSM) pdu.Status) func(*scriptedSMSC) {
	return func(s *scriptedSMSC) { s.refuse = status }
}

// anyTLV refuses every submit_sm with a TLV.
func anyTLV(status pdu.Status) func(*scriptedSMSC) {
	return refuses(func(sm *pdu.SubmitSM) pdu.Status {
		if len(sm.TLVs) > 0 {
			return status
		}
		return pdu.StatusOK
	})
}

// always refuses everything.
func always(status pdu.Status) func(*scriptedSMSC) {
	return refuses(func(*pdu.SubmitSM) pdu.Status { return status })
}

func announces(version uint8) func(*scriptedSMSC) {
	return func(s *scriptedSMSC) { s.version = version }
}

// additionsRig is an account in simulated time and the SMSC that refuses.
type additionsRig struct {
	*virtual
	smsc *scriptedSMSC
	log  *logged
}

// inBubble runs a test of an account with those settings against such an SMSC.
func inBubble(t *testing.T, settings string, test func(t *testing.T, r *additionsRig), options ...func(*scriptedSMSC)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &additionsRig{smsc: newScripted(acceptingSMSC, options...), log: new(logged)}
		r.virtual = startServed(t, r.smsc.serve, settings, r.log.logger())
		defer r.stop()
		test(t, r)
	})
}

// send publishes messages and waits a minute; it returns how their deliveries ended, in the order of the journal.
func (r *additionsRig) send(t *testing.T, list ...*queue.Message) []queue.Event {
	t.Helper()
	before := len(r.source.Events(0))
	for _, m := range list {
		if _, _, err := r.source.Publish(context.Background(), "main", "normal", m); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Minute)
	return r.source.Events(0)[before:]
}

// submitted checks that each of n messages was accepted by its first attempt, and that nothing else happened to any.
func (r *additionsRig) submitted(t *testing.T, events []queue.Event, n int) {
	t.Helper()
	for _, e := range events {
		if e.Type != queue.EventSubmitted || e.Attempt != 1 || e.PossibleDuplicate {
			t.Errorf("message %s: %s (%s), attempt %d, possible duplicate %t; want submitted by the first", e.ID, e.Type, e.Reason,
				e.Attempt, e.PossibleDuplicate)
		}
	}
	if state := r.standing().state; len(events) != n || state != Bound {
		t.Errorf("%d events in state %s, want %d in state bound", len(events), state, n)
	}
}

// failed checks that each of n messages was refused by its first attempt.
func failed(t *testing.T, events []queue.Event, n int, status pdu.Status) {
	t.Helper()
	for _, e := range events {
		if e.Type != queue.EventFailed || e.Reason != reasonRefused || e.Attempt != 1 || e.CommandStatus == nil || *e.CommandStatus != uint32(status) {
			t.Errorf("message %s: %s (%s), attempt %d, %s; want failed, refused, 1, %s", e.ID, e.Type, e.Reason, e.Attempt, e.StatusName, status)
		}
	}
	if len(events) != n {
		t.Errorf("%d events, want %d", len(events), n)
	}
}

// warned checks how many lines tell that the mark, and the validity period, are given up.
func (r *additionsRig) warned(t *testing.T, mark, validity int) {
	t.Helper()
	if n := r.log.lines(slog.LevelWarn, "user_message_reference", "mark: false"); n != mark {
		t.Errorf("%d lines about the mark, want %d", n, mark)
	}
	if n := r.log.lines(slog.LevelWarn, "validity_period", "form: off", "code=0x62"); n != validity {
		t.Errorf("%d lines about the validity period, want %d", n, validity)
	}
	if n := r.log.lines(slog.LevelWarn); n != mark+validity {
		t.Errorf("%d warnings, want %d", n, mark+validity)
	}
}

func marked(sm *submit) bool {
	_, ok := sm.TLVs.Get(pdu.TagUserMessageReference)
	return ok
}

// An SMSC that refuses every TLV gets every message all the same, and one line says why.
func TestG35MarkIsRefused(t *testing.T) {
	for _, status := range []pdu.Status{pdu.StatusInvTLVStream, pdu.StatusTLVNotAllowed, pdu.StatusInvTLVLen, pdu.StatusInvTLVVal} {
		inBubble(t, "", func(t *testing.T, r *additionsRig) {
			r.submitted(t, r.send(t, messages(30, "+1555")...), 30)
			if n := r.log.lines(slog.LevelWarn, fmt.Sprintf("code=0x%X", uint32(status)), status.String()); n != 1 {
				t.Errorf("%d lines name %s, want 1", n, status)
			}
			r.warned(t, 1, 0)
			before := len(r.smsc.seen())
			r.submitted(t, r.send(t, &queue.Message{ID: "long", To: "+15550100", Text: long(3)}), 1)
			for _, sm := range r.smsc.seen()[before:] {
				if len(sm.TLVs) != 0 || len(sm.ValidityPeriod) == 0 {
					t.Errorf("a later submit has %d TLVs and %d octets of validity_period, want none, and some", len(sm.TLVs), len(sm.ValidityPeriod))
				}
			}
			if n := len(r.smsc.seen()) - before; n != 3 {
				t.Errorf("%d submits for 3 parts", n)
			}
			r.warned(t, 1, 0)
		}, anyTLV(status))
	}
}

// Of a long message only the part that was refused goes again.
func TestG35MarkOfAPartIsRefused(t *testing.T) {
	refusing := refuses(func(sm *pdu.SubmitSM) pdu.Status {
		if sm.ShortMessage[5] == 2 && len(sm.TLVs) > 0 {
			return pdu.StatusTLVNotAllowed
		}
		return pdu.StatusOK
	})
	inBubble(t, "", func(t *testing.T, r *additionsRig) {
		r.submitted(t, r.send(t, &queue.Message{ID: "long", To: "+15550100", Text: long(3)}), 1)
		var got []string
		for _, sm := range r.smsc.seen() {
			got = append(got, fmt.Sprintf("%d %t", sm.ShortMessage[5], marked(&sm)))
		}
		if want := "1 true, 2 true, 2 false, 3 false"; strings.Join(got, ", ") != want {
			t.Errorf("parts, and whether they were marked: %v, want %s", got, want)
		}
		r.warned(t, 1, 0)
	}, refusing)
}

// What is refused without the mark too is the message's, and after five messages the account's, as with any refusal.
func TestG35RefusedWithoutTheMarkToo(t *testing.T) {
	inBubble(t, "", func(t *testing.T, r *additionsRig) {
		for i, m := range messages(4, "+1555") {
			failed(t, r.send(t, m), 1, pdu.StatusTLVNotAllowed)
			if n := len(r.smsc.seen()); n != i+2 {
				t.Errorf("%d submits after %d messages, want %d: only the first goes again", n, i+1, i+2)
			}
		}
		r.warned(t, 1, 0)
		if state := r.standing().state; state != Bound {
			t.Errorf("%s after 4 messages, want bound", state)
		}
		failed(t, r.send(t, messages(1, "+1666")...), 1, pdu.StatusTLVNotAllowed)
		if state := r.standing().state; state != ConfigFault {
			t.Errorf("%s after 5 messages, want config", state)
		}
	}, always(pdu.StatusTLVNotAllowed))
}

// Where submits are marked: by the setting, and with auto by what the bind_resp announces.
func TestG35WhereSubmitsAreMarked(t *testing.T) {
	for _, c := range []struct {
		settings string
		version  uint8
		want     bool
	}{
		{"", 0x34, true},
		{"", 0x50, true},
		{"", 0x33, false},
		{"", 0, false},
		{"mark: auto", 0, false},
		{"mark: true", 0, true},
		{"mark: true", 0x33, true},
		{"mark: false", 0x34, false},
	} {
		inBubble(t, c.settings, func(t *testing.T, r *additionsRig) {
			r.submitted(t, r.send(t, messages(1, "+1555")...), 1)
			if sent := r.smsc.seen(); len(sent) != 1 || marked(&sent[0]) != c.want {
				t.Errorf("%q at an SMSC of version %#x: %d submits, marked %t, want one, %t", c.settings, c.version, len(sent), marked(&sent[0]), c.want)
			}
			r.warned(t, 0, 0)
		}, announces(c.version))
	}
}

// A refusal that may be about what somebody has asked for is the message's, as before.
func TestG35RefusalOfWhatWasAskedFor(t *testing.T) {
	own := []queue.TLV{{Tag: "user_response_code", Value: []byte{1}}}
	for _, c := range []struct {
		name, settings string
		message        queue.Message
		smsc           func(*scriptedSMSC)
		status         pdu.Status
	}{
		{"a TLV of the producer", "", queue.Message{TLVs: own}, anyTLV(pdu.StatusTLVNotAllowed), pdu.StatusTLVNotAllowed},
		{"a TLV of the producer, no mark", "mark: false", queue.Message{TLVs: own}, anyTLV(pdu.StatusTLVNotAllowed), pdu.StatusTLVNotAllowed},
		{"text.id_tlv", "text: {id_tlv: 0x1401}", queue.Message{}, anyTLV(pdu.StatusInvTLVVal), pdu.StatusInvTLVVal},
		{"text.long: payload", "text: {long: payload}", queue.Message{Text: long(2)}, anyTLV(pdu.StatusTLVNotAllowed), pdu.StatusTLVNotAllowed},
		{"mark: true", "mark: true", queue.Message{}, anyTLV(pdu.StatusTLVNotAllowed), pdu.StatusTLVNotAllowed},
		{"a TLV that is missing", "", queue.Message{}, always(pdu.StatusMissingTLV), pdu.StatusMissingTLV},
		{"expires_in of the producer", "", queue.Message{ExpiresIn: time.Hour}, always(pdu.StatusInvExpiry), pdu.StatusInvExpiry},
		{"no validity_period", "validity: {form: off}", queue.Message{}, always(pdu.StatusInvExpiry), pdu.StatusInvExpiry},
		{"another status", "", queue.Message{}, always(pdu.StatusInvDstAdr), pdu.StatusInvDstAdr},
	} {
		inBubble(t, c.settings, func(t *testing.T, r *additionsRig) {
			m := c.message
			m.ID, m.To = "m", "+15550100"
			if m.Text == "" {
				m.Text = "x"
			}
			failed(t, r.send(t, &m), 1, c.status)
			if n := len(r.smsc.seen()); n != 1 || t.Failed() {
				t.Errorf("%s: %d submits, want 1", c.name, n)
			}
			r.warned(t, 0, 0)
		}, c.smsc)
	}
}

// A status that the operator has given another meaning has that meaning.
func TestG35StatusWithAnotherMeaning(t *testing.T) {
	inBubble(t, "statuses: {\"0xC1\": {class: throttle, hold: 1h}}", func(t *testing.T, r *additionsRig) {
		events := r.send(t, messages(1, "+1555")...)
		if len(events) != 1 || events[0].Type != queue.EventThrottled || len(r.smsc.seen()) != 1 {
			t.Errorf("%+v after %d submits, want throttled after 1", events, len(r.smsc.seen()))
		}
		if n := r.log.lines(slog.LevelWarn, "mark: false"); n != 0 {
			t.Errorf("%d lines about the mark", n)
		}
	}, anyTLV(pdu.StatusTLVNotAllowed))
}

// noValidity refuses every submit_sm with a validity_period.
func noValidity(sm *pdu.SubmitSM) pdu.Status {
	if len(sm.ValidityPeriod) > 0 {
		return pdu.StatusInvExpiry
	}
	return pdu.StatusOK
}

// The validity_period that only the route's expires_in asks for is the same kind.
func TestG35ValidityOfTheRouteIsRefused(t *testing.T) {
	inBubble(t, "", func(t *testing.T, r *additionsRig) {
		r.submitted(t, r.send(t, messages(30, "+1555")...), 30)
		before := len(r.smsc.seen())
		r.submitted(t, r.send(t, messages(1, "+1666")...), 1)
		if sent := r.smsc.seen()[before:]; len(sent) != 1 || !marked(&sent[0]) {
			t.Errorf("%d submits later, want one, with its mark", len(sent))
		}
		failed(t, r.send(t, &queue.Message{ID: "own", To: "+15550100", Text: "x", ExpiresIn: time.Hour}), 1, pdu.StatusInvExpiry)
		failed(t, r.send(t, &queue.Message{ID: "at", To: "+15550100", Text: "x", ExpiresAt: time.Now().Add(time.Hour)}), 1, pdu.StatusInvExpiry)
		r.warned(t, 0, 1)
	}, refuses(noValidity))
}

// An SMSC that refuses both gets the message without either.
func TestG35BothAreRefused(t *testing.T) {
	inBubble(t, "", func(t *testing.T, r *additionsRig) {
		r.submitted(t, r.send(t, messages(1, "+1555")...), 1)
		sent := r.smsc.seen()
		if last := sent[len(sent)-1]; len(sent) != 3 || len(last.TLVs) != 0 || len(last.ValidityPeriod) != 0 {
			t.Errorf("%d submits, want 3, the last without either", len(sent))
		}
		r.warned(t, 1, 1)
	}, refuses(func(sm *pdu.SubmitSM) pdu.Status {
		if len(sm.TLVs) > 0 {
			return pdu.StatusTLVNotAllowed
		}
		return noValidity(sm)
	}))
}

// A refusal of the mark that comes late fails no message either: it goes again without.
func TestG35MarkIsRefusedLate(t *testing.T) {
	silentOnTLVs := func(s *scriptedSMSC) {
		s.answer = func(sm *pdu.SubmitSM) (string, bool) { return "77", len(sm.TLVs) > 0 }
	}
	inBubble(t, "response_timeout: 2s\nunknown: {after: 10s}", func(t *testing.T, r *additionsRig) {
		if _, _, err := r.source.Publish(context.Background(), "main", "normal", messages(1, "+1555")[0]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		first := r.smsc.seen()[0]
		r.smsc.sendStatus(first.conn, pdu.StatusTLVNotAllowed, &pdu.SubmitSMResp{}, first.sequence)
		time.Sleep(time.Minute)
		events := r.source.Events(0)
		if len(events) != 2 || events[0].Type != queue.EventUnknownOutcome || events[1].Type != queue.EventSubmitted || events[1].Attempt != 1 {
			t.Errorf("%+v, want unknown_outcome, then submitted", events)
		}
		if sent := r.smsc.seen(); len(sent) != 2 || marked(&sent[1]) {
			t.Errorf("%d submits, want 2, the second without a mark", len(sent))
		}
		r.warned(t, 1, 0)
	}, silentOnTLVs)
}

// Without the mark receipts find their messages by id, and what is sent again after no answer is marked a possible
// duplicate.
func TestG35ReceiptsAndDuplicatesWithoutTheMark(t *testing.T) {
	t.Parallel()
	silent := make(chan struct{}, 1)
	s := startScripted(t, func(sm *pdu.SubmitSM) (string, bool) {
		select {
		case <-silent:
			return "", true
		default:
			return "id-" + string(sm.Dest.Addr), false
		}
	}, anyTLV(pdu.StatusTLVNotAllowed))
	cfg := testConfig(t, t.TempDir(), smsc{addr: s.addr}, "response_timeout: 2s\nunknown: {after: 2s}", "")
	r := &receiptsRig{rig: runGateway(t, cfg, Options{}), scriptedSMSC: s}
	r.awaitStatus(t, http.StatusOK, "bound")
	r.publish(t, &queue.Message{ID: "first", From: "2000", To: "+15550100", Text: "hello", Receipt: true})
	if e := r.outcome(t, "first"); e.Type != queue.EventSubmitted || e.Attempt != 1 {
		t.Fatalf("%s (%s), attempt %d, want submitted by the first", e.Type, e.Reason, e.Attempt)
	}
	r.deliver(t, receiptFrom("15550100", "id:id-15550100 stat:DELIVRD err:000"))
	if e := r.receipts(t, 1, func(queue.Event) bool { return true })[0]; e.ID != "first" || e.Receipt.State != "delivered" {
		t.Errorf("the receipt is of %q, %s; want first, delivered", e.ID, e.Receipt.State)
	}
	silent <- struct{}{}
	r.publish(t, &queue.Message{ID: "second", From: "2000", To: "+15550101", Text: "hello", Receipt: true})
	if e := r.outcome(t, "second"); e.Type != queue.EventSubmitted || !e.PossibleDuplicate {
		t.Errorf("%s (%s), possible duplicate %t; want submitted, possibly twice", e.Type, e.Reason, e.PossibleDuplicate)
	}
	r.deliver(t, receiptFrom("15550101", "id:id-15550101 stat:DELIVRD err:000"))
	if e := r.receipts(t, 2, func(queue.Event) bool { return true })[1]; e.ID != "second" {
		t.Errorf("the receipt is of %q, want second", e.ID)
	}
}
