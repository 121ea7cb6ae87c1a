package receipt

import (
	"slices"
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	const uuid = "74E02ee1-4e2f-4a6e-a78b-4b247d756a22"
	for _, tc := range []struct {
		id   string
		f    Format
		want []string
	}{
		{"", Opaque, []string{""}},
		{"77", Opaque, []string{"77"}},
		{"0077", Opaque, []string{"0077", "77"}},
		{"000", Opaque, []string{"000", "0"}},
		{"00B8BE19", Opaque, []string{"00B8BE19", "00b8be19", "b8be19"}},
		{"0118Z-0122I", Opaque, []string{"0118Z-0122I", "0118z-0122i"}},
		{uuid, Opaque, []string{uuid, strings.ToLower(uuid)}},
		{uuid, Hex, []string{uuid, strings.ToLower(uuid)}},
		{strings.ToLower(uuid), Opaque, []string{strings.ToLower(uuid)}},
		{"00" + uuid[2:], Opaque, []string{"00" + uuid[2:], strings.ToLower("00" + uuid[2:])}},
		{"39f99dd5", Hex, []string{"#39f99dd5"}},
		{"0972660181", Dec, []string{"#39f99dd5"}},
		{"0x10", Hex, []string{"0x10"}},
		{"12ab", Dec, []string{"12ab"}},
		{"117062714244798261", Dec, []string{"#19fe3eb1b011735"}},
		{"117062714244798261", Hex, []string{"#117062714244798261"}},
		{"", Dec, []string{""}},
		{"", Hex, []string{""}},
		{strings.Repeat("9", 65), Dec, []string{strings.Repeat("9", 65)}},
	} {
		if got := Keys(tc.id, tc.f); !slices.Equal(got, tc.want) {
			t.Errorf("%q as %s: %q, want %q", tc.id, tc.f, got, tc.want)
		}
		if got := Canonical(tc.id, tc.f); got != tc.want[len(tc.want)-1] {
			t.Errorf("%q as %s: canonical %q", tc.id, tc.f, got)
		}
	}
}

// TestNumbersOfDifferentMessages has ids that look alike and are not: 12345678 as hexadecimal and as decimal.
func TestNumbersOfDifferentMessages(t *testing.T) {
	m := Matching{Response: Hex, Receipt: Dec}
	if m.ResponseKey("12345678") == m.ReceiptKey("12345678") {
		t.Error("a hexadecimal response matches the same digits in decimal")
	}
	if m.ResponseKey("12345678") != m.ReceiptKey("305419896") {
		t.Error("0x12345678 is 305419896")
	}
	// An id that is no number must not meet the mark of a number.
	if m.ResponseKey("A") == m.ReceiptKey("A") {
		t.Error("0xA matches an id that is the letter A")
	}
}

// TestNoConversionUnlessBothAreSet leaves ids alone when one format is opaque, or both are the same.
func TestNoConversionUnlessBothAreSet(t *testing.T) {
	for _, m := range []Matching{{}, {Response: Hex}, {Receipt: Dec}, {Response: Hex, Receipt: Hex}, {Response: Dec, Receipt: Dec}} {
		if got := m.ResponseKeys("0010"); !slices.Equal(got, []string{"0010", "10"}) {
			t.Errorf("%v: response keys %q", m, got)
		}
		if got := m.ReceiptKeys("0010"); !slices.Equal(got, []string{"0010", "10"}) {
			t.Errorf("%v: receipt keys %q", m, got)
		}
	}
}

func TestRank(t *testing.T) {
	const uuid = "74e02ee1-4e2f-4a6e-a78b-4b247d756a22"
	hexDec := Matching{Response: Hex, Receipt: Dec}
	for _, tc := range []struct {
		m                 Matching
		response, receipt string
		want              int // -1: no match
	}{
		{Matching{}, "00B8BE19", "00B8BE19", 0},
		{Matching{}, "00B8BE19", "00b8be19", 1},
		{Matching{}, "00B8BE19", "B8BE19", 2},
		{Matching{}, "77", "0077", 2},
		{Matching{}, "0a77", "a77", 2},
		{Matching{}, "A77", "a77", 1},
		{Matching{}, "77", "78", -1},
		{Matching{}, "X077", "X77", -1},
		{Matching{}, uuid, uuid, 0},
		{Matching{}, uuid, strings.ToUpper(uuid), 1},
		{hexDec, "39f99dd5", "0972660181", 0},
		{hexDec, "12345678", "12345678", -1},
		{hexDec, uuid, uuid, 0},
		{Matching{}, "39f99dd5", "0972660181", -1},
	} {
		rank, ok := tc.m.Rank(tc.response, tc.receipt)
		if ok != (tc.want >= 0) || ok && rank != tc.want {
			t.Errorf("%+v, %q and %q: rank %d, %t; want %d", tc.m, tc.response, tc.receipt, rank, ok, tc.want)
		}
		if ok && tc.m.ResponseKey(tc.response) != tc.m.ReceiptKey(tc.receipt) {
			t.Errorf("%+v, %q and %q fit and have different canonical keys", tc.m, tc.response, tc.receipt)
		}
	}
}

// TestLookups lists how the ids of one receipt are looked for.
func TestLookups(t *testing.T) {
	hexDec := Matching{Response: Hex, Receipt: Dec}
	for _, tc := range []struct {
		name string
		m    Matching
		ids  []string
		want []string // keys
	}{
		{"one id", Matching{}, []string{"A77"}, []string{"a77"}},
		{"one id and an empty one", Matching{}, []string{"", "77"}, []string{"77"}},
		{"two ids", Matching{}, []string{"499602d2", "1234567890"}, []string{"499602d2", "1234567890"}},
		{"two that are one", Matching{}, []string{"0077", "77"}, []string{"77", "77"}},
		{"a number is what receipts write", hexDec, []string{"12345678"}, []string{"#bc614e"}},
		{"no number of that form", hexDec, []string{"39f99dd5"}, []string{"39f99dd5", "#39f99dd5"}},
		{"two, each in either form", hexDec, []string{"12345678", "305419896"}, []string{"#bc614e", "#12345678", "#12345678", "#305419896"}},
	} {
		var got []string
		for _, l := range tc.m.Lookups(tc.ids...) {
			got = append(got, l.Key())
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	last := hexDec.Lookups("39f99dd5")[1]
	if rank, ok := last.Rank("39F99DD5"); !ok || rank != 0 {
		t.Errorf("as responses write it: rank %d, %t; want 0", rank, ok)
	}
}

func TestIsUUID(t *testing.T) {
	const uuid = "74e02ee1-4e2f-4a6e-a78b-4b247d756a22"
	if !isUUID(uuid) || isUUID(uuid[:35]) || isUUID(strings.Replace(uuid, "-", "a", 1)) || isUUID(strings.Replace(uuid, "7", "g", 1)) {
		t.Error("the form of a UUID is not recognised")
	}
}

func TestFormatWords(t *testing.T) {
	for _, f := range []Format{Opaque, Hex, Dec} {
		text, _ := f.MarshalText()
		var back Format
		if err := back.UnmarshalText(text); err != nil || back != f {
			t.Errorf("%s: %s, %v", f, back, err)
		}
	}
	var f Format
	if err := f.UnmarshalText([]byte("octal")); err == nil || err.Error() != `id format "octal" is not known: write one of opaque, hex, dec` {
		t.Errorf("error %v", err)
	}
	if Format(9).String() != "format(9)" {
		t.Error(Format(9).String())
	}
}
