package pdu_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"sluice/smpp/pdu"
)

// limitedField is one field with a limit and a way to set it.
type limitedField struct {
	command string
	field   string
	limit   int
	octets  bool // any octet is legal, NUL included
	with    func(v []byte) pdu.Body
}

func addr(v []byte) pdu.Address { return pdu.Address{Addr: v} }

// limitedFields lists the limits of SMPP 3.4 section 4, NUL not counted; those of the bind are what a PDU is held to.
func limitedFields() []limitedField {
	return []limitedField{
		{"bind_transceiver", "system_id", 1024, false, func(v []byte) pdu.Body { return &pdu.Bind{SystemID: string(v)} }},
		{"bind_transceiver", "password", 1024, false, func(v []byte) pdu.Body { return &pdu.Bind{Password: string(v)} }},
		{"bind_transceiver", "system_type", 1024, false, func(v []byte) pdu.Body { return &pdu.Bind{SystemType: string(v)} }},
		{"bind_transceiver", "address_range", 1024, false, func(v []byte) pdu.Body { return &pdu.Bind{AddressRange: string(v)} }},
		{"bind_transceiver_resp", "system_id", 15, false, func(v []byte) pdu.Body { return &pdu.BindResp{SystemID: string(v)} }},
		{"outbind", "system_id", 15, false, func(v []byte) pdu.Body { return &pdu.Outbind{SystemID: string(v)} }},
		{"outbind", "password", 8, false, func(v []byte) pdu.Body { return &pdu.Outbind{Password: string(v)} }},
		{"submit_sm", "service_type", 5, false, func(v []byte) pdu.Body { return &pdu.SubmitSM{ServiceType: v} }},
		{"submit_sm", "source_addr", 20, false, func(v []byte) pdu.Body { return &pdu.SubmitSM{Source: addr(v)} }},
		{"submit_sm", "destination_addr", 20, false, func(v []byte) pdu.Body { return &pdu.SubmitSM{Dest: addr(v)} }},
		{"submit_sm", "schedule_delivery_time", 16, false, func(v []byte) pdu.Body { return &pdu.SubmitSM{ScheduleDeliveryTime: v} }},
		{"submit_sm", "validity_period", 16, false, func(v []byte) pdu.Body { return &pdu.SubmitSM{ValidityPeriod: v} }},
		{"submit_sm", "short_message", 254, true, func(v []byte) pdu.Body { return &pdu.SubmitSM{ShortMessage: v} }},
		{"submit_sm_resp", "message_id", 64, false, func(v []byte) pdu.Body { return &pdu.SubmitSMResp{MessageID: v} }},
		{"deliver_sm", "source_addr", 20, false, func(v []byte) pdu.Body { return &pdu.DeliverSM{Source: addr(v)} }},
		{"deliver_sm", "short_message", 254, true, func(v []byte) pdu.Body { return &pdu.DeliverSM{ShortMessage: v} }},
		{"deliver_sm_resp", "message_id", 64, false, func(v []byte) pdu.Body { return &pdu.DeliverSMResp{MessageID: v} }},
		{"data_sm", "service_type", 5, false, func(v []byte) pdu.Body { return &pdu.DataSM{ServiceType: v} }},
		{"data_sm", "source_addr", 64, false, func(v []byte) pdu.Body { return &pdu.DataSM{Source: addr(v)} }},
		{"data_sm", "destination_addr", 64, false, func(v []byte) pdu.Body { return &pdu.DataSM{Dest: addr(v)} }},
		{"data_sm_resp", "message_id", 64, false, func(v []byte) pdu.Body { return &pdu.DataSMResp{MessageID: v} }},
		{"submit_multi", "service_type", 5, false, func(v []byte) pdu.Body { return multi(pdu.SubmitMulti{ServiceType: v}) }},
		{"submit_multi", "source_addr", 20, false, func(v []byte) pdu.Body { return multi(pdu.SubmitMulti{Source: addr(v)}) }},
		{"submit_multi", "validity_period", 16, false, func(v []byte) pdu.Body { return multi(pdu.SubmitMulti{ValidityPeriod: v}) }},
		{"submit_multi", "short_message", 254, true, func(v []byte) pdu.Body { return multi(pdu.SubmitMulti{ShortMessage: v}) }},
		{"submit_multi", "destination_addr", 20, false, func(v []byte) pdu.Body {
			return &pdu.SubmitMulti{Dests: []pdu.Destination{{Address: addr(v)}}}
		}},
		{"submit_multi", "dl_name", 20, false, func(v []byte) pdu.Body {
			return &pdu.SubmitMulti{Dests: []pdu.Destination{{IsList: true, ListName: v}}}
		}},
		{"submit_multi_resp", "message_id", 64, false, func(v []byte) pdu.Body { return &pdu.SubmitMultiResp{MessageID: v} }},
		{"submit_multi_resp", "unsuccess_sme", 20, false, func(v []byte) pdu.Body {
			return &pdu.SubmitMultiResp{Unsuccess: []pdu.Unsuccess{{Address: addr(v)}}}
		}},
		{"query_sm", "message_id", 64, false, func(v []byte) pdu.Body { return &pdu.QuerySM{MessageID: v} }},
		{"query_sm", "source_addr", 20, false, func(v []byte) pdu.Body { return &pdu.QuerySM{Source: addr(v)} }},
		{"query_sm_resp", "message_id", 64, false, func(v []byte) pdu.Body { return &pdu.QuerySMResp{MessageID: v} }},
		{"query_sm_resp", "final_date", 16, false, func(v []byte) pdu.Body { return &pdu.QuerySMResp{FinalDate: v} }},
		{"cancel_sm", "service_type", 5, false, func(v []byte) pdu.Body { return &pdu.CancelSM{ServiceType: v} }},
		{"cancel_sm", "message_id", 64, false, func(v []byte) pdu.Body { return &pdu.CancelSM{MessageID: v} }},
		{"cancel_sm", "source_addr", 20, false, func(v []byte) pdu.Body { return &pdu.CancelSM{Source: addr(v)} }},
		{"cancel_sm", "destination_addr", 20, false, func(v []byte) pdu.Body { return &pdu.CancelSM{Dest: addr(v)} }},
		{"replace_sm", "message_id", 64, false, func(v []byte) pdu.Body { return &pdu.ReplaceSM{MessageID: v} }},
		{"replace_sm", "source_addr", 20, false, func(v []byte) pdu.Body { return &pdu.ReplaceSM{Source: addr(v)} }},
		{"replace_sm", "schedule_delivery_time", 16, false, func(v []byte) pdu.Body { return &pdu.ReplaceSM{ScheduleDeliveryTime: v} }},
		{"replace_sm", "validity_period", 16, false, func(v []byte) pdu.Body { return &pdu.ReplaceSM{ValidityPeriod: v} }},
		{"replace_sm", "short_message", 254, true, func(v []byte) pdu.Body { return &pdu.ReplaceSM{ShortMessage: v} }},
		{"alert_notification", "source_addr", 64, false, func(v []byte) pdu.Body { return &pdu.AlertNotification{Source: addr(v)} }},
		{"alert_notification", "esme_addr", 64, false, func(v []byte) pdu.Body { return &pdu.AlertNotification{ESME: addr(v)} }},
	}
}

