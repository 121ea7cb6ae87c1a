package printable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestString(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		"plain text, 100 %":           "plain text, 100 %",
		"Grüße, 世界 🙂":                 "Grüße, 世界 🙂",
		"a\nb\tc\rd":                  `a\u000ab\u0009c\u000dd`,
		"\x1b[2J\x1b]0;owned\x07":     `\u001b[2J\u001b]0;owned\u0007`,
		"\u009b2J":                    `\u009b2J`,
		"\x9b2J":                      `\x9b2J`,
		"abc\u202etxt.exe":            `abc\u202etxt.exe`,
		"zero\u200bwidth\ufeff":       `zero\u200bwidth\ufeff`,
		"line\u2028par\u2029":         `line\u2028par\u2029`,
		"tag\U000e0041":               `tag\udb40\udc41`,
		"del\x7f nul\x00":             `del\u007f nul\u0000`,
		"a replacement \ufffd itself": "a replacement \ufffd itself",
	} {
		if got := String(in); got != want {
			t.Errorf("String(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestErrorKeepsTheLinesOfJoinedErrorsAlone(t *testing.T) {
	err := fmt.Errorf("check: %w", errors.Join(errors.New("first\nfaked line"), fmt.Errorf("second %w", errors.New("\x1b[2J"))))
	want := "check: first\\u000afaked line\nsecond \\u001b[2J"
	if got := Error(err); got != want {
		t.Errorf("Error = %q, want %q", got, want)
	}
	err = fmt.Errorf("%w and %w", errors.New("a\nb"), errors.New("c"))
	if got := Error(err); got != `a\u000ab and c` {
		t.Errorf("Error = %q", got)
	}
}

func TestWriterKeepsJSONAndSplitCharacters(t *testing.T) {
	value := "\x1b[2J\u009b\u202e\U000e0041 世界\x7f"
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := &Writer{To: &out}
	for _, octet := range data {
		if n, err := w.Write([]byte{octet}); n != 1 || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	var back string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back != value {
		t.Errorf("%s is %q (%v), want %q", out.Bytes(), back, err, value)
	}
	if strings.ContainsFunc(out.String(), func(r rune) bool { return !unicode.IsGraphic(r) }) {
		t.Errorf("%q is written", out.String())
	}
}

func FuzzNothingUnsafePasses(f *testing.F) {
	f.Add("a\x1b\n\x9b\u202e世", 2)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		cut = min(max(cut, 0), len(s))
		var out bytes.Buffer
		w := &Writer{To: &out}
		for _, part := range []string{s[:cut], s[cut:]} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
		}
		for what, text := range map[string]string{"String": String(s), "Writer": strings.NewReplacer("\n", "", "\t", "").Replace(out.String())} {
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
				t.Errorf("%s lets through %q of %q", what, text, s)
			}
		}
	})
}
