package pdu_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"sluice/smpp/pdu"
)

func TestParseReturnsWhatAppendWrote(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			wire := mustAppend(t, 0x0458, 77, s.body)
			h, body := mustParse(t, wire)
			want := pdu.Header{Length: uint32(len(wire)), ID: s.body.CommandID(), Status: 0x0458, Sequence: 77}
			if h != want {
				t.Errorf("header is %+v, want %+v", h, want)
			}
			if got, want := fmt.Sprintf("%+v", body), fmt.Sprintf("%+v", s.body); got != want {
				t.Errorf("body is\n%s, want\n%s", got, want)
			}
			if again := mustAppend(t, 0x0458, 77, body); !bytes.Equal(again, wire) {
				t.Errorf("appended again it is\n%x, want\n%x", again, wire)
			}
		})
	}
}

// TestSamplesCoverAllCommands fails when a command gets a body type but no
// sample: truncation, fuzz seeds and the rest are all built on the samples.
func TestSamplesCoverAllCommands(t *testing.T) {
	seen := map[pdu.CommandID]bool{}
	for _, s := range samples() {
		seen[s.body.CommandID()] = true
	}
	for id := range pdu.CommandID(0x200) {
		for _, id := range []pdu.CommandID{id, id | 0x80000000} {
			if known := pdu.NewBody(id) != nil; known != seen[id] {
				t.Errorf("%s: has a body type: %v, has a sample: %v", id, known, seen[id])
			}
			if b := pdu.NewBody(id); b != nil && b.CommandID() != id {
				t.Errorf("the body for %s says it is %s", id, b.CommandID())
			}
		}
	}
}

func TestAppendKeepsWhatTheBufferHolds(t *testing.T) {
	for _, s := range samples() {
		wire := mustAppend(t, 0, 1, s.body)
		got, err := pdu.Append([]byte("before"), 0, 1, s.body)
		if err != nil || !bytes.Equal(got, append([]byte("before"), wire...)) {
			t.Errorf("%s: %v, %x", s.name, err, got)
		}
	}
}

// TestTruncation cuts every PDU at every length, once with command_length left
// as it was and once with it made to fit.
func TestTruncation(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			wire := mustAppend(t, 0, 1, s.body)
			for n := range len(wire) {
				var short *pdu.TruncatedError
				if _, _, err := pdu.Parse(wire[:n]); !errors.As(err, &short) {
					t.Fatalf("%d of %d octets: error is %v, want a *TruncatedError", n, len(wire), err)
				}
			}
			for n := pdu.HeaderLen; n < len(wire); n++ {
				cut := bytes.Clone(wire[:n])
				binary.BigEndian.PutUint32(cut, uint32(n))
				_, body, err := pdu.Parse(cut)
				var short *pdu.TruncatedError
				switch legal := s.cutsOK(n - pdu.HeaderLen); {
				case legal && err != nil:
					t.Errorf("body cut to %d octets: %v", n-pdu.HeaderLen, err)
				case !legal && !errors.As(err, &short):
					t.Errorf("body cut to %d octets: error is %v and body %+v, want a *TruncatedError", n-pdu.HeaderLen, err, body)
				}
			}
		})
	}
}

// TestTrailingOctets puts a stray NUL, and more, behind the last field.
func TestTrailingOctets(t *testing.T) {
	for _, s := range samples() {
		wire := mustAppend(t, 0, 1, s.body)
		_, want := mustParse(t, wire)
		for _, tail := range []string{"\x00", "\x00\x00\x00", "\x00\x01\x00\x09cut off"} {
			if len(wire) == pdu.HeaderLen && s.body.CommandID().IsResponse() {
				continue // the tail would be the body
			}
			b := append(bytes.Clone(wire), tail...)
			binary.BigEndian.PutUint32(b, uint32(len(b)))
			if _, got := mustParse(t, b); !reflect.DeepEqual(got, want) {
				t.Errorf("%s with %q behind it is %+v", s.name, tail, got)
			}
		}
	}
}

// TestBodiesAreReused parses every PDU into a body that held another one.
func TestBodiesAreReused(t *testing.T) {
	all := samples()
	for _, s := range all {
		for _, before := range all {
			if before.body.CommandID() != s.body.CommandID() {
				continue
			}
			_, body := mustParse(t, mustAppend(t, 0, 1, before.body))
			wire := mustAppend(t, 0, 1, s.body)
			if err := body.ParseBody(wire[pdu.HeaderLen:]); err != nil {
				t.Errorf("%s after %s: %v", s.name, before.name, err)
			}
			if got, want := fmt.Sprintf("%+v", body), fmt.Sprintf("%+v", s.body); got != want {
				t.Errorf("%s after %s is\n%s, want\n%s", s.name, before.name, got, want)
			}
		}
	}
}

