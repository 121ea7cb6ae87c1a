package queue

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// ContractVersion is the version of the message contract, field "v".
const ContractVersion = 1

// Encoding says how the text is written on the wire.
type Encoding string

// The encodings of the contract. An empty one means [EncodingAuto].
const (
	EncodingAuto   Encoding = "auto"
	EncodingGSM7   Encoding = "gsm7"
	EncodingUCS2   Encoding = "ucs2"
	EncodingLatin1 Encoding = "latin1"
	EncodingBinary Encoding = "binary"
)

// UnknownPolicy says what to do with a submit whose outcome is unknown.
type UnknownPolicy string

// The policies of the contract; the route decides when a message names none.
const (
	UnknownRetry UnknownPolicy = "retry"
	UnknownHold  UnknownPolicy = "hold"
)

// ReceiptFor says which receipts are wanted.
type ReceiptFor string

// The receipts of the contract.
const (
	ReceiptFinal        ReceiptFor = ""             // "receipt": true
	ReceiptFailure      ReceiptFor = "failure"      // only when the message was not delivered
	ReceiptIntermediate ReceiptFor = "intermediate" // of states on the way too
)

// TLV is an optional parameter that the sender of a message asks for. The queue
// does not know the names: the gateway resolves them.
type TLV struct {
	// Tag is a name ("user_response_code") or a number ("0x1401", "5121").
	Tag string
	// Value is the parameter's octets.
	Value []byte
}

// Message is what a user publishes: the JSON contract, version 1. Pointers are
// fields whose absence means something other than zero.
type Message struct {
	// ID is the delivery id, 1 to 128 printable characters; optional.
	ID string
	// From and To are the addresses as written, From being optional. To is a
	// number, and From a number or a name, unless FromTON or ToTON is given.
	From, To string
	// FromTON to ToNPI override what [InferAddress] derives.
	FromTON, FromNPI, ToTON, ToNPI *uint8
	// Text is the message; exactly one of Text and Data is given.
	Text string
	// Data is the message in octets; it needs DataCoding unless Encoding is
	// binary. Text has none.
	Data       []byte
	DataCoding *uint8
	Encoding   Encoding
	// UDH is a user data header to send in front of Text or Data.
	UDH []byte
	// Flash shows the text at once on the phone and stores it nowhere (message
	// class 0); it needs Text.
	Flash bool
	// Receipt asks the SMSC for a delivery receipt, ReceiptFor for which: of every
	// final state unless it says otherwise.
	Receipt    bool
	ReceiptFor ReceiptFor
	// ExpiresIn counts from the time the stream stored the message, ExpiresAt is
	// absolute; at most one is given, above 0 and up to 7 days.
	ExpiresIn time.Duration
	ExpiresAt time.Time
	IfUnknown UnknownPolicy
	// ServiceType to ReplaceIfPresent are the fields of submit_sm (SMPP 3.4
	// section 4.4.1).
	ServiceType      string
	ProtocolID       *uint8
	PriorityFlag     *uint8
	ReplaceIfPresent bool
	TLVs             []TLV
	Tenant           string
	// Meta is echoed in events and never sent.
	Meta map[string]string
}

// Source is the sender's address as it goes on the wire.
func (m *Message) Source() Address { return wireAddress(m.From, m.FromTON, m.FromNPI) }

// Dest is the receiver's address as it goes on the wire.
func (m *Message) Dest() Address { return wireAddress(m.To, m.ToTON, m.ToNPI) }

// Deadline is the moment after which the message must not be sent any more:
// its own, or stored plus routeDefault. It is zero when neither is set.
func (m *Message) Deadline(stored time.Time, routeDefault time.Duration) time.Time {
	switch {
	case !m.ExpiresAt.IsZero():
		return m.ExpiresAt
	case m.ExpiresIn > 0:
		return stored.Add(m.ExpiresIn)
	case routeDefault > 0:
		return stored.Add(routeDefault)
	default:
		return time.Time{}
	}
}