// multi adds the destination that submit_multi cannot be without.
func multi(p pdu.SubmitMulti) *pdu.SubmitMulti {
	p.Dests = []pdu.Destination{{Address: addr([]byte("1"))}}
	return &p
}

func TestFieldLimits(t *testing.T) {
	for _, f := range limitedFields() {
		t.Run(f.command+" "+f.field, func(t *testing.T) {
			longest := bytes.Repeat([]byte("S"), f.limit)
			for _, v := range [][]byte{nil, longest} {
				_, body := mustParse(t, mustAppend(t, 0, 1, f.with(v)))
				if got, want := mustAppend(t, 0, 1, body), mustAppend(t, 0, 1, f.with(v)); !bytes.Equal(got, want) {
					t.Errorf("%d octets come back as %x, want %x", len(v), got, want)
				}
			}
			checkRefused(t, f, append(longest, 'S'))
			checkRefused(t, f, bytes.Repeat([]byte("S"), 70_000))
			if !f.octets {
				checkRefused(t, f, append(longest[:f.limit-1:f.limit-1], 0))
				checkRefused(t, f, append([]byte{0}, longest[1:]...))
			}
		})
	}
}

// checkRefused wants an error that names command, field, length and limit, and
// leaks no content; "SSS" stands for the content.
func checkRefused(t *testing.T, f limitedField, v []byte) {
	t.Helper()
	b, err := pdu.Append([]byte("before"), 0, 1, f.with(v))
	var field *pdu.FieldError
	if !errors.As(err, &field) {
		t.Fatalf("%d octets: error is %v, want a *FieldError", len(v), err)
	}
	if field.Field != f.field || field.Length != len(v) || field.Limit != f.limit {
		t.Errorf("%d octets: %+v, want field %s and limit %d", len(v), *field, f.field, f.limit)
	}
	if text := err.Error(); !strings.HasPrefix(text, "pdu: "+f.command+": "+f.field) || strings.Contains(text, "SSS") {
		t.Errorf("error reads %q", text)
	}
	if string(b) != "before" {
		t.Errorf("after an error the buffer holds %d octets", len(b))
	}
	if b, err := f.with(v).AppendBody([]byte("before")); err == nil || string(b) != "before" {
		t.Errorf("after %v from AppendBody the buffer holds %d octets", err, len(b))
	}
}