// TestFieldsDoNotGrowIntoTheirNeighbours appends to a parsed field and checks that
// the buffer stays as it was.
func TestFieldsDoNotGrowIntoTheirNeighbours(t *testing.T) {
	wire := mustAppend(t, 0, 1, &pdu.SubmitSM{
		Source: pdu.Address{Addr: []byte("1")}, ShortMessage: []byte("x"),
		TLVs: pdu.TLVs{{Tag: 0x1400, Value: []byte("v")}, {Tag: 0x1401, Value: []byte("w")}},
	})
	before := bytes.Clone(wire)
	var sm pdu.SubmitSM
	if err := sm.ParseBody(wire[pdu.HeaderLen:]); err != nil {
		t.Fatal(err)
	}
	for _, field := range [][]byte{sm.ServiceType, sm.Source.Addr, sm.ValidityPeriod, sm.ShortMessage, sm.TLVs[0].Value} {
		_ = append(field, "overwritten"...)
	}
	if !bytes.Equal(wire, before) {
		t.Errorf("the buffer is now %x, was %x", wire, before)
	}
	var resp pdu.SubmitSMResp
	if err := resp.ParseBody([]byte("no NUL, next PDU")[:6]); err != nil || cap(resp.MessageID) != 6 {
		t.Errorf("message_id without a NUL is %q with room for %d octets, %v", resp.MessageID, cap(resp.MessageID), err)
	}
}

// TestParseStopsAtCommandLength has the next PDU in the same buffer.
func TestParseStopsAtCommandLength(t *testing.T) {
	for _, s := range samples() {
		wire := mustAppend(t, 0, 1, s.body)
		_, body := mustParse(t, append(bytes.Clone(wire), wire...))
		if got, want := fmt.Sprintf("%+v", body), fmt.Sprintf("%+v", s.body); got != want {
			t.Errorf("%s is\n%s, want\n%s", s.name, got, want)
		}
	}
}

func TestParseRefusesWhatIsNotThere(t *testing.T) {
	var unknown *pdu.UnknownCommandError
	h, _, err := pdu.Parse(pdu.Header{Length: 16, ID: pdu.IDBroadcastSM, Sequence: 5}.Append(nil))
	if !errors.As(err, &unknown) || unknown.ID != pdu.IDBroadcastSM || h.Sequence != 5 {
		t.Errorf("broadcast_sm: header %+v, error %v", h, err)
	}
	if want := "pdu: unknown command broadcast_sm"; err.Error() != want {
		t.Errorf("error reads %q, want %q", err, want)
	}
	var length *pdu.LengthError
	if _, _, err := pdu.Parse(pdu.Header{Length: 15, ID: pdu.IDUnbind}.Append(nil)); !errors.As(err, &length) {
		t.Errorf("command_length 15: error is %v", err)
	}
}

// TestUnknownDestFlag: behind a dest_flag of 3 nobody knows where a field starts.
func TestUnknownDestFlag(t *testing.T) {
	wire := mustAppend(t, 0, 1, &pdu.SubmitMulti{Dests: []pdu.Destination{{Address: pdu.Address{Addr: []byte("1")}}}})
	wire[pdu.HeaderLen+5] = 3
	_, _, err := pdu.Parse(wire)
	want := "pdu: submit_multi: dest_flag (length 1, limit 1) is neither 1 (address) nor 2 (distribution list)"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestSequenceNumbers(t *testing.T) {
	for _, tt := range []struct {
		body pdu.Body
		seq  uint32
		ok   bool
	}{
		{&pdu.EnquireLink{}, 0, false},
		{&pdu.EnquireLink{}, 1, true},
		{&pdu.EnquireLink{}, pdu.MaxSequence, true},
		{&pdu.EnquireLink{}, pdu.MaxSequence + 1, false},
		{&pdu.EnquireLinkResp{}, 0, true},
		{&pdu.EnquireLinkResp{}, 0xFFFFFFFF, true},
		{&pdu.GenericNack{}, 0, true},
	} {
		_, err := pdu.Append(nil, 0, tt.seq, tt.body)
		var field *pdu.FieldError
		if tt.ok != (err == nil) || err != nil && (!errors.As(err, &field) || field.Field != "sequence_number") {
			t.Errorf("%s with sequence number %d: %v", tt.body.CommandID(), tt.seq, err)
		}
	}
}

func TestLongestPDU(t *testing.T) {
	fits := pdu.DefaultMaxLen - len(mustAppend(t, 0, 1, &pdu.SubmitSM{TLVs: pdu.TLVs{{Tag: pdu.TagMessagePayload}}}))
	sm := &pdu.SubmitSM{TLVs: pdu.TLVs{{Tag: pdu.TagMessagePayload, Value: make([]byte, fits)}}}
	if b := mustAppend(t, 0, 1, sm); len(b) != pdu.DefaultMaxLen {
		t.Errorf("the longest PDU has %d octets, want %d", len(b), pdu.DefaultMaxLen)
	}
	sm.TLVs[0].Value = make([]byte, fits+1)
	b, err := pdu.Append([]byte("before"), 0, 1, sm)
	if err == nil || !strings.Contains(err.Error(), "command_length has length 65537, the limit is 65536") {
		t.Errorf("one octet more: %v", err)
	}
	if string(b) != "before" {
		t.Errorf("after an error the buffer holds %d octets", len(b))
	}
}
