package gateway

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/smpp/text"
)

// unsendable says why a message can never be sent as it is written. The detail names the field and the fault, never
// a text or a number.
type unsendable struct{ reason, detail string }

// encode turns a message into the submit_sm of its one segment. left is the time to its deadline, 0 for none.
func (a *account) encode(job queue.Job, msg *queue.Message, left time.Duration) (*pdu.SubmitSM, *unsendable) {
	malformed := func(field string, err error) (*pdu.SubmitSM, *unsendable) {
		return nil, &unsendable{reasonMalformed, field + ": " + err.Error()}
	}
	encoded, err := a.encodeText(msg)
	var tooLong *text.TooLongError
	switch {
	case errors.As(err, &tooLong):
		return nil, &unsendable{reasonTooLong, fmt.Sprintf("text: %d units do not fit into one segment: shorten the text", tooLong.Units)}
	case err != nil:
		return nil, &unsendable{reasonMalformed, err.Error()}
	}
	segment := encoded.Segments[0]
	sm := &pdu.SubmitSM{
		ServiceType: []byte(msg.ServiceType), Source: wire(msg.Source()), Dest: wire(msg.Dest()),
		ProtocolID: octetOr0(msg.ProtocolID), PriorityFlag: octetOr0(msg.PriorityFlag),
		DataCoding: encoded.DataCoding, ShortMessage: segment.ShortMessage,
	}
	if len(segment.UDH) > 0 {
		sm.ESMClass |= pdu.ESMClassUDHI
	}
	if msg.ReplaceIfPresent {
		sm.ReplaceIfPresent = 1
	}
	if msg.Receipt {
		sm.RegisteredDelivery = 1 // a receipt for success and failure, SMPP 3.4 section 5.2.17
	}
	if sm.ValidityPeriod, err = a.validity(left); err != nil {
		return malformed("expires_in", err)
	}
	if a.cfg.Mark {
		sm.TLVs = append(sm.TLVs, pdu.Uint16TLV(pdu.TagUserMessageReference, mark(job.Seq(), 1)))
	}
	for _, t := range msg.TLVs {
		tag, err := parseTag(t.Tag)
		if err == nil {
			err = a.refusedTag(tag)
		}
		if err != nil {
			return malformed("tlvs", err)
		}
		sm.TLVs = append(sm.TLVs, pdu.TLV{Tag: tag, Value: t.Value})
	}
	if _, err := pdu.Append(make([]byte, 0, 512), pdu.StatusOK, 1, sm); err != nil {
		return malformed("submit_sm", err) // what does not fit would never be sent, and come back for ever
	}
	return sm, nil
}

// refusedTag says why a message may not bring that TLV.
func (a *account) refusedTag(tag pdu.Tag) error {
	switch {
	case tag == pdu.TagMessagePayload:
		return errors.New("message_payload would be a second text (SMPP 3.4 section 5.3.2.32): use text or data")
	case tag == pdu.TagUserMessageReference && a.cfg.Mark:
		return errors.New("user_message_reference is set by Sluice on every submit: switch that off with mark: false on the account")
	case tag == pdu.TagSarMsgRefNum, tag == pdu.TagSarTotalSegments, tag == pdu.TagSarSegmentSeqnum:
		return errors.New("the sar TLVs belong to Sluice, which splits messages")
	}
	return nil
}

func (a *account) encodeText(msg *queue.Message) (text.Encoded, error) {
	o := text.Options{MaxParts: 1, UDH: msg.UDH, Alphabet: a.alphabet()}
	if msg.Data != nil {
		dataCoding := text.DataCodingBinary
		if msg.DataCoding != nil {
			dataCoding = *msg.DataCoding
		}
		return text.EncodeBinary(msg.Data, dataCoding, o)
	}
	switch msg.Encoding {
	case queue.EncodingGSM7:
		o.Encoding = text.GSM7
	case queue.EncodingUCS2:
		o.Encoding = text.UCS2
	case queue.EncodingLatin1:
		o.Encoding = text.Latin1
	case queue.EncodingAuto, queue.EncodingBinary:
	}
	return text.Encode(msg.Text, o)
}

// validity is the validity_period of a message with that much time left, in the account's form.
func (a *account) validity(left time.Duration) ([]byte, error) {
	if left <= 0 {
		return nil, nil
	}
	seconds := int64(max(left, a.cfg.Validity.Min) / time.Second)
	switch a.cfg.Validity.Form {
	case config.ValidityRelative:
		return pdu.AppendRelativeTime(nil, seconds)
	case config.ValidityAbsolute:
		return pdu.AppendAbsoluteTime(nil, time.Now().Unix()+seconds)
	case config.ValidityOff:
	}
	return nil, nil
}

// mark is the user_message_reference of one segment: the same on every attempt, spread over its 16 bits so that
// neighbours differ (Knuth's multiplicative hash).
func mark(seq uint64, part int) uint16 {
	return uint16((seq*256 + uint64(part)) * 0x9E3779B97F4A7C15 >> 48)
}

func wire(a queue.Address) pdu.Address {
	return pdu.Address{TON: a.TON, NPI: a.NPI, Addr: []byte(a.Digits)}
}

func octetOr0(v *uint8) uint8 {
	if v == nil {
		return 0
	}
	return *v
}

// parseTag reads a TLV's tag by its name in the specification or by its number.
func parseTag(s string) (pdu.Tag, error) {
	if tag, ok := pdu.TagNamed(s); ok {
		return tag, nil
	}
	if n, err := strconv.ParseUint(s, 0, 16); err == nil {
		return pdu.Tag(n), nil
	}
	return 0, fmt.Errorf("tag %q is neither a name of SMPP nor a number: write for example user_response_code or 0x1401", strings.ToValidUTF8(s, "?"))
}
