package receipt

import (
	"encoding/hex"
	"testing"
	"time"
	"unicode/utf16"

	"sluice/smpp/pdu"
)

// Receipts as public reports show them, addresses and ids invented.

// wide writes a text as UTF-16.
func wide(s string, littleEndian bool) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		if littleEndian {
			b = append(b, byte(u), byte(u>>8))
		} else {
			b = append(b, byte(u>>8), byte(u))
		}
	}
	return b
}

// G01 (github.com/fiorix/go-smpp/issues/14, github.com/farhadi/node-smpp/issues/68): the octets tell ASCII from UCS2.
func TestG01AsciiReceiptUnderUnicodeCoding(t *testing.T) {
	const line = "id:77 stat:DELIVRD err:000 text:hi"
	const odd = "id:777 stat:DELIVRD err:000 text:hi"
	for name, octets := range map[string][]byte{
		"even": []byte(line), "odd": []byte(odd), "with a quote in UCS2": append([]byte("id:77 stat:DELIVRD err:000 text:"), wide("привет", false)...),
		"UCS2": wide(line, false), "UCS2 with a mark": wide("\uFEFF"+line, false), "little endian": wide(line, true),
		"little endian with a mark": wide("\uFEFF"+line, true), "half a character behind it": append(wide(line, false), 0),
		"a word in UCS2 before it": wide("Отчёт id:77 stat:DELIVRD err:000 text:hi", false),
	} {
		codings := []byte{0, 1, 3, 8, 0x18, 0x19, 0x48, 0xE0}
		if name == "a word in UCS2 before it" {
			codings = codings[3:]
		}
		for _, coding := range codings {
			r := Parse(InputOf(&pdu.DeliverSM{ESMClass: 4, DataCoding: coding, ShortMessage: octets}), Options{})
			if want := map[bool]string{true: "777", false: "77"}[name == "odd"]; r.ID != want || r.State != Delivered || r.Err != "000" {
				t.Errorf("%s under 0x%02X: %+v; want %s, delivered, 000", name, coding, r, want)
			}
		}
	}
	// With id and state in TLVs the text still has the error code and the time.
	r := Parse(InputOf(&pdu.DeliverSM{
		ESMClass: 4, DataCoding: 8, ShortMessage: []byte("err:027 done date:2611302143 text:"),
		TLVs: pdu.TLVs{pdu.CStringTLV(pdu.TagReceiptedMessageID, "77"), pdu.Uint8TLV(pdu.TagMessageState, 5)},
	}), Options{})
	if r.ID != "77" || r.State != Undeliverable || r.Err != "027" || !r.Done.Equal(utc(2026, 11, 30, 21, 43, 0)) {
		t.Errorf("with TLVs: %+v", r)
	}
	// The indicator of a header that is not there, in a text of more than 106 octets.
	long := "id:0123456789012345678901234567890123456789 sub:001 dlvrd:001 submit date:2611302140 done date:2611302143 stat:DELIVRD err:000 text:hi"
	if r := Parse(InputOf(&pdu.DeliverSM{ESMClass: 0x44, ShortMessage: []byte(long)}), Options{}); r.ID == "" || r.State != Delivered {
		t.Errorf("no header though the indicator says so: %+v", r)
	}
}

