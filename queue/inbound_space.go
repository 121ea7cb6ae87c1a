package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrInboundFull reports that a PDU was not stored because there is no room for
// it: the SMSC shall keep it.
var ErrInboundFull = errors.New("no room for what the SMSC sends")

const (
	inboundPurge = time.Minute // from one purge of an account to the next
	// inboundOverhead is what the server stores with each record, beyond its octets.
	inboundOverhead = 64
)

// inboundSpace is how much of the stream of inbound each account has, as far as
// this client knows: no account may have more than half of it. The server counts
// records by account, and octets only for the whole, so the octets of an account
// are its records times the size of those that came here.
type inboundSpace struct {
	mu       sync.Mutex
	at       time.Time // when the numbers were read
	reading  bool
	most     int64
	accounts map[string]*inboundAccount
}

type inboundAccount struct {
	records uint64  // that the server had, when it was asked
	since   int64   // octets that were stored here since
	size    float64 // of a record, on average
	purge   chan struct{}
}

// take counts a record of some octets, unless the account has its half.
func (s *inboundSpace) take(ctx context.Context, c *Client, account string, octets int) error {
	octets += inboundOverhead
	now := time.Now()
	s.mu.Lock()
	a := s.account(account)
	if a.size == 0 {
		a.size = float64(octets)
	}
	a.size += (float64(octets) - a.size) / 64
	first := s.at.IsZero()
	read := !s.reading && now.Sub(s.at) >= spaceTrusted
	s.reading = s.reading || read
	s.mu.Unlock()
	switch {
	case read && first:
		s.read(ctx, c)
	case read:
		go s.read(context.WithoutCancel(ctx), c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	has := int64(float64(a.records)*a.size) + a.since
	if s.most > 0 && has > s.most/4 {
		select {
		case a.purge <- struct{}{}: // what is settled goes at once
		default:
		}
	}
	if s.most > 0 && has+int64(octets) > s.most/2 {
		return fmt.Errorf("%w: account %q has half of the stream, about %d octets, with what was not handled yet", ErrInboundFull, account, has)
	}
	a.since += int64(octets)
	return nil
}

// account finds the numbers of an account, under the lock.
func (s *inboundSpace) account(name string) *inboundAccount {
	if s.accounts == nil {
		s.accounts = make(map[string]*inboundAccount)
	}
	if s.accounts[name] == nil {
		s.accounts[name] = &inboundAccount{purge: make(chan struct{}, 1)}
	}
	return s.accounts[name]
}

// read asks the server how many records each account has. When it does not answer
// the numbers stay as they are.
func (s *inboundSpace) read(ctx context.Context, c *Client) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	n := c.names.Load()
	asked := time.Now()
	stream, err := c.js.Stream(ctx, n.in)
	var info *jetstream.StreamInfo
	if err == nil {
		info, err = stream.Info(ctx, jetstream.WithSubjectFilter(n.inSubject("*")))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading, s.at = false, asked
	if err != nil {
		return
	}
	s.most = info.Config.MaxBytes
	for name, a := range s.accounts {
		a.records, a.since = info.State.Subjects[n.inSubject(name)], 0
	}
}

// purgeInbound takes what an account's consumer has acknowledged out of the stream,
// every minute, and sooner when the account has much of it, until ctx ends.
func (c *Client) purgeInbound(ctx context.Context, account string) {
	s := &c.inbound
	s.mu.Lock()
	wanted := s.account(account).purge
	s.mu.Unlock()
	tick := time.NewTicker(inboundPurge)
	defer tick.Stop()
	settled := uint64(0) // at the tick before: what came lately is kept, should it come again
	for {
		hurry := false
		select {
		case <-tick.C:
		case <-wanted:
			hurry = true
		case <-ctx.Done():
			return
		}
		floor, err := c.settledInbound(ctx, account)
		if err == nil && hurry {
			settled = floor
		}
		if err == nil && settled > 0 {
			err = c.purgeSettled(ctx, account, settled)
		}
		settled = max(settled, floor)
		if err != nil && ctx.Err() == nil {
			c.logger.Warn("inbound that is settled could not be purged; it is tried again", "account", account, "error", err)
		}
		select {
		case <-time.After(spaceTrusted):
		case <-ctx.Done():
			return
		}
	}
}

// settledInbound is the acknowledgement floor of the account's consumer.
func (c *Client) settledInbound(ctx context.Context, account string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	consumer, err := c.js.Consumer(ctx, c.names.Load().in, inboundDurable(account))
	if err != nil {
		return 0, err
	}
	return consumer.CachedInfo().AckFloor.Stream, nil
}

// purgeSettled purges the account's records up to a sequence.
func (c *Client) purgeSettled(ctx context.Context, account string, settled uint64) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	n := c.names.Load()
	stream, err := c.js.Stream(ctx, n.in)
	if err != nil {
		return err
	}
	err = stream.Purge(ctx, jetstream.WithPurgeSubject(n.inSubject(account)), jetstream.WithPurgeSequence(settled+1))
	if err != nil {
		return err
	}
	c.inbound.read(ctx, c)
	return nil
}

func inboundDurable(account string) string { return "in_" + account }
