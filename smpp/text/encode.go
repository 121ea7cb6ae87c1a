package text

import (
	"errors"
	"fmt"
)

// The values of data_coding that Encode writes (SMPP 3.4 section 5.2.19).
const (
	DataCodingDefault byte = 0x00
	DataCodingLatin1  byte = 0x03
	DataCodingBinary  byte = 0x04
	DataCodingUCS2    byte = 0x08
)

// ESMClassUDHI is the bit of esm_class that announces a header in the short message (SMPP 3.4 section 5.2.12).
const ESMClassUDHI byte = 0x40

// Encoded is a text as it is to be submitted.
type Encoded struct {
	DataCoding byte
	Encoding   Encoding // the alphabet taken, never Auto
	Language   Language // the national table used, if any
	// Join is how the parts are tied; it says nothing when there is one segment and Parts is 1.
	Join      Join
	Reference uint16
	// Segments are the PDUs to submit, at least one. With JoinPayload a long text is one segment, whose Data goes into
	// message_payload (SMPP 3.4 section 5.3.2.32) with an empty short message.
	Segments []Segment
	// Parts is the exact number of short messages on air, which is what is counted and paid for. It differs from
	// len(Segments) with JoinPayload only.
	Parts int
}

// Segment is the text of one submit_sm.
type Segment struct {
	// ShortMessage is the header and the text as they go onto the wire, in one piece; UDH and Data are its two parts.
	ShortMessage []byte
	UDH          []byte // with its length octet; empty: none, else esm_class needs ESMClassUDHI
	Data         []byte
	Units        int // length of the text in septets, UTF-16 units or octets, without the header
}

// SAR returns the values of sar_msg_ref_num, sar_total_segments and sar_segment_seqnum (SMPP 3.4 sections 5.3.2.22 to
// 5.3.2.24) for segment i, counted from 0, and whether the segments are joined that way.
func (e *Encoded) SAR(i int) (reference [2]byte, total, number byte, ok bool) {
	if e.Join != JoinSAR || len(e.Segments) < 2 {
		return reference, 0, 0, false
	}
	return [2]byte{byte(e.Reference >> 8), byte(e.Reference)}, byte(len(e.Segments)), byte(i + 1), true
}

// Payload reports whether the one segment belongs into message_payload.
func (e *Encoded) Payload() bool { return e.Join == JoinPayload && e.Parts > 1 }

// Encode turns a text into segments. An empty text is one empty segment: whether to send it is for the caller to say.
//
// The errors are *CharacterError, *TooLongError, ErrInvalidUTF8, or name the option that is wrong.
func Encode(s string, o Options) (Encoded, error) {
	if err := o.check(); err != nil {
		return Encoded{}, err
	}
	if err := checkUTF8(s); err != nil {
		return Encoded{}, err
	}
	c, err := o.encode(s)
	if err != nil {
		return Encoded{}, err
	}
	return o.join(c)
}

// EncodeBinary turns data of a data_coding that the message names into segments: octets as they are, cut only where
// that alphabet may be cut.
func EncodeBinary(data []byte, dataCoding byte, o Options) (Encoded, error) {
	if err := o.check(); err != nil {
		return Encoded{}, err
	}
	u, known := unitOf(dataCoding, o.Alphabet)
	switch {
	case !known || u == packedSeptet: // packed already: its parts cannot be told apart
		u = octet
	case u == utf16Unit && len(data)%2 != 0:
		return Encoded{}, fmt.Errorf("text: data of %d octets with data_coding 0x%02X: %w: pad it to whole units", len(data), dataCoding, ErrOddUCS2)
	case u == septet:
		for i, b := range data {
			if b > 0x7F {
				return Encoded{}, fmt.Errorf("text: data octet %d is above 0x7F, which data_coding 0x%02X cannot carry: use data_coding 4", i+1, dataCoding)
			}
		}
	}
	return o.join(coded{octets: data, unit: u, dataCoding: dataCoding, encoding: Binary})
}

// coded is a whole text in its alphabet, not yet cut.
type coded struct {
	octets     []byte
	unit       unit
	dataCoding byte
	encoding   Encoding
	language   Language
}

