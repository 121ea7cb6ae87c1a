package gateway

import (
	"context"
	"strings"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/smpp/receipt"
)

// matched is what was found for a receipt.
type matched struct {
	ref      queue.ReceiptRef
	match    string
	id       string // the one of the receipt's ids that fits
	key      string // of the index entry, where the id was found
	exact    bool   // the id is the very same
	fits     bool   // the number does
	doubtful bool   // another id of the receipt belongs to another message
}

// candidate is a message whose id fits one of a receipt's ids.
type candidate struct {
	ref     queue.ReceiptRef
	id, key string
	rank    int  // see [receipt.Lookup]
	fits    bool // it went to the number of the receipt
}

// messageOf finds the message that a receipt is about: by one of its ids, else by a mark that it echoes.
func (a *account) messageOf(ctx context.Context, r *inboundReceipt) (matched, error) {
	var found []candidate
	for _, lookup := range a.matching.Lookups(r.ID, r.TextID) {
		of, err := a.candidates(ctx, r.pdu, lookup)
		if err != nil {
			return matched{}, err
		}
		found = append(found, of...)
		if m, ok := choose(of, false); ok && m.exact {
			return m, nil // nothing is better
		}
	}
	if m, ok := choose(found, !r.unmarked); ok {
		return m, nil
	}
	for _, echo := range a.echoesOf(r.pdu) {
		ref, found, err := a.store.LookupEcho(ctx, a.name, echo, func(refs []queue.ReceiptRef, _ bool) (queue.ReceiptRef, bool) {
			return onlyMatch(refs, r.pdu)
		})
		if err != nil || found {
			return matched{ref: ref, match: matchedByEcho, fits: true}, err
		}
	}
	return matched{match: matchNone}, nil
}

// candidates looks for one id of a receipt, read in one way. Another instance may know a better one than a cache has,
// unless the number fits too.
func (a *account) candidates(ctx context.Context, m *pdu.DeliverSM, lookup receipt.Lookup) (found []candidate, err error) {
	key := strings.ToLower(lookup.Key())
	_, _, err = a.store.LookupReceipt(ctx, a.name, key, func(refs []queue.ReceiptRef, cached bool) (queue.ReceiptRef, bool) {
		found = rank(refs, m, lookup, key)
		for _, c := range found {
			if c.rank == 0 && c.fits {
				return c.ref, true
			}
		}
		return queue.ReceiptRef{}, false
	})
	return found, err
}

// rank lists the messages whose id fits, as they come: newest first.
func rank(refs []queue.ReceiptRef, m *pdu.DeliverSM, lookup receipt.Lookup, key string) (found []candidate) {
	for _, ref := range refs {
		if rank, ok := lookup.Rank(ref.MessageID); ok {
			found = append(found, candidate{ref, lookup.ID, key, rank, fits(ref.Dest, m)})
		}
	}
	return found
}

// choose takes the message with the very id of a receipt, the number choosing between several: SMSCs write numbers in
// more than one way, so that it is no veto against the only one, where the id alone is to be believed. In other case or
// with other zeros an id counts only together with the number, and of two such messages nobody knows which is meant.
func choose(found []candidate, believed bool) (matched, bool) {
	var best, alone *candidate
	exact, conflict, doubtful := 0, false, false
	for i := range found {
		c := &found[i]
		if c.rank == 0 && (alone == nil || alone.ref.Seq != c.ref.Seq) {
			conflict = conflict || alone != nil && alone.id != c.id
			alone = c
			exact++
		}
		switch {
		case !c.fits:
		case best == nil || c.rank < best.rank:
			best, doubtful = c, false
		case c.rank == best.rank && c.rank > 0 && c.ref.MessageID != best.ref.MessageID && c.ref.Seq != best.ref.Seq:
			doubtful = true
		}
	}
	only := exact == 1 && believed
	switch {
	case best != nil && (best.rank == 0 || !only && !doubtful):
		return matched{best.ref, matchedByID, best.id, best.key, best.rank == 0, true, conflict}, true
	case only:
		return matched{alone.ref, matchedByID, alone.id, alone.key, true, false, false}, true
	}
	return matched{}, false
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
