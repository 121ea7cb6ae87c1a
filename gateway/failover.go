package gateway

import (
	"time"

	"sluice/queue"
)

// failoverAfter is how long an account may be unable to take messages before the next one of its routes does: a bind
// that is renewed moves no traffic.
const failoverAfter = 5 * time.Second

// noneCan says whether none of the accounts can take messages now, so that it is the turn of the one after them.
func (g *Gateway) noneCan(accounts []string) func() bool {
	return func() bool {
		now := time.Now()
		for _, name := range accounts {
			if a := g.account(name); a != nil && a.canTake(now) {
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

// canTake says that the account pulls messages, or has done so until just now.
func (a *account) canTake(now time.Time) bool {
	_, _, closed, since := a.presence(now)
	return !closed || since < failoverAfter
}

// rival returns the other account that the parts of a message have to follow, nil when they may go here. A message of
// which one SMSC has taken parts can be completed by no other.
func (a *account) rival(st queue.State) *account {
	if len(st.Accepted) == 0 || st.Account == a.name || a.others == nil {
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
	if b == nil {
		return false
	}
	permit, err := a.gate.AcquireOn(b.id)
	if err != nil {
		return false
	}
	a.deliver(permit, b, job)
	return true
}
