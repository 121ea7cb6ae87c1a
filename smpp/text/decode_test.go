package text

import (
	"errors"
	"testing"
	"unicode/utf8"
)

// TestTablesAgree checks the tables that encode against the table that decodes, which is in the order of the
// specification.
func TestTablesAgree(t *testing.T) {
	septet := 0
	for _, r := range basicTable {
		got, ok := AppendGSM7(nil, string(r))
		if septet == escape {
			if ok {
				t.Error("the escape is encoded as a character")
			}
		} else if !ok || len(got) != 1 || int(got[0]) != septet {
			t.Errorf("U+%04X: %x, want %02X", r, got, septet)
		}
		septet++
	}
	if septet != 128 {
		t.Errorf("%d septets, want 128", septet)
	}
	for l, count := range map[Language]int{NoLanguage: 10, Turkish: 17, Spanish: 19, Portuguese: 37} {
		seen := map[byte]bool{}
		pairs := shiftPairs(l)
		for i := 0; i < len(pairs); {
			r, size := utf8.DecodeRuneInString(pairs[i+1:])
			if seen[pairs[i]] {
				t.Errorf("%s: septet %02X twice", l, pairs[i])
			}
			seen[pairs[i]] = true
			if got := decodeSeptets([]byte{escape, pairs[i]}, l); got != string(r) {
				t.Errorf("%s: %02X reads %q, want %q", l, pairs[i], got, r)
			}
			i += 1 + size
		}
		if len(seen) != count {
			t.Errorf("%s: %d characters, want %d", l, len(seen), count)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, tc := range []struct {
		name       string
		dataCoding byte
		data       string
		udhi       bool
		def        Alphabet
		want       string
	}{
		{"gsm7", 0, "\x00\x01\x1Be\x1B<", false, AlphabetGSM7, "@£€["},
		{"escape of nothing", 0, "a\x1B", false, AlphabetGSM7, "a "},
		{"escape twice", 0, "\x1B\x1Ba", false, AlphabetGSM7, " a"},
		{"escape of a basic character", 0, "\x1Ba", false, AlphabetGSM7, "a"},
		{"no septet", 0, "a\x80", false, AlphabetGSM7, "a\uFFFD"},
		{"packed", 0, "\xE8\x32\x9B\xFD\x46\x97\xD9\xEC\x37", false, AlphabetGSM7Packed, "hellohello"},
		{"packed nothing", 0, "", false, AlphabetGSM7Packed, ""},
		{"latin1 default", 0, "\xA3", false, AlphabetLatin1, "£"},
		{"ascii default", 0, "@$", false, AlphabetASCII, "@$"},
		{"ascii", 1, "@\xE9", false, AlphabetGSM7, "@é"},
		{"latin1", 3, "\xE9", false, AlphabetGSM7, "é"},
		{"ucs2", 8, "\x04\x36\xD8\x3D\xDE\x00", false, AlphabetGSM7, "ж\U0001F600"},
		{"half a surrogate pair", 8, "\xD8\x3D\x00a", false, AlphabetGSM7, "\uFFFDa"},
		{"flash", 0x10, "\x00", false, AlphabetGSM7, "@"},
		{"flash ucs2", 0x18, "\x00a", false, AlphabetGSM7, "a"},
		{"class 0", 0xF0, "\x00", false, AlphabetGSM7, "@"},
		{"message waiting", 0xC8, "\x00", false, AlphabetGSM7, "@"},
		{"message waiting ucs2", 0xE0, "\x00a", false, AlphabetGSM7, "a"},
		{"header", 0, "\x05\x00\x03\x01\x02\x01a", true, AlphabetGSM7, "a"},
		{"header only", 0, "\x05\x00\x03\x01\x02\x01", true, AlphabetGSM7, ""},
		{"turkish", 0, "\x03\x24\x01\x01\x1Bs", true, AlphabetGSM7, "ş"},
		{"spanish", 0, "\x03\x24\x01\x02\x1Ba", true, AlphabetGSM7, "á"},
		{"portuguese", 0, "\x03\x24\x01\x03\x1B\x7B", true, AlphabetGSM7, "ã"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Decode(tc.dataCoding, []byte(tc.data), tc.udhi, tc.def)
			if err != nil || got != tc.want {
				t.Errorf("%q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, tc := range []struct {
		name       string
		dataCoding byte
		data       string
		udhi       bool
		want       error
	}{
		{"binary", 4, "a", false, ErrBinary},
		{"octets of class 1", 0xF5, "a", false, ErrBinary},
		{"flash octets", 0x14, "a", false, ErrBinary},
		{"JIS", 5, "a", false, ErrUnsupported},
		{"compressed", 0x20, "a", false, ErrUnsupported},
		{"reserved alphabet", 0x1C, "a", false, ErrUnsupported},
		{"odd", 8, "abc", false, ErrOddUCS2},
		{"no header", 0, "", true, ErrHeader},
		{"header too long", 0, "\x05\x00", true, ErrHeader},
		{"element too long", 0, "\x03\x00\x09\x01a", true, ErrHeader},
		{"locking shift", 0, "\x03\x25\x01\x01a", true, ErrUnsupported},
		{"hindi", 0, "\x03\x24\x01\x06a", true, ErrUnsupported},
	} {
		if got, err := Decode(tc.dataCoding, []byte(tc.data), tc.udhi, AlphabetGSM7); !errors.Is(err, tc.want) || got != "" {
			t.Errorf("%s: %q, %v", tc.name, got, err)
		}
	}
}

// TestDecodePartsOfOthers reads a text whose sender cut pairs in two.
func TestDecodePartsOfOthers(t *testing.T) {
	got, err := DecodeParts(0, [][]byte{[]byte("\x05\x00\x03\x01\x02\x01a\x1B"), []byte("\x05\x00\x03\x01\x02\x02ea")}, true, AlphabetGSM7)
	if err != nil || got != "a€a" {
		t.Errorf("%q, %v", got, err)
	}
	got, err = DecodeParts(8, [][]byte{{0xD8, 0x3D}, {0xDE, 0x00}}, false, AlphabetGSM7)
	if err != nil || got != "\U0001F600" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestParseHeader(t *testing.T) {
	for _, tc := range []struct {
		name string
		udh  string
		want Header
	}{
		{"8-bit", "\x05\x00\x03\xAB\x03\x02", Header{Total: 3, Part: 2, Reference: 0xAB}},
		{"16-bit", "\x06\x08\x04\xAB\xCD\x03\x02", Header{Total: 3, Part: 2, Reference: 0xABCD, Wide: true}},
		{"languages", "\x06\x24\x01\x01\x25\x01\x03", Header{SingleShift: Turkish, LockingShift: Portuguese}},
		{"ports and parts", "\x0B\x05\x04\x23\xF4\x00\x00\x00\x03\x01\x02\x01", Header{Total: 2, Part: 1, Reference: 1}},
		{"part 0", "\x05\x00\x03\xAB\x03\x00", Header{}},
		{"part beyond the total", "\x05\x00\x03\xAB\x03\x04", Header{}},
		{"short element", "\x04\x00\x02\xAB\x03", Header{}},
		{"empty", "\x00", Header{}},
	} {
		if got, err := ParseHeader([]byte(tc.udh)); err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v", tc.name, got, err)
		}
	}
}

// TestPackedPadding has seven spare bits, which would read as an "@" if they were zero.
func TestPackedPadding(t *testing.T) {
	for n := range 33 {
		for header := range 12 {
			septets := make([]byte, n) // n times "@"
			packed := appendPacked(nil, septets, header)
			if len(packed) != packedLen(n, header) {
				t.Errorf("%d septets after %d octets take %d, counted as %d", n, header, len(packed), packedLen(n, header))
			}
			if got := unpack(packed, header); len(got) != n {
				t.Errorf("%d septets after %d octets read as %d", n, header, len(got))
			}
		}
	}
}
