package pdu_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"sluice/smpp/pdu"
)

// genString draws a C-octet string of up to limit octets.
func genString(limit int) *rapid.Generator[[]byte] {
	return rapid.SliceOfN(rapid.ByteRange(1, 255), 0, limit)
}

// genTime draws a time field: empty, or 16 octets of which not all make sense.
func genTime() *rapid.Generator[[]byte] {
	return rapid.OneOf(
		rapid.Just([]byte{}),
		rapid.Just([]byte("000002000000000R")),
		rapid.SliceOfN(rapid.ByteRange(1, 255), 16, 16),
	)
}

// genTLVs draws lists with vendor tags, known tags of the right width, repeats and
// empty values.
func genTLVs() *rapid.Generator[pdu.TLVs] {
	tlv := rapid.Custom(func(t *rapid.T) pdu.TLV {
		tag := pdu.Tag(rapid.OneOf(
			rapid.Uint16(),
			rapid.SampledFrom([]uint16{0x1400, 0x0381, 0x0424, 0x0204, 0x001E, 0x0427, 0x0017}),
		).Draw(t, "tag"))
		least, most := 0, 100
		switch tag.Kind() {
		case pdu.KindUint8:
			least, most = 1, 1
		case pdu.KindUint16:
			least, most = 2, 2
		case pdu.KindUint32:
			least, most = 4, 4
		case pdu.KindUnknown, pdu.KindCString, pdu.KindOctets:
		}
		return pdu.TLV{Tag: tag, Value: rapid.SliceOfN(rapid.Byte(), least, most).Draw(t, "value")}
	})
	return rapid.Map(rapid.SliceOfN(tlv, 0, 8), func(s []pdu.TLV) pdu.TLVs { return s })
}

func genAddress(limit int) *rapid.Generator[pdu.Address] {
	return rapid.Custom(func(t *rapid.T) pdu.Address {
		return pdu.Address{TON: rapid.Byte().Draw(t, "ton"), NPI: rapid.Byte().Draw(t, "npi"), Addr: genString(limit).Draw(t, "addr")}
	})
}

// genSubmit draws a submit_sm whose strings are up to slack octets over their
// limits.
func genSubmit(slack int) *rapid.Generator[*pdu.SubmitSM] {
	return rapid.Custom(func(t *rapid.T) *pdu.SubmitSM {
		octet := func(name string) uint8 { return rapid.Byte().Draw(t, name) }
		return &pdu.SubmitSM{
			ServiceType:          genString(5+slack).Draw(t, "service_type"),
			Source:               genAddress(20+slack).Draw(t, "source"),
			Dest:                 genAddress(20+slack).Draw(t, "dest"),
			ESMClass:             octet("esm_class"),
			ProtocolID:           octet("protocol_id"),
			PriorityFlag:         octet("priority_flag"),
			ScheduleDeliveryTime: genTime().Draw(t, "schedule"),
			ValidityPeriod:       genTime().Draw(t, "validity"),
			RegisteredDelivery:   octet("registered_delivery"),
			ReplaceIfPresent:     octet("replace_if_present"),
			DataCoding:           octet("data_coding"),
			DefaultMsgID:         octet("default_msg_id"),
			ShortMessage:         rapid.SliceOfN(rapid.Byte(), 0, 254+slack).Draw(t, "short_message"),
			TLVs:                 genTLVs().Draw(t, "tlvs"),
		}
	})
}

// TestSubmitSMRoundTrip writes any submit_sm within the limits and reads it into a
// struct that held another one.
func TestSubmitSMRoundTrip(t *testing.T) {
	var got pdu.SubmitSM
	rapid.Check(t, func(t *rapid.T) {
		want := genSubmit(0).Draw(t, "submit")
		wire, err := pdu.Append(nil, 0, 1, want)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.ParseBody(wire[pdu.HeaderLen:]); err != nil {
			t.Fatal(err)
		}
		if len(want.TLVs) == 0 && len(got.TLVs) == 0 {
			want.TLVs, got.TLVs = nil, nil
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", *want) {
			t.Fatalf("read\n%+v, want\n%+v", got, *want)
		}
	})
}

// TestSubmitSMLimits draws values around the limits: what is refused is over its
// limit, and what is over its limit is refused.
func TestSubmitSMLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sm := genSubmit(2).Draw(t, "submit")
		over := map[string]bool{
			"service_type":     len(sm.ServiceType) > 5,
			"source_addr":      len(sm.Source.Addr) > 20,
			"destination_addr": len(sm.Dest.Addr) > 20,
			"short_message":    len(sm.ShortMessage) > 254,
		}
		_, err := pdu.Append(nil, 0, 1, sm)
		if field, ok := errors.AsType[*pdu.FieldError](err); ok {
			if !over[field.Field] || field.Length <= field.Limit {
				t.Fatalf("refused: %v", err)
			}
			return
		}
		for name, is := range over {
			if is {
				t.Fatalf("%s is over its limit and was written: %v", name, err)
			}
		}
	})
}