// G04 (github.com/opentelecoms-org/jsmpp/issues/9): other spellings, words of the SMSC's own, and what stands behind them.
func TestG04StatesOfTheSMSCsOwn(t *testing.T) {
	own := map[string]State{"BLIST": Rejected, "9": Expired}
	for word, want := range map[string]struct {
		state State
		raw   string
	}{
		"UNDELIVERED": {Undeliverable, "UNDELIVERED"}, "UNDELIVRD": {Undeliverable, "UNDELIVRD"}, "REJECT": {Rejected, "REJECT"},
		"EXPIRD": {Expired, "EXPIRD"}, "CANCELLED": {Deleted, "CANCELLED"}, "DELIVRD,": {Delivered, "DELIVRD"}, `"DELIVRD";`: {Delivered, "DELIVRD"},
		"BLOCKED": {Unknown, "BLOCKED"}, "NOROUTE": {Unknown, "NOROUTE"}, "NACK.": {Unknown, "NACK"}, "11": {Unknown, "11"}, "DND": {Unknown, "DND"},
		"blist,": {Rejected, "blist"}, "9": {Expired, "9"}, "STAGED": {Unknown, "STAGED"},
	} {
		r := Parse(Input{Text: []byte("id:77 stat:" + word + " err:027")}, Options{States: own})
		if r.State != want.state || r.RawState != want.raw || r.Err != "027" {
			t.Errorf("%s: %s from %q, error %q; want %s from %q", word, r.State, r.RawState, r.Err, want.state, want.raw)
		}
	}
	r := Parse(Input{Text: []byte("id:77,sub:001,dlvrd:001,done date:2611302143,stat:DELIVRD,err:027,text:hi")}, Options{})
	if r.ID != "77" || r.Sub != 1 || r.Done.IsZero() || r.State != Delivered || r.Err != "027" || r.Text != "hi" {
		t.Errorf("commas between the fields: %+v", r)
	}
	r = Parse(Input{Text: []byte("id:77 stat:NOROUTE"), State: []byte{7}}, Options{})
	if r.State != Unknown || r.RawState != "" || r.TextState != "NOROUTE" {
		t.Errorf("the word beside a TLV: %+v", r)
	}
}

// G07 (github.com/gammu/gammu/issues/363): dates are of the zone that is asked for, but those that carry their own.
func TestG07ReceiptZone(t *testing.T) {
	zone := time.FixedZone("", 3*3600)
	for date, want := range map[string]time.Time{
		"2611302141": utc(2026, 11, 30, 18, 41, 0), "261130214105": utc(2026, 11, 30, 18, 41, 5), "261130214105000+": utc(2026, 11, 30, 21, 41, 5),
	} {
		r := Parse(Input{Text: []byte("id:1 stat:DELIVRD done date:" + date)}, Options{Zone: zone})
		if own := len(date) == 16; !r.Done.Equal(want) || (r.Done.Location() == zone) == own {
			t.Errorf("%s: %s, want %s", date, r.Done, want)
		}
	}
}

// G08 (www.mail-archive.com/devel@kannel.org/msg02229): what may not be all that the receipt says is told.
func TestG08UnreadReceipts(t *testing.T) {
	for name, c := range map[string]struct {
		in     Input
		unread bool
	}{
		"a line with commas":           {Input{Text: []byte("77,DELIVRD,2611302141")}, true},
		"no state":                     {Input{Text: []byte("id:77 err:000")}, true},
		"no id":                        {Input{Text: []byte("stat:DELIVRD err:000")}, true},
		"a date of no known form":      {Input{Text: []byte("id:77 stat:DELIVRD done date:30.11.26")}, true},
		"a TLV of another width":       {Input{Text: []byte("id:77 stat:DELIVRD"), NetworkError: []byte("0027")}, true},
		"nothing":                      {Input{}, true},
		"all there is":                 {Input{Text: []byte("id:77 stat:DELIVRD done date:2611302141 err:000")}, false},
		"a date of zeros":              {Input{Text: []byte("id:77 stat:DELIVRD done date:0000000000 err:000")}, false},
		"TLVs alone":                   {Input{ReceiptedID: []byte("77\x00"), State: []byte{2}}, false},
		"a word of the SMSC's own":     {Input{Text: []byte("id:77 stat:NOROUTE err:027")}, false},
		"counts that are not numbers":  {Input{Text: []byte("id:77 sub:null dlvrd:... stat:DELIVRD")}, false},
		"a network error code of zero": {Input{Text: []byte("id:77 stat:DELIVRD"), NetworkError: []byte{0, 0, 0}}, false},
	} {
		if _, unread := Read(c.in, Options{}); unread != c.unread {
			t.Errorf("%s: unread %t, want %t", name, unread, c.unread)
		}
	}
	if got := string(Unquoted([]byte("id:77 err:1 text: secret"))); got != "id:77 err:1 text: " && got != "id:77 err:1 text:" {
		t.Errorf("unquoted %q", got)
	}
}

