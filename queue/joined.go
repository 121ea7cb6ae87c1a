package queue

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// joinedTTL is how long it is remembered that the parts of a phone's long message
// were published, for parts that come again.
const joinedTTL = 15 * time.Minute

// JoinedMO is what was published of a phone's long message. It lives beside the
// receipt index, so that the instances that share an account publish it once.
type JoinedMO struct {
	// Sums has a checksum of the octets of every part that was published.
	Sums map[byte]uint64 `json:"sums"`
	// Alone says that they were published one by one: the rest follows them so.
	Alone bool `json:"alone,omitempty"`
	// At is when the last of them was.
	At time.Time `json:"at"`
}

func joinedKey(account, message string) string { return account + ".mo." + message }

// ReadJoined reads what was published of a message; the name is of characters
// that a key may have.
func (c *Client) ReadJoined(ctx context.Context, account, message string) (JoinedMO, error) {
	var j JoinedMO
	if _, _, err := c.readKey(ctx, c.names.Load().receipts, joinedKey(account, message), &j); err != nil {
		return j, fmt.Errorf("parts published: %w", err)
	}
	return j, nil
}

// NoteJoined adds what was published of a message. Sums that are not of the same
// message any more, because the phone has used its reference again, are replaced.
func (c *Client) NoteJoined(ctx context.Context, account, message string, published JoinedMO) error {
	err := swap(ctx, c, c.names.Load().receipts, joinedKey(account, message), func(j *JoinedMO) (bool, time.Duration) {
		if !published.Alone || !j.Alone {
			*j = published
			return true, joinedTTL
		}
		maps.Copy(j.Sums, published.Sums)
		j.At = published.At
		return true, joinedTTL
	})
	if err != nil {
		return fmt.Errorf("parts published: %w", err)
	}
	return nil
}
