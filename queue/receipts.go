package queue

import (
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	receiptGrace    = 24 * time.Hour
	receiptFinalTTL = 10 * time.Minute
	// receiptCached bounds the keys kept in memory in front of the bucket, which
	// take about 1.5 MB at 350 octets each.
	receiptCached = 4096
	// receiptsShared is how many entries may share one key, the newest staying:
	// ids that differ in case or leading zeros alone, or are used again.
	receiptsShared = 4

	maxMessageID = 65 // SMPP 3.4 section 5.2.23
	maxStoredID  = 255
)

// ReceiptRef is what the receipt index knows about a message id of the SMSC.
type ReceiptRef struct {
	Seq     uint64 `json:"seq"`
	ID      string `json:"id"`
	Route   string `json:"route"`
	Class   string `json:"class,omitempty"`
	Tenant  string `json:"tenant,omitempty"`
	Account string `json:"account"`
	// MessageID is the id exactly as the SMSC gave it, of which 255 octets are
	// kept; the key is its canonical form, which another id may share.
	MessageID string `json:"message_id"`
	Segment   int    `json:"segment,omitempty"`
	Segments  int    `json:"segments,omitempty"`
	// Also are other segments of the message that the SMSC gave the same id.
	Also []int `json:"also,omitempty"`
	// Dest is the [HashAddress] of the destination.
	Dest      uint16    `json:"dest,omitempty"`
	Published time.Time `json:"published"`
	// Expires is when the entry is forgotten.
	Expires time.Time `json:"expires,omitzero"`
	// Delivery and PossibleDuplicate are those of an entry by echo: the delivery
	// whose outcome was unknown, and whether an earlier one was in doubt as well.
	Delivery          int  `json:"delivery,omitempty"`
	PossibleDuplicate bool `json:"possible_duplicate,omitempty"`

	Meta        map[string]string `json:"meta,omitempty"`
	TraceParent string            `json:"traceparent,omitempty"`
}

// HashAddress is a mark of an address, never 0 and equal for equal digits
// whatever stands in front of them ("+", "00"). It lets a receipt be checked
// against a destination without storing the number: with 16 bits it is shared
// by too many numbers to tell one.
func HashAddress(address string) uint16 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.TrimLeft(address, "+0"))) // a hash never fails
	sum := h.Sum32()
	return max(uint16(sum^sum>>16), 1)
}

// CanonicalID is the form of an SMSC's message id that the index is keyed by:
// lower case, and without leading zeros when it is all digits or hexadecimal.
func CanonicalID(messageID string) string {
	id := strings.ToLower(messageID)
	for i := range len(id) {
		if c := id[i]; !isDigit(c) && (c < 'a' || c > 'f') {
			return id
		}
	}
	return cmp.Or(strings.TrimLeft(id, "0"), "0")
}