// G09 (github.com/jookies/jasmin/issues/418): a UUID in capitals is the same one.
func TestG09UUIDInCapitals(t *testing.T) {
	rank, ok := Matching{}.Rank("74e02ee1-4e2f-4a6e-a78b-4b247d756a22", "74E02EE1-4E2F-4A6E-A78B-4B247D756A22")
	if !ok || rank != 1 {
		t.Errorf("rank %d, %t; want 1", rank, ok)
	}
}

// G10 (github.com/onlinecity/php-smpp/issues/70): a TLV of zeros says nothing.
func TestG10ZeroTLVs(t *testing.T) {
	for _, network := range [][]byte{{0, 0, 0}, {3, 0, 0}} {
		r := Parse(Input{Text: []byte("id:77 stat:UNDELIV err:027"), NetworkError: network}, Options{})
		if r.HasNetwork || r.Err != "027" {
			t.Errorf("% X: %+v", network, r)
		}
	}
	if r := Parse(Input{Text: []byte("id:77 stat:UNDELIV"), State: []byte{0}}, Options{}); r.State != Undeliverable || r.StateConflict || r.RawState != "UNDELIV" {
		t.Errorf("message_state 0 beside UNDELIV: %+v", r)
	}
	if r := Parse(Input{Text: []byte("id:77"), State: []byte{0}}, Options{}); r.State != Scheduled {
		t.Errorf("message_state 0 alone: %s", r.State)
	}
}

// G11, which was right before: github.com/gammu/gammu/issues/319 and others.
func TestG11ReceiptsThatWereRight(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		state State
		done  time.Time
	}{
		"FAILED":             {"id:77 sub:001 dlvrd:000 submit date:2611302140 done date:2611302143 stat:FAILED err:027 text:", Undeliverable, utc(2026, 11, 30, 21, 43, 0)},
		"no stat":            {"id:77 sub:001 dlvrd:001 submit date:2611302140 done date:2611302143 DELIVRD err:027 text:", Delivered, utc(2026, 11, 30, 21, 43, 0)},
		"no sub and dlvrd":   {"id:77 submit date:2611302140 done date:2611302143 stat:DELIVRD err:027 text:", Delivered, utc(2026, 11, 30, 21, 43, 0)},
		"blanks after ':'":   {"id: 77 sub: 001 dlvrd: 001 submit date: 2611302140 done date: 2611302143 stat: DELIVRD err: 027 text: hi", Delivered, utc(2026, 11, 30, 21, 43, 0)},
		"16-character dates": {"id:77 submit date:261130214000012+ done date:261130214300012+ stat:DELIVRD err:027 text:", Delivered, utc(2026, 11, 30, 18, 43, 0)},
	} {
		if r := Parse(Input{Text: []byte(c.text)}, Options{}); r.ID != "77" || r.State != c.state || !r.Done.Equal(c.done) || r.Err != "027" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// G05 (github.com/praekeltfoundation/vumi/pull/637): what has the form of a receipt.
func TestG05FormOfAReceipt(t *testing.T) {
	sample, err := hex.DecodeString("69643a6530303031207375623a30303120646c7672643a30303120737461743a44454c49565244206572723a303030")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		string(sample): true, "id:77 DELIVRD": true, "id:77 stat:BLIST": true, "id:77 is my account": false, "id: stat:DELIVRD": false,
		"my id:77 stat:DELIVRD": false, "": false,
	} {
		if HasForm([]byte(text), nil) != want {
			t.Errorf("%q: want %t", text, want)
		}
	}
}
