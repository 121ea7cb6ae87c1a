package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/smpp/receipt"
	"sluice/smpp/text"
)

// How a receipt was found to belong to its message; labels of a metric.
const (
	matchedByID   = "matched"
	matchedByEcho = "echo"     // by a mark that the submit carried, its answer having been lost
	matchRepeated = "repeated" // it said before what it says now
	matchNone     = "unmatched"
)

// receiptPatience are the waits for the submit_sm_resp that a receipt has overtaken, 60 s in all; then it is published
// without a delivery id.
func receiptPatience() []time.Duration {
	return []time.Duration{time.Second, 5 * time.Second, 24 * time.Second, 30 * time.Second}
}

// receiptWait is how long a receipt of that age waits that came to nothing for the given time; 0 when it has waited
// long enough.
func receiptWait(waits []time.Duration, age time.Duration, deliveries int) time.Duration {
	var patience time.Duration
	for _, w := range waits {
		patience += w
	}
	if deliveries > len(waits) && age >= patience {
		return 0
	}
	return waits[min(deliveries, len(waits))-1]
}

// matchingOf is how the ids of an account's receipts relate to those of its responses.
func matchingOf(r config.Receipts) receipt.Matching {
	format := func(f config.IDForm) receipt.Format {
		switch f {
		case config.IDHex:
			return receipt.Hex
		case config.IDDecimal:
			return receipt.Dec
		case config.IDOpaque:
		}
		return receipt.Opaque
	}
	return receipt.Matching{Response: format(r.ResponseID), Receipt: format(r.ReceiptID)}
}

// canonicalIDs gives the queue the form that its receipt index is keyed by.
func canonicalIDs(accounts map[string]*config.Account) func(account, messageID string) string {
	matchings := map[string]receipt.Matching{}
	for name, cfg := range accounts {
		matchings[name] = matchingOf(cfg.Receipts)
	}
	return func(account, messageID string) string {
		return strings.ToLower(matchings[account].ResponseKey(messageID))
	}
}

// readingOf is how an account's receipts are read. The zone is one that nobody knows unless one is configured.
func readingOf(r config.Receipts) receipt.Options {
	o := receipt.Options{Zone: r.Zone.Location(), States: map[string]receipt.State{}}
	if o.Zone == nil {
		o.Zone = time.FixedZone("", 0)
	}
	for word, name := range r.States {
		o.States[strings.ToUpper(word)], _ = receipt.StateNamed(string(name))
	}
	return o
}

// inboundReceipt is a receipt with the PDU that it came in.
type inboundReceipt struct {
	receipt.Receipt

	record queue.InboundRecord
	pdu    *pdu.DeliverSM
	input  receipt.Input
	unread bool // it may say more than was read
	// unmarked says that its text alone makes it a receipt, which a phone may have sent.
	unmarked bool
}

// receiptIn reads what came as a receipt, where it is one, or may be one by its text.
func (a *account) receiptIn(in queue.InboundRecord, m *pdu.DeliverSM) (*inboundReceipt, bool) {
	r := &inboundReceipt{record: in, pdu: m, input: receipt.InputOf(m)}
	if !receipt.IsReceipt(m.ESMClass, r.input.ReceiptedID != nil, r.input.State != nil) {
		_, _, part := partOf(m, payloadOf(m))
		if r.unmarked = a.cfg.Receipts.Unmarked && !part && receipt.HasForm(r.input.Text, a.reading.States); !r.unmarked {
			return nil, false
		}
	}
	o := a.reading
	o.Received = in.ReceivedAt
	if r.Receipt, r.unread = receipt.Read(r.input, o); r.unread {
		a.readCoded(r, o)
	}
	r.ID = cleanMessageID(r.ID)
	if r.TextID != "" {
		r.TextID = cleanMessageID(r.TextID)
	}
	r.unread = r.unread || len(r.Err) > longestWord
	return r, true
}

// readCoded reads a receipt anew by its data_coding where its octets are no ASCII, as septets are that are packed.
func (a *account) readCoded(r *inboundReceipt, o receipt.Options) {
	s, err := text.Decode(r.pdu.DataCoding, r.input.Text, false, a.inboundAlphabet())
	if err != nil {
		return
	}
	decoded := r.input
	decoded.Text = []byte(s)
	if better, unread := receipt.Read(decoded, o); !unread {
		r.Receipt, r.input, r.unread = better, decoded, false
	}
}