func TestErrorTexts(t *testing.T) {
	for _, tt := range []struct {
		body pdu.Body
		want string
	}{
		{
			&pdu.SubmitSM{Source: addr(make([]byte, 25))},
			"pdu: submit_sm: source_addr has length 25, the limit is 20",
		},
		{
			&pdu.SubmitSM{Dest: addr([]byte("1\x002"))},
			"pdu: submit_sm: destination_addr (length 3, limit 20) contains a NUL octet",
		},
		{
			&pdu.SubmitSM{ValidityPeriod: []byte("3600")},
			"pdu: submit_sm: validity_period (length 4, limit 16) is neither empty nor 16 octets long",
		},
		{
			&pdu.SubmitSM{TLVs: pdu.TLVs{{Tag: 0x1403, Value: make([]byte, 65536)}}},
			"pdu: submit_sm: 0x1403 has length 65536, the limit is 65535",
		},
		{
			&pdu.SubmitMulti{},
			"pdu: submit_multi: number_of_dests (length 0, limit 254) is not between 1 and 254",
		},
		{
			&pdu.SubmitMulti{Dests: make([]pdu.Destination, 255)},
			"pdu: submit_multi: number_of_dests (length 255, limit 254) is not between 1 and 254",
		},
		{
			&pdu.SubmitMultiResp{Unsuccess: make([]pdu.Unsuccess, 256)},
			"pdu: submit_multi_resp: no_unsuccess has length 256, the limit is 255",
		},
	} {
		if _, err := pdu.Append(nil, 0, 1, tt.body); err == nil || err.Error() != tt.want {
			t.Errorf("error is %v, want %s", err, tt.want)
		}
	}
}

// TestOverlongStringsAreRead takes what only the encoder refuses.
func TestOverlongStringsAreRead(t *testing.T) {
	long := strings.Repeat("9", 300)
	body := "smscsim\x00" + "\x05\x00" + long + "\x00" + "\x01\x01" + long + "\x00" +
		"\x00\x00\x00" + "tomorrow\x00" + "1h\x00" + "\x00\x00\x00\x00" + "\xFF" + strings.Repeat("m", 255)
	var sm pdu.SubmitSM
	if err := sm.ParseBody([]byte(body)); err != nil {
		t.Fatal(err)
	}
	if string(sm.ServiceType) != "smscsim" || string(sm.Source.Addr) != long || string(sm.Dest.Addr) != long ||
		string(sm.ScheduleDeliveryTime) != "tomorrow" || string(sm.ValidityPeriod) != "1h" || len(sm.ShortMessage) != 255 {
		t.Errorf("parsed as %+v", sm)
	}
	var resp pdu.SubmitSMResp
	if err := resp.ParseBody([]byte(long)); err != nil || string(resp.MessageID) != long {
		t.Errorf("message_id of 300 octets without a NUL: %v, %d octets", err, len(resp.MessageID))
	}
}
