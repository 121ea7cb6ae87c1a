package text

import (
	"errors"
	"fmt"
)

// The information elements of a user data header that this package writes and reads (3GPP TS 23.040 section
// 9.2.3.24).
const (
	ieConcat8      = 0x00 // reference 1 octet, total, number
	ieConcat16     = 0x08 // reference 2 octets, total, number
	ieSingleShift  = 0x24 // language identifier
	ieLockingShift = 0x25 // language identifier
)

// MaxHeaderLen is the most octets that a user data header may have, its length octet included: all but one of the
// 140 of a short message.
const MaxHeaderLen = maxOctets - 1

// ErrHeader is the error of a user data header that contradicts its own lengths.
var ErrHeader = errors.New("user data header is broken")

// Header is what a user data header says about the text that follows it.
type Header struct {
	// Total is the number of parts of a joined text, Part the number of this one from 1; both 0 when it is whole.
	Total, Part byte
	Reference   uint16
	Wide        bool // Reference has 16 bits
	// SingleShift and LockingShift are national language identifiers, 0 when absent. They may name a language that this
	// package has no table for.
	SingleShift, LockingShift Language
}

// SplitHeader cuts a short message whose esm_class announces a header into the header, length octet included, and
// the text.
func SplitHeader(shortMessage []byte) (udh, data []byte, err error) {
	if len(shortMessage) == 0 {
		return nil, nil, fmt.Errorf("%w: the message is empty", ErrHeader)
	}
	n := int(shortMessage[0]) + 1
	if n > len(shortMessage) {
		return nil, nil, fmt.Errorf("%w: it claims %d octets of %d", ErrHeader, n, len(shortMessage))
	}
	return shortMessage[:n], shortMessage[n:], nil
}

// ParseHeader reads a user data header, length octet included. Elements that it does not know, and a joining element
// that numbers its part impossibly, are passed over, as 3GPP TS 23.040 section 9.2.3.24 asks.
func ParseHeader(udh []byte) (Header, error) {
	var h Header
	err := eachElement(udh, func(id byte, v []byte) {
		switch {
		case id == ieConcat8 && len(v) == 3 && v[2] != 0 && v[2] <= v[1]:
			h.Reference, h.Wide, h.Total, h.Part = uint16(v[0]), false, v[1], v[2]
		case id == ieConcat16 && len(v) == 4 && v[3] != 0 && v[3] <= v[2]:
			h.Reference, h.Wide, h.Total, h.Part = uint16(v[0])<<8|uint16(v[1]), true, v[2], v[3]
		case id == ieSingleShift && len(v) == 1:
			h.SingleShift = Language(v[0])
		case id == ieLockingShift && len(v) == 1:
			h.LockingShift = Language(v[0])
		}
	})
	return h, err
}

// eachElement calls f for every information element of a header.
func eachElement(udh []byte, f func(id byte, value []byte)) error {
	if len(udh) == 0 || int(udh[0]) != len(udh)-1 {
		return fmt.Errorf("%w: its first octet is not the number of octets after it (%d octets in all)", ErrHeader, len(udh))
	}
	for rest := udh[1:]; len(rest) > 0; {
		if len(rest) < 2 || int(rest[1]) > len(rest)-2 {
			return fmt.Errorf("%w: an element runs past the end of its %d octets", ErrHeader, len(udh))
		}
		f(rest[0], rest[2:2+rest[1]])
		rest = rest[2+rest[1]:]
	}
	return nil
}

// checkHeader checks a header that a message brings along; nil is none.
func checkHeader(udh []byte) error {
	if len(udh) == 0 {
		return nil
	}
	if len(udh) > MaxHeaderLen {
		return fmt.Errorf("text: udh has %d octets: the most is %d", len(udh), MaxHeaderLen)
	}
	if err := eachElement(udh, func(byte, []byte) {}); err != nil {
		return fmt.Errorf("text: udh: %w", err)
	}
	return nil
}

// hasElement reports whether a checked header holds one of the elements.
func hasElement(udh []byte, ids ...byte) bool {
	found := false
	if len(udh) > 0 {
		_ = eachElement(udh, func(id byte, _ []byte) {
			for _, wanted := range ids {
				found = found || id == wanted
			}
		})
	}
	return found
}

// part identifies one part of a joined text; the zero value is a text that is whole.
type part struct {
	join          Join
	reference     uint16
	total, number byte
}

// elementLen returns the octets of the joining element that the header of the part holds.
func (p part) elementLen() int {
	if p.total == 0 {
		return 0
	}
	return p.join.elementLen()
}

// appendElement appends that element.
func (p part) appendElement(dst []byte) []byte {
	switch {
	case p.total == 0:
	case p.join == JoinUDH8:
		dst = append(dst, ieConcat8, 3, byte(p.reference), p.total, p.number)
	case p.join == JoinUDH16:
		dst = append(dst, ieConcat16, 4, byte(p.reference>>8), byte(p.reference), p.total, p.number)
	}
	return dst
}

// elementLen returns the octets of the joining element, 0 for ways to join that send none.
func (j Join) elementLen() int {
	switch j {
	case JoinUDH8:
		return 5
	case JoinUDH16:
		return 6
	case JoinSAR, JoinPayload:
	}
	return 0
}

// headerLen returns the octets of a header with so many octets of elements: one more for the length, or none at all.
func headerLen(elements int) int {
	if elements == 0 {
		return 0
	}
	return elements + 1
}
