package queue

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of the contract.
const (
	maxName        = 11 // characters of an alphanumeric sender, 3GPP TS 23.040 section 9.1.2.5
	maxValidity    = 7 * 24 * time.Hour
	maxIDLength    = 128
	maxAddress     = 20 // SMPP 3.4 section 4.4.1: 21 octets with the NUL
	maxServiceType = 5
	maxText        = 64 << 10
	maxUDH         = 140
	maxTLVs        = 32
	maxTLVValue    = 4 << 10
	maxMetaEntries = 32
	maxMetaName    = 64
	maxMetaValue   = 512
)

// Validate reports the first fault of a message as a [*MalformedError].
func (m *Message) Validate() error {
	checks := [...]struct{ field, fault string }{
		{"id", faultOfID(m.ID)},
		{"to", faultOfTo(m.To, m.ToTON)},
		{"from", faultOfFrom(m.From, m.FromTON)},
		{"text", m.faultOfText()},
		{"data", m.faultOfData()},
		{"data_coding", m.faultOfDataCoding()},
		{"encoding", faultOfEncoding(m.Encoding)},
		{"udh", faultOfUDH(m.UDH)},
		{"expires_in", m.faultOfExpiry()},
		{"if_unknown", faultOfPolicy(m.IfUnknown)},
		{"service_type", faultOfServiceType(m.ServiceType)},
		{"priority_flag", faultOfPriority(m.PriorityFlag)},
		{"tlvs", faultOfTLVs(m.TLVs)},
		{"tenant", faultOfTenant(m.Tenant)},
		{"meta", faultOfMeta(m.Meta)},
	}
	for _, c := range checks {
		if c.fault != "" {
			return &MalformedError{Field: c.field, Fault: c.fault}
		}
	}
	return nil
}

func faultOfID(id string) string {
	if id != "" && !validID(id) {
		return fmt.Sprintf("want 1 to %d printable characters", maxIDLength)
	}
	return ""
}

