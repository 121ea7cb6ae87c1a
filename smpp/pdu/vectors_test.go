package pdu_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/smpp/pdu"
)

// vector is a PDU that another implementation wrote, as encoded by its library
// or captured on the wire, with the fields tshark 4.0 reads in it.
type vector struct {
	Name     string `json:"name"`
	Hex      string `json:"hex"`
	Length   uint32 `json:"length"`
	Status   uint32 `json:"command_status"`
	Sequence uint32 `json:"sequence_number"`
	Command  string `json:"command_id"`
	TShark   struct {
		Fields map[string]json.RawMessage   `json:"fields"`
		TLVs   []map[string]json.RawMessage `json:"tlvs"`
	} `json:"tshark"`
	StrictProblems []string `json:"strict_problems"`
}

// treatment says what we do with a vector that has strict_problems, or that we
// would not write ourselves.
type treatment struct {
	why       string
	parseErr  string // Parse refuses it with this text
	appendErr string // Append refuses what Parse read, with this text
	text      string // short_message as read, where it is not what was meant
	shorter   int    // octets that Append does not write again
	asTShark  bool   // tshark reads all recorded fields right
}

// treatments has one entry for each vector with strict_problems.
func treatments() map[string]treatment {
	const strayNUL = "go-smpp writes a NUL between sm_length and short_message: the text starts with it, and its last octet lies behind sm_length"
	const longType = "service_type is 7 octets, over the limit of 5: read, but not written"
	const broadcast = "SMPP 5.0 broadcast, known by name only: the session answers generic_nack"
	return map[string]treatment{
		"go.json/deliver_sm":                   {why: strayNUL, text: "\x00STO", shorter: 1},
		"wire-smpptest.json/wire_deliver_sm_1": {why: strayNUL, text: "\x00id:g00000001", shorter: 1},
		"wire-smpptest.json/wire_deliver_sm_2": {why: strayNUL, text: "\x00id:g00000002", shorter: 1},
		"wire-smpptest.json/wire_deliver_sm_3": {why: strayNUL, text: "\x00id:g00000003", shorter: 1},
		"wire-smscsim.json/wire_deliver_sm_1":  {why: longType, asTShark: true, appendErr: "pdu: deliver_sm: service_type has length 7, the limit is 5"},
		"wire-smscsim.json/wire_deliver_sm_2":  {why: longType, asTShark: true, appendErr: "pdu: deliver_sm: service_type has length 7, the limit is 5"},
		"wire-smscsim.json/wire_deliver_sm_3":  {why: longType, asTShark: true, appendErr: "pdu: deliver_sm: service_type has length 7, the limit is 5"},
		"jsmpp.json/broadcast_sm":              {why: broadcast, parseErr: "pdu: unknown command broadcast_sm"},
		"node-smpp.json/broadcast_sm":          {why: broadcast, parseErr: "pdu: unknown command broadcast_sm"},
		"jsmpp.json/submit_multi": {
			why:      "jsmpp writes no dl_name, not even its NUL, so that all fields behind it are one octet off",
			parseErr: "pdu: submit_multi: the octets end inside short_message",
		},
		"opensmpp.json/alert_notification": {
			why:      "OpenSmpp writes no body, though both addresses are mandatory",
			parseErr: "pdu: alert_notification: the octets end inside source_addr",
		},
		"net-smpp.json/query_sm_resp": {
			why:      "network_error_code is empty, and tshark expects no TLV here: read and written as it is",
			asTShark: true,
		},
		"node-smpp.json/submit_sm_all_flags": {
			why:      "esm_class has the UDHI bit and the text is no user data header, which is no matter of this layer",
			asTShark: true,
		},
	}
}

// unwritten lists the vectors without strict_problems that we read and would not
// write.
func unwritten() map[string]string {
	const zero = "a request with sequence_number 0: read as it is, not written (SMPP 3.4 section 3.2)"
	return map[string]string{
		"go.json/query_sm":                        zero,
		"wire-opensmppbox.json/wire_deliver_sm_1": zero,
	}
}

