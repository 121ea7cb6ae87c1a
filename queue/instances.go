package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Lease is what an instance says about itself while it lives.
type Lease struct {
	// Nonce tells two processes of one name apart.
	Nonce   string    `json:"nonce"`
	Started time.Time `json:"started"`
	// Parts are what the instance has of each account that it serves.
	Parts map[string]Part `json:"parts"`
	// Lanes are the routes and classes that the instance serves.
	Lanes []Lane `json:"lanes,omitempty"`
}

// Part is what one instance has of one account.
type Part struct {
	// Demand is how much of the account the instance could use: its binds, or 0 while it has had none for long.
	Demand int `json:"demand"`
	// Rate is the most that the instance takes of the account's rate, 0 to 1.
	Rate float64 `json:"rate"`
	// Window and Binds are the most that it takes of what is limited over all instances.
	Window int `json:"window,omitempty"`
	Binds  int `json:"binds,omitempty"`
	// Closed says that nothing is pulled for the account; ClosedFor, in milliseconds, for how long.
	Closed    bool  `json:"closed,omitempty"`
	ClosedFor int64 `json:"closed_for_ms,omitempty"`
	// FailingFor is for how long, in milliseconds, the SMSC has answered this instance nothing but temporary errors; 0: it
	// has not. IdleFor is for how long messages have been offered and none was taken or refused for good; 0: none waits.
	FailingFor int64 `json:"failing_for_ms,omitempty"`
	IdleFor    int64 `json:"nothing_taken_for_ms,omitempty"`
	// Returning says that the account is not bound yet, only tested, or on its way back to its pace.
	Returning bool `json:"returning,omitempty"`
}

// Instance is a live instance.
type Instance struct {
	Name string
	Lease
	// Revision changes with every renewal.
	Revision uint64
	// Unreadable says why the lease tells nothing: another version or another program wrote it. The instance may serve
	// any account. Nil for all others.
	Unreadable error
}

// NameTakenError reports that the name of an instance belongs to another process.
type NameTakenError struct {
	Name  string
	Since time.Time
}

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("the instance name %q is in use on this NATS by a gateway that was started at %s: stop that one, or give this one another `instance`",
		e.Name, e.Since.UTC().Format(time.RFC3339))
}

const (
	leaseKey = "instance."
	sweepKey = "sweep."
	// leaseSilence is how long a lease of our name must not have been renewed before it is taken for that of a process
	// that has died: living ones renew every 2 s.
	leaseSilence = 4 * time.Second
	leaseTries   = 3
	// leaseTTL is when the server drops a lease that nobody renews: late enough for a change of the bucket's leader,
	// and of no account to the other instances, which watch the revision.
	leaseTTL = 20 * time.Second
	sweepTTL = 10 * time.Second
)

