package pdu

import (
	"encoding/binary"
	"fmt"
)

const (
	// HeaderLen is the length of the header every PDU starts with, in octets
	// (SMPP 3.4 section 3.2).
	HeaderLen = 16

	// DefaultMaxLen is the longest PDU Append writes, header included, and the
	// limit a reader should apply before it makes room for a body. The
	// specification names no limit; 64 KiB is far above the longest message a
	// centre takes, and far below what a wrong length can ask for.
	DefaultMaxLen = 64 << 10

	// MaxSequence is the highest sequence number. The range is 1 to
	// 0x7FFFFFFF (SMPP 3.4 section 3.2); 0 is seen in generic_nack only.
	MaxSequence = 0x7FFFFFFF
)

// Header is the header of a PDU (SMPP 3.4 section 3.2).
type Header struct {
	Length   uint32    // command_length: octets of the whole PDU, this header included
	ID       CommandID // command_id
	Status   Status    // command_status: zero in requests
	Sequence uint32    // sequence_number: 1 to MaxSequence
}

// ParseHeader reads the header at the start of b. It needs HeaderLen octets
// and checks that command_length covers the header; whether the length is
// acceptable is for the caller to say, with CheckLength.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderLen {
		return Header{}, &TruncatedError{Field: "header"}
	}
	h := Header{
		Length:   binary.BigEndian.Uint32(b),
		ID:       CommandID(binary.BigEndian.Uint32(b[4:])),
		Status:   Status(binary.BigEndian.Uint32(b[8:])),
		Sequence: binary.BigEndian.Uint32(b[12:]),
	}
	if h.Length < HeaderLen {
		return h, &LengthError{Length: h.Length, Limit: DefaultMaxLen}
	}
	return h, nil
}

// Append writes the header behind dst and returns the longer slice.
func (h Header) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, h.Length)
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.ID))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.Status))
	return binary.BigEndian.AppendUint32(dst, h.Sequence)
}

// CheckLength reads command_length from the first four octets of a PDU and
// checks it against a limit in octets, before anything is allocated for the
// rest. first holds what has been read so far, at least four octets. The error
// is a *LengthError, and it means that the stream is broken: the next PDU
// cannot be found.
func CheckLength(first []byte, limit int) (int, error) {
	if len(first) < 4 {
		return 0, &TruncatedError{Field: "command_length"}
	}
	n := binary.BigEndian.Uint32(first)
	if n < HeaderLen || uint64(n) > uint64(max(limit, HeaderLen)) {
		return 0, &LengthError{Length: n, Limit: limit, Guess: GuessForeign(first)}
	}
	return int(n), nil
}

// LengthError reports a command_length that no PDU can have or that is above
// the reader's limit.
type LengthError struct {
	Length uint32 // command_length as read
	Limit  int    // highest length the reader takes, in octets
	Guess  string // what the octets look like instead, or ""
}

// Error says what is wrong and, where the octets are recognised, what the peer
// seems to speak instead of SMPP.
func (e *LengthError) Error() string {
	s := fmt.Sprintf("pdu: command_length %d (0x%08X) is not between %d and %d", e.Length, e.Length, HeaderLen, e.Limit)
	if e.Guess != "" {
		s += "; the octets look like " + e.Guess
	}
	return s
}
