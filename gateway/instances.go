package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sluice/queue"
)

// How an instance keeps its lease.
const (
	leaseEvery = 2 * time.Second
	leaseCheck = 500 * time.Millisecond
	// leaseTrust is how long a share may be used after its last confirmed renewal was sent, leaseDeath how long the
	// revision of another's lease must have stood still, while the bucket could be read, until its part is taken over:
	// an instance that is cut off stops before that. It unbinds then where the number of binds is limited.
	leaseTrust = 4 * time.Second
	leaseDeath = 6 * time.Second
	// idleAfter is how long nothing must have been pulled for an account before its deadlines are watched.
	idleAfter = 5 * time.Second
)

// presence is this instance among the others.
type presence struct {
	client *queue.Client
	log    *slog.Logger
	name   string
	nonce  string
	start  time.Time
	lanes  []queue.Lane // that this instance serves
	alone  bool         // when the gateway starts no other can be connected to its own server
	kick   chan struct{}

	revision uint64
	tenures  map[string]*tenure // by account

	mu        sync.Mutex
	confirmed time.Time // when the last round that was confirmed began
	others    []other   // as last read
	looked    time.Time // when
}

// other is another live instance.
type other struct {
	queue.Instance
	seen  time.Time     // when this revision was first read
	still time.Duration // how long it stood still while the bucket could be read
}

// dead reports whether the instance has died without a word, and has stopped to use its part.
func (o *other) dead() bool { return o.still >= leaseDeath }

// openPresence takes the name of this instance.
func (g *Gateway) openPresence(ctx context.Context) error {
	p := &presence{
		client: g.client, log: g.log, name: g.cfg.Instance, nonce: rand.Text(), start: time.Now(), alone: g.embedded != nil,
		kick: make(chan struct{}, 1), tenures: map[string]*tenure{},
	}
	for _, name := range sortedKeys(g.cfg.Routes) {
		for _, l := range lanesOf(name, g.cfg.Routes[name]) {
			p.lanes = append(p.lanes, l.Lane)
		}
	}
	lease := p.lease(nil)
	for name, cfg := range g.cfg.Accounts {
		p.tenures[name] = &tenure{}
		lease.Parts[name] = queue.Part{Demand: cfg.Binds, Returning: true}
	}
	patient, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	var err error
	if p.revision, err = p.client.ClaimLease(patient, p.name, lease, p.alone); err != nil {
		return err
	}
	p.confirm(time.Now()) // of the claim: there is no share before the first round
	g.teardown.push("lease of the instance", func(ctx context.Context) error { return p.client.EndLease(ctx, p.name, p.revision) })
	g.presence = p
	return p.look(patient, time.Now())
}

func (p *presence) lease(parts map[string]queue.Part) queue.Lease {
	if parts == nil {
		parts = map[string]queue.Part{}
	}
	return queue.Lease{Nonce: p.nonce, Started: p.start.UTC(), Parts: parts, Lanes: p.lanes}
}

// look reads who lives.
func (p *presence) look(ctx context.Context, now time.Time) error {
	instances, err := p.client.Instances(ctx)
	if err == nil {
		p.read(instances, now)
	}
	return err
}

// read notes what the leases say, and which of them stand still.
func (p *presence) read(instances []queue.Instance, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, passed := p.others, min(now.Sub(p.looked), leaseEvery+leaseCheck) // of a longer time nobody knows
	p.others, p.looked = nil, now
	for _, i := range instances {
		if i.Name == p.name {
			continue
		}
		o := other{Instance: i, seen: now}
		known := false
		for _, b := range before {
			known = known || b.Name == i.Name
			if b.Name == i.Name && b.Revision == i.Revision {
				o.seen, o.still = b.seen, b.still+passed
				if o.dead() && !b.dead() {
					p.log.Warn("the lease of another instance is not renewed: its share is taken over", "instance", i.Name)
					p.poke()
				}
			}
		}
		if i.Unreadable != nil && !known {
			p.log.Error("the lease of an instance cannot be read: its share is not allowed for and no deadlines are watched; "+
				"purge the key if no gateway of that name runs", "instance", i.Name, "error", i.Unreadable)
		}
		p.others = append(p.others, o)
	}
}

// claimants are the others that serve the account.
func (p *presence) claimants(account string) []claimant {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []claimant
	for _, o := range p.others {
		if part, ok := o.Parts[account]; ok && !o.dead() {
			list = append(list, claimant{o.Name, part.Demand, stake{part.Rate, part.Window, part.Binds}})
		}
	}
	return list
}

// expected is the share of an account that this instance can count on when it starts.
func (p *presence) expected(account string) float64 {
	return 1 / float64(1+len(p.claimants(account)))
}

// keepLease renews the lease and follows the shares until ctx ends. It returns an error when another process has the name
// of this instance: two that pass for one would send twice what they may.
func (g *Gateway) keepLease(ctx context.Context) error {
	p := g.presence
	defer p.client.OnConnection(func(connected bool) {
		if connected {
			p.poke()
		}
	})()
	tick := time.NewTicker(leaseCheck)
	defer tick.Stop()
	var last time.Time
	for {
		if now := time.Now(); now.Sub(last) >= leaseEvery {
			last = now
			if err := g.leaseRound(ctx, now); err != nil {
				return err
			}
		}
		select {
		case <-p.kick:
			last = time.Time{}
		case now := <-tick.C:
			g.lapse(now)
		case <-ctx.Done():
			return nil
		}
	}
}

