package receipt

import (
	"testing"
	"time"

	"sluice/smpp/pdu"
)

func utc(y int, mo time.Month, d, h, mi, s int) time.Time {
	return time.Date(y, mo, d, h, mi, s, 0, time.UTC)
}

// TestExamples are the agreed field examples that are about parsing one receipt; D13 to D15 and D26 are in
// TestExamplesMatch, D19 and D24 below.
func TestExamples(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   Input
		want Receipt
	}{
		{
			"D01",
			Input{Text: []byte("id:0000000012345678 sub:001 dlvrd:001 submit date:1601010100 done date:1601010101 stat:DELIVRD err:000 text:none")},
			Receipt{
				ID: "0000000012345678", Sub: 1, Dlvrd: 1, Submitted: utc(2016, 1, 1, 1, 0, 0), Done: utc(2016, 1, 1, 1, 1, 0),
				State: Delivered, RawState: "DELIVRD", Err: "000", Text: "none",
			},
		},
		{
			"D02",
			Input{Text: []byte("id:74e02ee1-4e2f-4a6e-a78b-4b247d756a22 sub:001 dlvrd:001 submit date:110206193041 done date:110206193110 stat:DELIVRD err:000 text:")},
			Receipt{
				ID: "74e02ee1-4e2f-4a6e-a78b-4b247d756a22", Sub: 1, Dlvrd: 1, Submitted: utc(2011, 2, 6, 19, 30, 41),
				Done: utc(2011, 2, 6, 19, 31, 10), State: Delivered, RawState: "DELIVRD", Err: "000",
			},
		},
		{
			"D03",
			Input{Text: []byte("sub:001 id:74e02ee1-4e2f-4a6e-a78b-4b247d756a22 err:000 dlvrd:001 done date:110206193110 submit date:110206193041 text: stat:DELIVRD")},
			Receipt{
				ID: "74e02ee1-4e2f-4a6e-a78b-4b247d756a22", Sub: 1, Dlvrd: 1, Submitted: utc(2011, 2, 6, 19, 30, 41),
				Done: utc(2011, 2, 6, 19, 31, 10), State: Delivered, RawState: "DELIVRD", Err: "000",
			},
		},
		{
			"D04",
			Input{Text: []byte("id:1526758174 submit date:1701240904 done date:1701240904 stat:DELIVRD err:000 text:hellow")},
			Receipt{
				ID: "1526758174", Sub: -1, Dlvrd: -1, Submitted: utc(2017, 1, 24, 9, 4, 0), Done: utc(2017, 1, 24, 9, 4, 0),
				State: Delivered, RawState: "DELIVRD", Err: "000", Text: "hellow",
			},
		},
		{
			"D05",
			Input{Text: []byte("id:0654354026 submit date:2302101454 done date:2302101454 stat:DELIVRD err:000")},
			Receipt{
				ID: "0654354026", Sub: -1, Dlvrd: -1, Submitted: utc(2023, 2, 10, 14, 54, 0), Done: utc(2023, 2, 10, 14, 54, 0),
				State: Delivered, RawState: "DELIVRD", Err: "000",
			},
		},
		{
			"D06",
			Input{Text: []byte("id:2E179B310EDE971B2760C72B7F026E1B submit date:20110314181534 done date:20110314181741 stat:DELIVRD err:0")},
			Receipt{
				ID: "2E179B310EDE971B2760C72B7F026E1B", Sub: -1, Dlvrd: -1, Submitted: utc(2011, 3, 14, 18, 15, 34),
				Done: utc(2011, 3, 14, 18, 17, 41), State: Delivered, RawState: "DELIVRD", Err: "0",
			},
		},
		{
			"D07",
			Input{Text: []byte("id:rdwjwxns18krxr9936ey96ymcw sub:000 dlvrd:000 submit date:180711070003912+ done date:180711070000012+ stat:UNDELIV err:000")},
			Receipt{
				ID: "rdwjwxns18krxr9936ey96ymcw", Submitted: utc(2018, 7, 11, 4, 0, 3).Add(900 * time.Millisecond),
				Done: utc(2018, 7, 11, 4, 0, 0), State: Undeliverable, RawState: "UNDELIV", Err: "000",
			},
		},
		{
			"D08",
			Input{Text: []byte("id:117062714244798261 sub:001 dlvrd:001 submit date:1706271624 done date:1706271624 stat:DELIVRD err:0000 text:Hllo world")},
			Receipt{
				ID: "117062714244798261", Sub: 1, Dlvrd: 1, Submitted: utc(2017, 6, 27, 16, 24, 0), Done: utc(2017, 6, 27, 16, 24, 0),
				State: Delivered, RawState: "DELIVRD", Err: "0000", Text: "Hllo world",
			},
		},
		{
			"D09",
			Input{Text: []byte("id:0123456789 sub:002 dlvrd:001 submit date:1005232039 done date:1005242339 stat:DELIVRD err:21b text:This is a sample mes")},
			Receipt{
				ID: "0123456789", Sub: 2, Dlvrd: 1, Submitted: utc(2010, 5, 23, 20, 39, 0), Done: utc(2010, 5, 24, 23, 39, 0),
				State: Delivered, RawState: "DELIVRD", Err: "21b", Text: "This is a sample mes",
			},
		},
		{
			"D10",
			Input{Text: []byte("id:dbd1d8e8-d2a4-4efe-b508-60761b1ae484 submit date:201906190720 done date:201906190720 stat:EXPIRED err:030")},
			Receipt{
				ID: "dbd1d8e8-d2a4-4efe-b508-60761b1ae484", Sub: -1, Dlvrd: -1, Submitted: utc(2019, 6, 19, 7, 20, 0),
				Done: utc(2019, 6, 19, 7, 20, 0), State: Expired, RawState: "EXPIRED", Err: "030",
			},
		},
		{
			"D11",
			Input{Text: []byte("id:ce5bc5a9-4f7d-4282-9244-2e1022a9335c sub:000 dlvrd:000 submit date:180903120815 done date:180903120816 DELIVRD err:000 Text:")},
			Receipt{
				ID: "ce5bc5a9-4f7d-4282-9244-2e1022a9335c", Submitted: utc(2018, 9, 3, 12, 8, 15), Done: utc(2018, 9, 3, 12, 8, 16),
				State: Delivered, RawState: "DELIVRD", Err: "000",
			},
		},
		{
			"D12",
			Input{Text: []byte("id:0118Z-0122I-2309U-57DGB sub:000 dlvrd:000 submitdate:180122230957 donedate:000000000000 stat:REJECTD err:375 text:")},
			Receipt{
				ID: "0118Z-0122I-2309U-57DGB", Submitted: utc(2018, 1, 22, 23, 9, 57), State: Rejected, RawState: "REJECTD", Err: "375",
			},
		},
		{
			"D16",
			Input{ReceiptedID: []byte("77\x00"), State: []byte{2}},
			Receipt{ID: "77", Sub: -1, Dlvrd: -1, State: Delivered},
		},
		{
			"D17",
			InputOf(&pdu.DeliverSM{ESMClass: 4, TLVs: pdu.TLVs{{Tag: pdu.TagMessagePayload, Value: []byte("id:77 stat:DELIVRD err:000")}}}),
			Receipt{ID: "77", Sub: -1, Dlvrd: -1, State: Delivered, RawState: "DELIVRD", Err: "000"},
		},
		{
			"D18",
			Input{
				Text:        []byte("id:77 sub:001 dlvrd:001 stat:DELIVRD err:000"),
				ReceiptedID: []byte("A77\x00"), State: []byte{5}, NetworkError: []byte{3, 0, 11},
			},
			Receipt{
				ID: "A77", Sub: 1, Dlvrd: 1, State: Undeliverable, Err: "000", NetworkType: 3, NetworkCode: 11, HasNetwork: true,
				IDConflict: true, StateConflict: true, TextID: "77", TextState: "DELIVRD",
			},
		},
		{
			"D20",
			Input{Text: []byte("id:77 sub:null dlvrd:null submit date:200101010030 done date:200101010030 stat:DELIVRD err:0 text:")},
			Receipt{
				ID: "77", Sub: -1, Dlvrd: -1, Submitted: utc(2020, 1, 1, 1, 0, 30), Done: utc(2020, 1, 1, 1, 0, 30),
				State: Delivered, RawState: "DELIVRD", Err: "0",
			},
		},
		{
			"D21",
			Input{Text: []byte("id:8123 sub:001 dlvrd:000 submit date:220704105916 done date:220704105941 stat:REJECTD err:954 text:")},
			Receipt{
				ID: "8123", Sub: 1, Submitted: utc(2022, 7, 4, 10, 59, 16), Done: utc(2022, 7, 4, 10, 59, 41),
				State: Rejected, RawState: "REJECTD", Err: "954",
			},
		},
		{
			"D22",
			Input{Text: []byte("id:0911897980 sub:001 dlvrd:000 submit date:1201121551 done date:1201121551 stat:UNDELIV err:075 text:-PROFILE")},
			Receipt{
				ID: "0911897980", Sub: 1, Submitted: utc(2012, 1, 12, 15, 51, 0), Done: utc(2012, 1, 12, 15, 51, 0),
				State: Undeliverable, RawState: "UNDELIV", Err: "075", Text: "-PROFILE",
			},
		},
		{
			"D23",
			Input{Text: []byte("id:77 sub:001 dlvrd:001 submit date:0809011130 done date:0809021131 err:123 stat:DND_REJECTED text:Hello World")},
			Receipt{
				ID: "77", Sub: 1, Dlvrd: 1, Submitted: utc(2008, 9, 1, 11, 30, 0), Done: utc(2008, 9, 2, 11, 31, 0),
				State: Rejected, RawState: "DND_REJECTED", Err: "123", Text: "Hello World",
			},
		},
		{
			"D25", // the octet is outside sm_length; a receipt that has it inside reads the same
			Input{Text: []byte("id:77 stat:DELIVRD err:000\x00")},
			Receipt{ID: "77", Sub: -1, Dlvrd: -1, State: Delivered, RawState: "DELIVRD", Err: "000"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Parse(tc.in, Options{Received: utc(2024, 1, 1, 0, 0, 0)})
			if !got.Submitted.Equal(tc.want.Submitted) || !got.Done.Equal(tc.want.Done) {
				t.Errorf("dates %s and %s, want %s and %s", got.Submitted, got.Done, tc.want.Submitted, tc.want.Done)
			}
			got.Submitted, got.Done = tc.want.Submitted, tc.want.Done
			if got != tc.want {
				t.Errorf("\n got %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

// TestExamplesMatch are the examples about finding the message: the id of the response, and that of the receipt.
func TestExamplesMatch(t *testing.T) {
	const (
		exact = iota // found by the first key of the receipt
		loose        // found by a later one
		none
	)
	for _, tc := range []struct {
		name              string
		m                 Matching
		response, receipt string
		want              int
	}{
		{"D13", Matching{Response: Hex, Receipt: Dec}, "39f99dd5", "0972660181", exact},
		{"D13 not configured", Matching{}, "39f99dd5", "0972660181", none},
		{"D14", Matching{}, "00B8BE19", "00B8BE19", exact},
		{"D14 zeros", Matching{}, "00B8BE19", "B8BE19", loose},
		{"D15", Matching{Response: Dec, Receipt: Hex}, "281605133", "10C8F40D", exact},
		{"D15 not configured", Matching{}, "281605133", "10C8F40D", none},
		{"D26", Matching{}, "SAR-15550001-1eedf843-2-1", "SAR-15550001-1eedf843-2-1", exact},
		{"D26 case", Matching{}, "SAR-15550001-1eedf843-2-1", "sar-15550001-1EEDF843-2-1", loose},
	} {
		t.Run(tc.name, func(t *testing.T) {
			index := map[string]bool{}
			for _, k := range tc.m.ResponseKeys(tc.response) {
				index[k] = true
			}
			got := none
			for i, k := range tc.m.ReceiptKeys(tc.receipt) {
				if index[k] {
					got = min(i, loose)
					break
				}
			}
			if got != tc.want {
				t.Errorf("found at %d, want %d (keys %q and %q)", got, tc.want, tc.m.ResponseKeys(tc.response), tc.m.ReceiptKeys(tc.receipt))
			}
			if same := tc.m.ResponseKey(tc.response) == tc.m.ReceiptKey(tc.receipt); same != (tc.want != none) {
				t.Errorf("canonical keys agree: %t", same)
			}
		})
	}
}

// TestExampleD19 has two receipts for one message.
func TestExampleD19(t *testing.T) {
	first := Parse(Input{Text: []byte("id:77 sub:001 dlvrd:000 submit date:2401010100 done date:2401010100 stat:ACCEPTD err:000")}, Options{})
	second := Parse(Input{Text: []byte("id:77 sub:001 dlvrd:001 submit date:2401010100 done date:2401010101 stat:DELIVRD err:000")}, Options{})
	if first.State != Accepted || first.State.Final() {
		t.Errorf("first: %s", first.State)
	}
	if s := NoState.Then(first.State).Then(second.State); s != Delivered || !s.Final() {
		t.Errorf("both: %s", s)
	}
	if s := NoState.Then(second.State).Then(first.State); s != Delivered {
		t.Errorf("out of order: %s", s)
	}
}

// TestExampleD24 is a receipt forged by a phone.
func TestExampleD24(t *testing.T) {
	if IsReceipt(0, false, false) {
		t.Error("esm_class 0 and no TLV is an ordinary message")
	}
	if !LooksLike([]byte("id:77 sub:001 dlvrd:001 stat:DELIVRD err:000 text:")) {
		t.Error("a route that asks for it recognises the text")
	}
}

func TestIsReceipt(t *testing.T) {
	for _, tc := range []struct {
		esmClass  byte
		id, state bool
		want      bool
	}{
		{0x04, false, false, true},
		{0x44, false, false, true},
		{0x08, false, false, true},
		{0x20, false, false, true},
		{0x00, true, false, true},
		{0x00, false, true, true},
		{0x40, false, false, false},
		{0x03, false, false, false},
		{0x10, false, false, false},
		{0x18, false, false, false},
		{0xC3, false, false, false},
	} {
		if got := IsReceipt(tc.esmClass, tc.id, tc.state); got != tc.want {
			t.Errorf("esm_class %02X, TLVs %t %t: %t", tc.esmClass, tc.id, tc.state, got)
		}
	}
	for text, want := range map[string]bool{"id:7": true, " ID:7": true, "id:": false, "": false, "my id:7": false} {
		if LooksLike([]byte(text)) != want {
			t.Errorf("%q: want %t", text, want)
		}
	}
}

func TestInputOf(t *testing.T) {
	payload := pdu.TLVs{
		{Tag: pdu.TagMessagePayload, Value: []byte("id:2")},
		{Tag: pdu.TagReceiptedMessageID, Value: []byte("9\x00")},
		{Tag: pdu.TagMessageState, Value: []byte{2}},
		{Tag: pdu.TagNetworkErrorCode, Value: []byte{3, 0, 1}},
	}
	for _, tc := range []struct {
		name string
		m    pdu.DeliverSM
		want string
	}{
		{"short message first", pdu.DeliverSM{ShortMessage: []byte("id:1"), TLVs: payload}, "id:1"},
		{"payload", pdu.DeliverSM{TLVs: payload}, "id:2"},
		{"payload beside a text that is none", pdu.DeliverSM{ShortMessage: []byte("report"), TLVs: payload}, "id:2"},
		{"header", pdu.DeliverSM{ESMClass: 0x44, ShortMessage: []byte("\x05\x00\x03\x01\x02\x01id:3")}, "id:3"},
		{"broken header", pdu.DeliverSM{ESMClass: 0x44, ShortMessage: []byte("id:4")}, "id:4"},
		{"ucs2", pdu.DeliverSM{DataCoding: 8, ShortMessage: []byte("\x00i\x00d\x00:\x005")}, "id:5"},
		{"not ucs2", pdu.DeliverSM{DataCoding: 8, ShortMessage: []byte("id:55")}, "id:55"},
	} {
		if got := InputOf(&tc.m); string(got.Text) != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got.Text, tc.want)
		}
	}
	in := InputOf(&pdu.DeliverSM{TLVs: payload})
	if string(in.ReceiptedID) != "9\x00" || len(in.State) != 1 || len(in.NetworkError) != 3 {
		t.Errorf("TLVs %+v", in)
	}
}

func TestTLVs(t *testing.T) {
	text := []byte("id:0077 stat:DELIVRD")
	if r := Parse(Input{Text: text, ReceiptedID: []byte("77"), State: []byte{2}}, Options{}); r.IDConflict || r.StateConflict || r.ID != "77" {
		t.Errorf("zeros are no conflict: %+v", r)
	}
	if r := Parse(Input{Text: text, ReceiptedID: []byte{0}, State: []byte{}, NetworkError: []byte{1}}, Options{}); r.ID != "0077" || r.State != Delivered || r.HasNetwork {
		t.Errorf("empty TLVs: %+v", r)
	}
	if r := Parse(Input{State: []byte{42}}, Options{}); r.State != Unknown {
		t.Errorf("state 42: %s", r.State)
	}
}
