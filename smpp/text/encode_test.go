package text

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func rep(s string, n int) string { return strings.Repeat(s, n) }

// TestCases are the agreed cases T01 to T27: alphabet, number of parts, and units in each part.
func TestCases(t *testing.T) {
	const zhe, grin = "ж", "\U0001F600"
	for _, tc := range []struct {
		name     string
		text     string
		options  Options
		encoding Encoding
		language Language
		units    []int
	}{
		{"T01", rep("a", 160), Options{}, GSM7, 0, []int{160}},
		{"T02", rep("a", 161), Options{}, GSM7, 0, []int{153, 8}},
		{"T03", rep("a", 306), Options{}, GSM7, 0, []int{153, 153}},
		{"T04", rep("a", 307), Options{}, GSM7, 0, []int{153, 153, 1}},
		{"T05", rep("€", 80), Options{}, GSM7, 0, []int{160}},
		{"T06", rep("€", 81), Options{}, GSM7, 0, []int{152, 10}},
		{"T07", rep("a", 152) + "€" + rep("a", 7), Options{}, GSM7, 0, []int{152, 9}},
		{"T08", rep("a", 152) + "€" + rep("a", 152), Options{}, GSM7, 0, []int{152, 153, 1}},
		{"T09", rep("a", 159) + "[", Options{}, GSM7, 0, []int{153, 8}},
		{"T10", rep("@", 160), Options{}, GSM7, 0, []int{160}},
		{"T11", rep("a", 160) + "’", Options{}, UCS2, 0, []int{67, 67, 27}},
		{"T12", "ç" + rep("a", 100), Options{}, UCS2, 0, []int{67, 34}},
		{"T13", rep(zhe, 70), Options{}, UCS2, 0, []int{70}},
		{"T14", rep(zhe, 71), Options{}, UCS2, 0, []int{67, 4}},
		{"T15", rep(grin, 35), Options{}, UCS2, 0, []int{70}},
		{"T16", rep(grin, 36), Options{}, UCS2, 0, []int{66, 6}},
		{"T17", rep(zhe, 66) + grin + rep(zhe, 66), Options{}, UCS2, 0, []int{66, 67, 1}},
		{"T18", rep("a", 304), Options{Join: JoinUDH16}, GSM7, 0, []int{152, 152}},
		{"T19", rep("a", 305), Options{Join: JoinUDH16}, GSM7, 0, []int{152, 152, 1}},
		{"T20", rep("a", 150) + rep("ş", 2), Options{Language: Turkish}, GSM7, Turkish, []int{154}},
		{"T21", rep("a", 150) + rep("ş", 2), Options{}, UCS2, 0, []int{67, 67, 18}},
		{"T22", rep("a", 150) + rep("ş", 3), Options{Language: Turkish}, GSM7, Turkish, []int{149, 7}},
		{"T23", rep(zhe, 134), Options{}, UCS2, 0, []int{67, 67}},
		{"T24", rep(zhe, 135), Options{}, UCS2, 0, []int{67, 67, 1}},
		{"T25", "", Options{}, GSM7, 0, []int{0}},
		{"T26", "\t" + rep("a", 100), Options{}, UCS2, 0, []int{67, 34}},
		{"T27", "`" + rep("a", 10), Options{}, UCS2, 0, []int{11}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := Encode(tc.text, tc.options)
			if err != nil {
				t.Fatal(err)
			}
			if e.Encoding != tc.encoding || e.Language != tc.language || e.Parts != len(tc.units) {
				t.Errorf("%s, %s, %d parts; want %s, %s, %d parts", e.Encoding, e.Language, e.Parts, tc.encoding, tc.language, len(tc.units))
			}
			if got := unitsOf(e); !slices.Equal(got, tc.units) {
				t.Errorf("units %v, want %v", got, tc.units)
			}
			checkSegments(t, e, AlphabetGSM7, tc.text)
		})
	}
}

