package text

import (
	"strings"
	"testing"
)

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
