// Package printable makes text from outside fit for a terminal: a status page, a table, an error. What an SMSC, a
// certificate, a configuration or another client of NATS says may hold terminal escapes, line breaks or marks that turn
// the direction of writing; none of them reaches a terminal.
package printable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// String is s on one line: every character that is not graphic stands as \u001b, an octet that is not UTF-8 as \x9b. Line
// breaks and tabs are among them.
func String(s string) string {
	for i, r := range s {
		if unsafe(r) || r == utf8.RuneError {
			return s[:i] + escape(s[i:])
		}
	}
	return s
}

// unsafe reports what a terminal may act on, or does not show where it stands: control characters, marks of direction and
// other format characters, line and paragraph separators, and what has no meaning.
func unsafe(r rune) bool { return (r < ' ' || r > '~') && !unicode.IsGraphic(r) }

func escape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unsafe(r):
			b.Write(appendEscaped(nil, r))
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// appendEscaped writes a character as JSON may have it too, one beyond 16 bits as two halves.
func appendEscaped(dst []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}

// Error is the text of an error. Errors that were joined stand on lines of their own; a line break in any of them is
// escaped.
func Error(err error) string {
	text := err.Error()
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // a join itself, not one inside
		parts, lines := joined.Unwrap(), make([]string, 0, 4)
		for _, e := range parts {
			lines = append(lines, Error(e))
		}
		if text == errors.Join(parts...).Error() {
			return strings.Join(lines, "\n")
		}
		return String(text)
	}
	if inner := errors.Unwrap(err); inner != nil {
		if before, ok := strings.CutSuffix(text, inner.Error()); ok {
			return String(before) + Error(inner)
		}
	}
	return String(text)
}

// Writer passes on what is written to it, whole lines of text or JSON, with everything escaped but line breaks and tabs.
// It is the last guard of a terminal, behind String for each value: JSON stays JSON of the same value. An octet that is
// not UTF-8 becomes the replacement character.
type Writer struct {
	To io.Writer

	rest []byte // the start of a character whose end has not been written yet
}

// Write escapes and writes p. An error is that of the writer behind it.
func (w *Writer) Write(p []byte) (int, error) {
	text := p
	if len(w.rest) > 0 {
		text = append(w.rest, p...)
	}
	whole := len(text) - halfRune(text)
	rest := bytes.Clone(text[whole:])
	if _, err := w.To.Write(passable(text[:whole])); err != nil {
		return 0, err
	}
	w.rest = rest
	return len(p), nil
}

// passable is text as it is where nothing in it is unsafe.
func passable(text []byte) []byte {
	passes := func(r rune) bool { return r == '\n' || r == '\t' || !unsafe(r) }
	if utf8.Valid(text) && bytes.IndexFunc(text, func(r rune) bool { return !passes(r) }) < 0 {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for _, r := range string(text) {
		if passes(r) {
			out = utf8.AppendRune(out, r)
		} else {
			out = appendEscaped(out, r)
		}
	}
	return out
}

// halfRune is how many octets at the end of text begin a character and do not end it.
func halfRune(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		tail := text[len(text)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
