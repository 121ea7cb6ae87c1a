package pdu

import (
	"encoding/binary"
	"fmt"
)

// Body is what follows the header of one kind of PDU.
type Body interface {
	// CommandID returns the command id the body belongs to.
	CommandID() CommandID
	// AppendBody writes the body behind dst. On error, a *FieldError, it
	// returns dst as it was.
	AppendBody(dst []byte) ([]byte, error)
	// ParseBody reads the body from b, which holds nothing else, and sets all
	// fields but Command. On error, a *TruncatedError or, for a value that hides
	// where the next field starts, a *FieldError, they are not to be used.
	ParseBody(b []byte) error
}

// Append writes a whole PDU behind dst and returns the longer slice. On error
// it returns dst as it was; the error wraps a *FieldError. A request needs a seq
// of 1 to MaxSequence (SMPP 3.4 section 3.2). A response echoes the number of its
// request, whatever the peer chose, and generic_nack carries 0 when that number
// could not be read.
func Append(dst []byte, status Status, seq uint32, body Body) ([]byte, error) {
	id := body.CommandID()
	if !id.IsResponse() && (seq == 0 || seq > MaxSequence) {
		return dst, fmt.Errorf("pdu: %s: %w", id, &FieldError{Field: "sequence_number", Length: 4, Limit: 4, Reason: "is not between 1 and 0x7FFFFFFF"})
	}
	start := len(dst)
	b := Header{ID: id, Status: status, Sequence: seq}.Append(dst)
	b, err := body.AppendBody(b)
	if err != nil {
		return dst, fmt.Errorf("pdu: %s: %w", id, err)
	}
	n := len(b) - start
	if n > DefaultMaxLen {
		return dst, fmt.Errorf("pdu: %s: %w", id, &FieldError{Field: "command_length", Length: n, Limit: DefaultMaxLen})
	}
	binary.BigEndian.PutUint32(b[start:], uint32(n))
	return b, nil
}

// Parse reads the PDU at the start of b into a new body. The header is set in
// all cases where its octets are there. The error is a *LengthError when
// command_length cannot be true, an *UnknownCommandError when the command has
// no body type here, and wraps a *TruncatedError when b or the body is too
// short.
func Parse(b []byte) (Header, Body, error) {
	h, err := ParseHeader(b)
	if err != nil {
		return h, nil, err
	}
	if uint64(h.Length) > uint64(len(b)) {
		return h, nil, fmt.Errorf("pdu: %s: %w", h.ID, &TruncatedError{Field: "the body"})
	}
	body := NewBody(h.ID)
	if body == nil {
		return h, nil, &UnknownCommandError{ID: h.ID}
	}
	if err := body.ParseBody(b[HeaderLen:h.Length]); err != nil {
		return h, nil, fmt.Errorf("pdu: %s: %w", h.ID, err)
	}
	return h, body, nil
}

// NewBody returns an empty body for a command id, or nil when there is none.
func NewBody(id CommandID) Body {
	switch id { //nolint:exhaustive // broadcast commands have no body type
	case IDBindReceiver, IDBindTransmitter, IDBindTransceiver:
		return &Bind{Command: id}
	case IDBindReceiverResp, IDBindTransmitterResp, IDBindTransceiverResp:
		return &BindResp{Command: id}
	case IDSubmitSM:
		return new(SubmitSM)
	case IDSubmitSMResp:
		return new(SubmitSMResp)
	case IDDeliverSM:
		return new(DeliverSM)
	case IDDeliverSMResp:
		return new(DeliverSMResp)
	case IDDataSM:
		return new(DataSM)
	case IDDataSMResp:
		return new(DataSMResp)
	case IDSubmitMulti:
		return new(SubmitMulti)
	case IDSubmitMultiResp:
		return new(SubmitMultiResp)
	case IDQuerySM:
		return new(QuerySM)
	case IDQuerySMResp:
		return new(QuerySMResp)
	case IDCancelSM:
		return new(CancelSM)
	case IDCancelSMResp:
		return new(CancelSMResp)
	case IDReplaceSM:
		return new(ReplaceSM)
	case IDReplaceSMResp:
		return new(ReplaceSMResp)
	case IDOutbind:
		return new(Outbind)
	case IDAlertNotification:
		return new(AlertNotification)
	case IDEnquireLink:
		return new(EnquireLink)
	case IDEnquireLinkResp:
		return new(EnquireLinkResp)
	case IDUnbind:
		return new(Unbind)
	case IDUnbindResp:
		return new(UnbindResp)
	case IDGenericNack:
		return new(GenericNack)
	}
	return nil
}
