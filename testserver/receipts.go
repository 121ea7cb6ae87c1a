package testserver

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/smpp/pdu"
)

// State is the state that a receipt reports, by its name in SMPP 3.4 Appendix B.
type State string

// The states of SMPP 3.4 Appendix B and section 5.2.28.
const (
	Enroute       State = "ENROUTE"
	Delivered     State = "DELIVRD"
	Expired       State = "EXPIRED"
	Deleted       State = "DELETED"
	Undeliverable State = "UNDELIV"
	Accepted      State = "ACCEPTD"
	Unknown       State = "UNKNOWN"
	Rejected      State = "REJECTD"
)

// code is the message_state of s (SMPP 3.4 section 5.2.28), 0 for a state that is not in the table.
func (s State) code() uint8 {
	states := [...]State{1: Enroute, Delivered, Expired, Deleted, Undeliverable, Accepted, Unknown, Rejected}
	for code, state := range states {
		if s == state {
			return uint8(code)
		}
	}
	return 0
}

// ReceiptForm is how a receipt tells what it tells.
type ReceiptForm string

// The forms of a receipt. Both is the default: most SMSCs send the text, many add the TLVs.
const (
	TextForm ReceiptForm = "text"
	TLVForm  ReceiptForm = "tlv"
	Both     ReceiptForm = "both"
)

// Receipt describes one delivery receipt.
type Receipt struct {
	// State is what became of the message; DELIVRD when empty.
	State State `yaml:"state"`
	// Code is the err: field, "000" when empty and the state is DELIVRD, "001" for the others.
	Code string `yaml:"code"`
	// Delay is the time between the submit and its receipt.
	Delay Span `yaml:"delay"`
	// Form is text, tlv or both.
	Form ReceiptForm `yaml:"form"`
	// ID is the form of the message id in the receipt; that of the response when empty. Width pads it.
	ID    IDFormat `yaml:"id"`
	Width int      `yaml:"width"`
	// BeforeResponse sends the receipt ahead of the response; Delay is not looked at.
	BeforeResponse bool `yaml:"before_response"`
	// Copies is how often it is sent again.
	Copies int `yaml:"copies"`
	// OtherBind sends it on another bind of the account where there is one.
	OtherBind bool `yaml:"other_bind"`
	// DataSM sends it as data_sm with its text in message_payload.
	DataSM bool `yaml:"data_sm"`
	// Never sends none.
	Never bool `yaml:"never"`
}

// Receipts says how delivery receipts come.
type Receipts struct {
	Receipt `yaml:",inline"`
	// Always sends a receipt whether registered_delivery asks for it or not.
	Always bool `yaml:"always"`
	// Redeliver sends a receipt or MO again this long after it was refused, and on the next bind when a session ended
	// before it was acknowledged. 0 drops it instead.
	Redeliver time.Duration `yaml:"redeliver"`
	// Rules replace the receipt above for the submits they match. The first that fires counts.
	Rules []ReceiptRule `yaml:"rules"`
}

// ReceiptRule gives the submits it matches another receipt.
type ReceiptRule struct {
	Match   `yaml:",inline"`
	Receipt `yaml:",inline"`
}

// wanted reports whether a receipt in that state is asked for by registered_delivery (SMPP 3.4 section 5.2.17; value
// 3 is SMPP 5.0's "on success only").
func wanted(registered uint8, state State) bool {
	switch registered & 0x03 {
	case 0x01:
		return true
	case 0x02:
		return state != Delivered
	case 0x03:
		return state == Delivered
	default:
		return false
	}
}

// withDefaults fills what the scenario left open.
func (r Receipt) withDefaults(id MessageID) Receipt {
	if r.State == "" {
		r.State = Delivered
	}
	if r.Code == "" {
		r.Code = "000"
		if r.State != Delivered {
			r.Code = "001"
		}
	}
	if r.Form == "" {
		r.Form = Both
	}
	if r.ID == "" {
		r.ID = id.Format
		if r.Width == 0 {
			r.Width = id.Width
		}
	}
	return r
}

// receiptDate is the date of a receipt's text (SMPP 3.4 Appendix B), in UTC.
const receiptDate = "0601021504"

// receiptText is the short_message of a receipt (SMPP 3.4 Appendix B).
func receiptText(r Receipt, id string, submitted, done time.Time, text []byte) string {
	delivered := 0
	if r.State == Delivered {
		delivered = 1
	}
	return fmt.Sprintf("id:%s sub:001 dlvrd:%03d submit date:%s done date:%s stat:%s err:%s text:%s",
		id, delivered, submitted.UTC().Format(receiptDate), done.UTC().Format(receiptDate), r.State, r.Code, text)
}

// gsmNetwork is the network type of network_error_code (SMPP 3.4 section 5.3.2.31).
const gsmNetwork = 3

// receiptTLVs carry the same as the text (SMPP 3.4 sections 5.3.2.12, 5.3.2.35 and 5.3.2.31).
func receiptTLVs(r Receipt, id string) pdu.TLVs {
	tlvs := pdu.TLVs{
		{Tag: pdu.TagReceiptedMessageID, Value: append([]byte(id), 0)},
		{Tag: pdu.TagMessageState, Value: []byte{r.State.code()}},
	}
	if code, err := strconv.ParseUint(r.Code, 10, 16); err == nil && code > 0 {
		tlvs = append(tlvs, pdu.TLV{Tag: pdu.TagNetworkErrorCode, Value: []byte{gsmNetwork, byte(code >> 8), byte(code)}})
	}
	return tlvs
}

