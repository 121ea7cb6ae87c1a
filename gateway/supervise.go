package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/classify"
	"sluice/smpp"
	"sluice/smpp/pdu"
)

// configError ends a session because the SMSC refuses what the account may do.
type configError struct{ verdict classify.Verdict }

func (e *configError) Error() string {
	return fmt.Sprintf("%s: %s", e.verdict.Name, e.verdict.Why)
}

// recycleError ends a session because an answer says that it is no longer a valid one.
type recycleError struct{ verdict classify.Verdict }

func (e *recycleError) Error() string {
	return fmt.Sprintf("the SMSC answered %s: the bind is renewed", e.verdict.Name)
}

// supervise keeps the account bound until ctx ends: it dials, binds, waits for the end of the session, and backs off.
// Sessions never reconnect by themselves.
func (a *account) supervise(ctx context.Context) {
	for pause(ctx, a.host.reserve(time.Now())) {
		lived, err := a.runSession(ctx)
		if ctx.Err() != nil {
			return
		}
		if !a.backOff(ctx, lived, err) {
			return
		}
	}
}

// runSession dials, binds and serves one session; it returns how long the bind lived.
func (a *account) runSession(ctx context.Context) (lived time.Duration, err error) {
	conn, err := smpp.Dial(ctx, a.smpp)
	if err != nil {
		return 0, fmt.Errorf("connect to %s: %w", a.smpp.Address, err)
	}
	session, err := smpp.Bind(ctx, conn, a.smpp)
	if err != nil {
		return 0, fmt.Errorf("bind to %s: %w", a.smpp.Address, err)
	}
	started := time.Now()
	err = a.serve(ctx, session)
	return time.Since(started), err
}

// serve opens the account to traffic for as long as the session lives.
func (a *account) serve(ctx context.Context, session *smpp.Session) error {
	b := &bind{name: a.name + "/1", id: a.gate.AddBind(), session: session, since: time.Now()}
	b.ctx, b.end = context.WithCancelCause(ctx)
	a.mu.Lock()
	a.bind = b
	a.mu.Unlock()
	a.enter(Bound, "", time.Time{})
	a.metrics.binds.WithLabelValues(a.name).Set(1)

	var err error
	select {
	case <-session.Done():
		err = session.Err()
	case <-b.ctx.Done():
		err = context.Cause(b.ctx)
	}
	b.end(err)
	a.mu.Lock()
	a.bind = nil
	a.mu.Unlock()
	a.metrics.binds.WithLabelValues(a.name).Set(0)
	a.gate.RemoveBind(b.id)

	// What is in flight still gets its answers: Close waits for them, then unbinds.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.smpp.ResponseTimeout+a.smpp.UnbindTimeout)
	defer cancel()
	if closeErr := session.Close(stop); closeErr != nil && err == nil {
		err = closeErr
	}
	return err
}

// backOff notes how a session ended and prepares the wait before the next one. It returns false when ctx ended.
func (a *account) backOff(ctx context.Context, lived time.Duration, err error) bool {
	now := time.Now()
	var refused *smpp.BindError
	var misconfigured *configError
	switch {
	case errors.As(err, &misconfigured):
		return a.awaitProbe(ctx, misconfigured.Error())
	case errors.As(err, &refused):
		v := a.table.Of(classify.Bind, refused.Status)
		if v.Class == classify.Config {
			return a.awaitProbe(ctx, fmt.Sprintf("bind refused with %s (0x%08X): %s", v.Name, uint32(refused.Status), v.Why))
		}
		if refused.Status == pdu.StatusAlreadyBound {
			a.host.ghost(now)
		} else {
			a.host.ended(now, 0)
		}
	default:
		a.host.ended(now, lived)
	}
	a.metrics.reconnects.WithLabelValues(a.name, endReason(err)).Inc()
	a.enter(Unbound, reasonWords(err), time.Time{})
	return true
}

// awaitProbe keeps an account that the SMSC refuses quiet until its slow probe is due or an operator resumes it. Its
// messages stay queued and lose nothing.
func (a *account) awaitProbe(ctx context.Context, reason string) bool {
	if accepted := a.lastAccepted.Load(); accepted > a.probed {
		a.probe.reset()
	}
	a.probed = time.Now().UnixNano()
	wait := a.probe.next()
	a.enter(ConfigFault, reason, time.Now().Add(wait))
	a.metrics.reconnects.WithLabelValues(a.name, "config").Inc()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-a.resume:
	case <-timer.C:
	}
	return true
}

// misconfigured stops the account: an answer to a submit says that no message can pass.
func (a *account) misconfigured(b *bind, v classify.Verdict) {
	b.end(&configError{verdict: v})
}

func reasonWords(err error) string {
	if err == nil {
		return "the session ended"
	}
	return err.Error()
}

// pause waits; it returns false when ctx ended first.
func pause(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