// poke brings the next round forward.
func (p *presence) poke() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// leaseRound says what this instance takes and how it stands, reads the same of the others, and takes what there is room
// for.
func (g *Gateway) leaseRound(ctx context.Context, now time.Time) error {
	p := g.presence
	round, cancel := context.WithTimeout(ctx, leaseEvery)
	defer cancel()
	parts := map[string]queue.Part{}
	for _, a := range g.accounts {
		parts[a.name] = a.offer(now, p.name, p.tenures[a.name], p.claimants(a.name))
	}
	revision, lapsed, err := p.client.RenewLease(round, p.name, p.lease(parts), p.revision)
	var taken *queue.NameTakenError
	switch {
	case errors.As(err, &taken):
		return fmt.Errorf("this instance ends: %w", err)
	case err != nil:
		return g.unconfirmed(ctx, err)
	}
	p.revision = revision
	if err := p.look(round, now); err != nil {
		return g.unconfirmed(ctx, err)
	}
	if lapsed {
		g.log.Warn("the lease of this instance had ended: it begins again with no share", "instance", p.name)
		for _, t := range p.tenures {
			*t = tenure{}
		}
		p.poke()
		return nil
	}
	g.heedOthers(now)
	p.confirm(now)
	for _, a := range g.accounts {
		t := p.tenures[a.name]
		t.confirm(p.claimants(a.name), a.whole())
		a.share(t.has, now.Add(leaseTrust))
	}
	return nil
}

// heedOthers lets the accounts know which of them other instances find failing.
func (g *Gateway) heedOthers(now time.Time) {
	for _, a := range g.accounts {
		instance, since := g.presence.failing(a.name)
		a.heed(now, instance, since)
	}
}

// failing says which other instance finds the account failing, and since when.
func (p *presence) failing(account string) (instance string, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.others {
		part := o.Parts[account]
		if part.FailingFor == 0 || o.dead() {
			continue
		}
		if at := o.seen.Add(-time.Duration(part.FailingFor) * time.Millisecond); since.IsZero() || at.Before(since) {
			instance, since = o.Name, at
		}
	}
	return instance, since
}

// takenElsewhere says that another instance pulls messages for the account and some are taken, or has done so until less
// than after ago.
func (p *presence) takenElsewhere(account string, now time.Time, after time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.others {
		part, serves := o.Parts[account]
		if !serves || o.dead() || part.Demand == 0 || part.FailingFor > 0 || part.Returning {
			continue
		}
		idle := part.IdleFor
		if part.Closed {
			idle = max(idle, part.ClosedFor, 1)
		}
		if idle == 0 || time.Duration(idle)*time.Millisecond+now.Sub(o.seen) < after {
			return true
		}
	}
	return false
}

func (p *presence) confirm(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.confirmed = now
}

// unconfirmedFor is how long ago the last renewal that was confirmed was sent; 0 before the first.
func (p *presence) unconfirmedFor(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.confirmed.IsZero() {
		return 0
	}
	return now.Sub(p.confirmed)
}

func (g *Gateway) unconfirmed(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		g.log.Warn("the lease of this instance could not be confirmed; it is tried again", "error", err)
	}
	return nil
}

// lapse gives up the shares of an instance that could not confirm its lease: at 4 s it submits nothing more, at 6 s it
// unbinds where the number of binds is limited.
func (g *Gateway) lapse(now time.Time) {
	since := g.presence.unconfirmedFor(now)
	if since < leaseTrust {
		return
	}
	for _, a := range g.accounts {
		t := g.presence.tenures[a.name]
		binds := t.has.binds
		if since >= leaseDeath {
			binds = 0
		}
		*t = tenure{has: stake{binds: binds}}
		a.share(t.has, time.Time{})
	}
}

// offer is the account's part of the lease.
func (a *account) offer(now time.Time, me string, t *tenure, others []claimant) queue.Part {
	w := a.whole()
	binds, demand, closed, closedFor := a.presence(now)
	all := append([]claimant{{name: me, demand: demand}}, others...)
	should := fair(me, all, w)
	should.binds = min(should.binds, a.cfg.Binds)
	says := t.offer(should, others, w)
	part := queue.Part{
		Demand: demand, Rate: says.rate, Window: says.window, Closed: closed, ClosedFor: closedFor.Milliseconds(),
	}
	_, pace, _ := a.gate.Size()
	a.faults.summarize(now, binds > 0, pace, &part)
	if w.binds > 0 {
		part.Binds = max(says.binds, binds) // what is still bound counts
	}
	return part
}

// whole is what all instances together may take of the account.
func (a *account) whole() whole {
	a.follow.mu.Lock()
	defer a.follow.mu.Unlock()
	_, w := a.limits()
	return w
}

// unavailable reports whether no live instance has pulled anything for the account for 5 s. One whose lease cannot be
// read may have.
func (p *presence) unavailable(a *account, now time.Time) bool {
	if _, _, closed, since := a.presence(now); !closed || since < idleAfter {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.others {
		part, serves := o.Parts[a.name]
		if o.dead() {
			continue
		}
		if o.Unreadable != nil || serves && (!part.Closed || time.Duration(part.ClosedFor)*time.Millisecond+now.Sub(o.seen) < idleAfter) {
			return false
		}
	}
	return true
}
