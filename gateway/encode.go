package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/smpp/text"
)

// unsendable says why a message can never be sent as it is written. The detail names the field and the fault, never
// a text or a number.
type unsendable struct{ reason, detail string }

// encode turns a message into its submit_sm, one for each segment; onAir is the number of short messages that they are
// for the phone and the bill. Its sequence gives the segments their reference, whoever sends them and when. left is the
// time to the deadline, 0 for none.
func (a *account) encode(job queue.Job, msg *queue.Message, left time.Duration) (e encoded, _ *unsendable) {
	malformed := func(field string, err error) (encoded, *unsendable) {
		return encoded{}, &unsendable{reasonMalformed, field + ": " + err.Error()}
	}
	split, err := a.encodeText(msg, text.Reference(job.Seq()))
	if err != nil {
		if tooLong, ok := errors.AsType[*text.TooLongError](err); ok {
			return e, &unsendable{reasonTooLong, fmt.Sprintf("text: %d units do not fit into %d segments: shorten the text", tooLong.Units, a.mostSegments())}
		}
		return e, &unsendable{reasonMalformed, err.Error()}
	}
	validity, err := a.validity(left)
	if err != nil {
		return malformed("expires_in", err)
	}
	own, err := a.ownTLVs(msg)
	if err != nil {
		return malformed("tlvs", err)
	}
	e.onAir = split.Parts
	source, dest := msg.Source(), msg.Dest()
	name, err := a.senderName(source.Digits)
	if err != nil {
		return malformed("from", err)
	}
	for i := range split.Segments {
		sm := &pdu.SubmitSM{
			ServiceType: []byte(msg.ServiceType), Source: pdu.Address{TON: source.TON, NPI: source.NPI, Addr: name}, Dest: wire(dest),
			ProtocolID: octetOr0(msg.ProtocolID), PriorityFlag: octetOr0(msg.PriorityFlag),
			ValidityPeriod: validity, DataCoding: split.DataCoding,
		}
		if msg.ReplaceIfPresent {
			sm.ReplaceIfPresent = 1
		}
		sm.RegisteredDelivery = registeredDelivery(msg)
		if a.cfg.Mark != config.MarkFalse {
			sm.TLVs = append(sm.TLVs, pdu.Uint16TLV(pdu.TagUserMessageReference, mark(job.Seq(), i+1)))
		}
		if tag := pdu.Tag(a.cfg.Text.IDTag()); tag != 0 {
			sm.TLVs = append(sm.TLVs, pdu.TLV{Tag: tag, Value: []byte(job.ID())})
		}
		carry(sm, &split, i)
		sm.TLVs = append(sm.TLVs, own...)
		if err := tryPDU(sm); err != nil {
			return malformed("submit_sm", err) // what does not fit would never be sent, and come back for ever
		}
		e.parts = append(e.parts, sm)
	}
	return e, nil
}

// trials is where PDUs are written to see whether they fit.
var trials = sync.Pool{New: func() any { return new([]byte) }} //nolint:gochecknoglobals // scratch that any message may use

// tryPDU tries whether a PDU can be written.
func tryPDU(sm *pdu.SubmitSM) error {
	room := trials.Get().(*[]byte)
	defer trials.Put(room)
	b, err := pdu.Append((*room)[:0], pdu.StatusOK, 1, sm)
	if err == nil {
		*room = b
	}
	return err
}

// encoded is a message as it is submitted.
type encoded struct {
	parts []*pdu.SubmitSM
	onAir int // short messages; differs from the parts where the SMSC splits the text
}

// carry puts segment i into the submit_sm, the way that the account joins segments.
func carry(sm *pdu.SubmitSM, split *text.Encoded, i int) {
	segment := &split.Segments[i]
	if len(segment.UDH) > 0 {
		sm.ESMClass |= pdu.ESMClassUDHI
	}
	if split.Payload() {
		sm.TLVs = append(sm.TLVs, pdu.TLV{Tag: pdu.TagMessagePayload, Value: segment.ShortMessage})
		return
	}
	sm.ShortMessage = segment.ShortMessage
	if reference, total, number, ok := split.SAR(i); ok {
		sm.TLVs = append(sm.TLVs, pdu.TLV{Tag: pdu.TagSarMsgRefNum, Value: reference[:]},
			pdu.TLV{Tag: pdu.TagSarTotalSegments, Value: []byte{total}}, pdu.TLV{Tag: pdu.TagSarSegmentSeqnum, Value: []byte{number}})
	}
}

// ownTLVs are those that the message brings.
func (a *account) ownTLVs(msg *queue.Message) (list pdu.TLVs, err error) {
	for _, t := range msg.TLVs {
		tag, err := parseTag(t.Tag)
		if err == nil {
			err = a.refusedTag(tag)
		}
		if err != nil {
			return nil, err
		}
		a.widths.warn(time.Now(), a.log, tag, len(t.Value))
		list = append(list, pdu.TLV{Tag: tag, Value: t.Value})
	}
	return list, nil
}

// refusedTag says why a message may not bring that TLV.
func (a *account) refusedTag(tag pdu.Tag) error {
	switch {
	case tag == pdu.TagMessagePayload:
		return errors.New("message_payload would be a second text (SMPP 3.4 section 5.3.2.32): use text or data")
	case tag == pdu.TagUserMessageReference && a.cfg.Mark != config.MarkFalse:
		return errors.New("user_message_reference is set by Sluice: switch that off with mark: false on the account")
	case a.cfg.Text.IDTag() != 0 && tag == pdu.Tag(a.cfg.Text.IDTag()):
		return errors.New("the tag carries the delivery id on every submit: choose another, or another text.id_tlv on the account")
	case tag == pdu.TagSarMsgRefNum, tag == pdu.TagSarTotalSegments, tag == pdu.TagSarSegmentSeqnum:
		return errors.New("the sar TLVs belong to Sluice, which splits messages")
	}
	return nil
}

