package testserver

import (
	"time"

	"sluice/smpp/pdu"
)

// Scenario says how the SMSC behaves. The zero value takes every bind and accepts every submit at once.
//
// Scenario and all it holds can be written as YAML (see Load); the keys are those of the yaml tags, durations are
// written "20ms", shares "1%" or 0.01, statuses 0x58.
type Scenario struct {
	// Name appears in the statistics.
	Name string `yaml:"name"`
	// Description tells a reader what the scenario is for; it has no effect.
	Description string `yaml:"description"`
	// Seed starts every random choice: each bind draws from a source of its own, made from the seed and the number of
	// the bind.
	Seed uint64 `yaml:"seed"`
	// SystemID is the SMSC's own name in bind responses; "fakesmsc" when empty.
	SystemID string `yaml:"system_id"`
	// Bind says who may bind and how often.
	Bind BindRules `yaml:"bind"`
	// Link says when the SMSC probes an idle session and when it gives one up.
	Link Link `yaml:"link"`
	// Limits are asked in turn: those of the server, then those of the account, then those of the bind; the first
	// refusal counts.
	Limits []Limit `yaml:"limits"`
	// Latency is the time between a submit and its response, on top of what a limit asks; drawn for each submit.
	Latency Span `yaml:"latency"`
	// AnyOrder lets responses overtake each other; by default they leave in the order of the submits, each not before
	// the one ahead of it.
	AnyOrder bool `yaml:"any_order"`
	// Errors refuse what the limits let through. The first rule that fires counts.
	Errors []ErrorRule `yaml:"errors"`
	// ChargeRefusedDestination has the limits asked before the errors, so that a refused recipient still costs what
	// an accepted message costs. By default errors are looked at first and cost nothing.
	ChargeRefusedDestination bool `yaml:"charge_refused_destination"`
	// BodiedErrors gives responses with a non-zero status an empty message_id; by default they are a header only.
	BodiedErrors bool `yaml:"bodied_errors"`
	// Faults spoil responses and sessions. All that fire take effect.
	Faults []Fault `yaml:"faults"`
	// MessageID is the form of message_id.
	MessageID MessageID `yaml:"message_id"`
	// Receipts says how delivery receipts come, for submits that ask for one.
	Receipts Receipts `yaml:"receipts"`
	// Ledger bounds what is remembered.
	Ledger LedgerConfig `yaml:"ledger"`
}

// BindRules says who may bind.
type BindRules struct {
	// Accounts maps each system_id to its password. An unknown system_id is refused with 0x0F, a wrong password with
	// 0x0E. Empty: everybody may bind.
	Accounts map[string]string `yaml:"accounts"`
	// Max is the number of sessions an account may have at once; more are refused with 0x05. 0 is no limit.
	Max int `yaml:"max"`
	// Ghost is how long a session that ended without unbind still counts against Max.
	Ghost time.Duration `yaml:"ghost"`
	// Lockout is how long no bind of an account is accepted (0x0D) after a limit has ended one of its sessions.
	Lockout time.Duration `yaml:"lockout"`
	// Refuse turns binds away whatever their credentials.
	Refuse Refusal `yaml:"refuse"`
}

// Refusal turns binds away: all of them, the first Times, or all within For of the first.
type Refusal struct {
	// Status answers the bind, for example 0x0D. 0 turns the rule off, unless Silent or Drop is set.
	Status pdu.Status `yaml:"status"`
	// Silent leaves the bind without an answer and the connection open.
	Silent bool `yaml:"silent"`
	// Drop closes the connection without an answer.
	Drop bool `yaml:"drop"`
	// Times ends the rule after so many refusals; 0 is no end.
	Times int `yaml:"times"`
	// For ends the rule this long after its first refusal; 0 is no end.
	For time.Duration `yaml:"for"`
}

// Link says how the SMSC watches its sessions.
type Link struct {
	// Interval is the silence after which the SMSC sends enquire_link; 0 sends none.
	Interval time.Duration `yaml:"interval"`
	// Timeout ends the session when nothing at all came that long after an enquire_link; 10 s when 0.
	Timeout time.Duration `yaml:"timeout"`
	// Idle ends a session that was silent for so long, without a probe; 0 is never.
	Idle time.Duration `yaml:"idle"`
	// Deaf leaves the peer's enquire_link unanswered.
	Deaf bool `yaml:"deaf"`
}