// ClaimLease makes the name ours. The lease of another process of that name is taken over once that has not renewed it
// for 4 s, at once when alone is true: then no other can have renewed it. Otherwise the error is a [*NameTakenError].
func (c *Client) ClaimLease(ctx context.Context, name string, l Lease, alone bool) (revision uint64, err error) {
	bucket := c.names.Load().instances
	var other Lease
	revision, _, err = c.readKey(ctx, bucket, leaseKey+name, &other)
	if err != nil {
		return 0, fmt.Errorf("lease of instance %q: %w", name, err)
	}
	if other.Nonce != "" && other.Nonce != l.Nonce && !alone {
		select {
		case <-time.After(leaseSilence):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		var now Lease
		if revision, err = c.sameAfterSilence(ctx, name, revision, &now); err != nil {
			return 0, err
		}
	}
	revision, _, err = c.RenewLease(ctx, name, l, revision)
	return revision, err
}

// sameAfterSilence checks that nobody has renewed a lease since the given revision.
func (c *Client) sameAfterSilence(ctx context.Context, name string, before uint64, now *Lease) (revision uint64, err error) {
	revision, _, err = c.readKey(ctx, c.names.Load().instances, leaseKey+name, now)
	if err != nil {
		return 0, fmt.Errorf("lease of instance %q: %w", name, err)
	}
	if now.Nonce != "" && revision != before {
		return 0, &NameTakenError{Name: name, Since: now.Started}
	}
	return revision, nil
}

// RenewLease writes our lease over the given revision and returns the new one. lapsed says that it had ended in between:
// others may have shared out what was ours. The error is a [*NameTakenError] when another process has the name now.
func (c *Client) RenewLease(ctx context.Context, name string, l Lease, revision uint64) (renewed uint64, lapsed bool, err error) {
	data, err := json.Marshal(l)
	if err != nil {
		return revision, false, fmt.Errorf("lease of instance %q: %w", name, err)
	}
	bucket := c.names.Load().instances
	for range leaseTries {
		renewed, err = c.replace(ctx, &nats.Msg{Subject: bucketSubject(bucket, leaseKey+name), Header: ttlHeader(leaseTTL), Data: data}, revision)
		if !errors.Is(err, errMovedOn) {
			break
		}
		var now Lease
		if revision, _, err = c.readKey(ctx, bucket, leaseKey+name, &now); err != nil {
			break
		}
		switch {
		case now.Nonce == "":
			lapsed = true
		case now.Nonce != l.Nonce:
			return revision, true, &NameTakenError{Name: name, Since: now.Started}
		}
		err = errMovedOn // what is there is ours: the confirmation of an earlier renewal was lost
	}
	if err != nil {
		return revision, lapsed, fmt.Errorf("lease of instance %q: %w", name, err)
	}
	return renewed, lapsed, nil
}

func ttlHeader(d time.Duration) nats.Header { return nats.Header{headerTTL: {ttlOf(d)}} }

// EndLease gives the name up, if it is still ours by the revision.
func (c *Client) EndLease(ctx context.Context, name string, revision uint64) error {
	if err := c.endKey(ctx, leaseKey+name, revision); err != nil {
		return fmt.Errorf("lease of instance %q: %w", name, err)
	}
	return nil
}

func (c *Client) endKey(ctx context.Context, key string, revision uint64) error {
	_, err := c.replace(ctx, &nats.Msg{
		Subject: bucketSubject(c.names.Load().instances, key),
		Header:  nats.Header{headerOperation: {operationPurge}, headerRollup: {rollupSubject}, headerTTL: {ttlOf(markerTTL)}},
	}, revision)
	if errors.Is(err, errMovedOn) {
		return nil // it has ended, or is another's
	}
	return err
}

// Instances reads the leases that there are, from the leader of the bucket. One of an instance that died without a word
// is among them for up to 20 s: it has died when its revision stands still.
func (c *Client) Instances(ctx context.Context) ([]Instance, error) {
	bucket := c.names.Load().instances
	prefix := bucketSubject(bucket, leaseKey)
	var list []Instance
	for r := (readRequest{Seq: 1, NextFor: prefix + "*"}); ; {
		m, err := c.readLeader(ctx, bucketStream(bucket), r)
		if errors.Is(err, errNoMessage) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the instances: %w", err)
		}
		r.Seq = m.Seq + 1
		i := Instance{Name: strings.TrimPrefix(m.Subject, prefix), Revision: m.Seq}
		if m.gone() {
			continue
		}
		if err := json.Unmarshal(m.Data, &i.Lease); err != nil {
			i.Lease = Lease{}
			i.Unreadable = fmt.Errorf("key %s of %s %w: %w", leaseKey+i.Name, bucket, errUnreadable, err)
		} else if err := i.check(); err != nil {
			i.Lease = Lease{}
			i.Unreadable = fmt.Errorf("key %s of %s %w: %w", leaseKey+i.Name, bucket, errImpossible, err)
		}
		list = append(list, i)
	}
}

// HoldSweep takes or renews the lease on sweeping an account; held is false while another has it. It ends by itself
// 10 s after the last renewal.
func (c *Client) HoldSweep(ctx context.Context, account, nonce string) (held bool, err error) {
	bucket, key := c.names.Load().instances, sweepKey+account
	var now struct {
		Nonce string `json:"nonce"`
	}
	revision, _, err := c.readKey(ctx, bucket, key, &now)
	if err != nil {
		return false, fmt.Errorf("lease on sweeping %q: %w", account, err)
	}
	if now.Nonce != "" && now.Nonce != nonce {
		return false, nil
	}
	now.Nonce = nonce
	data, err := json.Marshal(now)
	if err != nil {
		return false, fmt.Errorf("lease on sweeping %q: %w", account, err)
	}
	_, err = c.replace(ctx, &nats.Msg{Subject: bucketSubject(bucket, key), Header: ttlHeader(sweepTTL), Data: data}, revision)
	switch {
	case errors.Is(err, errMovedOn):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("lease on sweeping %q: %w", account, err)
	}
	return true, nil
}