// TestResponsesRoundTrip writes and reads the three responses that carry a message
// id.
func TestResponsesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := pdu.SubmitSMResp{MessageID: genString(64).Draw(t, "id"), TLVs: genTLVs().Draw(t, "tlvs")}
		status := pdu.Status(rapid.Uint32().Draw(t, "status"))
		seq := rapid.Uint32().Draw(t, "seq")
		deliver, data := pdu.DeliverSMResp(want), pdu.DataSMResp(want)
		for _, body := range []pdu.Body{&want, &deliver, &data} {
			wire, err := pdu.Append(nil, status, seq, body)
			if err != nil {
				t.Fatal(err)
			}
			h, got, err := pdu.Parse(wire)
			if err != nil || h.Status != status || h.Sequence != seq || h.ID != body.CommandID() {
				t.Fatalf("%+v, %v", h, err)
			}
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", body) {
				t.Fatalf("read\n%+v, want\n%+v", got, body)
			}
		}
	})
}

// TestSubmitMultiRoundTrip writes and reads lists of destinations and of failures.
func TestSubmitMultiRoundTrip(t *testing.T) {
	dest := rapid.Custom(func(t *rapid.T) pdu.Destination {
		if rapid.Bool().Draw(t, "list") {
			return pdu.Destination{IsList: true, ListName: genString(20).Draw(t, "name")}
		}
		return pdu.Destination{Address: genAddress(20).Draw(t, "address")}
	})
	rapid.Check(t, func(t *rapid.T) {
		req := &pdu.SubmitMulti{
			Dests:        rapid.SliceOfN(dest, 1, 254).Draw(t, "dests"),
			ShortMessage: rapid.SliceOfN(rapid.Byte(), 0, 254).Draw(t, "text"),
			TLVs:         genTLVs().Draw(t, "tlvs"),
		}
		resp := &pdu.SubmitMultiResp{MessageID: genString(64).Draw(t, "id"), TLVs: req.TLVs}
		for _, d := range req.Dests {
			resp.Unsuccess = append(resp.Unsuccess, pdu.Unsuccess{Address: d.Address, Status: pdu.Status(len(d.ListName)) << 24})
		}
		for _, body := range []pdu.Body{req, resp} {
			wire, err := pdu.Append(nil, 0, 1, body)
			if err != nil {
				t.Fatal(err)
			}
			_, got, err := pdu.Parse(wire)
			if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", body) {
				t.Fatalf("%v, read\n%+v, want\n%+v", err, got, body)
			}
		}
	})
}

// TestHeaderRoundTrip writes and reads any header with a possible length.
func TestHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := pdu.Header{
			Length:   rapid.Uint32Min(pdu.HeaderLen).Draw(t, "length"),
			ID:       pdu.CommandID(rapid.Uint32().Draw(t, "id")),
			Status:   pdu.Status(rapid.Uint32().Draw(t, "status")),
			Sequence: rapid.Uint32().Draw(t, "sequence"),
		}
		b := want.Append(nil)
		got, err := pdu.ParseHeader(b)
		if err != nil || got != want || len(b) != pdu.HeaderLen {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
	})
}

// TestParsedFieldsAliasTheInput changes the buffer and looks for the change in the
// fields: nothing was copied.
func TestParsedFieldsAliasTheInput(t *testing.T) {
	wire := mustAppend(t, 0, 1, &pdu.SubmitSM{
		ServiceType: []byte("AAA"), Source: addr([]byte("AAA")), Dest: addr([]byte("AAA")),
		ShortMessage: []byte("AAA"), TLVs: pdu.TLVs{{Tag: 0x1400, Value: []byte("AAA")}},
	})
	var sm pdu.SubmitSM
	if err := sm.ParseBody(wire[pdu.HeaderLen:]); err != nil {
		t.Fatal(err)
	}
	copy(wire, bytes.ReplaceAll(wire, []byte("AAA"), []byte("BBB")))
	want := [][]byte{[]byte("BBB"), []byte("BBB"), []byte("BBB"), []byte("BBB"), []byte("BBB")}
	got := [][]byte{sm.ServiceType, sm.Source.Addr, sm.Dest.Addr, sm.ShortMessage, sm.TLVs[0].Value}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("fields are %q", got)
	}
}
