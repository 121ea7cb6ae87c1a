package pdu

import "fmt"

// MessageState is the state of a message in query_sm_resp and in the
// message_state TLV of a receipt (SMPP 3.4 section 5.2.28, SMPP 5.0 section
// 4.7.15).
type MessageState uint8

// The message states. SMPP 5.0 added the first and the last.
const (
	StateScheduled     MessageState = 0
	StateEnroute       MessageState = 1
	StateDelivered     MessageState = 2
	StateExpired       MessageState = 3
	StateDeleted       MessageState = 4
	StateUndeliverable MessageState = 5
	StateAccepted      MessageState = 6
	StateUnknown       MessageState = 7
	StateRejected      MessageState = 8
	StateSkipped       MessageState = 9
)

// String returns the name in the specification, or the number as "0x2A".
func (s MessageState) String() string {
	switch s {
	case StateScheduled:
		return "SCHEDULED"
	case StateEnroute:
		return "ENROUTE"
	case StateDelivered:
		return "DELIVERED"
	case StateExpired:
		return "EXPIRED"
	case StateDeleted:
		return "DELETED"
	case StateUndeliverable:
		return "UNDELIVERABLE"
	case StateAccepted:
		return "ACCEPTED"
	case StateUnknown:
		return "UNKNOWN"
	case StateRejected:
		return "REJECTED"
	case StateSkipped:
		return "SKIPPED"
	}
	return fmt.Sprintf("0x%02X", uint8(s))
}
