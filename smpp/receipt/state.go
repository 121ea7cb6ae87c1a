package receipt

import (
	"fmt"
	"strings"
)

// State is what a receipt says of its message. The zero value is NoState.
type State uint8

// The states of SMPP 3.4 section 5.2.28 and 5.0 section 4.7.15, and none.
const (
	NoState       State = iota // the receipt names none
	Scheduled                  // 0 (5.0)
	Enroute                    // 1
	Delivered                  // 2
	Expired                    // 3
	Deleted                    // 4
	Undeliverable              // 5
	Accepted                   // 6: read by somebody on the customer's behalf; not delivery to a handset
	Unknown                    // 7, and every word that is not known
	Rejected                   // 8
	Skipped                    // 9 (5.0)
)

// String returns the state in lower case.
func (s State) String() string {
	switch s {
	case NoState:
		return "none"
	case Scheduled:
		return "scheduled"
	case Enroute:
		return "enroute"
	case Delivered:
		return "delivered"
	case Expired:
		return "expired"
	case Deleted:
		return "deleted"
	case Undeliverable:
		return "undeliverable"
	case Accepted:
		return "accepted"
	case Unknown:
		return "unknown"
	case Rejected:
		return "rejected"
	case Skipped:
		return "skipped"
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Final reports whether no other state follows. Unknown is not final: a later receipt may know more.
func (s State) Final() bool {
	switch s {
	case Delivered, Expired, Deleted, Undeliverable, Rejected, Skipped:
		return true
	case NoState, Scheduled, Enroute, Accepted, Unknown:
	}
	return false
}

// Then returns the state of a message in state s after a receipt that says next: a final state stays, and a receipt
// without a state changes nothing.
func (s State) Then(next State) State {
	if s.Final() || next == NoState {
		return s
	}
	return next
}

// MessageState returns the number of the state on the wire, and whether it has one.
func (s State) MessageState() (byte, bool) {
	if s == NoState || s > Skipped {
		return 0, false
	}
	return byte(s - Scheduled), true
}

// FromMessageState returns the state for the value of TLV message_state; a number that no version defines is Unknown.
func FromMessageState(n byte) State {
	if n > byte(Skipped-Scheduled) {
		return Unknown
	}
	return Scheduled + State(n)
}

// stateOf returns the state for a word after "stat:", and whether the word is known.
func stateOf(word string, own map[string]State) (State, bool) {
	upper := strings.ToUpper(word)
	if s, ok := own[upper]; ok {
		return s, true
	}
	switch upper {
	case "SCHEDULED":
		return Scheduled, true
	case "ENROUTE", "BUFFRED", "BUFFERED":
		return Enroute, true
	case "DELIVRD", "DELIVERED", "DELIVERD", "DELIVRED":
		return Delivered, true
	case "EXPIRED", "EXPIRD":
		return Expired, true
	case "DELETED", "CANCELLED", "CANCELED":
		return Deleted, true
	case "UNDELIV", "UNDELIVERABLE", "UNDELIVERED", "UNDELIVRD", "UNDELIVERD", "FAILED":
		return Undeliverable, true
	case "ACCEPTD", "ACCEPTED":
		return Accepted, true
	case "UNKNOWN":
		return Unknown, true
	case "REJECTD", "REJECTED", "REJECT", "DND_REJECTED":
		return Rejected, true
	case "SKIPPED":
		return Skipped, true
	}
	return Unknown, false
}
