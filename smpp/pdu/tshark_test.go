package pdu_test

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/smpp/pdu"
)

// tsharkView is what tshark would say about a PDU: field name to values.
type tsharkView map[string][]string

func (v tsharkView) add(name, format string, args ...any) {
	v[name] = append(v[name], fmt.Sprintf(format, args...))
}

// text adds a string; tshark leaves empty ones out.
func (v tsharkView) text(name string, s []byte) {
	if len(s) > 0 {
		v.add(name, "%s", s)
	}
}

func (v tsharkView) address(prefix, name string, a pdu.Address) {
	v.add(prefix+"_ton", "0x%02x", a.TON)
	v.add(prefix+"_npi", "0x%02x", a.NPI)
	v.text(name, a.Addr)
}

func (v tsharkView) serviceType(s []byte) {
	if len(s) == 0 {
		s = []byte("(Default)")
	}
	v.add("service_type", "%s", s)
}

// time adds a time: an absolute one under its name, others as seconds with the
// suffix "_r".
func (v tsharkView) time(name string, b []byte) {
	t, ok := pdu.ParseTime(b)
	switch {
	case len(b) == 0:
		v.add(name+"_r", "0.000000000")
	case !ok:
		v.add(name, "unreadable time %q", b)
	case t.Relative:
		v.add(name+"_r", "%d.000000000", t.Seconds)
	default:
		v.add(name, "%s", time.Unix(t.Seconds, 0).UTC().Format("Jan _2, 2006 15:04:05.000000000 UTC"))
	}
}

func (v tsharkView) esmClass(c uint8) {
	v.add("esm.submit.msg_mode", "0x%02x", c&pdu.ESMClassModeMask)
	v.add("esm.submit.msg_type", "0x%02x", c&pdu.ESMClassTypeMask>>2)
	v.add("esm.submit.features", "0x%02x", c>>6)
}

func (v tsharkView) registeredDelivery(r uint8) {
	v.add("regdel.receipt", "0x%02x", r&pdu.RegisteredReceiptMask)
	v.add("regdel.acks", "0x%02x", r>>2&3)
	v.add("regdel.notif", "0x%02x", r>>4&1)
}

func (v tsharkView) shortMessage(msgID uint8, text []byte) {
	v.add("sm_default_msg_id", "%d", msgID)
	v.add("sm_length", "%d", len(text))
	if len(text) > 0 {
		v.add("message", "%s", colonHex(text))
	}
}

func (v tsharkView) submit(p *pdu.SubmitSM) {
	v.serviceType(p.ServiceType)
	v.address("source_addr", "source_addr", p.Source)
	v.address("dest_addr", "destination_addr", p.Dest)
	v.esmClass(p.ESMClass)
	v.add("protocol_id", "0x%02x", p.ProtocolID)
	v.add("priority_flag", "0x%02x", p.PriorityFlag)
	v.time("schedule_delivery_time", p.ScheduleDeliveryTime)
	v.time("validity_period", p.ValidityPeriod)
	v.registeredDelivery(p.RegisteredDelivery)
	v.add("replace_if_present_flag", "0x%02x", p.ReplaceIfPresent)
	v.add("data_coding", "0x%02x", p.DataCoding)
	v.shortMessage(p.DefaultMsgID, p.ShortMessage)
}

func (v tsharkView) multi(p *pdu.SubmitMulti) {
	for _, d := range p.Dests {
		if d.IsList {
			v.text("dl_name", d.ListName)
			continue
		}
		v.address("dest_addr", "destination_addr", d.Address)
	}
	v.serviceType(p.ServiceType)
	v.address("source_addr", "source_addr", p.Source)
	v.esmClass(p.ESMClass)
	v.add("protocol_id", "0x%02x", p.ProtocolID)
	v.add("priority_flag", "0x%02x", p.PriorityFlag)
	v.time("schedule_delivery_time", p.ScheduleDeliveryTime)
	v.time("schedule_delivery_time", p.ValidityPeriod) // tshark's name for it, in this PDU only
	v.registeredDelivery(p.RegisteredDelivery)
	v.add("replace_if_present_flag", "0x%02x", p.ReplaceIfPresent)
	v.add("data_coding", "0x%02x", p.DataCoding)
	v.shortMessage(p.DefaultMsgID, p.ShortMessage)
}

