package text

import (
	"bytes"
	"fmt"
	"strings"
)

// Decode reads the text of a short message. data is the whole short_message or message_payload; udhi says whether it
// begins with a header, which Decode passes over (see ParseHeader). def is the account's default alphabet.
//
// Octets that the alphabet does not have become U+FFFD. The errors are ErrBinary, ErrUnsupported, ErrOddUCS2 and
// ErrHeader, to be tested with errors.Is: such data is still worth handing on as octets.
func Decode(dataCoding byte, data []byte, udhi bool, def Alphabet) (string, error) {
	return DecodeParts(dataCoding, [][]byte{data}, udhi, def)
}

// DecodeParts reads a text from all its parts, in order. It is for texts of other senders, whose parts may end within
// an escape or surrogate pair.
func DecodeParts(dataCoding byte, parts [][]byte, udhi bool, def Alphabet) (string, error) {
	list := make([]Part, 0, len(parts))
	for _, data := range parts {
		list = append(list, Part{DataCoding: dataCoding, UDHI: udhi, Data: data})
	}
	return DecodeMixed(list, def)
}

// Part is one part of a text, as its PDU brought it.
type Part struct {
	DataCoding byte
	UDHI       bool   // Data begins with a header
	Data       []byte // the whole short_message or message_payload
}

// DecodeMixed reads a text from all its parts, in order, each by its own data_coding: an SMSC may write one part in
// GSM 7-bit and the next in UCS2. Parts in one coding that follow each other are read as one. A byte order mark is
// dropped; that of the first part rules all parts in UTF-16, a later one what follows it.
func DecodeMixed(parts []Part, def Alphabet) (string, error) {
	d := mixed{}
	for i, p := range parts {
		u, ok := unitOf(p.DataCoding, def)
		switch {
		case !ok:
			return "", fmt.Errorf("text: data_coding 0x%02X: %w", p.DataCoding, ErrUnsupported)
		case u == octet:
			return "", fmt.Errorf("text: data_coding 0x%02X: %w", p.DataCoding, ErrBinary)
		}
		data, headerLen := p.Data, 0
		if p.UDHI {
			h, err := decodeHeader(p.Data)
			if err != nil {
				return "", err
			}
			d.language = max(d.language, h.SingleShift)
			var udh []byte
			udh, data, _ = SplitHeader(p.Data)
			headerLen = len(udh)
		}
		if u == packedSeptet {
			data = unpack(data, headerLen)
		}
		if i == 0 || u != d.runs[len(d.runs)-1].unit {
			d.runs = append(d.runs, run{unit: u})
		}
		last := &d.runs[len(d.runs)-1]
		last.octets = append(last.octets, d.inOrder(u, data, len(last.octets)%2 == 0)...)
	}
	return d.text()
}

// mixed is a text that is being read.
type mixed struct {
	runs     []run
	language Language // of any part: the phone chose it for the whole text
	little   bool     // a byte order mark said that UTF-16 has its low octet first
}

// run is what parts in one coding that follow each other say.
type run struct {
	unit   unit
	octets []byte
}

// inOrder drops the byte order mark of a part, and turns UTF-16LE around. A part that begins within a character has no
// mark.
func (d *mixed) inOrder(u unit, data []byte, whole bool) []byte {
	switch {
	case u == utf8Octet:
		return bytes.TrimPrefix(data, []byte("\uFEFF"))
	case u != utf16Unit:
		return data
	}
	switch {
	case whole && bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		d.little, data = false, data[2:]
	case whole && bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		d.little, data = true, data[2:]
	}
	if !d.little {
		return data
	}
	turned := bytes.Clone(data)
	for i := 0; i+1 < len(turned); i += 2 {
		turned[i], turned[i+1] = turned[i+1], turned[i]
	}
	return turned
}

// text reads the runs.
func (d *mixed) text() (string, error) {
	var all strings.Builder
	for _, r := range d.runs {
		switch r.unit {
		case septet, packedSeptet:
			all.WriteString(decodeSeptets(r.octets, d.language))
		case utf16Unit:
			if len(r.octets)%2 != 0 {
				return "", fmt.Errorf("text: %d octets: %w", len(r.octets), ErrOddUCS2)
			}
			all.WriteString(decodeUTF16(r.octets))
		case utf8Octet:
			all.WriteString(strings.ToValidUTF8(string(r.octets), "\uFFFD"))
		case asciiChar, latin1Char, octet:
			all.WriteString(decodeLatin1(r.octets))
		}
	}
	return all.String(), nil
}

// decodeHeader reads the header of a short message, and refuses languages that there is no table for.
func decodeHeader(shortMessage []byte) (Header, error) {
	udh, _, err := SplitHeader(shortMessage)
	if err != nil {
		return Header{}, fmt.Errorf("text: %w", err)
	}
	h, err := ParseHeader(udh)
	if err != nil {
		return Header{}, fmt.Errorf("text: %w", err)
	}
	if h.LockingShift != NoLanguage {
		return Header{}, fmt.Errorf("text: locking shift table %d: %w", h.LockingShift, ErrUnsupported)
	}
	if h.SingleShift > Portuguese {
		return Header{}, fmt.Errorf("text: single shift table %d: %w", h.SingleShift, ErrUnsupported)
	}
	return h, nil
}
