// Package admin is the operator's side of a running gateway: a NATS micro service that every instance answers, and
// the calls that the commands make to it.
package admin

import (
	"strings"
	"time"

	"sluice/gateway/printable"
)

// Bind is one bind of one instance, as `sluice binds` shows it.
type Bind struct {
	Instance string `json:"instance"`
	Account  string `json:"account"`
	// Number counts the binds of the account on its instance, from 1.
	Number int `json:"number"`
	// State is bound, unbound, config, throttled, paused, draining or shutting_down.
	State string    `json:"state"`
	Since time.Time `json:"since"`
	// Reason says why the account is not bound.
	Reason string `json:"reason,omitempty"`
	// Until is when the account will be tried again, zero when that is not known.
	Until time.Time `json:"until,omitzero"`

	// Window is how far submits may run ahead of the newest answer, Ahead how far they do, InFlight how many are not
	// answered.
	Window   int `json:"window"`
	Ahead    int `json:"ahead"`
	InFlight int `json:"in_flight"`
	// Pace is in submits per second; Ceiling is what the SMSC is believed to accept, Declared what the operator
	// declared (0: nothing).
	Pace     float64 `json:"pace"`
	Ceiling  float64 `json:"ceiling"`
	Declared float64 `json:"declared,omitempty"`
	Mode     string  `json:"mode"`
	// Alarm is a sentence about refusals that do not follow the pace and cannot be ignored; empty: there is no alarm.
	Alarm string `json:"alarm,omitempty"`
	// Throttled1m and Throttled15m are shares of the answers, 0 to 1.
	Throttled1m  float64 `json:"throttled_1m"`
	Throttled15m float64 `json:"throttled_15m"`
	LastStatus   string  `json:"last_status,omitempty"`
	// HeardAgo is the age of the last whole PDU from the SMSC, in milliseconds.
	HeardAgo int64 `json:"heard_ago_ms,omitempty"`
	// Decisions are the newest decisions of the window, as sentences, newest last.
	Decisions []string `json:"decisions,omitempty"`
	// Pending are the oldest submits without an answer.
	Pending []Pending `json:"pending,omitempty"`
}

// Standing says in a sentence where a bind or account stands, why, and when it is tried again.
func Standing(state, reason string, until time.Time) string {
	s := reason
	if !strings.HasPrefix(reason, state) {
		s = state + ": " + reason
	}
	if !until.IsZero() && !strings.Contains(reason, "throttled until ") {
		s += "; next try " + until.UTC().Format(time.RFC3339)
	}
	return printable.String(s) // an SMSC's certificate and a NATS server have their words in it
}

// Pending is one submit_sm without an answer.
type Pending struct {
	Sequence   uint32 `json:"sequence"`
	DeliveryID string `json:"delivery_id"`
	// Age is since the submit, in milliseconds.
	Age int64 `json:"age_ms"`
}
