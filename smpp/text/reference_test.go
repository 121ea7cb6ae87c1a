package text

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

func TestReferences(t *testing.T) {
	r := NewReferences()
	first := r.Next("ACME", "15550100")
	for i := range 1 << 16 {
		if got := r.Next("ACME", "15550100"); got != first+1+uint16(i) {
			t.Fatalf("number %d is %d, want %d", i, got, first+1+uint16(i))
		}
	}
	starts := map[uint16]bool{}
	for i := range 100 {
		starts[r.Next("ACME", fmt.Sprint(i))] = true
	}
	if len(starts) < 50 {
		t.Errorf("100 pairs start at %d different numbers", len(starts))
	}
	if size := unsafe.Sizeof(*r); size > 32<<10 {
		t.Errorf("%d octets of memory", size)
	}
	if n := testing.AllocsPerRun(100, func() { r.Next("ACME", "15550100") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTransliterate(t *testing.T) {
	has := func(r rune) bool { return hasGSM7(r, NoLanguage) }
	for in, want := range map[string]string{
		"":                           "",
		"café à la carte":            "café à la carte", // GSM 7-bit has these
		"“It’s” – fine…":             `"It's" - fine...`,
		"ação, çok güzel, žluťoučký": "acao, cok güzel, zlutoucky",
		"e\u0301":                    "e",
		"a\u00A0b\u2009c\td":         "a b c d",
		"zero\u200Bwidth":            "zerowidth",
		"№ 5 • ½ • ™ © ®":            "No 5 * 1/2 * (TM) (c) (R)",
		"Œuvre œuf Þing":             "OEuvre oeuf THing",
		"жук":                        "жук", // no lookalike: stays
		"€":                          "€",
	} {
		if got := transliterate(in, has); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	ascii := func(r rune) bool { return r <= maxASCII }
	if got := transliterate("Ærø £ ß €", ascii); got != "AEro £ ss EUR" {
		t.Errorf("for ASCII: %q", got)
	}
}

func TestLookalikesAreASCII(t *testing.T) {
	for r := rune(0x80); r < 0x3000; r++ {
		if like, ok := lookalike(r); ok && strings.IndexFunc(like, func(c rune) bool { return c > maxASCII }) >= 0 {
			t.Errorf("U+%04X: %q", r, like)
		}
	}
}
