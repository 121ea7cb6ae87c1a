package text

// Packed GSM 7-bit puts eight septets into seven octets, lowest bit first (3GPP TS 23.038 section 6.1.2.1). After a
// header the text starts at a septet boundary, so fill bits lie between the two (3GPP TS 23.040 section 9.2.3.24).

// carriageReturn pads the seven spare bits that would otherwise read as one more septet, an "@" (3GPP TS 23.038
// section 6.1.2.3.1). SMPP counts octets, so the number of septets is not carried.
const carriageReturn = 0x0D

// fillBits returns the bits between a header of n octets and the first septet.
func fillBits(n int) int { return (7 - n*8%7) % 7 }

// appendPacked appends septets after a header of headerLen octets.
func appendPacked(dst, septets []byte, headerLen int) []byte {
	fill := fillBits(headerLen)
	acc, bits := uint(0), uint(fill)
	for _, s := range septets {
		acc |= uint(s) << bits
		for bits += 7; bits >= 8; bits -= 8 {
			dst = append(dst, byte(acc))
			acc >>= 8
		}
	}
	switch {
	case bits == 0 || len(septets) == 0:
		return dst
	case bits == 1:
		acc |= carriageReturn << 1
	}
	return append(dst, byte(acc))
}

// unpack returns the septets that follow a header of headerLen octets. A carriage return in the last seven bits of
// the last octet is padding.
func unpack(packed []byte, headerLen int) []byte {
	fill := fillBits(headerLen)
	n := max(0, (len(packed)*8-fill)/7)
	septets := make([]byte, 0, n)
	for i := range n {
		bit := fill + i*7
		s := uint(packed[bit/8]) >> (bit % 8)
		if bit%8 > 1 {
			s |= uint(packed[bit/8+1]) << (8 - bit%8)
		}
		septets = append(septets, byte(s&0x7F))
	}
	if n > 0 && (fill+n*7)%8 == 0 && septets[n-1] == carriageReturn {
		septets = septets[:n-1]
	}
	return septets
}

// packedLen returns the octets that n septets take after a header of headerLen octets.
func packedLen(n, headerLen int) int {
	if n == 0 {
		return 0
	}
	return (fillBits(headerLen) + n*7 + 7) / 8
}