func (a *account) encodeText(msg *queue.Message, reference uint16) (text.Encoded, error) {
	o := text.Options{
		MaxParts: a.mostSegments(), UDH: msg.UDH, Alphabet: a.alphabet(), Join: a.joinBy(), Reference: reference,
		Transliterate: a.cfg.Text.Transliterate, Language: a.language(),
	}
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
	words := strings.TrimPrefix(msg.Text, "\uFEFF") // a byte order mark is no text
	if a.cfg.Text.AvoidLatin1 && o.Encoding == text.Auto && o.Alphabet == text.AlphabetLatin1 && !inGSM7(words) {
		o.Encoding = text.UCS2 // the SMSC drops the letters that GSM 7-bit lacks
	}
	if msg.Flash && o.Encoding == text.Auto && o.Alphabet == text.AlphabetLatin1 && strings.ContainsFunc(words, func(r rune) bool { return r > '~' }) {
		o.Encoding = text.UCS2 // class 0 of the default alphabet means GSM 7-bit, whatever data_coding 0 means
	}
	split, err := text.Encode(words, o)
	if err == nil && msg.Flash {
		split.DataCoding, err = flash(split.DataCoding)
	}
	return split, err
}

// The data_codings of texts, SMPP 3.4 section 5.2.19; those with message class 0 are of 3GPP TS 23.038 section 4.
const (
	dataCodingDefault = 0x00
	dataCodingUCS2    = 0x08
	dataCodingFlash   = 0x10 // the default alphabet, class 0
)

// inGSM7 reports whether GSM 7-bit has all letters of a text.
func inGSM7(words string) bool {
	_, err := text.Encode(words, text.Options{Encoding: text.GSM7})
	return err == nil
}

// flash is a data_coding with message class 0.
func flash(dataCoding uint8) (uint8, error) {
	switch dataCoding {
	case dataCodingDefault:
		return dataCodingFlash, nil
	case dataCodingUCS2:
		return dataCodingFlash | dataCodingUCS2, nil
	}
	return 0, errors.New("flash: only texts in the default alphabet or UCS2 can be flash messages; leave out encoding")
}

// registeredDelivery says which receipts the SMSC shall send, SMPP 3.4 section 5.2.17.
func registeredDelivery(msg *queue.Message) uint8 {
	const success, failure, intermediate = 1, 2, 1 << 4
	switch {
	case !msg.Receipt:
		return 0
	case msg.ReceiptFor == queue.ReceiptFailure:
		return failure
	case msg.ReceiptFor == queue.ReceiptIntermediate:
		return success | intermediate
	}
	return success // of success and failure
}

// senderName writes a sender as the account's alphabet has its letters.
func (a *account) senderName(name string) ([]byte, error) {
	ascii := !strings.ContainsFunc(name, func(r rune) bool { return r > '~' })
	if ascii {
		return []byte(name), nil
	}
	alphabet := a.alphabet()
	if alphabet == text.AlphabetGSM7Packed {
		alphabet = text.AlphabetGSM7 // addresses are octets
	}
	split, err := text.Encode(name, text.Options{Alphabet: alphabet}) // UCS2 where the alphabet lacks a letter
	if err != nil || split.DataCoding != dataCodingDefault || len(split.Segments) != 1 || len(split.Segments[0].ShortMessage) > maxSender {
		return nil, fmt.Errorf("has letters that the account's alphabet (%s) lacks, or too many: want at most %d octets of it", alphabet, maxSender)
	}
	octets := split.Segments[0].ShortMessage
	if bytes.IndexByte(octets, 0) >= 0 {
		return nil, errors.New("has an @, which is the octet 0 in GSM 7-bit and would end the address: leave it out")
	}
	return octets, nil
}

// maxSender is the longest source_addr, SMPP 3.4 section 4.4.1.
const maxSender = 20

// mostSegments is the most segments that a message of the account may have.
func (a *account) mostSegments() int { return a.cfg.Text.MaxSegments }

func (a *account) joinBy() text.Join {
	switch a.cfg.Text.Long {
	case config.LongUDH16:
		return text.JoinUDH16
	case config.LongSAR:
		return text.JoinSAR
	case config.LongPayload:
		return text.JoinPayload
	case config.LongUDH8:
	}
	return text.JoinUDH8
}

func (a *account) language() text.Language {
	switch a.cfg.Text.Language {
	case config.LanguageTurkish:
		return text.Turkish
	case config.LanguageSpanish:
		return text.Spanish
	case config.LanguagePortuguese:
		return text.Portuguese
	case config.LanguageNone:
	}
	return text.NoLanguage
}

// validity is the validity_period of a message with that much time left, in the account's form.
func (a *account) validity(left time.Duration) ([]byte, error) {
	if left <= 0 {
		return nil, nil
	}
	seconds := int64(max(left, a.cfg.Validity.Min) / time.Second)
	switch a.cfg.Validity.Form {
	case config.ValidityRelative:
		return pdu.AppendRelativeTime(make([]byte, 0, 16), seconds)
	case config.ValidityAbsolute:
		return pdu.AppendAbsoluteTime(make([]byte, 0, 16), time.Now().Unix()+seconds)
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
	shown := "a tag" // whatever is no name may be a text or a number of somebody
	if strings.Contains(s, "_") && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == "" {
		shown = "tag " + strconv.Quote(s[:min(len(s), 40)])
	}
	return 0, errors.New(shown + " is neither a name of SMPP nor a number up to 0xFFFF: write for example user_response_code or 0x1401")
}
