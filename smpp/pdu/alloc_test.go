package pdu_test

import (
	"testing"

	"sluice/smpp/pdu"
)

// TestNoAllocations runs the steps every message takes.
func TestNoAllocations(t *testing.T) {
	sm := benchSubmit()
	sm.TLVs = pdu.TLVs{pdu.Uint16TLV(pdu.TagUserMessageReference, 7), {Tag: 0x1400, Value: []byte("id")}}
	submit := mustAppend(t, 0, 1, sm)
	resp := mustAppend(t, 0, 1, &pdu.SubmitSMResp{
		MessageID: []byte("0123456789abcdef"),
		TLVs:      pdu.TLVs{pdu.Uint8TLV(pdu.TagCongestionState, 50)},
	})
	buf := make([]byte, 0, 512)
	var (
		gotSubmit  pdu.SubmitSM
		gotDeliver pdu.DeliverSM
		gotResp    pdu.SubmitSMResp
		ack        pdu.DeliverSMResp
		enquire    pdu.EnquireLink
		data       pdu.DataSM
	)
	dataWire := mustAppend(t, 0, 1, &pdu.DataSM{TLVs: sm.TLVs})
	for _, tt := range []struct {
		name string
		run  func() error
	}{
		{"encode submit_sm", func() error { _, err := pdu.Append(buf, 0, 1, sm); return err }},
		{"decode submit_sm", func() error { return gotSubmit.ParseBody(submit[pdu.HeaderLen:]) }},
		{"decode submit_sm_resp", func() error { return gotResp.ParseBody(resp[pdu.HeaderLen:]) }},
		{"decode deliver_sm", func() error { return gotDeliver.ParseBody(submit[pdu.HeaderLen:]) }},
		{"decode data_sm", func() error { return data.ParseBody(dataWire[pdu.HeaderLen:]) }},
		{"encode deliver_sm_resp", func() error { _, err := pdu.Append(buf, 0, 1, &ack); return err }},
		{"encode enquire_link", func() error { _, err := pdu.Append(buf, 0, 1, &enquire); return err }},
		{"decode header", func() error { _, err := pdu.ParseHeader(submit); return err }},
		{"check length", func() error { _, err := pdu.CheckLength(submit, pdu.DefaultMaxLen); return err }},
		{"find congestion_state", func() error { gotResp.TLVs.Uint8(pdu.TagCongestionState); return nil }},
		{"write relative time", func() error { _, err := pdu.AppendRelativeTime(buf, 3600); return err }},
		{"write absolute time", func() error { _, err := pdu.AppendAbsoluteTime(buf, 1796040000); return err }},
	} {
		if err := tt.run(); err != nil { // and make room for the TLVs
			t.Fatalf("%s: %v", tt.name, err)
		}
		if n := testing.AllocsPerRun(100, func() { _ = tt.run() }); n != 0 {
			t.Errorf("%s allocates %v times", tt.name, n)
		}
	}
}
