package pdu

import (
	"bytes"
	"slices"
)

// Lengths of the C-octet strings, in octets without the terminating NUL that
// the specification counts (SMPP 3.4 sections 5.2 and 4.7.1).
const (
	maxSystemID    = 15
	maxPassword    = 8
	maxServiceType = 5
	maxAddr        = 20
	maxDataAddr    = 64 // addresses of data_sm and alert_notification
	maxListName    = 20
	maxMessageID   = 64
	timeLen        = 16 // an SMPP time is empty or exactly this long

	// maxBindField is what is written of a field of the bind, where operators give
	// out more than the specification has: such a PDU can be read all the same.
	maxBindField = 1024

	// maxShortMessage is the most sm_length can announce by SMPP 3.4 section
	// 5.2.21. SMPP 5.0 allows 255, which is accepted on receipt.
	maxShortMessage = 254
)

// reader takes fields from the front of a PDU body. The first field that is
// not complete is noted, and all reads after it return zero values.
type reader struct {
	rest  []byte
	short string
}

func (r *reader) fail(field string) {
	if r.short == "" {
		r.short = field
	}
	r.rest = nil
}

func (r *reader) err() error {
	if r.short == "" {
		return nil
	}
	return &TruncatedError{Field: r.short}
}

func (r *reader) octet(field string) uint8 {
	if len(r.rest) == 0 {
		r.fail(field)
		return 0
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

func (r *reader) octets(field string, n int) []byte {
	if len(r.rest) < n {
		r.fail(field)
		return nil
	}
	v := r.rest[:n:n]
	r.rest = r.rest[n:]
	return v
}

// cstring takes a C-octet string of any length and returns it without its NUL.
func (r *reader) cstring(field string) []byte {
	n := bytes.IndexByte(r.rest, 0)
	if n < 0 {
		r.fail(field)
		return nil
	}
	v := r.rest[:n:n]
	r.rest = r.rest[n+1:]
	return v
}

// lastCString takes message_id or system_id where it ends the mandatory part of
// a response. A peer that leaves the NUL out there loses nothing, because
// command_length bounds the string, and the message was answered all the same.
func (r *reader) lastCString() []byte {
	n := bytes.IndexByte(r.rest, 0)
	if n < 0 {
		v := slices.Clip(r.rest)
		r.rest = nil
		return v
	}
	v := r.rest[:n:n]
	r.rest = r.rest[n+1:]
	return v
}

// shortMessage takes sm_length and short_message.
func (r *reader) shortMessage() []byte {
	n := r.octet("sm_length")
	return r.octets("short_message", int(n))
}

// writer puts fields behind a buffer. The first field that breaks its limit is
// noted, and the buffer is not to be used then.
type writer struct {
	b   []byte
	err error
}

func (w *writer) fail(field string, length, limit int, reason string) {
	if w.err == nil {
		w.err = &FieldError{Field: field, Length: length, Limit: limit, Reason: reason}
	}
}

func (w *writer) octet(v uint8) { w.b = append(w.b, v) }

// cstring writes v and a NUL. A NUL inside v would end the field early and
// shift all that follows, so it is refused.
func (w *writer) cstring(field string, v []byte, limit int) {
	if len(v) > limit {
		w.fail(field, len(v), limit, "")
		return
	}
	if len(v) > 0 && bytes.IndexByte(v, 0) >= 0 {
		w.fail(field, len(v), limit, "contains a NUL octet")
		return
	}
	w.b = append(w.b, v...)
	w.b = append(w.b, 0)
}

// smppTime writes a time, which is empty or has a fixed length (SMPP 3.4
// section 7.1.1).
func (w *writer) smppTime(field string, v []byte) {
	if len(v) != 0 && len(v) != timeLen {
		w.fail(field, len(v), timeLen, "is neither empty nor 16 octets long")
		return
	}
	w.cstring(field, v, timeLen)
}

// shortMessage writes sm_length and short_message.
func (w *writer) shortMessage(v []byte) {
	if len(v) > maxShortMessage {
		w.fail("short_message", len(v), maxShortMessage, "")
		return
	}
	w.b = append(w.b, uint8(len(v)))
	w.b = append(w.b, v...)
}

func (w *writer) done(dst []byte) ([]byte, error) {
	if w.err != nil {
		return dst, w.err
	}
	return w.b, nil
}
