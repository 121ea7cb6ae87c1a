package text

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The highest characters of the one-octet alphabets.
const (
	maxLatin1 = 0xFF
	maxASCII  = 0x7F
)

// appendOctets appends s in an alphabet whose octets are its code points up to limit, and returns the index in s of
// the first character beyond it, or -1.
func appendOctets(dst []byte, s string, limit rune) (out []byte, bad int) {
	for i, r := range s {
		if r > limit {
			return dst, i
		}
		dst = append(dst, byte(r))
	}
	return dst, -1
}

// appendUTF16 appends s as UTF-16, big-endian and without a byte order mark. Characters beyond the basic plane take a
// surrogate pair, which UCS2 proper does not have and SMSCs pass on.
func appendUTF16(dst []byte, s string) []byte {
	for _, r := range s {
		if r1, r2 := utf16.EncodeRune(r); r1 != utf8.RuneError {
			dst = append(dst, byte(r1>>8), byte(r1), byte(r2>>8), byte(r2))
		} else {
			dst = append(dst, byte(r>>8), byte(r))
		}
	}
	return dst
}

// decodeLatin1 reads ISO-8859-1, and so ASCII with whatever a careless sender put above it.
func decodeLatin1(b []byte) string {
	var out strings.Builder
	out.Grow(len(b))
	for _, c := range b {
		out.WriteRune(rune(c))
	}
	return out.String()
}

// decodeUTF16 reads UTF-16BE of even length; half a surrogate pair becomes U+FFFD.
func decodeUTF16(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = uint16(b[2*i])<<8 | uint16(b[2*i+1])
	}
	return string(utf16.Decode(units))
}
