//go:build interop

package interop

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"sluice/smpp/pdu"
)

// quirks are what a peer is known to do against the specification.
type quirks struct {
	bindSequence bool // its bind_resp has a sequence number of its own
	strayNUL     bool // its deliver_sm has a NUL behind sm_length
	sentUnknown  bool // we sent a command that does not exist
}

// verify ends the capture and judges the conversation: the wire had what our end
// saw, tshark reads what we wrote as we do, it decodes and encodes to the same
// octets, and every request has its response.
func (c *capture) verify(t *testing.T, taps []*tap, q quirks) {
	t.Helper()
	if len(taps) == 0 {
		t.Fatal("nobody connected")
	}
	c.stop(t, taps)
	if c.keys != "" {
		c.dissectTLS(t, taps)
	} else {
		c.dissect(t, taps)
	}
	for _, tap := range taps {
		read, written := tap.octets()
		ours, restOfOurs := cut(written)
		theirs, restOfTheirs := cut(read)
		if len(restOfOurs)+len(restOfTheirs) > 0 {
			t.Errorf("behind the last PDU we wrote %x, and read %x", restOfOurs, restOfTheirs)
		}
		for _, p := range ours {
			if q.sentUnknown && !known(p) {
				continue
			}
			checkOurs(t, p)
		}
		for _, p := range theirs {
			checkTheirs(t, p, q)
		}
		checkAnswers(t, "ours", ours, theirs, q)
		checkAnswers(t, "theirs", theirs, ours, quirks{})
		if t.Failed() {
			t.Logf("port %d: we read %s, and wrote %s", tap.client, names(theirs), names(ours))
		}
	}
}

// known reports whether our codec knows the command.
func known(p packet) bool { return pdu.NewBody(p.ID) != nil }

func names(packets []packet) []string {
	var all []string
	for _, p := range packets {
		all = append(all, fmt.Sprintf("%s %d %s", p.ID, p.Sequence, p.Status))
	}
	return all
}

// checkOurs wants the same octets back from the codec. tshark overlooks trailing
// octets, strings that are too long, and PDUs that are too short.
func checkOurs(t *testing.T, p packet) {
	t.Helper()
	head, body, err := pdu.Parse(p.octets)
	if err != nil {
		t.Errorf("our %s cannot be read: %v: %x", p.ID, err, p.octets)
		return
	}
	again, err := pdu.Append(nil, head.Status, head.Sequence, body)
	if err != nil || !bytes.Equal(again, p.octets) {
		t.Errorf("our %s is\n%x, and written again\n%x: %v", p.ID, p.octets, again, err)
	}
}

func checkTheirs(t *testing.T, p packet, q quirks) {
	t.Helper()
	_, _, err := pdu.Parse(p.octets)
	var unknown *pdu.UnknownCommandError
	switch {
	case err == nil, errors.As(err, &unknown):
	case q.strayNUL && p.ID == pdu.IDDeliverSM:
	default:
		t.Errorf("their %s cannot be read: %v: %x", p.ID, err, p.octets)
	}
}

// checkAnswers wants one response of the right kind to each request. The last
// enquire_link may be overtaken by the end of the connection.
func checkAnswers(t *testing.T, whose string, requests, responses []packet, q quirks) {
	t.Helper()
	left := slices.DeleteFunc(slices.Clone(responses), func(p packet) bool { return !p.ID.IsResponse() })
	last := pdu.Header{}
	for _, p := range requests {
		if p.ID == pdu.IDEnquireLink {
			last = p.Header
		}
	}
	for _, request := range requests {
		if request.ID.IsResponse() {
			continue
		}
		i := slices.IndexFunc(left, func(p packet) bool {
			isBind := request.ID == pdu.IDBindTransceiver || request.ID == pdu.IDBindTransmitter || request.ID == pdu.IDBindReceiver
			return (p.ID == request.ID.Response() || p.ID == pdu.IDGenericNack) &&
				(p.Sequence == request.Sequence || q.bindSequence && isBind) ||
				q.sentUnknown && !known(request) && p.ID == pdu.IDGenericNack
		})
		switch {
		case i >= 0:
			left = slices.Delete(left, i, i+1)
		case request.Header == last:
		default:
			t.Errorf("%s: %s %d has no answer", whose, request.ID, request.Sequence)
		}
	}
	for _, p := range left {
		t.Errorf("%s: the %s %d answers nothing", whose, p.ID, p.Sequence)
	}
}
