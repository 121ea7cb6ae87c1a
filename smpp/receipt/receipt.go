// Package receipt reads delivery receipts as SMSCs really write them, and finds the message that they are about.
//
// A receipt is a deliver_sm or data_sm whose facts are in TLVs, in a text that SMPP 3.4 appendix B only suggests, or
// in both. Everything here is pure: the time of receipt and the zone come in as arguments.
package receipt

import (
	"bytes"
	"strings"
	"time"

	"sluice/smpp/pdu"
	"sluice/smpp/text"
)

// The message types of esm_class, bits 5 to 2 (SMPP 3.4 section 5.2.12).
const (
	typeMask         = 0x3C
	typeReceipt      = 0x04
	typeSMEAck       = 0x08
	typeIntermediate = 0x20
)

// IsReceipt reports whether a deliver_sm or data_sm is a receipt, by its esm_class or by one of the TLVs
// receipted_message_id and message_state. The text has no say: a phone can send any text (see LooksLike).
func IsReceipt(esmClass byte, hasReceiptedID, hasState bool) bool {
	switch esmClass & typeMask {
	case typeReceipt, typeSMEAck, typeIntermediate:
		return true
	}
	return hasReceiptedID || hasState
}

// LooksLike reports whether a text begins as a receipt does. It is for routes that are known to mark their receipts
// in no other way; even there the id must be one of ours.
func LooksLike(shortMessage []byte) bool {
	b := bytes.TrimLeft(shortMessage, " ")
	return len(b) > 3 && bytes.EqualFold(b[:3], []byte("id:"))
}

// Input is what a receipt consists of. A TLV that is absent is nil.
type Input struct {
	Text         []byte // short_message without its header, or message_payload when that is empty
	ReceiptedID  []byte // TLV receipted_message_id (0x001E)
	State        []byte // TLV message_state (0x0427)
	NetworkError []byte // TLV network_error_code (0x0423)
}

// HasForm reports whether a text has the form of a receipt: it begins with an id and names a state, as own and the
// usual words have it.
func HasForm(shortMessage []byte, own map[string]State) bool {
	if !LooksLike(shortMessage) {
		return false
	}
	f := scan(shortMessage, own)
	return f.value[keyID] != "" && (f.value[keyStat] != "" || f.bare != "")
}

// Unquoted returns a receipt's text without the message that stands behind "text:".
func Unquoted(shortMessage []byte) []byte {
	if f := scan(shortMessage, nil); f.quote > 0 {
		return shortMessage[:f.quote]
	}
	return shortMessage
}

// InputOf takes the parts of a receipt from a PDU. They alias the PDU, but for a text in UCS2.
func InputOf(m *pdu.DeliverSM) Input {
	in := Input{Text: m.ShortMessage}
	if payload, ok := m.TLVs.Get(pdu.TagMessagePayload); ok && (len(in.Text) == 0 || !hasKey(in.Text) && hasKey(payload)) {
		in.Text = payload
	}
	// Some SMSCs copy the indicator of a header from the message to its receipt, which has none.
	if m.ESMClass&text.ESMClassUDHI != 0 && !LooksLike(in.Text) {
		if _, data, err := text.SplitHeader(in.Text); err == nil {
			in.Text = data
		}
	}
	in.Text = readable(m.DataCoding, in.Text)
	in.ReceiptedID, _ = m.TLVs.Get(pdu.TagReceiptedMessageID)
	in.State, _ = m.TLVs.Get(pdu.TagMessageState)
	in.NetworkError, _ = m.TLVs.Get(pdu.TagNetworkErrorCode)
	return in
}

// Options are what only the operator of a route can know.
type Options struct {
	Received time.Time      // when the receipt came; decides between the readings of a date of 12 digits
	Zone     *time.Location // of dates that carry no zone; nil means UTC
	Dates    Dates
	// States are words after "stat:" with a meaning of the route's own, in upper case, such as "ABSENT-SUB".
	States map[string]State
}

