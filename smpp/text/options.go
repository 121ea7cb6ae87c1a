// Package text turns text into the octets of short messages and back: alphabets, data_coding, and the joining of
// long texts (SMPP 3.4 sections 5.2.19 and 2.5.5; 3GPP TS 23.038 and 23.040).
//
// [Encode] chooses the alphabet, counts exactly and never cuts an escape pair or a surrogate pair. [Decode] reads what
// comes from phones. Errors say where a text does not fit and what would; they never quote it.
package text

import (
	"fmt"
	"slices"
	"strings"
)

// Alphabet is what an account's SMSC takes data_coding 0, the "SMSC default alphabet", to mean. The specification
// leaves it to agreement.
type Alphabet uint8

// The default alphabets. AlphabetGSM7, the zero value, is by far the most common.
const (
	AlphabetGSM7       Alphabet = iota // GSM 7-bit, one septet in each octet
	AlphabetGSM7Packed                 // GSM 7-bit, eight septets in seven octets
	AlphabetLatin1                     // ISO-8859-1
	AlphabetASCII                      // ASCII (IA5), which the SMSC turns into GSM 7-bit
	AlphabetUTF8                       // UTF-8, of what comes from phones only: Encode refuses it
	AlphabetUCS2                       // UTF-16, of what comes from phones only: Encode refuses it
)

// String returns the word of the configuration.
func (a Alphabet) String() string { return word(a, alphabetWords()) }

// MarshalText writes the word of the configuration.
func (a Alphabet) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (a *Alphabet) UnmarshalText(b []byte) error {
	return setWord(a, "default alphabet", string(b), alphabetWords())
}

func alphabetWords() []string {
	return []string{"gsm7", "gsm7-packed", "latin1", "ascii", "utf8", "ucs2"}
}

// Encoding is the alphabet that a message asks for.
type Encoding uint8

// The encodings. Auto, the zero value, takes the account's default alphabet when the whole text fits it, else UCS2.
const (
	Auto   Encoding = iota
	GSM7            // GSM 7-bit, or an error
	UCS2            // UTF-16BE, data_coding 8
	Latin1          // ISO-8859-1, data_coding 3 or Options.Latin1DataCoding
	Binary          // octets: EncodeBinary, not Encode
)

// String returns the word of the message contract.
func (e Encoding) String() string { return word(e, encodingWords()) }

// MarshalText writes the word of the message contract.
func (e Encoding) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (e *Encoding) UnmarshalText(b []byte) error {
	return setWord(e, "encoding", string(b), encodingWords())
}

func encodingWords() []string { return []string{"auto", "gsm7", "ucs2", "latin1", "binary"} }

// Join is how the parts of a long text are tied together.
type Join uint8

// The ways to join.
const (
	JoinUDH8    Join = iota // concatenation header with an 8-bit reference: the most widely taken
	JoinUDH16               // concatenation header with a 16-bit reference
	JoinSAR                 // TLVs sar_msg_ref_num, sar_total_segments, sar_segment_seqnum
	JoinPayload             // one PDU with the whole text in TLV message_payload; the SMSC splits it
)

// String returns the word of the configuration.
func (j Join) String() string { return word(j, joinWords()) }

// MarshalText writes the word of the configuration.
func (j Join) MarshalText() ([]byte, error) { return []byte(j.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (j *Join) UnmarshalText(b []byte) error {
	return setWord(j, "way to join long texts", string(b), joinWords())
}

func joinWords() []string { return []string{"udh8", "udh16", "sar", "payload"} }

// Language names a national language single shift table (3GPP TS 23.038 annex A.2). Its number is the identifier
// that goes into the header.
type Language uint8

// The languages that Encode can use.
const (
	NoLanguage Language = iota
	Turkish
	Spanish
	Portuguese
)

// String returns the word of the configuration.
func (l Language) String() string { return word(l, languageWords()) }

// MarshalText writes the word of the configuration.
func (l Language) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (l *Language) UnmarshalText(b []byte) error {
	return setWord(l, "language", string(b), languageWords())
}

func languageWords() []string { return []string{"none", "turkish", "spanish", "portuguese"} }

// word returns the word for a value, or its number when it has none.
func word[T ~uint8](v T, words []string) string {
	if int(v) < len(words) {
		return words[v]
	}
	return fmt.Sprintf("%d", uint8(v))
}

// setWord sets v to the value whose word is s.
func setWord[T ~uint8](v *T, what, s string, words []string) error {
	i := slices.Index(words, s)
	if i < 0 {
		return fmt.Errorf("%s %q is not known: write one of %s", what, s, strings.Join(words, ", "))
	}
	*v = T(i)
	return nil
}

// MaxParts is the most parts that the headers and TLVs of a joined text can count.
const MaxParts = 255

// Options say how a text is to be encoded. The zero value is right for most accounts.
type Options struct {
	Encoding Encoding
	Alphabet Alphabet
	// Language is the national table to use when the text does not fit the GSM 7-bit alphabet but fits with it.
	Language Language
	// Latin1DataCoding is the data_coding of ISO-8859-1 where it is not the default alphabet; 0 means 3, as SMPP 3.4
	// section 5.2.19 has it. Some SMSCs want 1.
	Latin1DataCoding byte
	// Transliterate replaces characters outside the alphabet by lookalikes ("–" by "-") when that spares the text UCS2
	// or an error. It changes what people read, so it is off by default.
	Transliterate bool
	Join          Join
	// Reference ties the parts of one text; see [Reference]. JoinUDH8 uses its low octet.
	Reference uint16
	// UDH is a header of the message's own, length octet included, such as an application port. A text that needs it
	// and is too long for one part is joined by header whatever Join says, because SMSCs refuse both ways at once.
	UDH []byte
	// Spare is how many units to leave free at the end of each part of a joined text, 0 to 60. One SMSC needs 1.
	Spare int
	// MaxParts is the most parts that a text may become, 1 to 255; 0 means 255.
	MaxParts int
}

// maxSpare leaves room for at least one pair in the smallest part.
const maxSpare = 60

// check returns what is wrong with the options.
func (o Options) check() error {
	switch {
	case o.Spare < 0 || o.Spare > maxSpare:
		return fmt.Errorf("text: spare %d is out of range: use 0 to %d", o.Spare, maxSpare)
	case o.MaxParts < 0 || o.MaxParts > MaxParts:
		return fmt.Errorf("text: max parts %d is out of range: use 1 to %d, or 0 for %d", o.MaxParts, MaxParts, MaxParts)
	case o.Alphabet >= AlphabetUTF8:
		return fmt.Errorf("text: default alphabet %s is for what comes from phones: use gsm7, gsm7-packed, latin1 or ascii", o.Alphabet)
	case o.Language > Portuguese:
		return fmt.Errorf("text: language %d has no table: use %s", o.Language, strings.Join(languageWords(), ", "))
	}
	return checkHeader(o.UDH)
}
