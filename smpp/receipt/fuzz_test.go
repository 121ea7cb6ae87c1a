package receipt

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"sluice/smpp/pdu"
)

// FuzzParse checks that nothing panics, and that the TLVs go before the text.
func FuzzParse(f *testing.F) {
	f.Add([]byte("id:77 sub:001 dlvrd:001 submit date:1601010100 done date:160101010101 stat:DELIVRD err:000 text:none"), []byte("A77\x00"), []byte{5}, []byte{3, 0, 11}, byte(0))
	f.Add([]byte("sub:001 id:74e02ee1-4e2f-4a6e-a78b-4b247d756a22 done date:180711070003912+ text: stat:DELIVRD"), []byte(nil), []byte(nil), []byte(nil), byte(1))
	f.Add([]byte("id:7 DELIVRD done_date:20110314181741 Text:"), []byte{0}, []byte{200}, []byte{1}, byte(2))
	f.Fuzz(func(t *testing.T, text, id, state, network []byte, dates byte) {
		o := Options{Received: time.Unix(1700000000, 0), Dates: Dates(dates % 3), States: map[string]State{"BARRED": Undeliverable}}
		r := Parse(Input{Text: text, ReceiptedID: id, State: state, NetworkError: network}, o)
		if len(id) > 0 && id[0] != 0 && r.ID != untilNUL(id) {
			t.Fatalf("id %q, want that of the TLV", r.ID)
		}
		if len(state) > 0 && state[0] != 0 && r.State != FromMessageState(state[0]) {
			t.Fatalf("state %s, want that of the TLV", r.State)
		}
		if !bytes.HasPrefix(text, Unquoted(text)) {
			t.Fatalf("unquoted %q", Unquoted(text))
		}
		_ = InputOf(&pdu.DeliverSM{DataCoding: dates, ShortMessage: text})
		if r.State > Skipped || r.Sub < -1 || r.Dlvrd < -1 {
			t.Fatalf("out of range: %+v", r)
		}
		_ = LooksLike(text)
	})
}

// FuzzKeys checks that equal ids always meet, and that keys do not repeat.
func FuzzKeys(f *testing.F) {
	f.Add("0000000012345678", byte(0))
	f.Add("00B8BE19", byte(1))
	f.Add("74e02ee1-4e2f-4a6e-a78b-4b247d756a22", byte(2))
	f.Fuzz(func(t *testing.T, id string, format byte) {
		keys := Keys(id, Format(format%3))
		seen := map[string]bool{}
		for _, k := range keys {
			if seen[k] {
				t.Fatalf("%q: key %q twice", id, k)
			}
			seen[k] = true
		}
		if keys[len(keys)-1] != Canonical(id, Format(format%3)) {
			t.Fatalf("%q: the last key is not the canonical one", id)
		}
		if isUUID(id) && (keys[0] != id || keys[len(keys)-1] != strings.ToLower(id)) {
			t.Fatalf("UUID altered: %q", keys)
		}
	})
}