// handleReceipt publishes a receipt as an event of its message, unless it only repeats another. What only looks like a
// receipt and has no message is not taken.
func (a *account) handleReceipt(ctx context.Context, r *inboundReceipt, deliveries int) (wait time.Duration, taken bool, err error) {
	found, err := a.messageOf(ctx, r)
	if err != nil {
		return 0, false, fmt.Errorf("looking up a receipt's message: %w", err)
	}
	a.remark(r, found)
	ref := &found.ref
	event := queue.Event{Type: queue.EventReceipt, Account: a.name, Bind: r.record.Bind, Receipt: a.told(r, found.id)}
	switch {
	case found.match == matchNone:
		if wait := receiptWait(a.receiptWaits, time.Since(r.record.ReceivedAt), deliveries); wait > 0 && a.mayBeMatched(r) {
			return wait, false, nil
		}
		if r.unmarked {
			return 0, false, nil
		}
		event.EventID = fmt.Sprintf("receipt.%s.%d.%d", a.name, r.record.ReceivedAt.UnixMilli(), r.record.Seq)
		return 0, true, a.publishReceipt(ctx, event, r, found.match)
	case !found.fits && deliveries == 1:
		return a.receiptWaits[0], false, nil // the response of the message that the receipt is about may be on its way
	case found.match == matchedByEcho:
		if err := a.settleByReceipt(ctx, *ref, r.ID, r.record.Bind); err != nil {
			return 0, false, err
		}
	}
	said, err := a.foldReceipt(ctx, found, r)
	switch {
	case err != nil:
		return 0, false, err
	case said.repeated:
		a.countReceipt(matchRepeated)
		return 0, true, nil
	}
	event.Seq, event.ID, event.Route, event.Class = ref.Seq, ref.ID, ref.Route, ref.Class
	event.Tenant, event.Meta, event.TraceParent = ref.Tenant, ref.Meta, ref.TraceParent
	event.Receipt.Segment, event.Receipt.Segments = said.segment, ref.Segments
	event.Receipt.MessageState, event.Receipt.MessageFinal = said.state.String(), said.final
	event.Receipt.Superseded = said.superseded
	event.EventID = fmt.Sprintf("%d.receipt.%d.%s", ref.Seq, said.segment, r.State)
	if !said.first { // the state alone does not tell it from another
		event.EventID += fmt.Sprintf(".%d", r.record.Seq)
	}
	if err := a.publishReceipt(ctx, event, r, found.match); err != nil {
		return 0, false, err
	}
	if found.match == matchedByID && said.settled {
		if err := a.store.FinishReceipt(ctx, a.name, found.key, *ref); err != nil {
			if n, due := a.fullLives.count(time.Now()); due {
				a.log.Warn("receipt index entries keep their full life; said once an hour", "entries", n, "error", err)
			}
		}
	}
	return 0, true, nil
}

// mayBeMatched says whether a receipt has anything to find its message by.
func (a *account) mayBeMatched(r *inboundReceipt) bool {
	return r.ID != "" || len(a.echoesOf(r.pdu)) > 0
}

// remark logs once an hour what is strange about receipts.
func (a *account) remark(r *inboundReceipt, found matched) {
	// Two ids of one message are no conflict, however different they look.
	conflict := r.IDConflict && (found.match != matchedByID || found.doubtful)
	if conflict || r.StateConflict {
		if n, due := a.conflicts.count(time.Now()); due {
			a.log.Warn("a receipt's text disagrees with its TLVs, which are taken; said once an hour", "receipts", n, "id", conflict, "state", r.StateConflict)
		}
	}
}

func (a *account) publishReceipt(ctx context.Context, e queue.Event, r *inboundReceipt, match string) error {
	if err := a.journal.Append(ctx, e); err != nil {
		return err
	}
	a.countReceipt(match)
	if r.unread {
		a.metrics.unread.WithLabelValues(a.name).Inc()
		if n, due := a.unread.count(time.Now()); due {
			a.log.Warn("receipts could not be read as a whole, their events have the octets; said once an hour", "receipts", n)
		}
	}
	return nil
}

func (a *account) countReceipt(match string) {
	a.metrics.receipts.WithLabelValues(a.name, match).Inc()
	a.metrics.inbound.WithLabelValues(a.name, "receipt").Inc()
}

// longestWord bounds the words of an SMSC that events show as they came.
const longestWord = 32

// shownWord is a word of an SMSC as events may show it.
func shownWord(word string) string {
	word = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '?'
		}
		return r
	}, word)
	return word[:min(len(word), longestWord)]
}

// told is what a receipt says, as events show it. The id is the one that its message was found by, if it was.
func (a *account) told(r *inboundReceipt, id string) *queue.Receipt {
	t := &queue.Receipt{
		MessageID: r.ID, OtherMessageID: r.TextID, State: r.State.String(), Final: r.State.Final(), Error: shownWord(r.Err),
		Stat:   shownWord(cmp.Or(r.RawState, r.TextState)),
		DoneAt: queue.ReceiptTime{Time: r.Done, Zoned: a.cfg.Receipts.Zone != "" || r.Done.Location() != a.reading.Zone},
	}
	if id != "" && id == r.TextID {
		t.MessageID, t.OtherMessageID = r.TextID, r.ID
	}
	if r.HasNetwork {
		t.NetworkError = &queue.NetworkError{Type: r.NetworkType, Code: r.NetworkCode}
	}
	if r.unread {
		t.Data, t.TLVs = receipt.Unquoted(r.input.Text), unreadTLVs(r.pdu.TLVs)
	}
	return t
}

