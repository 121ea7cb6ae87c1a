package gateway

import (
	"context"
	"errors"
	"time"

	"sluice/classify"
	"sluice/queue"
	"sluice/window"
)

// How long an account may be unable to take messages before the next one of its routes does: a bind that is renewed
// moves no traffic. For a strict class (otp) less.
const (
	failoverAfter       = 8 * time.Second
	failoverAfterStrict = 3 * time.Second
)

// taking is what tells whether an account takes messages.
type taking struct {
	since time.Time     // the oldest message offered since the last one was taken or refused for good; zero: none
	slow  time.Duration // the response time that hardly any answer of late has exceeded
}

// offered notes a submit.
func (t *taking) offered(now time.Time) {
	if t.since.IsZero() {
		t.since = now
	}
}

// answered notes an answer. One that takes a message, or refuses it for good, shows that the SMSC is at work.
func (t *taking) answered(class classify.Class, rtt time.Duration) {
	t.slow = max(rtt, t.slow-t.slow/100)
	if class == classify.OK || class == classify.Terminal {
		t.since = time.Time{}
	}
}

// patience is how long no message may be taken at a pace in submits per second before the account cannot take any.
func (t *taking) patience(strict bool, pace float64) time.Duration {
	after := failoverAfter
	if strict {
		after = failoverAfterStrict
	}
	return max(after, 3*t.slow, time.Duration(3/max(pace, 0.05)*float64(time.Second)))
}

// noneCan says whether none of the accounts can take messages of a class now, so that it is the turn of the one after
// them.
func (g *Gateway) noneCan(accounts []string, strict bool) func() bool {
	return func() bool {
		now := time.Now()
		for _, name := range accounts {
			if a := g.account(name); a != nil && a.canTake(now, strict) {
				return false
			}
		}
		return true
	}
}

// account returns the one of that name, nil when there is none.
func (g *Gateway) account(name string) *account {
	for _, a := range g.accounts {
		if a.name == name {
			return a
		}
	}
	return nil
}

// canTake says that the account pulls messages and some are taken, or has done so until just now, and that it is not
// asked to wait for long.
func (a *account) canTake(now time.Time, strict bool) bool {
	_, pace, _ := a.gate.Size()
	t := a.faults.takes()
	after := t.patience(strict, pace)
	if a.flow.heldUntil(now).Sub(now) > after {
		return false
	}
	_, _, closed, closedFor := a.presence(now)
	return (!closed || closedFor < after) && (t.since.IsZero() || now.Sub(t.since) < after)
}

// begin waits until the message may be written. Where another account can take it and this one cannot, it waits no longer.
func (d *delivery) begin(ctx *lasting, permit window.Permit) error {
	a := d.account
	for a.backed[d.job.Route()] {
		wait := time.Second
		if !ctx.deadline.IsZero() {
			wait = min(wait, time.Until(ctx.deadline))
		}
		short, cancel := context.WithTimeout(ctx.Context, wait)
		err := permit.Start(short)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if !d.probe && !a.canTake(time.Now(), d.rules.weight == 0) && len(d.letter.state.Accepted) == 0 && d.letter.state.Unknowns == 0 {
			return errHeldBack
		}
	}
	return permit.Start(ctx)
}

// rival returns the other account that a message has to follow, nil when it may go here. A message of which one SMSC has
// taken parts can be completed by no other; and one that it may have taken would be a double anywhere else.
func (a *account) rival(st queue.State) *account {
	if len(st.Accepted) == 0 && st.Unknowns == 0 || st.Account == "" || st.Account == a.name || a.others == nil {
		return nil
	}
	return a.others(st.Account)
}

// takeOver delivers a message that another account has pulled.
func (a *account) takeOver(job queue.Job) (ok bool) {
	a.mu.Lock()
	var b *bind
	for _, live := range a.binds {
		if b == nil || live.name == job.State().Bind {
			b = live
		}
	}
	a.mu.Unlock()
	if b == nil || a.pulling(b).Err() != nil { // it would be given back at once
		return false
	}
	permit, err := a.gate.AcquireOn(b.id)
	if err != nil {
		return false
	}
	a.deliver(permit, b, job)
	return true
}
