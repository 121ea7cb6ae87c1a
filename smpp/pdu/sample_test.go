package pdu_test

import (
	"bytes"
	"testing"

	"sluice/smpp/pdu"
)

// sample is a PDU whose every field holds a value that no other field holds, so
// that two fields cannot be swapped unseen.
type sample struct {
	name string
	body pdu.Body
	// cutsOK reports whether the first n octets of the body are a legal body too:
	// only TLVs are cut, or the NUL of a last message_id.
	cutsOK func(n int) bool
}

// samples returns one sample per command and form.
func samples() []sample {
	never := func(int) bool { return false }
	always := func(int) bool { return true }
	from := func(min int) func(int) bool { return func(n int) bool { return n >= min } }
	emptyOr := func(min int) func(int) bool { return func(n int) bool { return n == 0 || n >= min } }

	submit := pdu.SubmitSM{
		ServiceType:          []byte("CMT"),
		Source:               pdu.Address{TON: 5, NPI: 9, Addr: []byte("ACME")},
		Dest:                 pdu.Address{TON: 1, NPI: 8, Addr: []byte("15550001")},
		ESMClass:             0x43,
		ProtocolID:           0x7F,
		PriorityFlag:         3,
		ScheduleDeliveryTime: []byte("261130120000000+"),
		ValidityPeriod:       []byte("000002000000000R"),
		RegisteredDelivery:   0x11,
		ReplaceIfPresent:     2,
		DataCoding:           4,
		DefaultMsgID:         6,
		ShortMessage:         []byte("text\x00with NUL"),
		TLVs: pdu.TLVs{
			pdu.Uint16TLV(pdu.TagUserMessageReference, 0x1234),
			{Tag: 0x1400, Value: []byte{}},
			{Tag: pdu.TagCallbackNum, Value: []byte("\x01\x01\x0115550002")},
			{Tag: pdu.TagCallbackNum, Value: []byte("\x01\x01\x0115550003")},
			{Tag: 0x1400, Value: []byte("vendor")},
		},
	}
	const submitMandatory = 4 + 7 + 11 + 3 + 17 + 17 + 4 + 1 + 13
	payload := pdu.SubmitSM{
		Dest: submit.Dest,
		TLVs: pdu.TLVs{{Tag: pdu.TagMessagePayload, Value: bytes.Repeat([]byte("p"), 1000)}},
	}
	deliver := pdu.DeliverSM(submit)
	resp := pdu.SubmitSMResp{
		MessageID: []byte("0A1B2C"),
		TLVs:      pdu.TLVs{pdu.Uint8TLV(pdu.TagCongestionState, 95)},
	}
	deliverResp, dataResp := pdu.DeliverSMResp(resp), pdu.DataSMResp(resp)

	bind := pdu.Bind{
		SystemID: "esme1", Password: "secret08", SystemType: "VMA",
		InterfaceVersion: 0x34, AddrTON: 1, AddrNPI: 2, AddressRange: "^44",
	}
	bindResp := pdu.BindResp{SystemID: "smsc", TLVs: pdu.TLVs{pdu.Uint8TLV(pdu.TagSCInterfaceVersion, 0x50)}}
	var all []sample
	for _, id := range []pdu.CommandID{pdu.IDBindReceiver, pdu.IDBindTransmitter, pdu.IDBindTransceiver} {
		b, r := bind, bindResp
		b.Command, r.Command = id, id.Response()
		all = append(all,
			sample{id.String(), &b, never},
			sample{id.Response().String(), &r, always},
			sample{id.Response().String() + " header only", &pdu.BindResp{Command: id.Response(), HeaderOnly: true}, never},
		)
	}
	return append(all,
		sample{"submit_sm", &submit, from(submitMandatory)},
		sample{"submit_sm payload", &payload, from(29 - 16 + 12)},
		sample{"submit_sm_resp", &resp, always},
		sample{"submit_sm_resp header only", &pdu.SubmitSMResp{HeaderOnly: true}, never},
		sample{"submit_sm_resp empty id", &pdu.SubmitSMResp{MessageID: []byte{}}, always},
		sample{"deliver_sm", &deliver, from(submitMandatory)},
		sample{"deliver_sm_resp", &deliverResp, always},
		sample{"data_sm", &pdu.DataSM{
			ServiceType: []byte("WAP"), Source: submit.Source, Dest: submit.Dest,
			ESMClass: 4, RegisteredDelivery: 1, DataCoding: 8,
			TLVs: pdu.TLVs{pdu.CStringTLV(pdu.TagReceiptedMessageID, "77"), pdu.Uint8TLV(pdu.TagMessageState, 2)},
		}, from(4 + 7 + 11 + 3)},
		sample{"data_sm_resp", &dataResp, always},
		sample{"submit_multi", &pdu.SubmitMulti{
			ServiceType: submit.ServiceType, Source: submit.Source,
			Dests: []pdu.Destination{
				{Address: submit.Dest},
				{IsList: true, ListName: []byte("friends")},
				{Address: submit.Source},
			},
			ESMClass: 1, ProtocolID: 2, PriorityFlag: 3,
			ScheduleDeliveryTime: submit.ScheduleDeliveryTime, ValidityPeriod: submit.ValidityPeriod,
			RegisteredDelivery: 4, ReplaceIfPresent: 5, DataCoding: 6, DefaultMsgID: 7,
			ShortMessage: []byte("multi"), TLVs: pdu.TLVs{pdu.Uint32TLV(pdu.TagQosTimeToLive, 3600)},
		}, from(4 + 7 + 1 + 12 + 9 + 8 + 3 + 34 + 4 + 6)},
		sample{"submit_multi_resp", &pdu.SubmitMultiResp{
			MessageID: []byte("m1"),
			Unsuccess: []pdu.Unsuccess{
				{Address: submit.Dest, Status: pdu.StatusInvDstAdr},
				{Address: submit.Source, Status: 0x12345678},
			},
			TLVs: resp.TLVs,
		}, func(n int) bool { return n <= 3 || n >= 3+1+15+11 }},
		sample{"submit_multi_resp header only", &pdu.SubmitMultiResp{HeaderOnly: true}, never},
		sample{"query_sm", &pdu.QuerySM{MessageID: []byte("77"), Source: submit.Source}, never},
		sample{"query_sm_resp", &pdu.QuerySMResp{
			MessageID: []byte("77"), FinalDate: submit.ScheduleDeliveryTime,
			MessageState: pdu.StateDelivered, ErrorCode: 9, TLVs: resp.TLVs,
		}, emptyOr(3 + 17 + 2)},
		sample{"query_sm_resp header only", &pdu.QuerySMResp{HeaderOnly: true}, never},
		sample{"cancel_sm", &pdu.CancelSM{
			ServiceType: submit.ServiceType, MessageID: []byte("77"), Source: submit.Source, Dest: submit.Dest,
		}, never},
		sample{"cancel_sm_resp", &pdu.CancelSMResp{}, never},
		sample{"replace_sm", &pdu.ReplaceSM{
			MessageID: []byte("77"), Source: submit.Source,
			ScheduleDeliveryTime: submit.ScheduleDeliveryTime, ValidityPeriod: submit.ValidityPeriod,
			RegisteredDelivery: 1, DefaultMsgID: 2, ShortMessage: []byte("new"),
			TLVs: pdu.TLVs{{Tag: pdu.TagMessagePayload, Value: []byte("long")}},
		}, from(3 + 7 + 34 + 2 + 4)},
		sample{"replace_sm_resp", &pdu.ReplaceSMResp{}, never},
		sample{"outbind", &pdu.Outbind{SystemID: "smsc", Password: "ob"}, never},
		sample{"alert_notification", &pdu.AlertNotification{
			Source: submit.Dest, ESME: submit.Source,
			TLVs: pdu.TLVs{pdu.Uint8TLV(pdu.TagMsAvailabilityStatus, 1)},
		}, from(11 + 7)},
		sample{"enquire_link", &pdu.EnquireLink{}, never},
		sample{"enquire_link_resp", &pdu.EnquireLinkResp{}, never},
		sample{"unbind", &pdu.Unbind{}, never},
		sample{"unbind_resp", &pdu.UnbindResp{}, never},
		sample{"generic_nack", &pdu.GenericNack{}, never},
	)
}

// mustAppend returns a whole PDU in a new buffer.
func mustAppend(tb testing.TB, status pdu.Status, seq uint32, body pdu.Body) []byte {
	tb.Helper()
	b, err := pdu.Append(nil, status, seq, body)
	if err != nil {
		tb.Fatalf("append %s: %v", body.CommandID(), err)
	}
	return b
}

// mustParse returns the parts of a whole PDU.
func mustParse(tb testing.TB, b []byte) (pdu.Header, pdu.Body) {
	tb.Helper()
	h, body, err := pdu.Parse(b)
	if err != nil {
		tb.Fatalf("parse %x: %v", b, err)
	}
	return h, body
}