// TestCasesBinary is T28.
func TestCasesBinary(t *testing.T) {
	for size, units := range map[int][]int{140: {140}, 141: {134, 7}, 268: {134, 134}, 269: {134, 134, 1}} {
		t.Run(fmt.Sprintf("T28/%d", size), func(t *testing.T) {
			data := bytes.Repeat([]byte{0xD8}, size)
			e, err := EncodeBinary(data, DataCodingBinary, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := unitsOf(e); !slices.Equal(got, units) || e.DataCoding != 4 || e.Encoding != Binary {
				t.Errorf("units %v with data_coding %d, want %v", got, e.DataCoding, units)
			}
			var back []byte
			for _, s := range e.Segments {
				back = append(back, s.Data...)
			}
			if !bytes.Equal(back, data) {
				t.Error("the parts are not the data")
			}
		})
	}
}

func unitsOf(e Encoded) []int {
	var units []int
	for _, s := range e.Segments {
		units = append(units, s.Units)
	}
	return units
}

// checkSegments checks what must hold of every encoded text: it reads back, every part fits, and no pair is cut.
func checkSegments(t *testing.T, e Encoded, def Alphabet, want string) {
	t.Helper()
	if len(e.Segments) == 0 || !e.Payload() && e.Parts != len(e.Segments) {
		t.Fatalf("%d segments for %d parts", len(e.Segments), e.Parts)
	}
	var parts [][]byte
	var each strings.Builder
	udhi := len(e.Segments[0].UDH) > 0
	for i, s := range e.Segments {
		parts = append(parts, s.ShortMessage)
		if !bytes.Equal(s.ShortMessage, append(slices.Clone(s.UDH), s.Data...)) {
			t.Errorf("segment %d: the short message is not header and data", i)
		}
		if (len(s.UDH) > 0) != udhi {
			t.Errorf("segment %d: header %x differs from the first", i, s.UDH)
		}
		u, _ := unitOf(e.DataCoding, def)
		if onAir := airOctets(e, s, u); onAir > 140 && !e.Payload() {
			t.Errorf("segment %d takes %d octets on air", i, onAir)
		}
		one, err := Decode(e.DataCoding, s.ShortMessage, udhi, def)
		if err != nil {
			t.Fatalf("segment %d: %v", i, err)
		}
		each.WriteString(one)
		if udhi {
			h, err := ParseHeader(s.UDH)
			if err != nil {
				t.Fatalf("segment %d: %v", i, err)
			}
			if len(e.Segments) > 1 && (int(h.Total) != len(e.Segments) || int(h.Part) != i+1) {
				t.Errorf("segment %d: part %d of %d", i, h.Part, h.Total)
			}
		}
	}
	whole, err := DecodeParts(e.DataCoding, parts, udhi, def)
	if err != nil {
		t.Fatal(err)
	}
	if whole != want {
		t.Errorf("read back as %q, want %q", whole, want)
	}
	if each.String() != want {
		t.Errorf("parts read one by one as %q, want %q: a pair was cut", each.String(), want)
	}
}

// airOctets returns what a segment takes of the 140 octets on air.
func airOctets(e Encoded, s Segment, u unit) int {
	header := len(s.UDH)
	if e.Join == JoinSAR && len(e.Segments) > 1 {
		header = 6 // the SMSC adds it
	}
	switch u {
	case septet, packedSeptet, asciiChar:
		return header + packedLen(s.Units, header)
	case utf16Unit:
		return header + 2*s.Units
	case latin1Char, octet, utf8Octet:
	}
	return header + s.Units
}

func TestHeaders(t *testing.T) {
	long := rep("a", 161)
	turkish := rep("a", 150) + "şşş"
	port := []byte{6, 5, 4, 0x23, 0xF4, 0, 0}
	for _, tc := range []struct {
		name    string
		text    string
		options Options
		headers []string
	}{
		{"one part", "a", Options{Reference: 0x1234}, []string{""}},
		{"8-bit", long, Options{Reference: 0x1234}, []string{"050003340201", "050003340202"}},
		{"16-bit", long, Options{Reference: 0x1234, Join: JoinUDH16}, []string{"06080412340201", "06080412340202"}},
		{"SAR", long, Options{Reference: 0x1234, Join: JoinSAR}, []string{"", ""}},
		{"language", "ş", Options{Language: Turkish}, []string{"03240101"}},
		{"language joined", turkish, Options{Language: Turkish, Reference: 7}, []string{"080003070201240101", "080003070202240101"}},
		{"language joined by SAR", turkish, Options{Language: Turkish, Reference: 7, Join: JoinSAR}, []string{"080003070201240101", "080003070202240101"}},
		{"language joined by payload", turkish, Options{Language: Turkish, Reference: 7, Join: JoinPayload}, []string{"080003070201240101", "080003070202240101"}},
		{"own header", "a", Options{UDH: port}, []string{"06050423f40000"}},
		{"own header joined", long, Options{UDH: port, Reference: 9}, []string{"0b000309020105" + "0423f40000", "0b0003090202050423f40000"}},
		{"own header and language", "ş", Options{UDH: port, Language: Turkish}, []string{"09050423f40000240101"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := Encode(tc.text, tc.options)
			if err != nil {
				t.Fatal(err)
			}
			var headers []string
			for _, s := range e.Segments {
				headers = append(headers, fmt.Sprintf("%x", s.UDH))
			}
			if !slices.Equal(headers, tc.headers) {
				t.Errorf("headers %q, want %q", headers, tc.headers)
			}
			checkSegments(t, e, AlphabetGSM7, tc.text)
		})
	}
}

func TestSAR(t *testing.T) {
	e, err := Encode(rep("a", 307), Options{Join: JoinSAR, Reference: 0x1234})
	if err != nil {
		t.Fatal(err)
	}
	if got := unitsOf(e); !slices.Equal(got, []int{153, 153, 1}) {
		t.Errorf("units %v: the SMSC needs room for a header on air", got)
	}
	for i := range e.Segments {
		reference, total, number, ok := e.SAR(i)
		if !ok || reference != [2]byte{0x12, 0x34} || total != 3 || int(number) != i+1 {
			t.Errorf("segment %d: %x %d/%d %t", i, reference, number, total, ok)
		}
	}
	e, _ = Encode("a", Options{Join: JoinSAR})
	if _, _, _, ok := e.SAR(0); ok {
		t.Error("a whole text has nothing to join")
	}
}

func TestPayload(t *testing.T) {
	text := rep("a", 152) + "€" + rep("a", 152)
	e, err := Encode(text, Options{Join: JoinPayload})
	if err != nil {
		t.Fatal(err)
	}
	if !e.Payload() || len(e.Segments) != 1 || e.Parts != 3 || len(e.Segments[0].Data) != 306 || len(e.Segments[0].UDH) != 0 {
		t.Errorf("payload %t, %d segments, %d parts, %d octets", e.Payload(), len(e.Segments), e.Parts, len(e.Segments[0].Data))
	}
	checkSegments(t, e, AlphabetGSM7, text)
	if e, _ = Encode("a", Options{Join: JoinPayload}); e.Payload() {
		t.Error("a short text needs no message_payload")
	}
	if _, err = EncodeBinary(make([]byte, 1<<16), 4, Options{Join: JoinPayload}); err == nil {
		t.Error("65536 octets in a TLV")
	}
}

func TestAlphabets(t *testing.T) {
	const both = "£10 [ok] é"
	for _, tc := range []struct {
		name       string
		text       string
		options    Options
		dataCoding byte
		encoding   Encoding
		wire       string
	}{
		{"gsm7", both, Options{}, 0, GSM7, "\x0110 \x1B<ok\x1B> \x05"},
		{"packed", "hellohello", Options{Alphabet: AlphabetGSM7Packed}, 0, GSM7, "\xE8\x32\x9B\xFD\x46\x97\xD9\xEC\x37"},
		{"latin1 default", both, Options{Alphabet: AlphabetLatin1}, 0, Latin1, "\xA310 [ok] \xE9"},
		{"latin1 asked", both, Options{Encoding: Latin1}, 3, Latin1, "\xA310 [ok] \xE9"},
		{"latin1 asked, its default", both, Options{Encoding: Latin1, Alphabet: AlphabetLatin1}, 0, Latin1, "\xA310 [ok] \xE9"},
		{"latin1 as 1", both, Options{Encoding: Latin1, Latin1DataCoding: 1}, 1, Latin1, "\xA310 [ok] \xE9"},
		{"ascii default", "$[`]", Options{Alphabet: AlphabetASCII}, 0, GSM7, "$[`]"},
		{"ascii lacks it", "é", Options{Alphabet: AlphabetASCII}, 8, UCS2, "\x00\xE9"},
		{"latin1 lacks it", "€", Options{Alphabet: AlphabetLatin1}, 8, UCS2, "\x20\xAC"},
		{"ucs2 asked", "a", Options{Encoding: UCS2}, 8, UCS2, "\x00a"},
		{"beyond the basic plane", "\U0001F600", Options{}, 8, UCS2, "\xD8\x3D\xDE\x00"},
		{"gsm7 asked, language used", "ğ", Options{Encoding: GSM7, Language: Turkish}, 0, GSM7, "\x03\x24\x01\x01\x1Bg"},
		{"language not needed", "é", Options{Language: Turkish}, 0, GSM7, "\x05"},
		{"language not enough", "ğж", Options{Language: Turkish}, 8, UCS2, "\x01\x1F\x04\x36"},
		{"transliterated", "“a” – b…", Options{Transliterate: true}, 0, GSM7, `"a" - b...`},
		{"transliteration not needed", "é", Options{Transliterate: true}, 0, GSM7, "\x05"},
		{"transliteration not enough", "’ж", Options{Transliterate: true}, 8, UCS2, "\x20\x19\x04\x36"},
		{"transliterated for latin1", "“é”", Options{Transliterate: true, Encoding: Latin1}, 3, Latin1, "\"\xE9\""},
		{"transliterated for ascii", "“éß”", Options{Transliterate: true, Alphabet: AlphabetASCII}, 0, GSM7, `"ess"`},
		{"language and transliteration", "“ğ”", Options{Transliterate: true, Language: Turkish}, 0, GSM7, "\x03\x24\x01\x01\"\x1Bg\""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := Encode(tc.text, tc.options)
			if err != nil {
				t.Fatal(err)
			}
			if e.DataCoding != tc.dataCoding || e.Encoding != tc.encoding || string(e.Segments[0].ShortMessage) != tc.wire {
				t.Errorf("data_coding %d, %s, %x; want %d, %s, %x", e.DataCoding, e.Encoding, e.Segments[0].ShortMessage,
					tc.dataCoding, tc.encoding, tc.wire)
			}
		})
	}
}

