package gateway

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp"
	"sluice/smpp/pdu"
	"sluice/smpp/text"
)

// Late hands a response that came too late for its submit to the message it belongs to.
func (a *account) Late(l smpp.LateResponse) {
	if p, ok := l.Ref.(*segment); ok {
		a.carrying.Go(func() { p.delivery.acceptLate(p, l.Response) })
	}
}

// consumeInbound works on what is stored, until ctx ends.
func (a *account) consumeInbound(ctx context.Context) {
	for ctx.Err() == nil {
		err := a.store.ConsumeInbound(ctx, a.name, a.handleInbound)
		if ctx.Err() != nil {
			return
		}
		a.log.Error("reading of stored inbound messages ended, it starts again", "error", err)
		pause(ctx, backoffFirst)
	}
}

// handleInbound publishes one stored deliver_sm or data_sm: a receipt as an event of its message, everything else as
// a message from a phone.
func (a *account) handleInbound(ctx context.Context, in queue.InboundRecord, deliveries int) (retryAfter time.Duration, err error) {
	defer func() {
		if r := recover(); r != nil { // it stays stored and comes back; the others go on
			a.metrics.panics.WithLabelValues(a.name).Inc()
			a.log.Error("panic while handling an inbound message", "stack", string(debug.Stack()))
			err = errors.New("its handling panicked")
		}
	}()
	m, err := parseInbound(in.PDU)
	if err != nil { // it was readable when it was stored
		a.log.Error("a stored inbound message cannot be read and is dropped from the work list", "error", err)
		return 0, nil
	}
	if r, ok := a.receiptIn(in, m); ok {
		wait, taken, err := a.handleReceipt(ctx, r, deliveries)
		if taken || wait > 0 || err != nil {
			return wait, err
		}
	}
	return a.joinMO(ctx, in, m, deliveries)
}

// joinMO publishes a message from a phone: alone, or once all its parts are here. Parts whose fellows do not come in
// time go out one by one. What was published is noted before the part is acknowledged, for parts that come again.
func (a *account) joinMO(ctx context.Context, in queue.InboundRecord, m *pdu.DeliverSM, deliveries int) (time.Duration, error) {
	own := text.Part{DataCoding: m.DataCoding, UDHI: m.ESMClass&pdu.ESMClassUDHI != 0, Data: payloadOf(m)}
	key, part, ok := partOf(m, own.Data)
	if !ok {
		once := fmt.Sprintf("%d.%x", in.ReceivedAt.UnixNano(), sequenceOf(in.PDU))
		return 0, a.publishMO(ctx, in, m, []text.Part{own}, once)
	}
	before, err := a.store.ReadJoined(ctx, a.name, key.name())
	if err != nil {
		return 0, err
	}
	published := queue.JoinedMO{Sums: map[byte]uint64{}}
	verdict, parts := a.joiner.add(time.Now(), in.ReceivedAt, key, part, own, before)
	switch verdict {
	case joinWait:
		return partWait(deliveries), nil
	case joinKnown:
		return 0, nil
	case joinWhole:
		for i := range parts {
			published.Sums[byte(i+1)] = sumOf(parts[i].Data)
		}
	case joinAlone:
		parts, published.Alone, published.Sums[part] = []text.Part{own}, true, sumOf(own.Data)
	}
	// Another part may complete the message at this moment, here or at another instance: one of them publishes it.
	mine, err := a.store.ClaimJoined(ctx, a.name, key.name(), published, in.Seq)
	if err != nil {
		return 0, err
	}
	if !mine {
		return partWait(deliveries), nil
	}
	once := fmt.Sprintf("%s.%x", key.name(), sumOfParts(parts)) // for a part that comes again because its acknowledgement was lost
	if err := a.publishMO(ctx, in, m, parts, once); err != nil {
		return 0, err
	}
	published.At = time.Now().UTC()
	if err := a.store.NoteJoined(ctx, a.name, key.name(), published); err != nil {
		return 0, err
	}
	if verdict == joinWhole {
		a.joiner.done(key)
	}
	return 0, nil
}