// wireMessage is the JSON form of a message.
type wireMessage struct {
	V                int               `json:"v"`
	ID               string            `json:"id,omitempty"`
	From             string            `json:"from,omitempty"`
	FromTON          *uint8            `json:"from_ton,omitempty"`
	FromNPI          *uint8            `json:"from_npi,omitempty"`
	To               string            `json:"to"`
	ToTON            *uint8            `json:"to_ton,omitempty"`
	ToNPI            *uint8            `json:"to_npi,omitempty"`
	Text             string            `json:"text,omitempty"`
	Data             []byte            `json:"data,omitempty"`
	DataCoding       *uint8            `json:"data_coding,omitempty"`
	Encoding         Encoding          `json:"encoding,omitempty"`
	UDH              string            `json:"udh,omitempty"`
	Flash            bool              `json:"flash,omitempty"`
	Receipt          any               `json:"receipt,omitempty"` // true, or a word
	ExpiresIn        string            `json:"expires_in,omitempty"`
	ExpiresAt        string            `json:"expires_at,omitempty"`
	IfUnknown        UnknownPolicy     `json:"if_unknown,omitempty"`
	ServiceType      string            `json:"service_type,omitempty"`
	ProtocolID       *uint8            `json:"protocol_id,omitempty"`
	PriorityFlag     *uint8            `json:"priority_flag,omitempty"`
	ReplaceIfPresent bool              `json:"replace_if_present,omitempty"`
	TLVs             []wireTLV         `json:"tlvs,omitempty"`
	Tenant           string            `json:"tenant,omitempty"`
	Meta             map[string]string `json:"meta,omitempty"`
}

type wireTLV struct {
	Tag string `json:"tag"`
	Hex string `json:"hex"`
}

// MarshalJSON writes the message as the contract has it. It does not validate;
// [Client.Publish] does.
func (m *Message) MarshalJSON() ([]byte, error) {
	w := wireMessage{
		V: ContractVersion, ID: m.ID,
		From: m.From, FromTON: m.FromTON, FromNPI: m.FromNPI, To: m.To, ToTON: m.ToTON, ToNPI: m.ToNPI,
		Text: m.Text, Data: m.Data, DataCoding: m.DataCoding, Encoding: m.Encoding, UDH: hex.EncodeToString(m.UDH),
		Flash: m.Flash, IfUnknown: m.IfUnknown,
		ServiceType: m.ServiceType, ProtocolID: m.ProtocolID, PriorityFlag: m.PriorityFlag,
		ReplaceIfPresent: m.ReplaceIfPresent, Tenant: m.Tenant, Meta: m.Meta,
	}
	switch {
	case m.Receipt && m.ReceiptFor != ReceiptFinal:
		w.Receipt = m.ReceiptFor
	case m.Receipt:
		w.Receipt = true
	}
	if m.ExpiresIn != 0 {
		w.ExpiresIn = m.ExpiresIn.String()
	}
	if !m.ExpiresAt.IsZero() {
		w.ExpiresAt = m.ExpiresAt.UTC().Format(time.RFC3339Nano)
	}
	for _, t := range m.TLVs {
		w.TLVs = append(w.TLVs, wireTLV{Tag: t.Tag, Hex: hex.EncodeToString(t.Value)})
	}
	return json.Marshal(w)
}

// MalformedError reports a message that can never be sent as it is written. It
// names the field and the fault and never repeats a text or a number.
type MalformedError struct {
	// Field is the JSON name, or empty when the payload is no JSON object.
	Field string
	// Fault says what is wrong and what would be right.
	Fault string
}

func (e *MalformedError) Error() string {
	if e.Field == "" {
		return "malformed message: " + e.Fault
	}
	return fmt.Sprintf("malformed message: %s: %s", e.Field, e.Fault)
}

// UnknownFieldError reports a field that this version of the contract does not
// have: a typo, or a newer producer. The message can be replayed.
type UnknownFieldError struct {
	// Field is the name, and empty when the name may hold what must not be shown:
	// a text or a number.
	Field string
}

func (e *UnknownFieldError) Error() string {
	switch e.Field {
	case "":
		return "unknown field in the message: a field whose name is not shown"
	case "v":
		return fmt.Sprintf("v: a version of the message that is not known; want at most %d", ContractVersion)
	}
	return fmt.Sprintf("unknown field %q in the message", e.Field)
}