func TestVectors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "vectors", "*.json"))
	if err != nil || len(files) != 13 {
		t.Fatalf("%d vector files, %v; want 13", len(files), err)
	}
	special, seen, count := treatments(), map[string]bool{}, 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var vectors []vector
		if err := json.Unmarshal(raw, &vectors); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, v := range vectors {
			count++
			key := filepath.Base(file) + "/" + v.Name
			treat, ok := special[key]
			seen[key] = seen[key] || ok
			if problems := len(v.StrictProblems) > 0; problems != ok {
				t.Errorf("%s: strict_problems %q, has a treatment: %v", key, v.StrictProblems, ok)
				continue
			}
			t.Run(key, func(t *testing.T) {
				wire, err := hex.DecodeString(v.Hex)
				if err != nil {
					t.Fatal(err)
				}
				if ok {
					checkTreatment(t, v, wire, treat)
					return
				}
				checkVector(t, v, wire, unwritten()[key])
			})
		}
	}
	for key := range special {
		if !seen[key] {
			t.Errorf("%s has a treatment and is not there", key)
		}
	}
	if count != 339 {
		t.Errorf("%d vectors, want 339", count)
	}
}

// checkVector reads a vector without problems, compares it with what tshark read,
// and writes it back.
func checkVector(t *testing.T, v vector, wire []byte, unwritten string) {
	h, body, err := pdu.Parse(wire)
	checkHeader(t, v, h)
	if _, ok := errors.AsType[*pdu.UnknownCommandError](err); ok {
		if name := h.ID.String(); !strings.Contains(name, "broadcast_sm") {
			t.Errorf("%s is not known", name)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	checkTShark(t, v, h, body)
	b, err := pdu.Append(nil, h.Status, h.Sequence, body)
	if h.Sequence == 0 && !h.ID.IsResponse() {
		if unwritten == "" || err == nil || !strings.Contains(err.Error(), "sequence_number") {
			t.Errorf("sequence_number 0 (%q): append says %v", unwritten, err)
		}
		return
	}
	if err != nil || !bytes.Equal(b, wire) {
		t.Errorf("written back as\n%x, %v; want\n%x", b, err, wire)
	}
}

func checkTreatment(t *testing.T, v vector, wire []byte, treat treatment) {
	t.Log(treat.why)
	h, body, err := pdu.Parse(wire)
	checkHeader(t, v, h)
	if treat.parseErr != "" {
		if err == nil || err.Error() != treat.parseErr {
			t.Errorf("error is %v, want %s", err, treat.parseErr)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if treat.asTShark {
		checkTShark(t, v, h, body)
	}
	if d, ok := body.(*pdu.DeliverSM); ok && !bytes.HasPrefix(d.ShortMessage, []byte(treat.text)) {
		t.Errorf("short_message is %q, want it to start with %q", d.ShortMessage, treat.text)
	}
	b, err := pdu.Append(nil, h.Status, h.Sequence, body)
	if treat.appendErr != "" {
		if err == nil || err.Error() != treat.appendErr {
			t.Errorf("error is %v, want %s", err, treat.appendErr)
		}
		return
	}
	end := len(wire) - treat.shorter
	if err != nil || !bytes.Equal(b[4:], wire[4:end]) {
		t.Errorf("written back as\n%x, %v; want\n%x", b, err, wire[:end])
	}
}

func checkHeader(t *testing.T, v vector, h pdu.Header) {
	t.Helper()
	id, err := hex.DecodeString(strings.TrimPrefix(v.Command, "0x"))
	if err != nil {
		t.Fatal(err)
	}
	want := pdu.Header{
		Length: v.Length, Status: pdu.Status(v.Status), Sequence: v.Sequence,
		ID: pdu.CommandID(id[0])<<24 | pdu.CommandID(id[1])<<16 | pdu.CommandID(id[2])<<8 | pdu.CommandID(id[3]),
	}
	if h != want {
		t.Errorf("header is %+v, want %+v", h, want)
	}
}