// partWait is when a part comes back whose fellows are missing, or whose message is being published.
func partWait(deliveries int) time.Duration {
	return min(time.Second<<min(deliveries-1, 5), 30*time.Second)
}

// publishMO gives users a message from a phone, made of the given parts, once for each value of once within minutes. A
// part that goes out alone says how many are missing. What is no text, or no text to the last character, comes with its
// octets.
func (a *account) publishMO(ctx context.Context, in queue.InboundRecord, m *pdu.DeliverSM, parts []text.Part, once string) error {
	mo := queue.MO{
		V: 1, Account: a.name, From: international(m.Source), To: international(m.Dest), DataCoding: parts[0].DataCoding,
		Segments: len(parts), ReceivedAt: in.ReceivedAt,
	}
	if key, _, ok := partOf(m, payloadOf(m)); ok {
		mo.Missing = int(key.total) - len(parts)
	}
	var body []byte
	for _, p := range parts {
		octets := p.Data
		if p.UDHI {
			if udh, data, err := text.SplitHeader(octets); err == nil {
				if len(parts) == 1 {
					mo.UDH = hex.EncodeToString(udh)
				}
				octets = data
			}
		}
		body = append(body, octets...)
	}
	s, err := text.DecodeMixed(parts, a.inboundAlphabet())
	if mo.Text = s; err != nil || strings.ContainsRune(s, utf8.RuneError) {
		mo.Data = body
	}
	if err := a.store.PublishMO(ctx, a.name, once, mo); err != nil {
		return err
	}
	a.metrics.inbound.WithLabelValues(a.name, "mo").Inc()
	return nil
}

func (a *account) alphabet() text.Alphabet {
	switch a.cfg.Text.DefaultAlphabet {
	case config.GSM7Packed:
		return text.AlphabetGSM7Packed
	case config.Latin1:
		return text.AlphabetLatin1
	case config.ASCII:
		return text.AlphabetASCII
	case config.GSM7:
	}
	return text.AlphabetGSM7
}

// inboundAlphabet is what data_coding 0 means in what phones send.
func (a *account) inboundAlphabet() text.Alphabet {
	switch a.cfg.Text.InboundAlphabet {
	case config.InboundGSM7Packed:
		return text.AlphabetGSM7Packed
	case config.InboundLatin1:
		return text.AlphabetLatin1
	case config.InboundASCII:
		return text.AlphabetASCII
	case config.InboundUTF8:
		return text.AlphabetUTF8
	case config.InboundUCS2:
		return text.AlphabetUCS2
	case config.InboundGSM7:
	}
	return text.AlphabetGSM7
}

// international writes an address as users do: with a plus where its type says so.
func international(addr pdu.Address) string {
	s := string(addr.Addr)
	if addr.TON == 1 && s != "" && s[0] != '+' {
		return "+" + s
	}
	return s
}

// payloadOf is the user data, wherever it sits (SMPP 3.4 section 5.3.2.32).
func payloadOf(m *pdu.DeliverSM) []byte {
	if len(m.ShortMessage) == 0 {
		if payload, ok := m.TLVs.Get(pdu.TagMessagePayload); ok {
			return payload
		}
	}
	return m.ShortMessage
}

func sequenceOf(raw []byte) uint32 {
	h, err := pdu.ParseHeader(raw)
	if err != nil {
		return 0
	}
	return h.Sequence
}

// parseInbound reads a stored deliver_sm or data_sm.
func parseInbound(raw []byte) (*pdu.DeliverSM, error) {
	_, body, err := pdu.Parse(raw)
	if err != nil {
		return nil, err
	}
	switch b := body.(type) {
	case *pdu.DeliverSM:
		return b, nil
	case *pdu.DataSM:
		return &pdu.DeliverSM{
			ServiceType: b.ServiceType, Source: b.Source, Dest: b.Dest, ESMClass: b.ESMClass,
			RegisteredDelivery: b.RegisteredDelivery, DataCoding: b.DataCoding, TLVs: b.TLVs,
		}, nil
	}
	return nil, fmt.Errorf("%s is not an inbound message", body.CommandID())
}