// TestASCIICountsAsGSM7 has one octet for "[", which is two septets once the SMSC has turned it into GSM 7-bit.
func TestASCIICountsAsGSM7(t *testing.T) {
	e, err := Encode(rep("a", 159)+"[", Options{Alphabet: AlphabetASCII})
	if err != nil {
		t.Fatal(err)
	}
	if got := unitsOf(e); !slices.Equal(got, []int{153, 8}) {
		t.Errorf("units %v", got)
	}
	e, _ = Encode(rep("a", 152)+rep("[", 80), Options{Alphabet: AlphabetASCII})
	if got := unitsOf(e); !slices.Equal(got, []int{152, 152, 8}) {
		t.Errorf("units %v", got)
	}
}

func TestSpareAndMaxParts(t *testing.T) {
	e, err := Encode(rep("é", 141), Options{Encoding: Latin1, Spare: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := unitsOf(e); !slices.Equal(got, []int{133, 8}) {
		t.Errorf("units %v", got)
	}
	if e, err = Encode(rep("a", 153*255), Options{}); err != nil || e.Parts != 255 {
		t.Errorf("%d parts, %v", e.Parts, err)
	}
	var long *TooLongError
	if _, err = Encode(rep("a", 153*255+1), Options{}); !errors.As(err, &long) || long.Max != 255 || long.Units != 153*255+1 {
		t.Errorf("error %v", err)
	}
	if _, err = Encode(rep("a", 161), Options{MaxParts: 1}); !errors.As(err, &long) || long.Max != 1 {
		t.Errorf("error %v", err)
	}
}

func TestEncodeBinaryByDataCoding(t *testing.T) {
	for _, tc := range []struct {
		name       string
		data       string
		dataCoding byte
		options    Options
		units      []int
	}{
		{"septets", rep("a", 160), 0, Options{}, []int{160}},
		{"escape stays whole", rep("a", 152) + "\x1Be" + rep("a", 8), 0, Options{}, []int{152, 10}},
		{"packed already", rep("a", 160), 0, Options{Alphabet: AlphabetGSM7Packed}, []int{134, 26}},
		{"surrogates stay whole", rep("\x00a", 66) + "\xD8\x3D\xDE\x00" + rep("\x00a", 3), 8, Options{}, []int{66, 5}},
		{"flash octets", rep("\xFF", 141), 0xF5, Options{}, []int{134, 7}},
		{"unknown data_coding", rep("\xFF", 141), 0x80, Options{}, []int{134, 7}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := EncodeBinary([]byte(tc.data), tc.dataCoding, tc.options)
			if err != nil {
				t.Fatal(err)
			}
			if got := unitsOf(e); !slices.Equal(got, tc.units) || e.DataCoding != tc.dataCoding {
				t.Errorf("units %v, data_coding %d", got, e.DataCoding)
			}
		})
	}
}

func BenchmarkEncodeOneSegment(b *testing.B) {
	text := rep("The quick brown fox. ", 7)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(text, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendGSM7(b *testing.B) {
	text := rep("The quick brown fox. ", 7)
	buf := make([]byte, 0, 160)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := AppendGSM7(buf[:0], text); !ok {
			b.Fatal("not encoded")
		}
	}
}

func TestAllocations(t *testing.T) {
	text := rep("The quick brown fox. ", 7)
	if n := testing.AllocsPerRun(100, func() { _, _ = Encode(text, Options{}) }); n > 2 {
		t.Errorf("Encode: %v allocations, want the octets and the segment", n)
	}
	buf := make([]byte, 0, 160)
	if n := testing.AllocsPerRun(100, func() { _, _ = AppendGSM7(buf, text) }); n != 0 {
		t.Errorf("AppendGSM7: %v allocations", n)
	}
}