// unreadTLVs are the TLVs that may have what the text of a receipt lacks: the vendor's, and those of receipts. No other
// is shown, for it may hold a number or a text.
func unreadTLVs(tlvs pdu.TLVs) (list []queue.ReceiptTLV) {
	for _, tlv := range tlvs {
		switch tlv.Tag {
		case pdu.TagReceiptedMessageID, pdu.TagMessageState, pdu.TagNetworkErrorCode:
		default:
			if tlv.Tag < 0x1400 || tlv.Tag > 0x3FFF {
				continue
			}
		}
		list = append(list, queue.ReceiptTLV{Tag: fmt.Sprintf("0x%04X", uint16(tlv.Tag)), Value: tlv.Value})
	}
	return list
}

// echoMark and echoID are the keys by which a message without an answer is found: its segment's
// user_message_reference, and its delivery id where submits carry it.
func echoMark(mark uint16) string { return fmt.Sprintf("mark.%04x", mark) }

func echoID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "id." + hex.EncodeToString(sum[:16])
}

// echoesOf lists the marks of ours that a receipt repeats, the one that tells the segment first.
func (a *account) echoesOf(m *pdu.DeliverSM) (echoes []string) {
	if mark, ok := m.TLVs.Uint16(pdu.TagUserMessageReference); ok && a.cfg.Mark != config.MarkFalse {
		echoes = append(echoes, echoMark(mark))
	}
	if tag := pdu.Tag(a.cfg.Text.IDTag()); tag != 0 {
		if id, ok := m.TLVs.Get(tag); ok && len(id) > 0 {
			echoes = append(echoes, echoID(strings.TrimRight(string(id), "\x00")))
		}
	}
	return echoes
}

// settleByReceipt ends a message whose submit got no answer: its receipt says that the SMSC has it. Without the
// segment's number nothing is known of a message of several.
func (a *account) settleByReceipt(ctx context.Context, ref queue.ReceiptRef, messageID, bind string) error {
	if ref.Segment == 0 {
		return nil
	}
	settled, err := a.journal.SettleAccepted(ctx, ref, messageID, queue.Event{Reason: reasonReceipt, Bind: bind})
	if err == nil && settled {
		a.metrics.answers.WithLabelValues(a.name, "none", string(queue.EventSubmitted)).Inc()
		a.log.Debug("message settled by its receipt", "seq", ref.Seq, "delivery_id", ref.ID, "route", ref.Route)
	}
	return err
}

// indexEchoes asks for the index entries of a message that may have been accepted without an answer: one for each
// segment that is not known to be.
func (d *delivery) indexEchoes(o *queue.Outcome) {
	a, before := d.account, d.job.State()
	if o.Event.Type == queue.EventSubmitted || !o.State.InDoubt() || d.msg == nil || !d.msg.Receipt {
		return
	}
	parts := d.letter.parts
	if parts == 0 { // it was not divided this time, as after a crash
		e, refused := a.encode(d.job, d.msg, 0)
		if refused != nil {
			return
		}
		parts = len(e.parts)
	}
	key := queue.ReceiptKey{
		Account: a.name, Segments: parts, Dest: queue.HashAddress(d.msg.Dest().Digits),
		TTL: max(d.left(time.Now()), 0) + 24*time.Hour, PossibleDuplicate: before.InDoubt(),
	}
	for part := 1; a.cfg.Mark != config.MarkFalse && part <= parts; part++ {
		if slices.ContainsFunc(o.State.Accepted, func(s queue.Segment) bool { return s.Part == part }) {
			continue
		}
		key.Segment, key.Echo = part, echoMark(mark(d.job.Seq(), part))
		o.Receipts = append(o.Receipts, key)
	}
	if a.cfg.Text.IDTag() != 0 {
		key.Segment, key.Echo = 0, echoID(d.job.ID())
		if parts == 1 {
			key.Segment = 1
		}
		o.Receipts = append(o.Receipts, key)
	}
}

// hourly says once an hour that something is due to be said, and of how many.
type hourly struct {
	mu   sync.Mutex
	next time.Time
	n    int
}

// count counts one more, and returns how many there were since it was last due.
func (h *hourly) count(now time.Time) (n int, due bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n++
	if now.Before(h.next) {
		return 0, false
	}
	n, h.n = h.n, 0
	h.next = now.Add(time.Hour)
	return n, true
}
