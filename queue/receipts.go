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
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	receiptGrace    = 24 * time.Hour
	receiptFinalTTL = 10 * time.Minute
	receiptCached   = 4096

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
	// Dest is the [HashAddress] of the destination.
	Dest        uint16            `json:"dest,omitempty"`
	Published   time.Time         `json:"published"`
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
func receiptKey(account, messageID string) string {
	id := CanonicalID(messageID)
	if len(id) > maxMessageID {
		sum := sha256.Sum256([]byte(id))
		return account + "." + hex.EncodeToString(sum[:])
	}
	return account + "." + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// storeReceipt writes one index entry.
func (j *Journal) storeReceipt(ctx context.Context, key ReceiptKey, ref ReceiptRef) error {
	ref.MessageID = ref.MessageID[:min(len(ref.MessageID), maxStoredID)]
	data, err := json.Marshal(ref)
	if err != nil {
		return fmt.Errorf("receipt index: %w", err)
	}
	name := receiptKey(key.Account, key.MessageID)
	err = j.write(ctx, write{
		stream:  bucketStream(j.names.receipts),
		subject: bucketSubject(j.names.receipts, name),
		header:  nats.Header{headerTTL: {ttlOf(cmp.Or(key.TTL, maxValidity+receiptGrace))}},
		data:    data,
	})
	if err == nil {
		j.client.receipts.put(name, ref)
	}
	return err
}

// LookupReceipt finds the message that an SMSC's message id belongs to. The
// caller compares [ReceiptRef].MessageID and Dest with what the receipt says:
// the key is the canonical form of the id.
func (c *Client) LookupReceipt(ctx context.Context, account, messageID string) (ReceiptRef, bool, error) {
	name := receiptKey(account, messageID)
	if ref, ok := c.receipts.get(name); ok {
		return ref, true, nil
	}
	ref, _, err := c.readReceipt(ctx, name)
	if errors.Is(err, errNoMessage) {
		return ReceiptRef{}, false, nil
	}
	if err != nil {
		return ReceiptRef{}, false, err
	}
	c.receipts.put(name, ref)
	return ref, true, nil
}

func (c *Client) readReceipt(ctx context.Context, name string) (ref ReceiptRef, data []byte, err error) {
	bucket := c.names.Load().receipts
	m, err := c.readLeader(ctx, bucketStream(bucket), readRequest{LastFor: bucketSubject(bucket, name)})
	if err != nil {
		return ref, nil, err
	}
	if m.Header.Get(headerMarker) != "" || m.Header.Get(headerOperation) != "" {
		return ref, nil, errNoMessage
	}
	if err := json.Unmarshal(m.Data, &ref); err != nil {
		return ref, nil, fmt.Errorf("receipt index: %w", err)
	}
	return ref, m.Data, nil
}

// FinishReceipt shortens the life of an index entry to 10 minutes after a final
// receipt: repeats still find it.
func (c *Client) FinishReceipt(ctx context.Context, account, messageID string) error {
	name := receiptKey(account, messageID)
	_, data, err := c.readReceipt(ctx, name)
	if errors.Is(err, errNoMessage) {
		return nil
	}
	if err != nil {
		return err
	}
	m := nats.NewMsg(bucketSubject(c.names.Load().receipts, name))
	m.Data = data
	m.Header.Set(headerTTL, ttlOf(receiptFinalTTL))
	if _, err := c.js.PublishMsg(ctx, m); err != nil {
		return fmt.Errorf("receipt index: %w", err)
	}
	return nil
}

// receiptCache keeps the entries used last; most receipts come soon after the
// submit, on the same instance.
type receiptCache struct {
	mu     sync.Mutex
	order  *list.List // of cachedReceipt, used last in front
	byName map[string]*list.Element
}

type cachedReceipt struct {
	name string
	ref  ReceiptRef
}

func newReceiptCache() *receiptCache {
	return &receiptCache{order: list.New(), byName: make(map[string]*list.Element)}
}

func (c *receiptCache) put(name string, ref ReceiptRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byName[name]; ok {
		at.Value = cachedReceipt{name, ref}
		c.order.MoveToFront(at)
		return
	}
	c.byName[name] = c.order.PushFront(cachedReceipt{name, ref})
	if oldest := c.order.Back(); c.order.Len() > receiptCached {
		c.order.Remove(oldest)
		delete(c.byName, oldest.Value.(cachedReceipt).name)
	}
}

func (c *receiptCache) get(name string) (ReceiptRef, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byName[name]
	if !ok {
		return ReceiptRef{}, false
	}
	c.order.MoveToFront(at)
	return at.Value.(cachedReceipt).ref, true
}
