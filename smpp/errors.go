package smpp

import (
	"errors"
	"fmt"

	"sluice/smpp/pdu"
)

// The two ways a submit can end without an answer. They differ in what the peer
// may have seen, and every error of Submit is one of them.
var (
	// ErrNotSent says that no octet of the PDU was handed to the network: it is
	// safe to send the message again.
	ErrNotSent = errors.New("smpp: not sent")
	// ErrNoResponse says that the PDU left, at least in part, and that no
	// answer came: the SMSC may have accepted the message.
	ErrNoResponse = errors.New("smpp: no response")
)

// ErrTimeout is the ErrNoResponse of a submit that had no answer within
// ResponseTimeout, while the session goes on.
var ErrTimeout = fmt.Errorf("%w in time", ErrNoResponse)

// Why a session ended. Session.Err wraps one of them or an error of the network.
var (
	// ErrClosed is the end that Close brings about.
	ErrClosed = errors.New("smpp: session closed")
	// ErrUnbound says that the peer asked for the end with an unbind.
	ErrUnbound = errors.New("smpp: the SMSC unbound the session")
	// ErrSilent says that the peer sent no whole PDU for EnquireLinkInterval and
	// then none for EnquireLinkTimeout although it was asked to, or that a PDU
	// which it had begun did not end within EnquireLinkTimeout.
	ErrSilent = errors.New("smpp: the SMSC is silent")
	// ErrNotReading says that the peer did not read what was sent to it.
	ErrNotReading = errors.New("smpp: the SMSC stopped reading")
	// ErrHungUp says that the peer closed the connection without an unbind.
	ErrHungUp = errors.New("smpp: the SMSC closed the connection")
)

// ErrNotTLS says that the peer answered a TLS ClientHello with something that
// is not TLS.
var ErrNotTLS = errors.New("smpp: the answer is not TLS: the port may speak plain SMPP")

// BindError is a bind that the SMSC refused.
type BindError struct {
	Status pdu.Status // StatusOK only in a generic_nack that gives no reason
	Nack   bool       // refused with generic_nack rather than with a bind_resp
}

// Error names the status.
func (e *BindError) Error() string {
	with := ""
	if e.Nack {
		with = " with generic_nack"
	}
	return fmt.Sprintf("smpp: the SMSC refused the bind%s: %v", with, e.Status)
}
