package pdu_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"sluice/smpp/pdu"
)

// The tests of this file are public bug reports about other SMPP implementations,
// turned into input. Addresses and ids are invented.

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// reportedStreams are the octets of the reports below; they seed the fuzz tests
// too.
func reportedStreams() map[string]string {
	return map[string]string{
		"unknown command": "000000100000011f000000000000000d",
		"two PDUs in one read": "0000003200000005000000000000000500010131353535303030310001013135353530303032000000000000000000000161" +
			"0000003200000005000000000000000600010131353535303030310001013135353530303032000000000000000000000162",
		"length 0x80000009":           "800000090000000000000001",
		"length 15":                   "0000000f000000150000000000000001",
		"length 0":                    "00000000",
		"cut-off TLV":                 "0000005000000005000000000000000b00010131353535303030310001013135353530303032000400000000000000001a69643a373720737461743a44454c49565244206572723a303030001e000337",
		"congestion_state":            "00000018800000040000000000000001373700042800015f",
		"vendor TLVs":                 "0000001e8000000400000000000000013737001400000378797a14010000",
		"error with a body":           "00000021800000040000000b000000023041303030303030413344333233413100",
		"error with an empty id":      "0000001180000004000000450000000700",
		"error without a body":        "00000010800000040000005800000002",
		"text in message_payload":     "0000004f0000000500000000000000090001013135353530303031000101313535353030303200040000000000000000000424001a69643a373720737461743a44454c49565244206572723a303030",
		"receipt in data_sm":          "0000003600000103000000000000000c0001013135353530303031000101313535353030303200040000001e00033737000427000102",
		"submit_multi_resp, no body":  "00000010800000210000000000000003",
		"submit_multi_resp, one fail": "000000238000002100000000000000033737000101013135353530303033000000000b",
	}
}

// TestFirstSequenceNumber: github.com/farhadi/node-smpp/pull/17. A client started
// at 0, which only generic_nack may carry.
func TestFirstSequenceNumber(t *testing.T) {
	if _, err := pdu.Append(nil, 0, 0, &pdu.Bind{}); err == nil {
		t.Error("a bind with sequence number 0 was written")
	}
	if b := mustAppend(t, 0, 0, &pdu.GenericNack{}); binary.BigEndian.Uint32(b[12:]) != 0 {
		t.Errorf("generic_nack is %x", b)
	}
}

// TestUnknownCommandIsAnswered: github.com/fiorix/go-smpp/issues/90 and
// github.com/linxGnu/gosmpp/issues/62. An unknown PDU gets a generic_nack with its
// own number, and the bind lives on.
func TestUnknownCommandIsAnswered(t *testing.T) {
	h, _, err := pdu.Parse(unhex(t, reportedStreams()["unknown command"]))
	var unknown *pdu.UnknownCommandError
	if !errors.As(err, &unknown) || unknown.ID != 0x11F {
		t.Fatalf("error is %v, want an *UnknownCommandError", err)
	}
	b := mustAppend(t, pdu.StatusInvCmdID, h.Sequence, &pdu.GenericNack{})
	if got, want := hex.EncodeToString(b), "0000001080000000000000030000000d"; got != want {
		t.Errorf("answer is %s, want %s", got, want)
	}
}

// TestSeveralPDUsInOneRead: github.com/joaogervasoni/smppjs/pull/58 and
// github.com/pruiz/AberrantSMPP/pull/20. The second PDU of a read was lost.
func TestSeveralPDUsInOneRead(t *testing.T) {
	stream := unhex(t, reportedStreams()["two PDUs in one read"])
	var texts, acks string
	for len(stream) > 0 {
		n, err := pdu.CheckLength(stream, pdu.DefaultMaxLen)
		if err != nil {
			t.Fatal(err)
		}
		h, body := mustParse(t, stream[:n])
		texts += string(body.(*pdu.DeliverSM).ShortMessage)
		acks += hex.EncodeToString(mustAppend(t, 0, h.Sequence, &pdu.DeliverSMResp{}))
		stream = stream[n:]
	}
	if want := "0000001180000005000000000000000500" + "0000001180000005000000000000000600"; texts != "ab" || acks != want {
		t.Errorf("texts are %q and acks %s", texts, acks)
	}
}

