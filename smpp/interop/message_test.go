//go:build interop

package interop

import (
	"encoding/hex"
	"testing"

	"sluice/smpp/pdu"
	"sluice/smpp/text"
)

// message is what a submit_sm or deliver_sm says, by the names of the
// specification. Sent, read by us and read by a foreign library, it must be the
// same.
type message struct {
	ServiceType        string `json:"service_type"`
	SourceTON          uint8  `json:"source_addr_ton"`
	SourceNPI          uint8  `json:"source_addr_npi"`
	Source             string `json:"source_addr"`
	DestTON            uint8  `json:"dest_addr_ton"`
	DestNPI            uint8  `json:"dest_addr_npi"`
	Dest               string `json:"destination_addr"`
	ESMClass           uint8  `json:"esm_class"`
	ProtocolID         uint8  `json:"protocol_id"`
	PriorityFlag       uint8  `json:"priority_flag"`
	ValidityPeriod     string `json:"validity_period"`
	RegisteredDelivery uint8  `json:"registered_delivery"`
	DataCoding         uint8  `json:"data_coding"`
	UDH                string `json:"udh,omitempty"` // hex, its length octet included
	Text               string `json:"text"`
	Reference          uint16 `json:"user_message_reference,omitempty"`
	ReceiptedID        string `json:"receipted_message_id,omitempty"`
	State              uint8  `json:"message_state,omitempty"`
}

const (
	gsmText  = "Total: 5 € for [Ñandù] & Çà_"
	ucs2Text = "Привет, мир: ½ 漢字 😀"
	longText = "A text of three parts, each with a user data header: " +
		"0123456789 ÄÖÜ äöü {0123456789} ~ 0123456789 | ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz, " +
		"0123456789 ÄÖÜ äöü {0123456789} ~ 0123456789 | ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz, " +
		"0123456789 ÄÖÜ äöü {0123456789} ~ 0123456789 | ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz, end."
)

// base is a message whose every field is different from its default where a
// peer lets it.
func base() message {
	return message{
		ServiceType: "CMT", SourceTON: 5, Source: "ACME", DestTON: 1, DestNPI: 1, Dest: "4915550100",
		PriorityFlag: 1, ValidityPeriod: "991231235900000+",
	}
}

// outgoing is what a client sends: GSM 7-bit with a receipt asked for, UCS2, and
// the parts of a long text.
func outgoing(t *testing.T) []message {
	t.Helper()
	var all []message
	for _, s := range []string{gsmText, ucs2Text, longText} {
		parts := split(t, s)
		for _, m := range parts {
			m.Reference = uint16(0x0101 * (len(all) + 1))
			all = append(all, m)
		}
	}
	all[0].RegisteredDelivery = pdu.RegisteredReceipt
	if len(all) != 5 {
		t.Fatalf("%d messages, want 5", len(all))
	}
	return all
}

// split makes the messages of a text.
func split(t *testing.T, s string) []message {
	t.Helper()
	e, err := text.Encode(s, text.Options{Reference: 0xA7})
	if err != nil {
		t.Fatal(err)
	}
	var parts []message
	for _, segment := range e.Segments {
		m := base()
		m.DataCoding = e.DataCoding
		m.Text = decoded(t, e.DataCoding, segment.Data)
		if len(segment.UDH) > 0 {
			m.UDH = hex.EncodeToString(segment.UDH)
			m.ESMClass = pdu.ESMClassUDHI
		}
		parts = append(parts, m)
	}
	return parts
}

func decoded(t *testing.T, coding uint8, octets []byte) string {
	t.Helper()
	s, err := text.Decode(coding, octets, false, text.AlphabetGSM7)
	if err != nil {
		t.Errorf("a text with data_coding %d: %v", coding, err)
	}
	return s
}

// submitSM is the message as our codec takes it.
func (m message) submitSM(t *testing.T) *pdu.SubmitSM {
	t.Helper()
	udh, err := hex.DecodeString(m.UDH)
	if err != nil {
		t.Fatal(err)
	}
	sm := &pdu.SubmitSM{
		ServiceType: []byte(m.ServiceType),
		Source:      pdu.Address{TON: m.SourceTON, NPI: m.SourceNPI, Addr: []byte(m.Source)},
		Dest:        pdu.Address{TON: m.DestTON, NPI: m.DestNPI, Addr: []byte(m.Dest)},
		ESMClass:    m.ESMClass, ProtocolID: m.ProtocolID, PriorityFlag: m.PriorityFlag,
		ValidityPeriod: []byte(m.ValidityPeriod), RegisteredDelivery: m.RegisteredDelivery,
		DataCoding: m.DataCoding, ShortMessage: append(udh, m.octets(t)...),
	}
	if m.Reference != 0 {
		sm.TLVs = append(sm.TLVs, pdu.TLV{Tag: pdu.TagUserMessageReference, Value: []byte{byte(m.Reference >> 8), byte(m.Reference)}})
	}
	return sm
}

// octets is the text in the alphabet of its data_coding.
func (m message) octets(t *testing.T) []byte {
	t.Helper()
	options := text.Options{Encoding: text.GSM7}
	if m.DataCoding == text.DataCodingUCS2 {
		options.Encoding = text.UCS2
	}
	e, err := text.Encode(m.Text, options)
	if err != nil || len(e.Segments) != 1 {
		t.Fatalf("%d segments of one part: %v", len(e.Segments), err)
	}
	return e.Segments[0].Data
}

// messageOf is what our codec read.
func messageOf(t *testing.T, sm *pdu.SubmitSM) message {
	t.Helper()
	m := message{
		ServiceType: string(sm.ServiceType),
		SourceTON:   sm.Source.TON, SourceNPI: sm.Source.NPI, Source: string(sm.Source.Addr),
		DestTON: sm.Dest.TON, DestNPI: sm.Dest.NPI, Dest: string(sm.Dest.Addr),
		ESMClass: sm.ESMClass, ProtocolID: sm.ProtocolID, PriorityFlag: sm.PriorityFlag,
		ValidityPeriod: string(sm.ValidityPeriod), RegisteredDelivery: sm.RegisteredDelivery, DataCoding: sm.DataCoding,
	}
	octets := sm.ShortMessage
	if sm.ESMClass&pdu.ESMClassUDHI != 0 {
		udh, data, err := text.SplitHeader(octets)
		if err != nil {
			t.Errorf("split the header: %v", err)
		}
		m.UDH, octets = hex.EncodeToString(udh), data
	}
	m.Text = decoded(t, sm.DataCoding, octets)
	if reference, ok := sm.TLVs.Uint16(pdu.TagUserMessageReference); ok {
		m.Reference = reference
	}
	if id, ok := sm.TLVs.CString(pdu.TagReceiptedMessageID); ok {
		m.ReceiptedID = string(id)
	}
	if state, ok := sm.TLVs.Uint8(pdu.TagMessageState); ok {
		m.State = state
	}
	return m
}
