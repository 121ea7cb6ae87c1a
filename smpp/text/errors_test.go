package text

import (
	"errors"
	"strings"
	"testing"
)

func TestCharacterErrorNamesNoContent(t *testing.T) {
	for _, tc := range []struct {
		text    string
		options Options
		want    string
	}{
		{"secret ж", Options{Encoding: GSM7}, "text: character 8 (a letter) is not in the GSM 7-bit alphabet: use encoding auto or ucs2, or allow transliteration"},
		{"é\U0001F600", Options{Encoding: GSM7}, "text: character 2 (a symbol)"},
		{"\x01", Options{Encoding: GSM7}, "text: character 1 (a control character)"},
		{"a\u0301", Options{Encoding: GSM7}, "text: character 2 (a combining mark)"},
		{"١", Options{Encoding: GSM7}, "text: character 1 (a digit)"},
		{"\u2003", Options{Encoding: GSM7}, "text: character 1 (a space)"},
		{"’", Options{Encoding: GSM7}, "text: character 1 (a punctuation mark)"},
		{"\u200D", Options{Encoding: GSM7}, "text: character 1 (a special character)"},
		{"secret €", Options{Encoding: Latin1}, "text: character 8 (a symbol) is not in ISO-8859-1: use encoding auto or ucs2, or allow transliteration"},
		{"ж’", Options{Encoding: GSM7, Transliterate: true}, "text: character 1 (a letter)"},
	} {
		_, err := Encode(tc.text, tc.options)
		if _, ok := errors.AsType[*CharacterError](err); !ok {
			t.Errorf("%q: %v", tc.text, err)
			continue
		}
		if !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("got %q, want %q", err, tc.want)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error quotes the text: %v", err)
		}
	}
}

func TestErrorsNameTheRemedy(t *testing.T) {
	concat := []byte{5, 0, 3, 1, 2, 1}
	for name, tc := range map[string]struct {
		text    string
		options Options
		want    string
	}{
		"utf-8":         {"aé\xFFb", Options{}, "character 3, octet 4: not valid UTF-8"},
		"binary":        {"a", Options{Encoding: Binary}, "takes data, not text"},
		"encoding":      {"a", Options{Encoding: 9}, "encoding 9 is not known"},
		"gsm7":          {"a", Options{Encoding: GSM7, Alphabet: AlphabetLatin1}, "default alphabet is latin1: use auto"},
		"spare":         {"a", Options{Spare: 61}, "spare 61 is out of range: use 0 to 60"},
		"max parts":     {"a", Options{MaxParts: 256}, "max parts 256 is out of range"},
		"language":      {"a", Options{Language: 4}, "language 4 has no table"},
		"udh length":    {"a", Options{UDH: []byte{5, 0, 3}}, "udh: user data header is broken"},
		"udh element":   {"a", Options{UDH: []byte{3, 0, 9, 9}}, "an element runs past the end"},
		"udh long":      {"a", Options{UDH: make([]byte, 140)}, "udh has 140 octets: the most is 139"},
		"udh joins":     {rep("a", 161), Options{UDH: concat}, "already holds a joining element"},
		"udh language":  {"ş", Options{UDH: []byte{3, 0x24, 1, 1}, Language: Turkish}, "leave the element out"},
		"udh room":      {rep("a", 161), Options{UDH: append([]byte{135, 0x70, 133}, make([]byte, 133)...)}, "leaves no room"},
		"udh and whole": {"ab", Options{UDH: append([]byte{138, 0x70, 136}, make([]byte, 136)...)}, "leaves no room"},
	} {
		_, err := Encode(tc.text, tc.options)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := EncodeBinary([]byte{1, 2, 3}, 8, Options{}); !errors.Is(err, ErrOddUCS2) {
		t.Errorf("odd UCS2: %v", err)
	}
	if _, err := EncodeBinary([]byte{1, 0x80}, 0, Options{}); err == nil || !strings.Contains(err.Error(), "octet 2 is above 0x7F") {
		t.Errorf("not septets: %v", err)
	}
	if _, err := EncodeBinary(nil, 4, Options{Spare: -1}); err == nil {
		t.Error("bad options for data")
	}
}

func TestWords(t *testing.T) {
	for _, w := range alphabetWords() {
		var a Alphabet
		if err := a.UnmarshalText([]byte(w)); err != nil || a.String() != w {
			t.Errorf("%s: %s, %v", w, a, err)
		}
	}
	for _, w := range encodingWords() {
		var e Encoding
		if err := e.UnmarshalText([]byte(w)); err != nil || e.String() != w {
			t.Errorf("%s: %s, %v", w, e, err)
		}
	}
	for _, w := range joinWords() {
		var j Join
		if err := j.UnmarshalText([]byte(w)); err != nil || j.String() != w {
			t.Errorf("%s: %s, %v", w, j, err)
		}
	}
	for _, w := range languageWords() {
		var l Language
		if err := l.UnmarshalText([]byte(w)); err != nil || l.String() != w {
			t.Errorf("%s: %s, %v", w, l, err)
		}
	}
	var j Join
	if err := j.UnmarshalText([]byte("udh")); err == nil || err.Error() != `way to join long texts "udh" is not known: write one of udh8, udh16, sar, payload` {
		t.Errorf("error %v", err)
	}
	texts := []interface{ MarshalText() ([]byte, error) }{AlphabetASCII, Latin1, JoinSAR, Spanish}
	for i, want := range []string{"ascii", "latin1", "sar", "spanish"} {
		if got, err := texts[i].MarshalText(); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", want, got, err)
		}
	}
}
