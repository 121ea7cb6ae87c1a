package pdu_test

import (
	"bytes"
	"fmt"
	"testing"

	gopdu "github.com/fiorix/go-smpp/smpp/pdu"
	"github.com/fiorix/go-smpp/smpp/pdu/pdufield"
	"github.com/fiorix/go-smpp/smpp/pdu/pdutlv"

	"sluice/smpp/pdu"
)

// crossCheck is a PDU in our words and in go-smpp's.
type crossCheck struct {
	ours   pdu.Body
	theirs func() gopdu.Body // a constructor of go-smpp
	fields map[pdufield.Name]any
	tlv    *pdu.TLV // at most one: go-smpp writes its map in random order

	// go-smpp's own faults, shown here so that they are noticed when they go.
	badEncoder string // what is wrong with what it writes
	badDecoder string // what is wrong with what it reads
}

func noTLVs(newBody func(pdutlv.Fields) gopdu.Body) func() gopdu.Body {
	return func() gopdu.Body { return newBody(nil) }
}

// crossChecks has every PDU that go-smpp can make.
func crossChecks() []crossCheck {
	bind := pdu.Bind{
		SystemID: "esme1", Password: "secret08", SystemType: "VMA",
		InterfaceVersion: 0x34, AddrTON: 1, AddrNPI: 2, AddressRange: "^44",
	}
	bindFields := map[pdufield.Name]any{
		pdufield.SystemID: "esme1", pdufield.Password: "secret08", pdufield.SystemType: "VMA",
		pdufield.InterfaceVersion: 0x34, pdufield.AddrTON: 1, pdufield.AddrNPI: 2, pdufield.AddressRange: "^44",
	}
	rx, tx, trx := bind, bind, bind
	rx.Command, tx.Command, trx.Command = pdu.IDBindReceiver, pdu.IDBindTransmitter, pdu.IDBindTransceiver
	systemID := map[pdufield.Name]any{pdufield.SystemID: "smsc"}
	messageID := map[pdufield.Name]any{pdufield.MessageID: "0A1B2C"}

	tlv := pdu.Uint16TLV(pdu.TagUserMessageReference, 0x1234)
	submit := pdu.SubmitSM{
		ServiceType:          []byte("CMT"),
		Source:               pdu.Address{TON: 5, NPI: 9, Addr: []byte("ACME")},
		Dest:                 pdu.Address{TON: 1, NPI: 8, Addr: []byte("15550001")},
		ESMClass:             3,
		ProtocolID:           0x7F,
		PriorityFlag:         2,
		ScheduleDeliveryTime: []byte("261130120000000+"),
		ValidityPeriod:       []byte("000002000000000R"),
		RegisteredDelivery:   1,
		ReplaceIfPresent:     1,
		DataCoding:           4,
		DefaultMsgID:         6,
		ShortMessage:         []byte("text"),
		TLVs:                 pdu.TLVs{tlv},
	}
	submitFields := map[pdufield.Name]any{
		pdufield.ServiceType:   "CMT",
		pdufield.SourceAddrTON: 5, pdufield.SourceAddrNPI: 9, pdufield.SourceAddr: "ACME",
		pdufield.DestAddrTON: 1, pdufield.DestAddrNPI: 8, pdufield.DestinationAddr: "15550001",
		pdufield.ESMClass: 3, pdufield.ProtocolID: 0x7F, pdufield.PriorityFlag: 2,
		pdufield.ScheduleDeliveryTime: "261130120000000+", pdufield.ValidityPeriod: "000002000000000R",
		pdufield.RegisteredDelivery: 1, pdufield.ReplaceIfPresentFlag: 1, pdufield.DataCoding: 4,
		pdufield.SMDefaultMsgID: 6, pdufield.ShortMessage: []byte("text"),
	}
	deliver := pdu.DeliverSM(submit)

	multi := &pdu.SubmitMulti{
		Source:       submit.Source,
		Dests:        []pdu.Destination{{Address: submit.Dest}, {Address: pdu.Address{TON: 2, NPI: 3, Addr: []byte("777")}}},
		DataCoding:   4,
		ShortMessage: []byte("multi"),
		TLVs:         pdu.TLVs{tlv},
	}
	multiFields := map[pdufield.Name]any{
		pdufield.SourceAddrTON: 5, pdufield.SourceAddrNPI: 9, pdufield.SourceAddr: "ACME",
		pdufield.NumberDests: 2,
		pdufield.DestinationList: &pdufield.DestSmeList{Data: []pdufield.DestSme{
			{Flag: pdufield.Fixed{Data: 1}, Ton: pdufield.Fixed{Data: 1}, Npi: pdufield.Fixed{Data: 8}, DestAddr: pdufield.Variable{Data: []byte("15550001")}},
			{Flag: pdufield.Fixed{Data: 1}, Ton: pdufield.Fixed{Data: 2}, Npi: pdufield.Fixed{Data: 3}, DestAddr: pdufield.Variable{Data: []byte("777")}},
		}},
		pdufield.DataCoding: 4, pdufield.ShortMessage: []byte("multi"),
	}
	multiResp := &pdu.SubmitMultiResp{
		MessageID: []byte("0A1B2C"),
		Unsuccess: []pdu.Unsuccess{{Address: submit.Dest, Status: 0x100}}, // ends with a NUL: see the encoder
	}
	multiRespFields := map[pdufield.Name]any{
		pdufield.MessageID: "0A1B2C", pdufield.NoUnsuccess: 1,
		pdufield.UnsuccessSme: &pdufield.UnSmeList{Data: []pdufield.UnSme{{
			Ton: pdufield.Fixed{Data: 1}, Npi: pdufield.Fixed{Data: 8},
			DestAddr: pdufield.Variable{Data: []byte("15550001")}, ErrCode: pdufield.Variable{Data: []byte{0, 0, 1, 0}},
		}}},
	}

	return []crossCheck{
		{ours: &rx, theirs: gopdu.NewBindReceiver, fields: bindFields},
		{ours: &tx, theirs: gopdu.NewBindTransmitter, fields: bindFields},
		{ours: &trx, theirs: gopdu.NewBindTransceiver, fields: bindFields},
		{ours: &pdu.BindResp{Command: pdu.IDBindReceiverResp, SystemID: "smsc"}, theirs: gopdu.NewBindReceiverResp, fields: systemID},
		{ours: &pdu.BindResp{Command: pdu.IDBindTransmitterResp, SystemID: "smsc"}, theirs: gopdu.NewBindTransmitterResp, fields: systemID},
		{ours: &pdu.BindResp{Command: pdu.IDBindTransceiverResp, SystemID: "smsc"}, theirs: gopdu.NewBindTransceiverResp, fields: systemID},
		{ours: &submit, theirs: noTLVs(gopdu.NewSubmitSM), fields: submitFields, tlv: &tlv},
		{ours: &pdu.SubmitSMResp{MessageID: []byte("0A1B2C")}, theirs: gopdu.NewSubmitSMResp, fields: messageID},
		{
			ours: &deliver, theirs: gopdu.NewDeliverSM, fields: submitFields, tlv: &tlv,
			badEncoder: "writes udh.len, a NUL, in front of short_message though there is no user data header",
		},
		{ours: &pdu.DeliverSMResp{MessageID: []byte("0A1B2C")}, theirs: gopdu.NewDeliverSMResp, fields: messageID},
		{
			ours:   &pdu.QuerySM{MessageID: []byte("77"), Source: submit.Source},
			theirs: gopdu.NewQuerySM,
			fields: map[pdufield.Name]any{
				pdufield.MessageID: "77", pdufield.SourceAddrTON: 5, pdufield.SourceAddrNPI: 9, pdufield.SourceAddr: "ACME",
			},
		},
		{
			ours:   &pdu.QuerySMResp{MessageID: []byte("77"), FinalDate: submit.ScheduleDeliveryTime, MessageState: 2, ErrorCode: 9},
			theirs: gopdu.NewQuerySMResp,
			fields: map[pdufield.Name]any{
				pdufield.MessageID: "77", pdufield.FinalDate: "261130120000000+", pdufield.MessageState: 2, pdufield.ErrorCode: 9,
			},
			badDecoder: "reads message_state and error_code as C-octet strings",
		},
		{ours: multi, theirs: noTLVs(gopdu.NewSubmitMulti), fields: multiFields, tlv: &tlv},
		{ours: multiResp, theirs: gopdu.NewSubmitMultiResp, fields: multiRespFields},
		{ours: &pdu.Unbind{}, theirs: gopdu.NewUnbind},
		{ours: &pdu.UnbindResp{}, theirs: gopdu.NewUnbindResp},
		{ours: &pdu.EnquireLink{}, theirs: gopdu.NewEnquireLink},
		{ours: &pdu.EnquireLinkResp{}, theirs: gopdu.NewEnquireLinkResp},
		{ours: &pdu.GenericNack{}, theirs: gopdu.NewGenericNACK},
	}
}

