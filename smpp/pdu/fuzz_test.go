package pdu_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"sluice/smpp/pdu"
)

// FuzzParse reads any octets as a PDU. What can be read and written again must
// read the same, and what cannot be written must be refused for one field.
func FuzzParse(f *testing.F) {
	for _, s := range samples() {
		wire := mustAppend(f, 0, 1, s.body)
		f.Add(wire)
		f.Add(wire[:len(wire)/2])
	}
	for _, stream := range reportedStreams() {
		f.Add(unhex(f, stream))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		h, body, err := pdu.Parse(b)
		if !bytes.Equal(b, before) {
			t.Fatalf("the input is now %x, was %x", b, before)
		}
		if err != nil {
			checkKind(t, err)
			return
		}
		wire, err := pdu.Append(nil, h.Status, max(1, h.Sequence&pdu.MaxSequence), body)
		if err != nil {
			checkKind(t, err)
			return
		}
		h2, body2, err := pdu.Parse(wire)
		if err != nil {
			t.Fatalf("%x was written from %x and cannot be read: %v", wire, b, err)
		}
		if int(h2.Length) != len(wire) || h2.ID != h.ID || h2.Status != h.Status {
			t.Fatalf("header is %+v, was %+v", h2, h)
		}
		if got, want := fmt.Sprintf("%+v", body2), fmt.Sprintf("%+v", body); got != want {
			t.Fatalf("body is\n%s, was\n%s", got, want)
		}
		again, err := pdu.Append(nil, h2.Status, h2.Sequence, body2)
		if err != nil || !bytes.Equal(again, wire) {
			t.Fatalf("written again as\n%x, %v; want\n%x", again, err, wire)
		}
	})
}

// checkKind wants one of the errors that a session knows how to answer.
func checkKind(t *testing.T, err error) {
	t.Helper()
	var (
		field   *pdu.FieldError
		short   *pdu.TruncatedError
		length  *pdu.LengthError
		unknown *pdu.UnknownCommandError
	)
	if !errors.As(err, &field) && !errors.As(err, &short) && !errors.As(err, &length) && !errors.As(err, &unknown) {
		t.Fatalf("error is %v (%T)", err, err)
	}
}

// FuzzTLVs reads any octets as the TLVs of an alert_notification. Written again they
// are the front of the input, and what is left holds no whole TLV.
func FuzzTLVs(f *testing.F) {
	const addresses = "\x00\x00\x00\x00\x00\x00" // two empty ones
	for _, s := range samples() {
		if sm, ok := s.body.(*pdu.SubmitSM); ok {
			wire := mustAppend(f, 0, 1, &pdu.AlertNotification{TLVs: sm.TLVs})
			f.Add(wire[pdu.HeaderLen+len(addresses):])
		}
	}
	f.Add([]byte("\x04\x24\x00\x05four"))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p pdu.AlertNotification
		if err := p.ParseBody(append([]byte(addresses), b...)); err != nil {
			t.Fatal(err)
		}
		written := 0
		for _, tlv := range p.TLVs {
			if v, ok := p.TLVs.Get(tlv.Tag); !ok || len(v) > len(b) {
				t.Fatalf("%s: %x, %v", tlv.Tag, v, ok)
			}
			head := binary.BigEndian.AppendUint16(nil, uint16(tlv.Tag))
			head = binary.BigEndian.AppendUint16(head, uint16(len(tlv.Value)))
			if !bytes.HasPrefix(b[written:], append(head, tlv.Value...)) {
				t.Fatalf("%s is not at %d of %x", tlv.Tag, written, b)
			}
			written += len(head) + len(tlv.Value)
		}
		if tail := b[written:]; len(tail) >= 4 && len(tail) >= 4+int(binary.BigEndian.Uint16(tail[2:])) {
			t.Fatalf("%x was not read", tail)
		}
		wire, err := pdu.Append(nil, 0, 1, &p)
		if err != nil {
			checkKind(t, err)
			return
		}
		if got := wire[pdu.HeaderLen+len(addresses):]; !bytes.Equal(got, b[:written]) {
			t.Fatalf("written again as %x, want %x", got, b[:written])
		}
	})
}

// FuzzParseTime reads any octets as a time; an absolute one of this century is
// written again as the same moment.
func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"261130120000000+", "261130140000008+", "000002000000000R", "000229235959948-", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := pdu.ParseTime(b)
		if !ok {
			if got != (pdu.Time{}) {
				t.Fatalf("%q is no time and %+v", b, got)
			}
			return
		}
		write := pdu.AppendAbsoluteTime
		if got.Relative {
			write = pdu.AppendRelativeTime
		}
		again, err := write(nil, got.Seconds)
		if _, ok := errors.AsType[*pdu.TimeError](err); ok {
			return // an offset led out of the century, or zero seconds from now
		}
		if back, ok := pdu.ParseTime(again); err != nil || !ok || back != got {
			t.Fatalf("%q is %+v, written as %q it is %+v, %v", b, got, again, back, err)
		}
	})
}
