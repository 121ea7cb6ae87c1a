package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A choice is a string that takes one of a few words.
type choice interface {
	~string
	words() []string
}

// unmarshalChoice sets c to text when text is one of its words.
func unmarshalChoice[C choice](c *C, text []byte) error {
	words := (*c).words()
	if !slices.Contains(words, string(text)) {
		return &valueError{
			problem: "is not known here",
			remedy:  "use " + orList(words),
		}
	}
	*c = C(text)
	return nil
}

func orList(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// BindMode is how an account binds.
type BindMode string

// The bind modes.
const (
	Transceiver         BindMode = "transceiver"
	TransmitterReceiver BindMode = "transmitter+receiver"
	Transmitter         BindMode = "transmitter"
)

func (BindMode) words() []string {
	return []string{string(Transceiver), string(TransmitterReceiver), string(Transmitter)}
}

// UnmarshalText accepts one of the bind modes.
func (m *BindMode) UnmarshalText(text []byte) error { return unmarshalChoice(m, text) }

// ValidityForm is the form of validity_period (SMPP 3.4 section 7.1.1).
type ValidityForm string

// The forms of validity_period.
const (
	ValidityRelative ValidityForm = "relative"
	ValidityAbsolute ValidityForm = "absolute"
	ValidityOff      ValidityForm = "off"
)

func (ValidityForm) words() []string {
	return []string{string(ValidityRelative), string(ValidityAbsolute), string(ValidityOff)}
}

// UnmarshalText accepts one of the forms.
func (f *ValidityForm) UnmarshalText(text []byte) error { return unmarshalChoice(f, text) }

// Mark says whether submits carry a user_message_reference of ours.
type Mark string

// The ways to mark submits.
const (
	MarkAuto  Mark = "auto" // where the SMSC takes it
	MarkTrue  Mark = "true"
	MarkFalse Mark = "false"
)

func (Mark) words() []string { return []string{string(MarkAuto), string(MarkTrue), string(MarkFalse)} }

// UnmarshalText accepts auto, true and false.
func (m *Mark) UnmarshalText(text []byte) error { return unmarshalChoice(m, text) }

// MarshalYAML writes auto or a switch.
func (m Mark) MarshalYAML() (any, error) {
	if m == MarkAuto {
		return string(m), nil
	}
	return m == MarkTrue, nil
}

// QueueFull is what an account's 0x14 (ESME_RMSGQFUL) speaks about.
type QueueFull string

// The meanings of 0x14.
const (
	QueueFullAccount     QueueFull = "account"
	QueueFullDestination QueueFull = "destination"
)

func (QueueFull) words() []string {
	return []string{string(QueueFullAccount), string(QueueFullDestination)}
}

// UnmarshalText accepts one of the meanings.
func (q *QueueFull) UnmarshalText(text []byte) error { return unmarshalChoice(q, text) }

// UnknownPolicy is what follows a submit without an answer.
type UnknownPolicy string

// The policies for an unknown outcome.
const (
	UnknownRetry UnknownPolicy = "retry"
	UnknownHold  UnknownPolicy = "hold"
)

func (UnknownPolicy) words() []string { return []string{string(UnknownRetry), string(UnknownHold)} }

// UnmarshalText accepts one of the policies.
func (p *UnknownPolicy) UnmarshalText(text []byte) error { return unmarshalChoice(p, text) }

// Alphabet is what data_coding 0 means at an SMSC.
type Alphabet string

// The default alphabets.
const (
	GSM7       Alphabet = "gsm7"
	GSM7Packed Alphabet = "gsm7-packed"
	Latin1     Alphabet = "latin1"
	ASCII      Alphabet = "ascii"
)

func (Alphabet) words() []string {
	return []string{string(GSM7), string(GSM7Packed), string(Latin1), string(ASCII)}
}

// UnmarshalText accepts one of the alphabets.
func (a *Alphabet) UnmarshalText(text []byte) error { return unmarshalChoice(a, text) }

// InboundAlphabet is what data_coding 0 means in what comes from phones.
type InboundAlphabet string

// The inbound alphabets.
const (
	InboundGSM7       InboundAlphabet = "gsm7"
	InboundGSM7Packed InboundAlphabet = "gsm7-packed"
	InboundLatin1     InboundAlphabet = "latin1"
	InboundASCII      InboundAlphabet = "ascii"
	InboundUTF8       InboundAlphabet = "utf8"
	InboundUCS2       InboundAlphabet = "ucs2"
)

func (InboundAlphabet) words() []string {
	return []string{
		string(InboundGSM7), string(InboundGSM7Packed), string(InboundLatin1), string(InboundASCII), string(InboundUTF8), string(InboundUCS2),
	}
}

// UnmarshalText accepts one of the alphabets.
func (a *InboundAlphabet) UnmarshalText(text []byte) error { return unmarshalChoice(a, text) }

// LongText is how a text of several segments is sent.
type LongText string

// The ways to send a long text.
const (
	LongUDH8    LongText = "udh8"
	LongUDH16   LongText = "udh16"
	LongSAR     LongText = "sar"
	LongPayload LongText = "payload"
)

func (LongText) words() []string {
	return []string{string(LongUDH8), string(LongUDH16), string(LongSAR), string(LongPayload)}
}

// UnmarshalText accepts one of the ways.
func (l *LongText) UnmarshalText(text []byte) error { return unmarshalChoice(l, text) }

// Language is a national single-shift table (3GPP TS 23.038 annex A.2).
type Language string

// The languages.
const (
	LanguageNone       Language = "none"
	LanguageTurkish    Language = "turkish"
	LanguageSpanish    Language = "spanish"
	LanguagePortuguese Language = "portuguese"
)

func (Language) words() []string {
	return []string{string(LanguageNone), string(LanguageTurkish), string(LanguageSpanish), string(LanguagePortuguese)}
}

// UnmarshalText accepts one of the languages.
func (l *Language) UnmarshalText(text []byte) error { return unmarshalChoice(l, text) }

// IDForm is the form of a message id.
type IDForm string

// The forms of a message id.
const (
	IDOpaque  IDForm = "opaque"
	IDHex     IDForm = "hex"
	IDDecimal IDForm = "decimal"
)

func (IDForm) words() []string { return []string{string(IDOpaque), string(IDHex), string(IDDecimal)} }

// UnmarshalText accepts one of the forms.
func (f *IDForm) UnmarshalText(text []byte) error { return unmarshalChoice(f, text) }

// Version is the interface_version of a bind: 0x34 or 0x50 (SMPP 5.0 section
// 4.7.13).
type Version uint8

// The interface versions.
const (
	SMPP34 Version = 0x34
	SMPP50 Version = 0x50
)

// UnmarshalText accepts 3.4, 5.0 and 5.
func (v *Version) UnmarshalText(text []byte) error {
	switch string(text) {
	case "3.4":
		*v = SMPP34
	case "5.0", "5":
		*v = SMPP50
	default:
		return &valueError{problem: "is not an SMPP version that Sluice speaks", remedy: "use 3.4 or 5.0"}
	}
	return nil
}

// MarshalText writes the version as major.minor.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// String is the version as major.minor.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v>>4, v&0x0f) }

// Weight is a class's share of its account, 1 to 100, or [Strict].
type Weight int

// Strict is the weight of a class that is served before all weighted ones.
const Strict Weight = -1

// UnmarshalText accepts strict or a number from 1 to 100.
func (w *Weight) UnmarshalText(text []byte) error {
	if string(text) == "strict" {
		*w = Strict
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > 100 {
		return &valueError{problem: "is not a weight", remedy: "use strict or a whole number from 1 to 100"}
	}
	*w = Weight(n)
	return nil
}

// MarshalYAML writes strict or the number.
func (w Weight) MarshalYAML() (any, error) {
	if w == Strict {
		return w.String(), nil
	}
	return int(w), nil
}

// String is strict or the number.
func (w Weight) String() string {
	if w == Strict {
		return "strict"
	}
	return strconv.Itoa(int(w))
}

// Listen is a host:port to listen on; empty means off.
type Listen string

// UnmarshalText accepts host:port or off; validation checks the address.
func (l *Listen) UnmarshalText(text []byte) error {
	*l = Listen(text)
	if string(text) == "off" {
		*l = ""
	}
	return nil
}

// MarshalText writes the address or off.
func (l Listen) MarshalText() ([]byte, error) {
	if l == "" {
		return []byte("off"), nil
	}
	return []byte(l), nil
}