// TestAgainstGoSMPP writes each PDU with both encoders and reads each with the
// other's decoder.
func TestAgainstGoSMPP(t *testing.T) {
	for _, c := range crossChecks() {
		t.Run(c.ours.CommandID().String(), func(t *testing.T) {
			ours := mustAppend(t, 0x58, 77, c.ours)
			theirs := c.encode(t)
			if same := bytes.Equal(ours, theirs); same != (c.badEncoder == "") {
				t.Errorf("go-smpp writes\n%x, we write\n%x; known fault: %q", theirs, ours, c.badEncoder)
			}
			if c.badEncoder == "" {
				h, body := mustParse(t, theirs)
				if h.Status != 0x58 || h.Sequence != 77 || fmt.Sprintf("%+v", body) != fmt.Sprintf("%+v", c.ours) {
					t.Errorf("we read\n%+v\n%+v from go-smpp, want\n%+v", h, body, c.ours)
				}
			}
			err := c.decode(ours)
			if (err == nil) != (c.badDecoder == "") {
				t.Errorf("go-smpp reads us: %v; known fault: %q", err, c.badDecoder)
			}
		})
	}
}

// encode writes the PDU with go-smpp.
func (c crossCheck) encode(t *testing.T) []byte {
	t.Helper()
	p := c.theirs()
	p.Header().Seq, p.Header().Status = 77, 0x58
	for name, v := range c.fields {
		if err := p.Fields().Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	if c.tlv != nil {
		if err := p.TLVFields().Set(pdutlv.Tag(c.tlv.Tag), c.tlv.Value); err != nil {
			t.Fatal(err)
		}
	}
	var buf bytes.Buffer
	if err := p.SerializeTo(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// decode reads what we wrote with go-smpp and compares the fields.
func (c crossCheck) decode(wire []byte) error {
	p, err := gopdu.Decode(bytes.NewReader(wire))
	if err != nil {
		return err
	}
	h := p.Header()
	if h.Len != uint32(len(wire)) || uint32(h.ID) != uint32(c.ours.CommandID()) || h.Status != 0x58 || h.Seq != 77 {
		return fmt.Errorf("header is %+v", *h)
	}
	want := c.theirs()
	for name, v := range c.fields {
		if err := want.Fields().Set(name, v); err != nil {
			return err
		}
		got := p.Fields()[name]
		if got == nil || !bytes.Equal(got.Bytes(), want.Fields()[name].Bytes()) {
			return fmt.Errorf("%s is %v, want %v", name, got, want.Fields()[name])
		}
	}
	if c.tlv != nil {
		if got := p.TLVFields()[pdutlv.Tag(c.tlv.Tag)]; got == nil || !bytes.Equal(got.Bytes(), c.tlv.Value) {
			return fmt.Errorf("%s is %v, want %x", c.tlv.Tag, got, c.tlv.Value)
		}
	}
	return nil
}