// encode chooses the alphabet and encodes the whole text.
func (o Options) encode(s string) (coded, error) {
	switch o.Encoding {
	case Auto:
		if c, bad := o.tryAll(s, o.encodeDefault); bad < 0 {
			return c, nil
		}
		return encodeUCS2(s), nil
	case GSM7:
		if o.Alphabet != AlphabetGSM7 && o.Alphabet != AlphabetGSM7Packed {
			return coded{}, fmt.Errorf("text: encoding gsm7 cannot be sent where the default alphabet is %s: use auto", o.Alphabet)
		}
		c, bad := o.tryAll(s, o.encodeDefault)
		if bad >= 0 {
			return coded{}, characterError(s, bad, "the GSM 7-bit alphabet", "use encoding auto or ucs2, or allow transliteration")
		}
		return c, nil
	case UCS2:
		return encodeUCS2(s), nil
	case Latin1:
		c, bad := o.tryAll(s, o.encodeLatin1)
		if bad >= 0 {
			return coded{}, characterError(s, bad, "ISO-8859-1", "use encoding auto or ucs2, or allow transliteration")
		}
		return c, nil
	case Binary:
		return coded{}, errors.New("text: encoding binary takes data, not text: give data, or use encoding auto")
	}
	return coded{}, fmt.Errorf("text: encoding %s is not known: use auto, gsm7, ucs2 or latin1", o.Encoding)
}

// encoder encodes a whole text under a language, and returns the index of the first character that has no place, or
// -1.
type encoder func(s string, l Language) (coded, int)

// tryAll tries the text as it is, then with the national table, then transliterated, and returns the first that fits.
// Otherwise bad is where the text as it is failed.
func (o Options) tryAll(s string, encode encoder) (c coded, bad int) {
	if c, bad = encode(s, NoLanguage); bad < 0 {
		return c, bad
	}
	if o.Language != NoLanguage {
		if c, again := encode(s, o.Language); again < 0 {
			return c, again
		}
	}
	if o.Transliterate {
		has := func(r rune) bool { return o.has(r) }
		t := transliterate(s, has)
		for _, l := range []Language{NoLanguage, o.Language} {
			if c, again := encode(t, l); again < 0 {
				return c, again
			}
		}
	}
	return coded{}, bad
}

// has reports whether the alphabet in question holds a character, so that transliteration leaves it alone.
func (o Options) has(r rune) bool {
	switch {
	case o.Encoding == Latin1 || o.Alphabet == AlphabetLatin1:
		return r <= maxLatin1
	case o.Alphabet == AlphabetASCII:
		return r <= maxASCII
	}
	return hasGSM7(r, o.Language)
}

// encodeDefault encodes in the account's default alphabet.
func (o Options) encodeDefault(s string, l Language) (coded, int) {
	c := coded{unit: o.Alphabet.unit(), dataCoding: DataCodingDefault, encoding: GSM7}
	bad := -1
	dst := make([]byte, 0, len(s)+8) // room for a few escapes
	switch o.Alphabet {
	case AlphabetLatin1:
		c.encoding = Latin1
		c.octets, bad = appendOctets(dst, s, maxLatin1)
	case AlphabetASCII:
		c.octets, bad = appendOctets(dst, s, maxASCII)
	case AlphabetGSM7, AlphabetGSM7Packed:
		c.language = l
		c.octets, bad = appendSeptets(dst, s, l)
	case AlphabetUTF8, AlphabetUCS2: // check refuses them
	}
	return c, bad
}

// encodeLatin1 encodes in ISO-8859-1, under the data_coding that the account has for it.
func (o Options) encodeLatin1(s string, _ Language) (coded, int) {
	c := coded{unit: latin1Char, dataCoding: DataCodingLatin1, encoding: Latin1}
	if o.Latin1DataCoding != 0 {
		c.dataCoding = o.Latin1DataCoding
	}
	if o.Alphabet == AlphabetLatin1 {
		c.dataCoding = DataCodingDefault
	}
	var bad int
	c.octets, bad = appendOctets(make([]byte, 0, len(s)), s, maxLatin1)
	return c, bad
}

// encodeUCS2 encodes in UTF-16, which holds every text.
func encodeUCS2(s string) coded {
	return coded{octets: appendUTF16(make([]byte, 0, 2*len(s)), s), unit: utf16Unit, dataCoding: DataCodingUCS2, encoding: UCS2}
}