// format writes a message number as an id.
func (f IDFormat) format(dst []byte, number uint64, width int) []byte {
	base := 10
	switch f {
	case UUID:
		return fmt.Appendf(dst, "%08x-0000-4000-8000-%012x", number>>48, number&(1<<48-1))
	case Hex:
		base = 16
	case Decimal:
	}
	var digits [20]byte
	text := strconv.AppendUint(digits[:0], number, base)
	for range width - len(text) {
		dst = append(dst, '0')
	}
	return append(dst, text...)
}

// receiptPart is how much of the text a receipt quotes, in octets.
const receiptPart = 20

// quote is what a receipt repeats of a text: printable ASCII only.
func quote(text []byte) []byte {
	part := make([]byte, 0, receiptPart)
	for _, c := range text[:min(receiptPart, len(text))] {
		if c < ' ' || c > '~' {
			c = '.'
		}
		part = append(part, c)
	}
	return part
}

// delivery is a deliver_sm or data_sm on its way to a client.
type delivery struct {
	systemID string // "" for any account
	avoid    int    // a bind to use only when there is no other
	dataSM   bool
	copies   int // to be sent again so often
	body     pdu.DeliverSM
}

// receiptFor makes the receipt of a submit; text is what quote kept of it.
func receiptFor(r Receipt, number uint64, submitted, done time.Time, from, to pdu.Address, text []byte) *delivery {
	id := string(r.ID.format(nil, number, r.Width))
	d := &delivery{dataSM: r.DataSM, copies: r.Copies}
	d.body = pdu.DeliverSM{Source: from, Dest: to, ESMClass: 0x04}
	if r.Form != TLVForm {
		d.body.ShortMessage = []byte(receiptText(r, id, submitted, done, text))
	}
	if r.Form != TextForm {
		d.body.TLVs = receiptTLVs(r, id)
	}
	return d
}

// encode writes d as a PDU.
func (d *delivery) encode(dst []byte, seq uint32) ([]byte, error) {
	if !d.dataSM {
		return pdu.Append(dst, pdu.StatusOK, seq, &d.body)
	}
	data := pdu.DataSM{
		ServiceType: d.body.ServiceType, Source: d.body.Source, Dest: d.body.Dest, ESMClass: d.body.ESMClass,
		RegisteredDelivery: d.body.RegisteredDelivery, DataCoding: d.body.DataCoding, TLVs: d.body.TLVs,
	}
	if text := d.body.ShortMessage; len(text) > 0 {
		data.TLVs = append(slices.Clip(data.TLVs), pdu.TLV{Tag: pdu.TagMessagePayload, Value: text})
	}
	return pdu.Append(dst, pdu.StatusOK, seq, &data)
}

// MO is a message from a phone, for InjectMO.
type MO struct {
	// SystemID is the account it goes to; empty: any that can receive.
	SystemID string `yaml:"system_id"`
	From     string `yaml:"from"`
	To       string `yaml:"to"`
	// Text is sent octet by octet: write it in the alphabet of DataCoding. POST /mo takes UTF-8, and writes it so.
	Text string `yaml:"text"`
	// Hex are the octets of the text instead, as hexadecimal digits; what begins with a header needs esm_class 0x40.
	Hex        string `yaml:"hex"`
	DataCoding uint8  `yaml:"data_coding"`
	// ESMClass is 0 for an ordinary message; a phone that types a receipt does not set it.
	ESMClass uint8 `yaml:"esm_class"`
	// Payload puts the text into message_payload; longer ones than 254 octets always go there.
	Payload bool `yaml:"payload"`
	// DataSM sends data_sm instead of deliver_sm.
	DataSM bool `yaml:"data_sm"`
}

// shortMessageMax is the most that short_message holds, in octets.
const shortMessageMax = 254

func (m MO) delivery() (*delivery, error) {
	if m.Hex != "" {
		octets, err := hex.DecodeString(m.Hex)
		switch {
		case m.Text != "":
			return nil, errors.New("testserver: MO: text and hex: give one of the two")
		case err != nil:
			return nil, fmt.Errorf("testserver: MO: hex: want an even number of hexadecimal digits: %w", err)
		}
		m.Text = string(octets)
	}
	d := &delivery{systemID: m.SystemID, dataSM: m.DataSM}
	d.body = pdu.DeliverSM{
		Source: address(m.From), Dest: address(m.To),
		ESMClass: m.ESMClass, DataCoding: m.DataCoding, ShortMessage: []byte(m.Text),
	}
	if !m.DataSM && (m.Payload || len(m.Text) > shortMessageMax) {
		d.body.TLVs = pdu.TLVs{{Tag: pdu.TagMessagePayload, Value: d.body.ShortMessage}}
		d.body.ShortMessage = nil
	}
	if _, err := d.encode(nil, 1); err != nil {
		return nil, fmt.Errorf("testserver: MO: %w", err)
	}
	return d, nil
}

// address guesses the type of number: digits are international (TON 1, NPI 1), all else is alphanumeric (TON 5).
func address(text string) pdu.Address {
	if strings.Trim(text, "0123456789") == "" {
		return pdu.Address{TON: 1, NPI: 1, Addr: []byte(text)}
	}
	return pdu.Address{TON: 5, Addr: []byte(text)}
}
