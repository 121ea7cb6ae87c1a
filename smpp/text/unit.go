package text

import "strings"

// maxOctets is the user data of one short message on air (3GPP TS 23.040 section 9.2.3.24).
const maxOctets = 140

// unit is what a text is counted in, and how its octets are laid out.
type unit uint8

const (
	septet       unit = iota // GSM 7-bit, one in each octet
	packedSeptet             // GSM 7-bit, kept one in each octet here and packed at the end
	asciiChar                // ASCII, counted as the septets that the SMSC turns it into
	latin1Char               // ISO-8859-1
	octet                    // binary
	utf16Unit                // UTF-16BE, two octets each
	utf8Octet                // UTF-8, which is only read
)

// capacity returns how many units fit one message beside a header.
func (u unit) capacity(headerLen int) int {
	room := maxOctets - headerLen
	switch u {
	case septet, packedSeptet, asciiChar:
		return room * 8 / 7
	case utf16Unit:
		return room / 2
	case latin1Char, octet, utf8Octet:
	}
	return room
}

// count returns the length of octets in units.
func (u unit) count(octets []byte) int {
	switch u {
	case asciiChar:
		n := len(octets)
		for _, c := range octets {
			if isWideASCII(c) {
				n++
			}
		}
		return n
	case utf16Unit:
		return len(octets) / 2
	case septet, packedSeptet, latin1Char, octet, utf8Octet:
	}
	return len(octets)
}

// take returns how many octets from the start of rest fill one part of the given capacity, at least 2, and how many
// units they are. An escape pair or a surrogate pair that would straddle the end stays whole for the next part.
func (u unit) take(rest []byte, capacity int) (octets, units int) {
	switch u {
	case asciiChar:
		for octets < len(rest) {
			width := 1
			if isWideASCII(rest[octets]) {
				width = 2
			}
			if units+width > capacity {
				break
			}
			octets++
			units += width
		}
		return octets, units
	case utf16Unit:
		n := min(len(rest)/2, capacity)
		if 2*n < len(rest) && rest[2*n-2]&0xFC == 0xD8 {
			n--
		}
		return 2 * n, n
	case septet, packedSeptet:
		n := min(len(rest), capacity)
		if n < len(rest) && rest[n-1] == escape {
			n--
		}
		return n, n
	case latin1Char, octet, utf8Octet:
	}
	n := min(len(rest), capacity)
	return n, n
}

// isWideASCII reports whether an ASCII character becomes an escape pair in GSM 7-bit.
func isWideASCII(c byte) bool { return strings.IndexByte("[\\]^{|}~\f", c) >= 0 }

// unitOf returns how data of a data_coding is laid out under a default alphabet, and whether it is known. Besides the
// values of SMPP 3.4 section 5.2.19 it reads those that SMSCs pass through from 3GPP TS 23.038 section 4.
func unitOf(dataCoding byte, def Alphabet) (unit, bool) {
	switch dataCoding {
	case 0x00:
		return def.unit(), true
	case 0x01:
		return asciiChar, true
	case 0x02, 0x04:
		return octet, true
	case 0x03:
		return latin1Char, true
	case 0x08:
		return utf16Unit, true
	}
	switch group := dataCoding >> 4; group {
	case 0x1, 0x4, 0x5: // uncompressed text with a message class, or to be deleted once read
		switch dataCoding >> 2 & 3 {
		case 0:
			return def.unit(), true
		case 1:
			return octet, true
		case 2:
			return utf16Unit, true
		}
	case 0xC, 0xD: // message waiting
		return def.unit(), true
	case 0xE:
		return utf16Unit, true
	case 0xF: // data coding and message class
		if dataCoding&0x04 != 0 {
			return octet, true
		}
		return def.unit(), true
	}
	return 0, false
}

// unit returns how a text in the default alphabet is laid out.
func (a Alphabet) unit() unit {
	switch a {
	case AlphabetGSM7Packed:
		return packedSeptet
	case AlphabetLatin1:
		return latin1Char
	case AlphabetASCII:
		return asciiChar
	case AlphabetUTF8:
		return utf8Octet
	case AlphabetUCS2:
		return utf16Unit
	case AlphabetGSM7:
	}
	return septet
}
