// Package classify says what a command_status means for a message, its route and its bind.
//
// The meaning of a number depends on where it came from: the same 0x0D refuses a bind for good and says
// little about a submit. So a [Table] is keyed by [Phase] and number. [Default] holds every status of SMPP 3.4
// and 5.0; [Table.With] lays a vendor's profile and an account's own overrides over it.
//
// The package is pure: it reads no clock, keeps no state and starts nothing.
package classify

import (
	"fmt"
	"strings"
	"time"
)

// Class is what an answer asks of the sender. The zero value is Unknown.
type Class uint8

// The classes, from "nobody knows" to "somebody must act".
const (
	Unknown  Class = iota // no agreed meaning: tried again a few times, logged and counted
	OK                    // accepted
	Throttle              // fine, but not now: waits, uses no attempt, and slows the account
	Retry                 // a temporary fault of this message, route or bind: waits and uses one attempt
	Terminal              // will never pass as it is written: the message fails
	Config                // the account or route is set up wrongly: it stops, and its messages stay queued
)

// Classes returns every class in order of its number.
func Classes() []Class { return []Class{Unknown, OK, Throttle, Retry, Terminal, Config} }

// String returns the class as configuration, events and metrics write it.
func (c Class) String() string {
	switch c {
	case Unknown:
		return "unknown"
	case OK:
		return "ok"
	case Throttle:
		return "throttle"
	case Retry:
		return "retry"
	case Terminal:
		return "terminal"
	case Config:
		return "config"
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// ParseClass reads what Class.String writes. The error names every accepted word.
func ParseClass(s string) (Class, error) {
	words := make([]string, 0, len(Classes()))
	for _, c := range Classes() {
		if s == c.String() {
			return c, nil
		}
		words = append(words, c.String())
	}
	return Unknown, fmt.Errorf("class %q is not known: write one of %s", s, strings.Join(words, ", "))
}

// MarshalText writes the class as its word.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (c *Class) UnmarshalText(text []byte) error {
	parsed, err := ParseClass(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}

// Phase is the kind of response that carried a status.
type Phase uint8

// The phases.
const (
	Submit Phase = iota // submit_sm_resp, and any other response to a message
	Bind                // the response to one of the three bind operations
	Nack                // generic_nack in place of the response to a message
)

// Phases returns every phase in order of its number.
func Phases() []Phase { return []Phase{Submit, Bind, Nack} }

// String returns the phase as the keys of overrides write it.
func (p Phase) String() string {
	switch p {
	case Submit:
		return "submit"
	case Bind:
		return "bind"
	case Nack:
		return "nack"
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// Scope is how far an answer reaches beyond the message that received it.
type Scope uint8

// The scopes.
const (
	ScopeMessage Scope = iota // this message alone
	ScopeRoute                // every message that goes this way
	ScopeBind                 // the session: while messages are being sent, renew the bind as well
)

// String returns the scope in the word of the status table.
func (s Scope) String() string {
	switch s {
	case ScopeMessage:
		return "message"
	case ScopeRoute:
		return "route"
	case ScopeBind:
		return "bind"
	}
	return fmt.Sprintf("scope(%d)", uint8(s))
}

// Verdict is the meaning of one status in one phase.
type Verdict struct {
	Class Class
	Scope Scope
	// Name is the name of the specification ("ESME_RTHROTTLED"), or "(reserved)" or "(vendor specific)" for a
	// number that it gives no name.
	Name string
	// Hold is the wait that an override asks for before the next try, 0 when none is asked. It is a floor:
	// it is never shortened.
	Hold time.Duration
	// Shape marks a terminal status about the shape of a field (TON, NPI, esm_class, a TLV): one such answer fails
	// its message, a run of them points at the route. See Escalation.
	Shape bool
	// Why is one plain sentence for the operator: what the status means and what follows from it.
	Why string
	// Origin is "default table", "profile <name>" or "account override".
	Origin string
}