// receiptKey is of bounded length whatever the SMSC gives: a longer subject than
// the server takes ends the connection. An id beyond SMPP's limit is hashed.
func receiptKey(account, id string) string {
	if len(id) > maxMessageID {
		sum := sha256.Sum256([]byte(id))
		return account + "." + hex.EncodeToString(sum[:])
	}
	return account + "." + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// echoKey is the key of an entry by a mark that a receipt may echo. Keys of ids
// have no second dot.
func echoKey(account, echo string) string {
	return account + ".echo." + base64.RawURLEncoding.EncodeToString([]byte(echo))
}

// name is the key of the entry in the bucket.
func (k *ReceiptKey) name(c *Client) string {
	if k.Echo != "" {
		return echoKey(k.Account, k.Echo)
	}
	return receiptKey(k.Account, c.canonicalID(k.Account, k.MessageID))
}

// receiptEntry is the value of one key: the newest entry, and those that share
// the key with it.
type receiptEntry struct {
	ReceiptRef

	Others []ReceiptRef `json:"others,omitempty"`
}

// Sharing lists the segments of the message that have the id, in order; one that
// is not known counts as the first.
func (r *ReceiptRef) Sharing() []int {
	segments := append([]int{max(r.Segment, 1)}, r.Also...)
	slices.Sort(segments)
	return slices.Compact(segments)
}

// with puts an entry in front, in the place of one of the same message and id,
// whose segments it takes over. What has expired goes.
func (e *receiptEntry) with(ref ReceiptRef, now time.Time) receiptEntry {
	ref.Also = slices.Clone(ref.Also)
	kept := slices.DeleteFunc(e.live(now), func(r ReceiptRef) bool {
		same := r.Seq == ref.Seq && r.MessageID == ref.MessageID && (r.Segment == ref.Segment || ref.MessageID != "")
		if same && r.Segment != ref.Segment {
			ref.Also = append(ref.Also, r.Segment)
		}
		if same {
			ref.Also = append(ref.Also, r.Also...)
		}
		return same
	})
	slices.Sort(ref.Also)
	ref.Also = slices.DeleteFunc(slices.Compact(ref.Also), func(segment int) bool { return segment == ref.Segment })
	return receiptEntry{ref, kept[:min(len(kept), receiptsShared-1)]}
}

// live lists what has not expired, newest first.
func (e *receiptEntry) live(now time.Time) []ReceiptRef {
	return slices.DeleteFunc(append([]ReceiptRef{e.ReceiptRef}, e.Others...), func(r ReceiptRef) bool {
		return r.Seq == 0 || !r.Expires.IsZero() && r.Expires.Before(now)
	})
}

// ttl keeps the key as long as any of its entries.
func (e *receiptEntry) ttl(now time.Time) string {
	last := e.Expires
	for _, r := range e.Others {
		if r.Expires.After(last) {
			last = r.Expires
		}
	}
	return ttlOf(last.Sub(now))
}

// storeReceipt writes one index entry.
func (j *Journal) storeReceipt(ctx context.Context, key ReceiptKey, ref ReceiptRef) error {
	now, name := time.Now(), key.name(j.client)
	ref.MessageID = ref.MessageID[:min(len(ref.MessageID), maxStoredID)]
	ref.Expires = now.Add(cmp.Or(key.TTL, maxValidity+receiptGrace)).UTC()
	entry, revision := receiptEntry{ReceiptRef: ref}, uint64(0)
	for range swapTries {
		data, err := json.Marshal(entry)
		if err != nil {
			return fmt.Errorf("receipt index: %w", err)
		}
		err = j.write(ctx, write{
			stream:  bucketStream(j.names.receipts),
			subject: bucketSubject(j.names.receipts, name),
			header:  nats.Header{headerTTL: {entry.ttl(now)}, headerExpected: {strconv.FormatUint(revision, 10)}},
			data:    data,
		})
		if err == nil {
			j.client.receipts.put(name, entry)
		}
		if !refusedAs(err, codeWrongLastSeq) {
			return err
		}
		var present receiptEntry
		if present, revision, err = j.client.readReceipt(ctx, name); err != nil {
			return err
		}
		entry = present.with(ref, now)
	}
	return fmt.Errorf("receipt index: %w", errMovedOn)
}

// Choose picks the entry that a receipt is about, out of those that share a key,
// newest first. Cached entries may lack one that another instance has stored: what
// is not found among them is looked for in the bucket.
type Choose func(refs []ReceiptRef, cached bool) (ReceiptRef, bool)

// LookupReceipt finds the message that an SMSC's message id belongs to. The key
// is the canonical form of the id, which others may share: choose compares
// [ReceiptRef].MessageID and Dest with what the receipt says.
func (c *Client) LookupReceipt(ctx context.Context, account, id string, choose Choose) (ReceiptRef, bool, error) {
	return c.lookupReceipt(ctx, receiptKey(account, id), choose)
}

// LookupEcho finds the message of unknown outcome whose submit carried the mark
// that a receipt echoes.
func (c *Client) LookupEcho(ctx context.Context, account, echo string, choose Choose) (ReceiptRef, bool, error) {
	return c.lookupReceipt(ctx, echoKey(account, echo), choose)
}

func (c *Client) lookupReceipt(ctx context.Context, name string, choose Choose) (ReceiptRef, bool, error) {
	now := time.Now()
	if entry, ok := c.receipts.get(name); ok {
		if ref, ok := choose(entry.live(now), true); ok {
			return ref, true, nil
		}
	}
	entry, _, err := c.readReceipt(ctx, name)
	if err != nil {
		return ReceiptRef{}, false, err
	}
	if entry.Seq != 0 {
		c.receipts.put(name, entry)
	}
	ref, ok := choose(entry.live(now), false)
	return ref, ok, nil
}

// readReceipt reads one key; without a value the entry is empty. The revision is
// that of the key's marker when it was deleted. What cannot be read explains
// nothing, and must not stop a message that was accepted: it is written over.
func (c *Client) readReceipt(ctx context.Context, name string) (entry receiptEntry, revision uint64, err error) {
	revision, _, err = c.readKey(ctx, c.names.Load().receipts, name, &entry)
	switch {
	case errors.Is(err, errUnreadable):
		return receiptEntry{}, revision, nil
	case err != nil:
		return receiptEntry{}, 0, fmt.Errorf("receipt index: %w", err)
	}
	return entry, revision, nil
}

// FinishReceipt shortens the life of an index entry to 10 minutes after a final
// receipt: repeats still find it. An entry without an id is one by echo, which
// the other receipts of its message may need.
func (c *Client) FinishReceipt(ctx context.Context, account, id string, ref ReceiptRef) error {
	name, bucket := receiptKey(account, id), c.names.Load().receipts
	c.receipts.drop(name)
	for range swapTries {
		now := time.Now()
		entry, revision, err := c.readReceipt(ctx, name)
		if err != nil {
			return err
		}
		left := entry.live(now)
		at := slices.IndexFunc(left, func(r ReceiptRef) bool { return r.Seq == ref.Seq && r.Segment == ref.Segment })
		if at < 0 {
			return nil
		}
		if end := now.Add(receiptFinalTTL).UTC(); left[at].Expires.After(end) {
			left[at].Expires = end
		} else {
			return nil
		}
		entry = receiptEntry{left[0], left[1:]}
		data, err := json.Marshal(entry)
		if err != nil {
			return fmt.Errorf("receipt index: %w", err)
		}
		_, err = c.replace(ctx, &nats.Msg{
			Subject: bucketSubject(bucket, name), Header: nats.Header{headerTTL: {entry.ttl(now)}}, Data: data,
		}, revision)
		if !errors.Is(err, errMovedOn) {
			return err
		}
	}
	return fmt.Errorf("receipt index: %w", errMovedOn)
}

// receiptCache keeps the entries used last; most receipts come soon after the
// submit, on the same instance.
type receiptCache struct {
	mu     sync.Mutex
	order  *list.List // of cachedReceipt, used last in front
	byName map[string]*list.Element
}

type cachedReceipt struct {
	name  string
	entry receiptEntry
}

func newReceiptCache() *receiptCache {
	return &receiptCache{order: list.New(), byName: make(map[string]*list.Element)}
}

func (c *receiptCache) put(name string, entry receiptEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byName[name]; ok {
		at.Value = cachedReceipt{name, entry}
		c.order.MoveToFront(at)
		return
	}
	c.byName[name] = c.order.PushFront(cachedReceipt{name, entry})
	if oldest := c.order.Back(); c.order.Len() > receiptCached {
		c.order.Remove(oldest)
		delete(c.byName, oldest.Value.(cachedReceipt).name)
	}
}

func (c *receiptCache) get(name string) (receiptEntry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byName[name]
	if !ok {
		return receiptEntry{}, false
	}
	c.order.MoveToFront(at)
	return at.Value.(cachedReceipt).entry, true
}

func (c *receiptCache) drop(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byName[name]; ok {
		c.order.Remove(at)
		delete(c.byName, name)
	}
}
