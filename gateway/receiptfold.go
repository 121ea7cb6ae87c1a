package gateway

import (
	"context"
	"slices"
	"strings"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/receipt"
)

// Bounds of what is remembered of the receipts of one segment.
const (
	mostSaid    = 32 // states, with words of the SMSC's own
	mostRecords = 8
)

// saying is what a receipt adds to what those before it said.
type saying struct {
	news       bool          // it has to be stored
	repeated   bool          // another receipt said it
	superseded bool          // the segment had a final state before, which stands
	first      bool          // no other receipt of the segment has named the state
	segment    int           // which one it counts for; 0: for all
	settled    bool          // every segment that it could speak for has a final state
	state      receipt.State // of the message: that of its worst segment
	final      bool          // all segments have a final state
}

// foldReceipt adds a receipt to what those of its message have said, across instances.
func (a *account) foldReceipt(ctx context.Context, found matched, r *inboundReceipt) (said saying, err error) {
	says, could := wordOf(r.Receipt), found.ref.Sharing()
	all := a.cfg.Receipts.Per == config.PerMessage
	if parts := max(found.ref.Segments, found.ref.Segment, 1); all {
		could = could[:0]
		for n := range parts {
			could = append(could, n+1)
		}
	}
	err = a.store.FoldReceipt(ctx, found.ref, func(s *queue.ReceiptState) (changed, final bool) {
		said = fold(s, found.ref, could, all, r.State, says, r.record.Seq)
		return said.news, said.final
	})
	return said, err
}

// wordOf is what tells the state of a receipt from others: its name, and the word where the state is not known.
func wordOf(r receipt.Receipt) string {
	if word := strings.ToUpper(r.RawState); r.State == receipt.Unknown && word != "" && word != "UNKNOWN" {
		return r.State.String() + " " + shownWord(word)
	}
	return r.State.String()
}

// fold adds a receipt to what the receipts of its message have said: it could speak for any one of the given segments,
// or speaks for all of them. The record is where the receipt is stored: one that comes back because nobody lived to
// publish it is no repeat of itself.
func fold(s *queue.ReceiptState, ref queue.ReceiptRef, could []int, all bool, next receipt.State, says string, record uint64) (said saying) {
	segments := make([]*queue.SegmentReceipts, len(could))
	for _, n := range could {
		segmentOf(s, n) // which may move the others
	}
	for i, n := range could {
		segments[i] = segmentOf(s, n)
	}
	has := func(segment *queue.SegmentReceipts) bool {
		return next != receipt.NoState && (segment.Last == says || segment.State == says)
	}
	before := func(segment *queue.SegmentReceipts) receipt.State {
		state, _ := receipt.StateNamed(segment.State)
		return state
	}
	at := slices.IndexFunc(segments, func(segment *queue.SegmentReceipts) bool { return toldBy(segment, record) })
	again := at >= 0
	if !again {
		said.repeated = !slices.ContainsFunc(segments, func(segment *queue.SegmentReceipts) bool { return !has(segment) })
		at = spokenFor(segments, has, before)
	}
	of := segments[at : at+1]
	if said.segment = could[at]; all {
		said.segment, of = 0, segments
	}
	first, known := of[0].Said[says]
	said.first = !strings.Contains(says, " ") && next != receipt.NoState && (!known && !said.repeated || first == record)
	said.superseded = !slices.ContainsFunc(of, func(segment *queue.SegmentReceipts) bool {
		stands := before(segment)
		return !stands.Final() || stands == next
	})
	if said.news = !again && !said.repeated && next != receipt.NoState; said.news {
		for _, segment := range of {
			note(segment, before(segment).Then(next), says, record)
		}
	}
	said.settled = !slices.ContainsFunc(segments, func(segment *queue.SegmentReceipts) bool { return !before(segment).Final() })
	said.state, said.final = receipt.Worst(statesOf(s, max(ref.Segments, ref.Segment, 1)))
	return said
}

// spokenFor is the segment that a receipt counts for, of those that it could speak for: one without a receipt, else one
// that has no final state, else one with another state than the receipt's.
func spokenFor(segments []*queue.SegmentReceipts, has func(*queue.SegmentReceipts) bool, before func(*queue.SegmentReceipts) receipt.State) int {
	for _, free := range []func(*queue.SegmentReceipts) bool{
		func(segment *queue.SegmentReceipts) bool { return len(segment.Said) == 0 },
		func(segment *queue.SegmentReceipts) bool { return !has(segment) && !before(segment).Final() },
		func(segment *queue.SegmentReceipts) bool { return !has(segment) },
	} {
		if at := slices.IndexFunc(segments, free); at >= 0 {
			return at
		}
	}
	return 0
}

// segmentOf is what is known of a segment, which may be nothing yet. It holds until the next call.
func segmentOf(s *queue.ReceiptState, n int) *queue.SegmentReceipts {
	at := slices.IndexFunc(s.Segments, func(have queue.SegmentReceipts) bool { return have.Segment == n })
	if at < 0 {
		at = len(s.Segments)
		s.Segments = append(s.Segments, queue.SegmentReceipts{Segment: n, Said: map[string]uint64{}})
	}
	return &s.Segments[at]
}

// toldBy says whether a record is one whose receipt the segment has.
func toldBy(segment *queue.SegmentReceipts, record uint64) bool {
	for _, first := range segment.Said {
		if first == record {
			return true
		}
	}
	return slices.Contains(segment.Records, record)
}

// note adds what a receipt says to a segment.
func note(segment *queue.SegmentReceipts, stands receipt.State, says string, record uint64) {
	segment.State, segment.Last = stands.String(), says
	if _, known := segment.Said[says]; !known && len(segment.Said) < mostSaid {
		segment.Said[says] = record
		return
	}
	segment.Records = append(segment.Records, record)
	segment.Records = segment.Records[max(0, len(segment.Records)-mostRecords):]
}

// statesOf are the states of a message's segments, as far as they are known.
func statesOf(s *queue.ReceiptState, parts int) []receipt.State {
	states := make([]receipt.State, parts)
	for _, have := range s.Segments {
		if have.Segment <= parts {
			states[have.Segment-1], _ = receipt.StateNamed(have.State)
		}
	}
	return states
}