// TestForeignStreams: github.com/farhadi/node-smpp/issues/230, 168 and 101. The
// octets of other protocols were read as lengths of up to a gigabyte.
func TestForeignStreams(t *testing.T) {
	for _, tt := range []struct{ stream, want string }{
		{"485454502f312e3120343030", "pdu: command_length 1213486160 (0x48545450) is not between 16 and 65536; the octets look like an HTTP response"},
		{"414d515000000901", "pdu: command_length 1095586128 (0x414D5150) is not between 16 and 65536; the octets look like AMQP"},
		{"0300002f2ae0", "pdu: command_length 50331695 (0x0300002F) is not between 16 and 65536; the octets look like an RDP probe"},
		{"15030300020228", "pdu: command_length 352518912 (0x15030300) is not between 16 and 65536; the octets look like a TLS alert"},
	} {
		_, err := pdu.CheckLength(unhex(t, tt.stream), pdu.DefaultMaxLen)
		if err == nil || err.Error() != tt.want {
			t.Errorf("error is %v, want %s", err, tt.want)
		}
	}
}

// TestImpossibleLengths: github.com/farhadi/node-smpp/issues/78. A reader lost four
// octets and took a command_id for a length; guessing where the next PDU starts
// made it worse.
func TestImpossibleLengths(t *testing.T) {
	for _, name := range []string{"length 0x80000009", "length 15", "length 0"} {
		var length *pdu.LengthError
		if _, err := pdu.CheckLength(unhex(t, reportedStreams()[name]), pdu.DefaultMaxLen); !errors.As(err, &length) || length.Guess != "" {
			t.Errorf("%s: error is %v, want a *LengthError without a guess", name, err)
		}
	}
}

// TestCutOffTLV: github.com/opentelecoms-org/jsmpp/issues/214 and
// github.com/funbox/smppex/pull/30. A cut-off TLV cost the whole receipt, which the
// centre sent again for days.
func TestCutOffTLV(t *testing.T) {
	_, body := mustParse(t, unhex(t, reportedStreams()["cut-off TLV"]))
	d := body.(*pdu.DeliverSM)
	if want := "id:77 stat:DELIVRD err:000"; string(d.ShortMessage) != want || len(d.TLVs) != 0 {
		t.Errorf("text is %q with %d TLVs, want %q with none", d.ShortMessage, len(d.TLVs), want)
	}
}

// TestUnknownTLVs: github.com/python-smpplib/python-smpplib/issues/2 and
// github.com/kneodev/ksmppd/issues/135. An unknown TLV in a response stopped the
// client.
func TestUnknownTLVs(t *testing.T) {
	_, body := mustParse(t, unhex(t, reportedStreams()["congestion_state"]))
	resp := body.(*pdu.SubmitSMResp)
	if v, ok := resp.TLVs.Uint8(pdu.TagCongestionState); !ok || v != 95 || string(resp.MessageID) != "77" {
		t.Errorf("congestion_state is %d, %v; message_id is %q", v, ok, resp.MessageID)
	}
	_, body = mustParse(t, unhex(t, reportedStreams()["vendor TLVs"]))
	resp = body.(*pdu.SubmitSMResp)
	v, _ := resp.TLVs.Get(0x1400)
	if empty, ok := resp.TLVs.Get(0x1401); string(v) != "xyz" || !ok || len(empty) != 0 {
		t.Errorf("TLVs are %+v", resp.TLVs)
	}
}