// Receipt is what was read. Nothing is guaranteed: a receipt without an id has an empty one.
type Receipt struct {
	ID    string
	State State
	// RawState is the word that the state was read from, empty when it came from a TLV.
	RawState string
	// TextID and TextState are what the text says where it differs from the TLV that was taken: an id, and a word.
	TextID, TextState string
	// Err is the value after "err:", an opaque code of the SMSC and no command_status.
	Err string
	// NetworkType and NetworkCode are from TLV network_error_code, when HasNetwork. They go before Err.
	NetworkType byte
	NetworkCode uint16
	HasNetwork  bool
	// Submitted and Done are zero when the receipt does not tell. Done may be the earlier one: clocks differ.
	Submitted, Done time.Time
	// Sub and Dlvrd are counts for information only, -1 when the receipt does not tell.
	Sub, Dlvrd int
	// Text is the beginning of the message, which some SMSCs quote. It belongs in no log.
	Text string
	// IDConflict and StateConflict report that the text disagreed with the TLV, which was taken.
	IDConflict, StateConflict bool
}

// Parse reads a receipt. TLVs go before the text. It cannot fail: what is missing or unreadable is left unset.
func Parse(in Input, o Options) Receipt {
	r, _ := Read(in, o)
	return r
}

// Read is [Parse] that also reports whether the receipt may say more than was read of it: it names no id or no state,
// or its time or one of its TLVs has no form that is known.
func Read(in Input, o Options) (r Receipt, unread bool) {
	f := scan(in.Text, o.States)
	r = Receipt{
		ID:        f.value[keyID],
		Err:       f.value[keyErr],
		Submitted: parseDate(f.value[keySubmitDate], o),
		Done:      parseDate(f.value[keyDoneDate], o),
		Sub:       count(f.value[keySub]),
		Dlvrd:     count(f.value[keyDlvrd]),
		Text:      f.value[keyText],
	}
	if r.RawState = f.value[keyStat]; r.RawState == "" {
		r.RawState = f.bare
	}
	if r.RawState != "" {
		r.State, _ = stateOf(r.RawState, o.States)
	}

	if id := untilNUL(in.ReceiptedID); id != "" {
		if r.ID != id {
			r.TextID = r.ID
		}
		r.IDConflict = r.ID != "" && Canonical(r.ID, Opaque) != Canonical(id, Opaque)
		r.ID = id
	}
	// A message_state of 0 beside a word is a TLV that nobody filled in.
	if len(in.State) > 0 && (in.State[0] != 0 || r.State == NoState) {
		s := FromMessageState(in.State[0])
		r.StateConflict = r.State != NoState && r.State != s
		r.State, r.TextState, r.RawState = s, r.RawState, ""
	}
	// A network_error_code of 0 is no error: it must not hide the one that the text names.
	if e := in.NetworkError; len(e) == 3 && e[1]|e[2] != 0 {
		r.NetworkType, r.NetworkCode, r.HasNetwork = e[0], uint16(e[1])<<8|uint16(e[2]), true
	}
	date := strings.Trim(f.value[keyDoneDate], "0+-")
	unread = r.ID == "" || r.State == NoState || date != "" && r.Done.IsZero() ||
		in.NetworkError != nil && len(in.NetworkError) != 3 || len(in.State) > 1
	return r, unread
}

// untilNUL returns a C-octet string without its end.
func untilNUL(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// count reads a count of at most nine digits, and returns -1 for anything else.
func count(s string) int {
	if s == "" || len(s) > 9 || !isDigits(s) {
		return -1
	}
	return number(s)
}

// isDigits reports whether s has nothing but decimal digits.
func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// number reads digits that are known to be digits, and few enough.
func number(s string) int {
	n := 0
	for i := range len(s) {
		n = 10*n + int(s[i]-'0')
	}
	return n
}
