package queue

import (
	"context"
	"errors"
	"time"
)

// Learned is what an account's window knows about the SMSC's ceiling.
type Learned struct {
	// Ceiling is in messages a second.
	Ceiling float64   `json:"ceiling"`
	At      time.Time `json:"at"`
}

// PutLearned remembers an account's ceiling for 7 days.
func (c *Client) PutLearned(ctx context.Context, account string, l Learned) error {
	return errors.New("in the making")
}

// GetLearned reads an account's ceiling; ok is false when none is remembered.
func (c *Client) GetLearned(ctx context.Context, account string) (l Learned, ok bool, err error) {
	return Learned{}, false, errors.New("in the making")
}
