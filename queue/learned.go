package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Learned is what an account's window knows about the SMSC's ceiling.
type Learned struct {
	// Ceiling is in messages a second.
	Ceiling float64   `json:"ceiling"`
	At      time.Time `json:"at"`
}

// PutLearned remembers an account's ceiling for 7 days.
func (c *Client) PutLearned(ctx context.Context, account string, l Learned) error {
	data, err := json.Marshal(l)
	if err == nil {
		_, err = c.js.Publish(ctx, bucketSubject(c.names.Load().learned, account), data)
	}
	if err != nil {
		return fmt.Errorf("remembering the ceiling of account %q: %w", account, err)
	}
	return nil
}

// GetLearned reads an account's ceiling; ok is false when none is remembered.
func (c *Client) GetLearned(ctx context.Context, account string) (l Learned, ok bool, err error) {
	kv, err := c.js.KeyValue(ctx, c.names.Load().learned)
	if err != nil {
		return l, false, fmt.Errorf("ceiling of account %q: %w", account, err)
	}
	entry, err := kv.Get(ctx, account)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return l, false, nil
	}
	if err != nil {
		return l, false, fmt.Errorf("ceiling of account %q: %w", account, err)
	}
	if json.Unmarshal(entry.Value(), &l) != nil || CheckRate(l.Ceiling) != nil {
		return Learned{}, false, nil // as good as none
	}
	return l, true, nil
}