// viewOf returns the view of a PDU and its TLVs.
func viewOf(tb testing.TB, h pdu.Header, body pdu.Body) (tsharkView, pdu.TLVs) {
	tb.Helper()
	v := tsharkView{}
	v.add("command_length", "%d", h.Length)
	v.add("command_id", "0x%08x", uint32(h.ID))
	v.add("command_status", "0x%08x", uint32(h.Status))
	v.add("sequence_number", "%d", h.Sequence)
	switch p := body.(type) {
	case *pdu.Bind:
		v.text("system_id", []byte(p.SystemID))
		v.text("password", []byte(p.Password))
		v.text("system_type", []byte(p.SystemType))
		v.add("interface_version", "%d", p.InterfaceVersion)
		v.add("addr_ton", "0x%02x", p.AddrTON)
		v.add("addr_npi", "0x%02x", p.AddrNPI)
		v.text("address_range", []byte(p.AddressRange))
	case *pdu.BindResp:
		v.text("system_id", []byte(p.SystemID))
		return v, p.TLVs
	case *pdu.Outbind:
		v.text("system_id", []byte(p.SystemID))
		v.text("password", []byte(p.Password))
	case *pdu.SubmitSM:
		v.submit(p)
		return v, p.TLVs
	case *pdu.DeliverSM:
		v.submit((*pdu.SubmitSM)(p))
		return v, p.TLVs
	case *pdu.DataSM:
		v.serviceType(p.ServiceType)
		v.address("source_addr", "source_addr", p.Source)
		v.address("dest_addr", "destination_addr", p.Dest)
		v.esmClass(p.ESMClass)
		v.registeredDelivery(p.RegisteredDelivery)
		v.add("data_coding", "0x%02x", p.DataCoding)
		return v, p.TLVs
	case *pdu.SubmitSMResp:
		v.text("message_id", p.MessageID)
		return v, p.TLVs
	case *pdu.DeliverSMResp:
		v.text("message_id", p.MessageID)
		return v, p.TLVs
	case *pdu.DataSMResp:
		v.text("message_id", p.MessageID)
		return v, p.TLVs
	case *pdu.SubmitMulti:
		v.multi(p)
		return v, p.TLVs
	case *pdu.SubmitMultiResp:
		v.text("message_id", p.MessageID)
		for _, u := range p.Unsuccess {
			v.address("dest_addr", "destination_addr", u.Address)
			v.add("error_status_code", "0x%08x", uint32(u.Status))
		}
		return v, p.TLVs
	case *pdu.QuerySM:
		v.text("message_id", p.MessageID)
		v.address("source_addr", "source_addr", p.Source)
	case *pdu.QuerySMResp:
		v.text("message_id", p.MessageID)
		v.time("final_date", p.FinalDate)
		v.add("message_state", "%d", uint8(p.MessageState))
		v.add("error_code", "%d", p.ErrorCode)
		return v, p.TLVs
	case *pdu.CancelSM:
		v.serviceType(p.ServiceType)
		v.text("message_id", p.MessageID)
		v.address("source_addr", "source_addr", p.Source)
		v.address("dest_addr", "destination_addr", p.Dest)
	case *pdu.ReplaceSM:
		v.text("message_id", p.MessageID)
		v.address("source_addr", "source_addr", p.Source)
		v.time("schedule_delivery_time", p.ScheduleDeliveryTime)
		v.time("validity_period", p.ValidityPeriod)
		v.registeredDelivery(p.RegisteredDelivery)
		v.shortMessage(p.DefaultMsgID, p.ShortMessage)
		return v, p.TLVs
	case *pdu.AlertNotification:
		v.address("source_addr", "source_addr", p.Source)
		v.address("esme_addr", "esme_addr", p.ESME)
		return v, p.TLVs
	case *pdu.EnquireLink, *pdu.EnquireLinkResp, *pdu.Unbind, *pdu.UnbindResp,
		*pdu.GenericNack, *pdu.CancelSMResp, *pdu.ReplaceSMResp:
	default:
		tb.Fatalf("no view of %T", body)
	}
	return v, nil
}

