package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// Spell is a time in which an account was failing: its SMSC had nothing but temporary errors for all messages. An attempt
// in it does not count.
type Spell struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// spells is what the control bucket keeps of one account, oldest first.
type spells struct {
	Spells []Spell `json:"spells"`
}

const (
	controlFailing = "failing."
	mostSpells     = 32
	// spellsKept is how long a spell is of use: a message lives for 7 days at the most.
	spellsKept = maxValidity + recordGrace
)

// Spells reads when the account was failing, oldest first. What cannot have been is left out.
func (c *Client) Spells(ctx context.Context, account string) ([]Spell, error) {
	var kept spells
	if _, _, err := c.readKey(ctx, c.names.Load().control, controlFailing+account, &kept); err != nil {
		return nil, fmt.Errorf("failing times of account %q: %w", account, err)
	}
	return kept.sane(), nil
}

func (s *spells) sane() []Spell {
	list := slices.DeleteFunc(s.Spells, func(s Spell) bool {
		return s.From.IsZero() || s.To.Before(s.From) || s.To.Sub(s.From) > spellsKept
	})
	return list[max(0, len(list)-mostSpells):]
}

// NoteSpell keeps a time in which the account was failing. One that begins at the same time is replaced by the longer.
func (c *Client) NoteSpell(ctx context.Context, account string, s Spell) error {
	bucket, key := c.names.Load().control, controlFailing+account
	for range controlTries {
		var kept spells
		revision, _, err := c.readKey(ctx, bucket, key, &kept)
		if err != nil && !errors.Is(err, errUnreadable) {
			return fmt.Errorf("failing times of account %q: %w", account, err)
		}
		list := kept.sane()
		if at := slices.IndexFunc(list, func(k Spell) bool { return k.From.Equal(s.From) }); at >= 0 {
			if !s.To.After(list[at].To) {
				return nil
			}
			list[at] = s
		} else {
			list = append(list, s)
		}
		data, err := json.Marshal(spells{list[max(0, len(list)-mostSpells):]})
		if err != nil {
			return fmt.Errorf("failing times of account %q: %w", account, err)
		}
		_, err = c.replace(ctx, &nats.Msg{
			Subject: bucketSubject(bucket, key), Data: data, Header: nats.Header{headerTTL: {ttlOf(spellsKept)}},
		}, revision)
		if errors.Is(err, errMovedOn) {
			continue
		}
		if err != nil {
			return fmt.Errorf("failing times of account %q: %w", account, err)
		}
		return nil
	}
	return fmt.Errorf("failing times of account %q: %w", account, errMovedOn)
}
