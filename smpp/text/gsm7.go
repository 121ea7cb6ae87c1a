package text

import (
	"strings"
	"unicode/utf8"
)

// escape announces that the next septet is from an extension table (3GPP TS 23.038 section 6.2.1.1).
const escape = 0x1B

// noSeptet marks an ASCII character that is not in the basic table.
const noSeptet = 0xFF

// basicTable is the GSM 7-bit default alphabet in order of its septets (3GPP TS 23.038 section 6.2.1).
const basicTable = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ" +
	" !\"#¤%&'()*+,-./0123456789:;<=>?" +
	"¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§" +
	"¿abcdefghijklmnopqrstuvwxyzäöñüà"

// asciiSeptets gives the septet of each ASCII character, or noSeptet.
const asciiSeptets = "" +
	"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x0A\xFF\xFF\x0D\xFF\xFF" +
	"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF" +
	"\x20\x21\x22\x23\x02\x25\x26\x27\x28\x29\x2A\x2B\x2C\x2D\x2E\x2F" +
	"\x30\x31\x32\x33\x34\x35\x36\x37\x38\x39\x3A\x3B\x3C\x3D\x3E\x3F" +
	"\x00\x41\x42\x43\x44\x45\x46\x47\x48\x49\x4A\x4B\x4C\x4D\x4E\x4F" +
	"\x50\x51\x52\x53\x54\x55\x56\x57\x58\x59\x5A\xFF\xFF\xFF\xFF\x11" +
	"\xFF\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6A\x6B\x6C\x6D\x6E\x6F" +
	"\x70\x71\x72\x73\x74\x75\x76\x77\x78\x79\x7A\xFF\xFF\xFF\xFF\xFF"

// The tables below are pairs of a septet and its character.
const (
	// basicPairs holds what the basic table has beyond ASCII.
	basicPairs = "\x01£\x03¥\x04è\x05é\x06ù\x07ì\x08ò\x09Ç\x0BØ\x0Cø\x0EÅ\x0Få\x10Δ\x12Φ\x13Γ\x14Λ\x15Ω\x16Π\x17Ψ\x18Σ\x19Θ\x1AΞ" +
		"\x1CÆ\x1Dæ\x1Eß\x1FÉ\x24¤\x40¡\x5BÄ\x5CÖ\x5DÑ\x5EÜ\x5F§\x60¿\x7Bä\x7Cö\x7Dñ\x7Eü\x7Fà"

	// extensionPairs is the default extension table; every national table of this package contains it.
	extensionPairs = "\x0A\f\x14^\x28{\x29}\x2F\\\x3C[\x3D~\x3E]\x40|\x65€"

	// The national language single shift tables (3GPP TS 23.038 annexes A.2.1 to A.2.3).
	turkishPairs    = extensionPairs + "\x47Ğ\x49İ\x53Ş\x63ç\x67ğ\x69ı\x73ş"
	spanishPairs    = extensionPairs + "\x09ç\x41Á\x49Í\x4FÓ\x55Ú\x61á\x69í\x6Fó\x75ú"
	portuguesePairs = extensionPairs + "\x05ê\x09ç\x0BÔ\x0Cô\x0EÁ\x0Fá\x12Φ\x13Γ\x15Ω\x16Π\x17Ψ\x18Σ\x19Θ\x1FÊ" +
		"\x41À\x49Í\x4FÓ\x55Ú\x5BÃ\x5CÕ\x61Â\x69í\x6Fó\x75ú\x7Bã\x7Cõ\x7Fâ"
)

// shiftPairs returns the extension table in force under a language.
func shiftPairs(l Language) string {
	switch l {
	case Turkish:
		return turkishPairs
	case Spanish:
		return spanishPairs
	case Portuguese:
		return portuguesePairs
	case NoLanguage:
	}
	return extensionPairs
}

// septetOf finds the septet of a character in a table of pairs.
func septetOf(pairs string, r rune) (byte, bool) {
	for i := 0; i < len(pairs); {
		c, size := utf8.DecodeRuneInString(pairs[i+1:])
		if c == r {
			return pairs[i], true
		}
		i += 1 + size
	}
	return 0, false
}

// runeOf finds the character of a septet in a table of pairs.
func runeOf(pairs string, septet byte) (rune, bool) {
	for i := 0; i < len(pairs); {
		c, size := utf8.DecodeRuneInString(pairs[i+1:])
		if pairs[i] == septet {
			return c, true
		}
		i += 1 + size
	}
	return 0, false
}

// AppendGSM7 appends s in the GSM 7-bit default alphabet with its extension table, one septet an octet, as SMPP
// normally carries it. When a character has no place there it returns dst as it was, and false.
func AppendGSM7(dst []byte, s string) ([]byte, bool) {
	out, bad := appendSeptets(dst, s, NoLanguage)
	if bad >= 0 {
		return dst, false
	}
	return out, true
}

// appendSeptets appends s as septets under a language, and returns the index in s of the first character that has no
// place there, or -1.
func appendSeptets(dst []byte, s string, l Language) (out []byte, bad int) {
	shift := shiftPairs(l)
	for i, r := range s {
		if r < utf8.RuneSelf {
			if septet := asciiSeptets[r]; septet != noSeptet {
				dst = append(dst, septet)
				continue
			}
		} else if septet, ok := septetOf(basicPairs, r); ok {
			dst = append(dst, septet)
			continue
		}
		septet, ok := septetOf(shift, r)
		if !ok {
			return dst, i
		}
		dst = append(dst, escape, septet)
	}
	return dst, -1
}

// hasGSM7 reports whether a character can be written in GSM 7-bit under a language.
func hasGSM7(r rune, l Language) bool {
	if r < utf8.RuneSelf && asciiSeptets[r] != noSeptet {
		return true
	}
	if _, ok := septetOf(basicPairs, r); ok {
		return true
	}
	_, ok := septetOf(shiftPairs(l), r)
	return ok
}

// decodeSeptets reads unpacked septets under a language. As 3GPP TS 23.038 section 6.2.1.1 has it, an escaped septet
// that its table does not hold reads as in the basic table, and an escape with nothing to escape reads as a space.
// An octet above 0x7F is no septet and becomes U+FFFD.
func decodeSeptets(b []byte, l Language) string {
	var basic [128]rune
	i := 0
	for _, r := range basicTable {
		basic[i] = r
		i++
	}
	shift := shiftPairs(l)
	var out strings.Builder
	out.Grow(len(b))
	escaped := false
	for _, septet := range b {
		switch {
		case septet == escape && !escaped:
			escaped = true
			continue
		case septet == escape:
			out.WriteByte(' ')
		case septet > 0x7F:
			out.WriteRune(utf8.RuneError)
		default:
			r := basic[septet]
			if escaped {
				if shifted, ok := runeOf(shift, septet); ok {
					r = shifted
				}
			}
			out.WriteRune(r)
		}
		escaped = false
	}
	if escaped {
		out.WriteByte(' ')
	}
	return out.String()
}
