package receipt

import (
	"errors"
	"unicode/utf16"

	"sluice/smpp/text"
)

// readable returns the text of a receipt in the ASCII that its keys are looked for in. SMSCs set data_coding to that of
// the message that the receipt is about, and write the receipt in ASCII all the same: the octets decide, and
// data_coding only where they do not.
func readable(dataCoding byte, b []byte) []byte {
	littleEndian, wide := utf16Order(b)
	if wide {
		return fromUTF16(b, littleEndian)
	}
	if meansUCS2(dataCoding) && !hasKey(b) {
		if decoded := fromUTF16(b, false); hasKey(decoded) {
			return decoded
		}
	}
	return b
}

// utf16Order reports whether a text is UTF-16 by its first two octets, a byte order mark or one ASCII character, and in
// which order.
func utf16Order(b []byte) (littleEndian, wide bool) {
	if len(b) < 4 {
		return false, false
	}
	switch {
	case b[0] == 0xFE && b[1] == 0xFF, b[0] == 0 && b[1] != 0 && b[2] == 0:
		return false, true
	case b[0] == 0xFF && b[1] == 0xFE, b[0] != 0 && b[1] == 0 && b[3] == 0:
		return true, true
	}
	return false, false
}

// fromUTF16 decodes UTF-16 as far as it goes in pairs of octets, without a byte order mark.
func fromUTF16(b []byte, littleEndian bool) []byte {
	units := make([]uint16, 0, len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		high, low := b[i], b[i+1]
		if littleEndian {
			high, low = low, high
		}
		if unit := uint16(high)<<8 | uint16(low); i > 0 || unit != 0xFEFF {
			units = append(units, unit)
		}
	}
	return []byte(string(utf16.Decode(units)))
}

// meansUCS2 reports whether a data_coding stands for UCS2, with a message class or without: only there one octet alone
// is half a character.
func meansUCS2(dataCoding byte) bool {
	_, err := text.Decode(dataCoding, []byte{0}, false, text.AlphabetGSM7)
	return errors.Is(err, text.ErrOddUCS2)
}

// hasKey reports whether a text has anything of a receipt: one of its keys, or the word of a state.
func hasKey(b []byte) bool {
	f := scan(b, nil)
	return f.bare != "" || f.found != [keys]bool{}
}
