package queue

import (
	"context"
	"fmt"
	"time"
)

// sessionEndTTL is how long the end of a session is remembered.
const sessionEndTTL = 15 * time.Minute

// sessionEnd is the value of a key beside the receipt index.
type sessionEnd struct {
	At time.Time `json:"at"`
}

func sessionKey(account, session string) string { return account + ".session." + session }

// NoteSessionEnd tells other instances when a session has ended: what the SMSC sent
// last on it may come again at one of them. The session's name is of characters
// that a key may have.
func (c *Client) NoteSessionEnd(ctx context.Context, account, session string, at time.Time) error {
	err := swap(ctx, c, c.names.Load().receipts, sessionKey(account, session), func(e *sessionEnd) (bool, time.Duration) {
		e.At = at.UTC()
		return true, sessionEndTTL
	})
	if err != nil {
		return fmt.Errorf("end of a session: %w", err)
	}
	return nil
}

// SessionEnd is when a session has ended, if that was noted within 15 minutes.
func (c *Client) SessionEnd(ctx context.Context, account, session string) (at time.Time, ok bool, err error) {
	var e sessionEnd
	if _, _, err := c.readKey(ctx, c.names.Load().receipts, sessionKey(account, session), &e); err != nil {
		return at, false, fmt.Errorf("end of a session: %w", err)
	}
	return e.At, !e.At.IsZero(), nil
}