// checkTShark compares every field and TLV tshark recorded with what we read.
func checkTShark(t *testing.T, v vector, h pdu.Header, body pdu.Body) {
	t.Helper()
	view, tlvs := viewOf(t, h, body)
	for name, raw := range v.TShark.Fields {
		switch {
		case name == "dlist", name == "dlist_resp": // headings
		case name == "message_text", strings.HasPrefix(name, "dcs."): // of another layer; message and data_coding are compared
		default:
			want := slices.DeleteFunc(oneOrMore(t, raw), func(s string) bool { return s == "" })
			if !slices.Equal(view[name], want) {
				t.Errorf("%s is %q, tshark reads %q", name, view[name], want)
			}
		}
	}
	if len(v.StrictProblems) > 0 && len(v.TShark.TLVs) < len(tlvs) {
		return // tshark gave up before the TLVs
	}
	if len(tlvs) != len(v.TShark.TLVs) {
		t.Fatalf("%d TLVs, tshark reads %d", len(tlvs), len(v.TShark.TLVs))
	}
	for i, recorded := range v.TShark.TLVs {
		checkTSharkTLV(t, tlvs[i], recorded)
	}
}

func checkTSharkTLV(t *testing.T, tlv pdu.TLV, recorded map[string]json.RawMessage) {
	t.Helper()
	for name, raw := range recorded {
		var got string
		switch name {
		case "tag":
			got = fmt.Sprintf("0x%04x", uint16(tlv.Tag))
		case "length":
			got = strconv.Itoa(len(tlv.Value))
			if want := string(raw); got != want {
				t.Errorf("%s has length %s, tshark reads %s", tlv.Tag, got, want)
			}
			continue
		case "receipted_message_id", "additional_status_info_text":
			v, _ := pdu.TLVs{tlv}.CString(tlv.Tag)
			got = string(v)
		case "message_payload", "vendor_op":
			got = colonHex(tlv.Value)
		case "network_error.type":
			got = strconv.Itoa(int(tlv.Value[0]))
		case "network_error.code":
			got = "0x" + hex.EncodeToString(tlv.Value[1:3])
		case "user_message_reference", "source_port", "destination_port":
			n, _ := pdu.TLVs{tlv}.Uint16(tlv.Tag)
			got = fmt.Sprintf("0x%04x", n)
		default:
			got = strconv.Itoa(int(bigEndian(tlv.Value)))
		}
		if want := oneOrMore(t, raw)[0]; got != want {
			t.Errorf("%s: %s is %s, tshark reads %s", tlv.Tag, name, got, want)
		}
		if tag := tlv.Tag.String(); !strings.HasPrefix(tag, "0x") && !strings.Contains(name, ".") && name != "tag" &&
			!strings.HasPrefix(strings.ToLower(name), tag) {
			t.Errorf("0x%04x is called %s, and %s by tshark", uint16(tlv.Tag), tag, name)
		}
	}
}

func oneOrMore(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var more []string
	if err := json.Unmarshal(raw, &more); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return more
}

func bigEndian(b []byte) uint32 {
	var four [4]byte
	copy(four[4-min(4, len(b)):], b)
	return binary.BigEndian.Uint32(four[:])
}

func colonHex(b []byte) string {
	s := make([]string, len(b))
	for i := range b {
		s[i] = hex.EncodeToString(b[i : i+1])
	}
	return strings.Join(s, ":")
}