func validID(id string) bool {
	if id == "" || !utf8.ValidString(id) || utf8.RuneCountInString(id) > maxIDLength {
		return false
	}
	for _, r := range id {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// faultOfTo takes a number, and whatever can be written where the type of number
// is given.
func faultOfTo(s string, ton *uint8) string {
	switch {
	case s == "":
		return "missing; want the number to send to"
	case ton != nil:
		return faultOfAddress(s)
	case !validNumber(s):
		return fmt.Sprintf("want a number: 1 to %d digits, which a + may precede; give to_ton with anything else", maxAddress)
	default:
		return ""
	}
}

// faultOfFrom takes a name too. What begins as an international number has to be
// one.
func faultOfFrom(s string, ton *uint8) string {
	switch {
	case s == "":
		return ""
	case ton == nil && s[0] == '+' && !validNumber(s):
		return fmt.Sprintf("after a + want 1 to %d digits and nothing else; give from_ton with anything else", maxAddress)
	case ton == nil && !printableASCII(s):
		return faultOfName(s)
	default:
		return faultOfAddress(s)
	}
}

// faultOfName takes a sender's name with letters beyond ASCII; the account's alphabet decides whether it can be written.
func faultOfName(s string) string {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "want printable characters"
	}
	if utf8.RuneCountInString(s) > maxName {
		return fmt.Sprintf("want at most %d characters in a name", maxName)
	}
	return ""
}

func validNumber(s string) bool {
	digits := strings.TrimPrefix(s, "+")
	return len(digits) <= maxAddress && allDigits(digits)
}

func faultOfAddress(s string) string {
	// The "+" of an international number does not go on the wire.
	if len(wireAddress(s, nil, nil).Digits) > maxAddress {
		return fmt.Sprintf("want at most %d characters", maxAddress)
	}
	if !printableASCII(s) {
		return "want printable ASCII characters"
	}
	return ""
}

func (m *Message) faultOfText() string {
	switch {
	case m.Text == "" && m.Data == nil:
		return "missing; want text, or data with data_coding"
	case m.Text != "" && m.Data != nil:
		return "want either text or data, not both"
	case m.Flash && m.Data != nil:
		return "want text with flash; with data give the data_coding of class 0"
	case m.Text != "" && m.Encoding == EncodingBinary:
		return "cannot be sent with encoding binary; use data"
	case !utf8.ValidString(m.Text):
		return "want UTF-8"
	case len(m.Text) > maxText:
		return fmt.Sprintf("want at most %d octets", maxText)
	default:
		return ""
	}
}

func (m *Message) faultOfData() string {
	switch {
	case m.Data != nil && len(m.Data) == 0:
		return "want at least one octet"
	case len(m.Data) > maxText:
		return fmt.Sprintf("want at most %d octets", maxText)
	default:
		return ""
	}
}

func (m *Message) faultOfDataCoding() string {
	switch {
	case m.Data != nil && m.DataCoding == nil && m.Encoding != EncodingBinary:
		return "missing; data needs it, or encoding binary"
	case m.Text != "" && m.DataCoding != nil:
		return "belongs to data; choose how text is written with encoding"
	default:
		return ""
	}
}

func faultOfEncoding(e Encoding) string {
	switch e {
	case "", EncodingAuto, EncodingGSM7, EncodingUCS2, EncodingLatin1, EncodingBinary:
		return ""
	default:
		return "want auto, gsm7, ucs2, latin1 or binary"
	}
}

// faultOfUDH checks the length that a user data header starts with (3GPP TS
// 23.040 section 9.2.3.24).
func faultOfUDH(udh []byte) string {
	switch {
	case len(udh) == 0:
		return ""
	case len(udh) > maxUDH:
		return fmt.Sprintf("want at most %d octets", maxUDH)
	case int(udh[0]) != len(udh)-1:
		return "its first octet must be the number of octets that follow"
	default:
		return ""
	}
}

func (m *Message) faultOfExpiry() string {
	switch {
	case m.ExpiresIn != 0 && !m.ExpiresAt.IsZero():
		return "want either expires_in or expires_at, not both"
	case m.ExpiresIn < 0 || m.ExpiresIn > maxValidity:
		return `want a duration above 0 and up to 168h, such as "15m"`
	default:
		return ""
	}
}

// faultOfDeadline compares a time, zero for none, with the one at which the stream
// stored the message. One that has passed is no fault: the message has expired.
func faultOfDeadline(deadline, stored time.Time) string {
	if !deadline.IsZero() && deadline.Sub(stored) > maxValidity {
		return "want a time at most 168h after the message was published"
	}
	return ""
}

func faultOfPolicy(p UnknownPolicy) string {
	switch p {
	case "", UnknownRetry, UnknownHold:
		return ""
	default:
		return "want retry or hold"
	}
}

func faultOfServiceType(s string) string {
	if len(s) > maxServiceType {
		return fmt.Sprintf("want at most %d characters", maxServiceType)
	}
	if !printableASCII(s) {
		return "want printable ASCII characters"
	}
	return ""
}

// faultOfPriority accepts the levels of SMPP 3.4 section 5.2.14 and 5.0's 4.
func faultOfPriority(p *uint8) string {
	if p != nil && *p > 4 {
		return "want a number from 0 to 4"
	}
	return ""
}

func faultOfTLVs(tlvs []TLV) string {
	if len(tlvs) > maxTLVs {
		return fmt.Sprintf("want at most %d", maxTLVs)
	}
	for _, t := range tlvs {
		if t.Tag == "" || len(t.Tag) > maxMetaName || len(t.Value) > maxTLVValue {
			return fmt.Sprintf("each needs a tag, and a value of at most %d octets", maxTLVValue)
		}
	}
	return ""
}

func faultOfTenant(tenant string) string {
	if tenant != "" && !validName(tenant) {
		return fmt.Sprintf("want 1 to %d of the characters A-Z a-z 0-9 _ -", maxNameLength)
	}
	return ""
}

func faultOfMeta(meta map[string]string) string {
	if len(meta) > maxMetaEntries {
		return fmt.Sprintf("want at most %d entries", maxMetaEntries)
	}
	for name, value := range meta {
		if name == "" || len(name) > maxMetaName || len(value) > maxMetaValue {
			return fmt.Sprintf("want names of 1 to %d and values of up to %d octets", maxMetaName, maxMetaValue)
		}
	}
	return ""
}
