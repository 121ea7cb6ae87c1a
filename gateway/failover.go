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

// How an account is tested that answers nothing: with one message every testSilentEvery, and after testsSilentSoon of them
// with one each response timeout.
const (
	testSilentEvery = 5 * time.Second
	testsSilentSoon = 12
)

// taking is what tells whether an account takes messages. It is a value without clock or lock.
type taking struct {
	since time.Time     // the oldest message offered since the last one was taken or refused for good; zero: none
	slow  time.Duration // the response time that hardly any answer of late has exceeded

	unheard time.Time // the oldest message offered since anything was answered; zero: none
	silent  time.Time // since when it is tested for that reason; zero: it is not
	tests   int       // since then, or since the last session began
	next    time.Time // no test before
}

// offered notes a submit.
func (t *taking) offered(now time.Time) {
	if t.since.IsZero() {
		t.since = now
	}
	if t.unheard.IsZero() {
		t.unheard = now
	}
}

// silence says that the account is silent from now on, and that it is time to test it. after is how long nothing must
// have been answered; room says that the window lets a test through.
func (t *taking) silence(now time.Time, after, responseTimeout time.Duration, room bool) (began, test bool) {
	if t.silent.IsZero() {
		if t.unheard.IsZero() || now.Sub(t.unheard) < after {
			return false, false
		}
		t.silent, t.next, t.tests, began = now, now, 0, true
	}
	if !room || now.Before(t.next) {
		return began, false
	}
	t.next = now.Add(testSilentEvery)
	if t.tests++; t.tests > testsSilentSoon {
		t.next = now.Add(max(testSilentEvery, responseTimeout))
	}
	return began, true
}

// joined notes a new session after there was none: nobody answers what the last one has left unanswered.
func (t *taking) joined(now time.Time) {
	t.unheard, t.tests, t.next = time.Time{}, 0, now
}

// answered notes an answer. One that takes a message, or refuses it for good, shows that the SMSC is at work.
func (t *taking) answered(class classify.Class, rtt time.Duration) {
	t.slow = max(rtt, t.slow-t.slow/100)
	t.unheard, t.silent = time.Time{}, time.Time{}
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

// noneCan says whether none of the accounts can take messages of a class now, by what all instances say, so that it is the
// turn of the one after them.
func (g *Gateway) noneCan(accounts []string, strict bool) func() bool {
	return func() bool {
		now := time.Now()
		for _, name := range accounts {
			a := g.account(name)
			if a != nil && (a.canTake(now, strict) || g.presence.takenElsewhere(name, now, a.patience(strict))) {
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

// canTake says that the account, on this instance, pulls messages and some are taken, or has done so until just now, that it is not asked
// to wait for long, and that it is not just coming back.
func (a *account) canTake(now time.Time, strict bool) bool {
	_, pace, _ := a.gate.Size()
	t, whole := a.faults.takes(now, pace)
	after := t.patience(strict, pace)
	if !whole || a.flow.heldUntil(now).Sub(now) > after {
		return false
	}
	_, _, closed, closedFor := a.presence(now)
	return (!closed || closedFor < after) && (t.since.IsZero() || now.Sub(t.since) < after)
}

// patience is how long no message may be taken before the account cannot take any.
func (a *account) patience(strict bool) time.Duration {
	_, pace, _ := a.gate.Size()
	t, _ := a.faults.takes(time.Now(), pace)
	return t.patience(strict, pace)
}

// begin waits until the message may be written. Where another account can take it and this one cannot, it waits no longer.
func (d *delivery) begin(ctx *lasting, permit window.Permit) error {
	a := d.account
	if d.probe && a.faults.isSilent() {
		return d.beginTest(permit)
	}
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

// testSilence tests the account while it answers nothing and others can have its messages, until ctx ends.
func (a *account) testSilence(ctx context.Context) {
	for pause(ctx, time.Second) {
		now := time.Now()
		b := a.anyBind()
		if b == nil {
			continue
		}
		_, pace, _ := a.gate.Size()
		began, test := a.faults.silence(now, pace, a.smpp.ResponseTimeout, a.whole().window == 0 || a.hasRoom(b.id))
		if began {
			a.flow.probeOnly(now, forSilence, true, "the SMSC answers nothing: only single messages are sent, as tests")
			a.log.Warn("the SMSC answers nothing: its traffic goes to the next account, only tests are sent here")
		}
		if test {
			a.carrying.Go(func() { a.probeOnce(testSilentEvery) })
		}
	}
}

// beginTest begins a test of a silent account. The window that was learned is full of what is not answered; one that the
// operator has set is kept to.
func (d *delivery) beginTest(permit window.Permit) error {
	if a := d.account; a.whole().window > 0 && !a.hasRoom(d.bind.id) {
		return errHeldBack
	}
	return permit.StartNow()
}

// hasRoom reports whether the window of a bind lets another message through.
func (a *account) hasRoom(id window.BindID) bool {
	for _, b := range a.gate.Snapshot().Binds {
		if b.ID == id {
			return b.Ahead < b.Window
		}
	}
	return false
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
