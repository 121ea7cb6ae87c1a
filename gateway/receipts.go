package gateway

import (
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

// canonicalIDs gives the queue the form that its receipt index is keyed by: lower case for UUIDs too, which then have
// to agree exactly.
func canonicalIDs(accounts map[string]*config.Account) func(account, messageID string) string {
	matchings := map[string]receipt.Matching{}
	for name, cfg := range accounts {
		matchings[name] = matchingOf(cfg.Receipts)
	}
	return func(account, messageID string) string {
		return strings.ToLower(matchings[account].ResponseKey(messageID))
	}
}

// handleReceipt publishes a receipt as an event of its message, unless it only repeats another.
func (a *account) handleReceipt(ctx context.Context, in queue.InboundRecord, m *pdu.DeliverSM, r receipt.Receipt, deliveries int) (time.Duration, error) {
	if (r.IDConflict || r.StateConflict) && a.conflicts.due(time.Now()) {
		a.log.Warn("a receipt's text disagrees with its TLVs, which are taken; said once an hour", "id", r.IDConflict, "state", r.StateConflict)
	}
	ref, match, err := a.messageOf(ctx, m, r.ID)
	if err != nil {
		return 0, fmt.Errorf("looking up a receipt's message: %w", err)
	}
	event := queue.Event{Type: queue.EventReceipt, Account: a.name, Bind: in.Bind, Receipt: told(r)}
	if match == matchNone {
		if wait := receiptWait(a.receiptWaits, time.Since(in.ReceivedAt), deliveries); wait > 0 {
			return wait, nil
		}
		event.EventID = "receipt." + a.name + "." + r.ID + "." + r.State.String()
		if r.ID == "" {
			event.EventID += fmt.Sprintf(".%d", in.Seq)
		}
		return 0, a.publishReceipt(ctx, event, match)
	}
	if match == matchedByEcho {
		if err := a.settleByReceipt(ctx, ref, r.ID, in.Bind); err != nil {
			return 0, err
		}
	}
	var said saying
	err = a.store.FoldReceipt(ctx, ref, func(s *queue.ReceiptState) (changed, final bool) {
		said = fold(s, ref, r.State, in.Seq)
		return said.news, said.final
	})
	switch {
	case err != nil:
		return 0, err
	case said.repeated:
		a.countReceipt(matchRepeated)
		return 0, nil
	}
	event.Seq, event.ID, event.Route, event.Class = ref.Seq, ref.ID, ref.Route, ref.Class
	event.Tenant, event.Meta, event.TraceParent = ref.Tenant, ref.Meta, ref.TraceParent
	event.Receipt.Segment, event.Receipt.Segments = ref.Segment, ref.Segments
	event.Receipt.MessageState, event.Receipt.MessageFinal = said.state.String(), said.final
	event.Receipt.Superseded = said.superseded
	event.EventID = fmt.Sprintf("%d.receipt.%d.%s", ref.Seq, ref.Segment, r.State)
	if err := a.publishReceipt(ctx, event, match); err != nil {
		return 0, err
	}
	if match == matchedByID && r.State.Final() {
		if err := a.store.FinishReceipt(ctx, a.name, a.receiptKey(r.ID), ref); err != nil {
			a.log.Warn("a receipt index entry keeps its full life", "error", err)
		}
	}
	return 0, nil
}

func (a *account) publishReceipt(ctx context.Context, e queue.Event, match string) error {
	if err := a.journal.Append(ctx, e); err != nil {
		return err
	}
	a.countReceipt(match)
	return nil
}

func (a *account) countReceipt(match string) {
	a.metrics.receipts.WithLabelValues(a.name, match).Inc()
	a.metrics.inbound.WithLabelValues(a.name, "receipt").Inc()
}

// told is what a receipt says, as events show it.
func told(r receipt.Receipt) *queue.Receipt {
	t := &queue.Receipt{MessageID: r.ID, State: r.State.String(), Final: r.State.Final(), Error: r.Err, DoneAt: r.Done}
	if r.HasNetwork {
		t.NetworkError = &queue.NetworkError{Type: r.NetworkType, Code: r.NetworkCode}
	}
	return t
}

// saying is what a receipt adds to what those before it said.
type saying struct {
	news       bool          // it has to be stored
	repeated   bool          // another receipt said it
	superseded bool          // the segment had a final state before, which stands
	state      receipt.State // of the message: that of its worst segment
	final      bool          // all segments have a final state
}

// fold adds a receipt to what the receipts of its message have said. The record is where the receipt is stored: one
// that comes back because nobody lived to publish it is no repeat of itself.
func fold(s *queue.ReceiptState, ref queue.ReceiptRef, next receipt.State, record uint64) (said saying) {
	part, parts := max(ref.Segment, 1), max(ref.Segments, ref.Segment, 1)
	at := slices.IndexFunc(s.Segments, func(have queue.SegmentReceipts) bool { return have.Segment == part })
	if at < 0 {
		at = len(s.Segments)
		s.Segments = append(s.Segments, queue.SegmentReceipts{Segment: part, Said: map[string]uint64{}})
	}
	segment := &s.Segments[at]
	before, _ := receipt.StateNamed(segment.State)
	said.superseded = before.Final() && next != before
	if first, known := segment.Said[next.String()]; known {
		said.repeated = first != record
	} else {
		said.news = true
		segment.Said[next.String()] = record
		segment.State = before.Then(next).String()
	}
	states := make([]receipt.State, parts)
	for _, have := range s.Segments {
		if have.Segment <= parts {
			states[have.Segment-1], _ = receipt.StateNamed(have.State)
		}
	}
	said.state, said.final = receipt.Worst(states)
	return said
}

// messageOf finds the message that a receipt is about: by its id, else by a mark that it echoes.
func (a *account) messageOf(ctx context.Context, m *pdu.DeliverSM, id string) (ref queue.ReceiptRef, match string, err error) {
	if id != "" {
		ref, found, err := a.store.LookupReceipt(ctx, a.name, a.receiptKey(id), func(refs []queue.ReceiptRef, cached bool) (queue.ReceiptRef, bool) {
			return bestMatch(a.matching, refs, m, id, cached)
		})
		if err != nil || found {
			return ref, matchedByID, err
		}
	}
	for _, echo := range a.echoesOf(m) {
		ref, found, err := a.store.LookupEcho(ctx, a.name, echo, func(refs []queue.ReceiptRef, _ bool) (queue.ReceiptRef, bool) {
			return onlyMatch(refs, m)
		})
		if err != nil || found {
			return ref, matchedByEcho, err
		}
	}
	return queue.ReceiptRef{}, matchNone, nil
}

// receiptKey is the key in the index of the id of a receipt.
func (a *account) receiptKey(id string) string { return strings.ToLower(a.matching.ReceiptKey(id)) }

// bestMatch chooses the message whose id fits best and that went to the receipt's number: the newest with the very
// same id, else one in other case or with other zeros. Of two such nobody knows which is meant. Another instance may
// know a better one than a cache.
func bestMatch(matching receipt.Matching, refs []queue.ReceiptRef, m *pdu.DeliverSM, id string, cached bool) (best queue.ReceiptRef, found bool) {
	bestRank, doubtful := 0, false
	for _, ref := range refs {
		rank, ok := matching.Rank(ref.MessageID, id)
		if !ok || cached && rank > 0 || !fits(ref.Dest, m) {
			continue
		}
		switch {
		case !found || rank < bestRank:
			best, bestRank, found, doubtful = ref, rank, true, false
		case rank == bestRank && rank > 0 && ref.MessageID != best.MessageID:
			doubtful = true
		}
	}
	return best, found && !doubtful
}

// onlyMatch chooses the one message that went to the receipt's number. A mark is too short to tell two apart.
func onlyMatch(refs []queue.ReceiptRef, m *pdu.DeliverSM) (only queue.ReceiptRef, found bool) {
	for _, ref := range refs {
		if !fits(ref.Dest, m) {
			continue
		}
		if found && ref.Seq != only.Seq {
			return queue.ReceiptRef{}, false
		}
		only, found = ref, true
	}
	return only, found
}

// fits says whether a receipt is about the recipient that the message went to: the receipt comes from that address,
// or at some SMSCs goes to it.
func fits(dest uint16, m *pdu.DeliverSM) bool {
	from := strings.TrimPrefix(string(m.Source.Addr), "+")
	to := strings.TrimPrefix(string(m.Dest.Addr), "+")
	return dest == 0 || dest == queue.HashAddress(from) || dest == queue.HashAddress(to)
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
	if mark, ok := m.TLVs.Uint16(pdu.TagUserMessageReference); ok && a.cfg.Mark {
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
	for part := 1; a.cfg.Mark && part <= parts; part++ {
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

// hourly says once an hour that something is due to be said.
type hourly struct {
	mu   sync.Mutex
	next time.Time
}

func (h *hourly) due(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Before(h.next) {
		return false
	}
	h.next = now.Add(time.Hour)
	return true
}
