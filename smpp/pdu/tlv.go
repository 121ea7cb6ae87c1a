package pdu

import "encoding/binary"

const (
	tlvHeaderLen = 4     // tag and length
	maxTLVLen    = 65535 // what the 16-bit length can announce
)

// TLV is an optional parameter (SMPP 3.4 section 5.3.1).
type TLV struct {
	Tag   Tag
	Value []byte // at most 65,535 octets
}

// TLVs is the list of optional parameters of a PDU in the order they have on
// the wire. Repeated and unknown tags are kept.
type TLVs []TLV

// Get returns the value of the first TLV with the given tag.
func (t TLVs) Get(tag Tag) ([]byte, bool) {
	for i := range t {
		if t[i].Tag == tag {
			return t[i].Value, true
		}
	}
	return nil, false
}

// Uint8 returns the value of the first TLV with the given tag, if it is one
// octet long.
func (t TLVs) Uint8(tag Tag) (uint8, bool) {
	if v, ok := t.Get(tag); ok && len(v) == 1 {
		return v[0], true
	}
	return 0, false
}

// Uint16 returns the value of the first TLV with the given tag, if it is two
// octets long.
func (t TLVs) Uint16(tag Tag) (uint16, bool) {
	if v, ok := t.Get(tag); ok && len(v) == 2 {
		return binary.BigEndian.Uint16(v), true
	}
	return 0, false
}

// Uint32 returns the value of the first TLV with the given tag, if it is four
// octets long.
func (t TLVs) Uint32(tag Tag) (uint32, bool) {
	if v, ok := t.Get(tag); ok && len(v) == 4 {
		return binary.BigEndian.Uint32(v), true
	}
	return 0, false
}

// CString returns the value of the first TLV with the given tag without the NUL
// that ends a C-octet string, which some peers leave out.
func (t TLVs) CString(tag Tag) ([]byte, bool) {
	v, ok := t.Get(tag)
	if n := len(v); n > 0 && v[n-1] == 0 {
		v = v[:n-1]
	}
	return v, ok
}

// Uint8TLV returns a TLV whose value is one octet.
func Uint8TLV(tag Tag, v uint8) TLV { return TLV{Tag: tag, Value: []byte{v}} }

// Uint16TLV returns a TLV whose value is an integer of two octets.
func Uint16TLV(tag Tag, v uint16) TLV {
	return TLV{Tag: tag, Value: binary.BigEndian.AppendUint16(nil, v)}
}

// Uint32TLV returns a TLV whose value is an integer of four octets.
func Uint32TLV(tag Tag, v uint32) TLV {
	return TLV{Tag: tag, Value: binary.BigEndian.AppendUint32(nil, v)}
}

// CStringTLV returns a TLV whose value is s and a NUL.
func CStringTLV(tag Tag, s string) TLV { return TLV{Tag: tag, Value: append([]byte(s), 0)} }

// tlvs writes the list. Lengths are left to the caller, those of integers too:
// some centres use the tags of the specification with a width of their own. See
// [Kind.Width].
func (w *writer) tlvs(t TLVs) {
	for i := range t {
		if len(t[i].Value) > maxTLVLen {
			w.fail(t[i].Tag.String(), len(t[i].Value), maxTLVLen, "")
			return
		}
		w.b = binary.BigEndian.AppendUint16(w.b, uint16(t[i].Tag))
		w.b = binary.BigEndian.AppendUint16(w.b, uint16(len(t[i].Value)))
		w.b = append(w.b, t[i].Value...)
	}
}

// tlvs reads TLVs to the end of the body into t, whose room is reused. A tail
// that is no whole TLV is dropped: peers cut TLVs off, and some write a stray
// NUL behind the last field.
func (r *reader) tlvs(t TLVs) TLVs {
	t = t[:0]
	b := r.rest
	for len(b) >= tlvHeaderLen {
		n := tlvHeaderLen + int(binary.BigEndian.Uint16(b[2:]))
		if n > len(b) {
			break
		}
		t = append(t, TLV{Tag: Tag(binary.BigEndian.Uint16(b)), Value: b[tlvHeaderLen:n:n]})
		b = b[n:]
	}
	r.rest = nil
	return t
}