// TestErrorResponses: github.com/funbox/smppex/issues/6 and
// github.com/jookies/jasmin/issues/128. A submit_sm_resp with an error comes with a
// body, with an empty one or without one.
func TestErrorResponses(t *testing.T) {
	for _, tt := range []struct {
		name       string
		status     pdu.Status
		headerOnly bool
		id         string
	}{
		{"error with a body", pdu.StatusInvDstAdr, false, "0A000000A3D323A1"},
		{"error with an empty id", pdu.StatusSubmitFail, false, ""},
		{"error without a body", pdu.StatusThrottled, true, ""},
	} {
		h, body := mustParse(t, unhex(t, reportedStreams()[tt.name]))
		resp := body.(*pdu.SubmitSMResp)
		if h.Status != tt.status || resp.HeaderOnly != tt.headerOnly || string(resp.MessageID) != tt.id {
			t.Errorf("%s: %s, %+v", tt.name, h.Status, resp)
		}
	}
}

// TestTextInMessagePayload: github.com/praekeltfoundation/vumi/pull/330 and
// github.com/AdhamAwadhi/JamaaSMPP/issues/27.
func TestTextInMessagePayload(t *testing.T) {
	_, body := mustParse(t, unhex(t, reportedStreams()["text in message_payload"]))
	d := body.(*pdu.DeliverSM)
	payload, ok := d.TLVs.Get(pdu.TagMessagePayload)
	if want := "id:77 stat:DELIVRD err:000"; !ok || string(payload) != want || len(d.ShortMessage) != 0 {
		t.Errorf("payload is %q, short_message %q", payload, d.ShortMessage)
	}
}

// TestReceiptInDataSM: github.com/jookies/jasmin/issues/92 and 139. The answer to
// data_sm carries a message_id, here an empty one.
func TestReceiptInDataSM(t *testing.T) {
	h, body := mustParse(t, unhex(t, reportedStreams()["receipt in data_sm"]))
	d := body.(*pdu.DataSM)
	id, _ := d.TLVs.CString(pdu.TagReceiptedMessageID)
	state, _ := d.TLVs.Uint8(pdu.TagMessageState)
	if string(id) != "77" || pdu.MessageState(state) != pdu.StateDelivered || d.ESMClass&pdu.ESMClassTypeMask != pdu.ESMClassReceipt {
		t.Errorf("parsed as %+v", d)
	}
	b := mustAppend(t, 0, h.Sequence, &pdu.DataSMResp{})
	if got, want := hex.EncodeToString(b), "0000001180000103000000000000000c00"; got != want {
		t.Errorf("answer is %s, want %s", got, want)
	}
}

// TestSubmitMultiResp: github.com/opentelecoms-org/jsmpp/issues/114,
// github.com/funbox/smppex/issues/72 and github.com/fiorix/go-smpp/issues/72.
func TestSubmitMultiResp(t *testing.T) {
	_, body := mustParse(t, unhex(t, reportedStreams()["submit_multi_resp, no body"]))
	if resp := body.(*pdu.SubmitMultiResp); !resp.HeaderOnly || len(resp.Unsuccess) != 0 {
		t.Errorf("without a body: %+v", resp)
	}
	_, body = mustParse(t, unhex(t, reportedStreams()["submit_multi_resp, one fail"]))
	resp := body.(*pdu.SubmitMultiResp)
	if len(resp.Unsuccess) != 1 || resp.Unsuccess[0].Status != pdu.StatusInvDstAdr || string(resp.Unsuccess[0].Address.Addr) != "15550003" {
		t.Errorf("with one failure: %+v", resp)
	}
}

// TestShortMessageOf255Octets: github.com/OpenSIPS/opensips/issues/3846. sm_length
// 255 overran a buffer; it is bounded by command_length here.
func TestShortMessageOf255Octets(t *testing.T) {
	front := strings.Repeat("\x00", 16)
	var short *pdu.TruncatedError
	var sm pdu.SubmitSM
	if err := sm.ParseBody([]byte(front + "\xFF0123456789")); !errors.As(err, &short) || short.Field != "short_message" {
		t.Errorf("ten octets: error is %v", err)
	}
	if err := sm.ParseBody([]byte(front + "\xFF" + strings.Repeat("x", 255))); err != nil || len(sm.ShortMessage) != 255 {
		t.Errorf("255 octets: %v, %d octets", err, len(sm.ShortMessage))
	}
}
