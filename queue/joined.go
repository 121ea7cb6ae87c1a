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
	// Claim says that somebody is about to publish something; zero: nobody.
	Claim JoinedClaim `json:"claim,omitzero"`
}

// JoinedClaim is the word of one stored part that it publishes the message. Only
// one handler works on a stored part at a time, so that it holds over a restart.
type JoinedClaim struct {
	// Record is the sequence of the part in the stream.
	Record uint64 `json:"record"`
	// Sums are of the parts that are to be published.
	Sums map[byte]uint64 `json:"sums"`
	// At is when it was given; it is worth nothing after claimTerm.
	At time.Time `json:"at"`
}

// claimTerm is how long others leave the publishing to the part that said it
// would: its handling ends within a minute, or it comes back and says so again.
const claimTerm = 2 * time.Minute

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

// ClaimJoined asks for the right to publish what would be noted, for the stored part
// that completed it. It is false when that was published already, or another part is
// about to do it: then ask again later.
func (c *Client) ClaimJoined(ctx context.Context, account, message string, publish JoinedMO, record uint64) (mine bool, err error) {
	now := time.Now().UTC()
	err = swap(ctx, c, c.names.Load().receipts, joinedKey(account, message), func(j *JoinedMO) (bool, time.Duration) {
		known := len(publish.Sums) > 0
		for part, sum := range publish.Sums {
			have, ok := j.Sums[part]
			known = known && ok && have == sum
		}
		held := j.Claim.Record != record && maps.Equal(j.Claim.Sums, publish.Sums) && now.Sub(j.Claim.At) < claimTerm
		if mine = !known && !held; mine {
			j.Claim = JoinedClaim{Record: record, Sums: publish.Sums, At: now}
		}
		return mine, joinedTTL
	})
	if err != nil {
		return false, fmt.Errorf("parts to publish: %w", err)
	}
	return mine, nil
}

// NoteJoined adds what was published of a message. Sums that are not of the same
// message any more, because the phone has used its reference again, are replaced.
func (c *Client) NoteJoined(ctx context.Context, account, message string, published JoinedMO) error {
	err := swap(ctx, c, c.names.Load().receipts, joinedKey(account, message), func(j *JoinedMO) (bool, time.Duration) {
		if !published.Alone || !j.Alone {
			*j = published
			return true, joinedTTL
		}
		if j.Sums == nil {
			j.Sums = map[byte]uint64{}
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
