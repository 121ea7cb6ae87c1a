package queue

import (
	"context"
	"fmt"
	"time"
)

// ReceiptState is what the receipts of one message have said so far. It lives in
// the receipt index, so that the instances that share an account fold as one.
type ReceiptState struct {
	Segments []SegmentReceipts `json:"segments"`
}

// SegmentReceipts is what the receipts of one segment have said.
type SegmentReceipts struct {
	// Segment counts from 1.
	Segment int `json:"segment"`
	// State is the one that stands.
	State string `json:"state"`
	// Said names for each state the stored record that said it first.
	Said map[string]uint64 `json:"said"`
	// Last is what the newest receipt said.
	Last string `json:"last,omitempty"`
	// Records are the stored records of the newest receipts, newest last.
	Records []uint64 `json:"records,omitempty"`
}

// stateKey is the key of a message's folded state.
func stateKey(account string, seq uint64) string { return account + ".seq." + seqKey(seq) }

// FoldReceipt changes the state of a message by compare and swap: fold may be
// called several times, each time with what is stored by then, and says whether
// it changed anything. A final state is kept for 10 minutes, any other as long
// as the index entry.
func (c *Client) FoldReceipt(ctx context.Context, ref ReceiptRef, fold func(*ReceiptState) (changed, final bool)) error {
	// Most messages have one receipt: nothing is read for the first.
	err := swap(ctx, c, c.names.Load().receipts, stateKey(ref.Account, ref.Seq), func(s *ReceiptState) (bool, time.Duration) {
		changed, final := fold(s)
		if final {
			return changed, receiptFinalTTL
		}
		return changed, max(time.Until(ref.Expires), receiptFinalTTL)
	})
	if err != nil {
		return fmt.Errorf("receipt state: %w", err)
	}
	return nil
}
