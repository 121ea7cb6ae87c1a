package pdu_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fiorix/go-smpp/smpp/pdu/pdutlv"

	"sluice/smpp/pdu"
)

// TestStatusNames compares with a list that was checked against eight
// implementations.
func TestStatusNames(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "command_status.csv"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[pdu.Status]string{}
	for line := range strings.Lines(string(raw)) {
		code, name, _ := strings.Cut(strings.TrimSpace(line), ",")
		if code == "code" {
			continue
		}
		n, err := strconv.ParseUint(code, 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		names[pdu.Status(n)] = name
	}
	if len(names) != 67 {
		t.Errorf("the list has %d statuses, want 67", len(names))
	}
	for s := range pdu.Status(0x600) {
		want, ok := names[s]
		if !ok {
			want = "0x" + strings.ToUpper(strconv.FormatUint(uint64(s)|1<<32, 16)[1:])
		}
		if s.String() != want {
			t.Errorf("status 0x%X is called %s, want %s", uint32(s), s, want)
		}
	}
	if pdu.StatusThrottled != 0x58 || pdu.StatusMsgQFull != 0x14 || pdu.StatusSysErr != 8 {
		t.Error("the statuses the gateway acts on have other numbers")
	}
}

func TestCommandNames(t *testing.T) {
	for id, want := range map[pdu.CommandID]string{
		pdu.IDBindReceiver: "bind_receiver", pdu.IDBindTransmitterResp: "bind_transmitter_resp",
		pdu.IDBindTransceiver: "bind_transceiver", pdu.IDSubmitSM: "submit_sm", pdu.IDSubmitSMResp: "submit_sm_resp",
		pdu.IDGenericNack: "generic_nack", pdu.IDOutbind: "outbind", pdu.IDAlertNotification: "alert_notification",
		pdu.IDBroadcastSM: "broadcast_sm", pdu.IDQueryBroadcastSMResp: "query_broadcast_sm_resp",
		pdu.IDCancelBroadcastSM: "cancel_broadcast_sm",
		0x8000000B:              "0x8000000B", 0x80000102: "0x80000102", // outbind and alert_notification have no response
		0: "0x00000000", 0x11F: "0x0000011F", 0x8000011F: "0x8000011F", 0xFFFFFFFF: "0xFFFFFFFF",
	} {
		if id.String() != want {
			t.Errorf("command 0x%08X is called %s, want %s", uint32(id), id, want)
		}
	}
	if !pdu.IDGenericNack.IsResponse() || pdu.IDSubmitSM.IsResponse() || pdu.IDSubmitSM.Response() != pdu.IDSubmitSMResp ||
		pdu.IDSubmitSMResp.Response() != pdu.IDSubmitSMResp {
		t.Error("responses are not told from requests")
	}
}

func TestTags(t *testing.T) {
	names := map[string]pdu.Tag{}
	for n := range 0x10000 {
		tag := pdu.Tag(n)
		name := tag.String()
		if known := tag.Kind() != pdu.KindUnknown; known == strings.HasPrefix(name, "0x") {
			t.Errorf("%s has kind %s", name, tag.Kind())
		}
		if other, twice := names[name]; twice {
			t.Errorf("0x%04X and 0x%04X are both called %s", n, uint16(other), name)
		}
		names[name] = tag
	}
	for _, tt := range []struct {
		tag  pdu.Tag
		num  pdutlv.Tag
		name string
		kind pdu.Kind
		word string
	}{
		{pdu.TagReceiptedMessageID, pdutlv.TagReceiptedMessageID, "receipted_message_id", pdu.KindCString, "C-octet string"},
		{pdu.TagUserMessageReference, pdutlv.TagUserMessageReference, "user_message_reference", pdu.KindUint16, "2-octet integer"},
		{pdu.TagQosTimeToLive, pdutlv.TagQosTimeToLive, "qos_time_to_live", pdu.KindUint32, "4-octet integer"},
		{pdu.TagMessageState, pdutlv.TagMessageStateOption, "message_state", pdu.KindUint8, "1-octet integer"},
		{pdu.TagMessagePayload, pdutlv.TagMessagePayload, "message_payload", pdu.KindOctets, "octet string"},
		{pdu.TagItsSessionInfo, pdutlv.TagItsSessionInfo, "its_session_info", pdu.KindOctets, "octet string"},
		{pdu.TagCongestionState, 0x0428, "congestion_state", pdu.KindUint8, "1-octet integer"},
		{0x1400, 0x1400, "0x1400", pdu.KindUnknown, "unknown"},
	} {
		if uint16(tt.tag) != uint16(tt.num) || tt.tag.String() != tt.name || tt.tag.Kind() != tt.kind || tt.kind.String() != tt.word {
			t.Errorf("0x%04X is %s and a %s, want 0x%04X, %s and a %s", uint16(tt.tag), tt.tag, tt.tag.Kind(), uint16(tt.num), tt.name, tt.word)
		}
	}
}

func TestMessageStateNames(t *testing.T) {
	want := "SCHEDULED ENROUTE DELIVERED EXPIRED DELETED UNDELIVERABLE ACCEPTED UNKNOWN REJECTED SKIPPED 0x0A"
	var got []string
	for s := range pdu.MessageState(11) {
		got = append(got, s.String())
	}
	if strings.Join(got, " ") != want {
		t.Errorf("states are %s, want %s", got, want)
	}
}

func TestTLVAccess(t *testing.T) {
	list := pdu.TLVs{
		pdu.Uint8TLV(1, 0xAB), pdu.Uint16TLV(2, 0xABCD), pdu.Uint32TLV(4, 0xABCDEF01),
		pdu.CStringTLV(5, "id"),
		{Tag: 6, Value: []byte("id")},
		{Tag: 7},
		pdu.Uint8TLV(1, 0xFF),
	}
	if v, ok := list.Uint8(1); v != 0xAB || !ok {
		t.Errorf("the first of two is %x, %v", v, ok)
	}
	if v, ok := list.Uint16(2); v != 0xABCD || !ok {
		t.Errorf("two octets are %x, %v", v, ok)
	}
	if v, ok := list.Uint32(4); v != 0xABCDEF01 || !ok {
		t.Errorf("four octets are %x, %v", v, ok)
	}
	for tag, want := range map[pdu.Tag]string{5: "id", 6: "id", 7: ""} {
		if v, ok := list.CString(tag); string(v) != want || !ok {
			t.Errorf("string %d is %q, %v", tag, v, ok)
		}
	}
	_, ok8 := list.Uint8(2)
	_, ok16 := list.Uint16(4)
	_, ok32 := list.Uint32(1)
	_, okGet := list.Get(9)
	_, okString := list.CString(9)
	if ok8 || ok16 || ok32 || okGet || okString {
		t.Error("a TLV of another length, or none, was read")
	}
}

func TestGuessForeign(t *testing.T) {
	for octets, want := range map[string]string{
		"AMQP":                         "AMQP",
		"HTTP/1.1 400":                 "an HTTP response",
		"GET / HTTP/1.1":               "an HTTP request",
		"POST /":                       "an HTTP request",
		"PRI * HTTP/2.0":               "an HTTP request",
		"AMQP\x00\x00\x09\x01":         "AMQP",
		"SSH-2.0-OpenSSH":              "an SSH banner",
		"INFO {":                       "a NATS server",
		"PROXY TCP4 ":                  "a PROXY protocol header",
		"\r\n\r\n\x00\r\nQUIT\n":       "a PROXY protocol header",
		"220 mail ESMTP":               "an SMTP or FTP banner",
		"-ERR unknown command":         "a Redis error",
		"\x15\x03\x03\x00\x02\x02\x28": "a TLS alert",
		"\x16\x03\x01\x02\x00":         "a TLS handshake",
		"\x03\x00\x00\x2f\x2a\xe0":     "an RDP probe",
		"\x00\x00\x00\x10":             "",
		"\x80\x00\x00\x09":             "",
		"HTT":                          "",
		"":                             "",
	} {
		if got := pdu.GuessForeign([]byte(octets)); got != want {
			t.Errorf("%q looks like %q, want %q", octets, got, want)
		}
	}
}

func TestCheckLength(t *testing.T) {
	for _, tt := range []struct {
		octets string
		limit  int
		want   int
	}{
		{"\x00\x00\x00\x10", 64, 16},
		{"\x00\x00\x00\x40rest", 64, 64},
		{"\x00\x00\x00\x41", 64, 0},
		{"\x00\x00\x00\x0f", 64, 0},
		{"\x00\x00\x00\x10", 0, 16}, // a limit below the header is none
		{"\xff\xff\xff\xff", 1 << 30, 0},
		{"\x00\x00\x00", 64, 0},
		{"", 64, 0},
	} {
		n, err := pdu.CheckLength([]byte(tt.octets), tt.limit)
		if n != tt.want || (err == nil) != (tt.want != 0) {
			t.Errorf("%q with limit %d: %d, %v; want %d", tt.octets, tt.limit, n, err, tt.want)
		}
	}
}