// ErrorRule answers the submits it matches with a non-zero status.
type ErrorRule struct {
	Match `yaml:",inline"`
	// Status answers every match.
	Status pdu.Status `yaml:"status"`
	// Script answers the first match with its first status, the second with its second and so on, 0 being "accepted";
	// the rule ends with the script. It excludes Status.
	Script []pdu.Status `yaml:"script"`
}

// FaultKind names a fault.
type FaultKind string

// The faults.
const (
	// FaultSwallow accepts the message and never answers.
	FaultSwallow FaultKind = "swallow"
	// FaultDelay answers By later than it would; other responses pass. By beyond the client's patience is a late
	// response.
	FaultDelay FaultKind = "delay"
	// FaultDuplicate sends the response Copies times more (1 when 0), By apart.
	FaultDuplicate FaultKind = "duplicate"
	// FaultReorder holds the response back until the next one has been sent, or for By (100 ms when 0).
	FaultReorder FaultKind = "reorder"
	// FaultNack answers with generic_nack and Status (0x08 when 0); the message is not accepted.
	FaultNack FaultKind = "nack"
	// FaultCongestion adds congestion_state (0x0428) with Value, 0 to 99, to the response.
	FaultCongestion FaultKind = "congestion"
	// FaultDisconnect ends the connection before or after the response (When) by FIN or RST (How).
	FaultDisconnect FaultKind = "disconnect"
	// FaultUnbind sends unbind after the response.
	FaultUnbind FaultKind = "unbind"
	// FaultStopReading reads nothing for By; for ever when 0. What was read is answered.
	FaultStopReading FaultKind = "stop_reading"
	// FaultDrip writes the response octet by octet, By apart (20 ms when 0).
	FaultDrip FaultKind = "drip"
	// FaultGarbage sends Hex, or 16 random octets, ahead of the response.
	FaultGarbage FaultKind = "garbage"
	// FaultOversized sends a PDU of Value octets (70,000 when 0) ahead of the response.
	FaultOversized FaultKind = "oversized"
)

// When places a disconnect.
type When string

// The places of a disconnect; After is the default.
const (
	After  When = "after"
	Before When = "before"
)

// How ends a connection.
type How string

// The ways to end a connection; FIN is the default. Unbind sends unbind first and waits up to 5 s for the response.
const (
	FIN    How = "fin"
	RST    How = "rst"
	Unbind How = "unbind"
)

// Fault spoils the response or the session of the submits it matches.
type Fault struct {
	Match `yaml:",inline"`
	Kind  FaultKind `yaml:"kind"`
	// By is the time that the kind speaks of.
	By Span `yaml:"by"`
	// When and How belong to disconnect.
	When When `yaml:"when"`
	How  How  `yaml:"how"`
	// Status belongs to nack.
	Status pdu.Status `yaml:"status"`
	// Copies belongs to duplicate.
	Copies int `yaml:"copies"`
	// Value belongs to congestion and oversized.
	Value int `yaml:"value"`
	// Hex belongs to garbage.
	Hex string `yaml:"hex"`
}

// IDFormat is how a message number is written.
type IDFormat string

// The forms of a message id. Decimal is the default.
const (
	Decimal IDFormat = "decimal"
	Hex     IDFormat = "hex"
	UUID    IDFormat = "uuid"
)

// MessageID is the form of the message_id of a response. Ids count up from First.
type MessageID struct {
	Format IDFormat `yaml:"format"`
	// Width pads decimal and hex ids with zeros, up to 64 digits.
	Width int `yaml:"width"`
	// First is the first number; 1 when 0.
	First uint64 `yaml:"first"`
}

// LedgerConfig bounds what the ledger remembers. The counts are always kept.
type LedgerConfig struct {
	// Records is the number of newest submits kept one by one; 1,000,000 when 0, none when negative.
	Records int `yaml:"records"`
	// Keys is the number of newest delivery keys kept to tell duplicates; 4,000,000 when 0, none when negative.
	Keys int `yaml:"keys"`
	// PDUs keeps the octets of every recorded submit too.
	PDUs bool `yaml:"pdus"`
}
