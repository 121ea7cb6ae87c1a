package text

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Errors of texts and of data.
var (
	// ErrInvalidUTF8 is the error of a text that is not UTF-8.
	ErrInvalidUTF8 = errors.New("not valid UTF-8")
	// ErrBinary is the error of decoding data that its data_coding declares to be no text.
	ErrBinary = errors.New("binary data, not text")
	// ErrUnsupported is the error of decoding an alphabet that this package does not have.
	ErrUnsupported = errors.New("alphabet not supported")
	// ErrOddUCS2 is the error of UCS2 data with half a character at its end.
	ErrOddUCS2 = errors.New("odd number of octets for UCS2")
)

// CharacterError says that one character of a text has no place in the alphabet asked for. It never holds the
// character itself.
type CharacterError struct {
	Position int    // which character of the text, from 1
	Kind     string // what kind of character it is, such as "a letter"
	Alphabet string // the alphabet that lacks it
	Remedy   string // what would be right
}

// Error returns a sentence without the character.
func (e *CharacterError) Error() string {
	return fmt.Sprintf("text: character %d (%s) is not in %s: %s", e.Position, e.Kind, e.Alphabet, e.Remedy)
}

// TooLongError says that a text needs more parts than it may have.
type TooLongError struct {
	Units int // length of the text in septets, UTF-16 units or octets
	Max   int // the most parts allowed
}

// Error returns a sentence with the remedy.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("text: %d units need more than %d parts: shorten the text, or allow more parts (at most %d)",
		e.Units, e.Max, MaxParts)
}

// characterError describes the character at index bad of s.
func characterError(s string, bad int, alphabet, remedy string) error {
	r, _ := utf8.DecodeRuneInString(s[bad:])
	return &CharacterError{Position: utf8.RuneCountInString(s[:bad]) + 1, Kind: kindOf(r), Alphabet: alphabet, Remedy: remedy}
}

// kindOf names the kind of a character.
func kindOf(r rune) string {
	switch {
	case unicode.IsControl(r):
		return "a control character"
	case unicode.IsLetter(r):
		return "a letter"
	case unicode.IsMark(r):
		return "a combining mark"
	case unicode.IsDigit(r) || unicode.IsNumber(r):
		return "a digit"
	case unicode.IsSpace(r):
		return "a space"
	case unicode.IsPunct(r):
		return "a punctuation mark"
	case unicode.IsSymbol(r):
		return "a symbol"
	}
	return "a special character"
}

// checkUTF8 returns an error with the position of the first octet that is not UTF-8.
func checkUTF8(s string) error {
	if utf8.ValidString(s) {
		return nil
	}
	position := 1
	for i := 0; ; position++ {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return fmt.Errorf("text: character %d, octet %d: %w", position, i+1, ErrInvalidUTF8)
		}
		i += size
	}
}
