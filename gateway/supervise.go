package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/classify"
	"sluice/gateway/config"
	"sluice/queue/crashpoint"
	"sluice/smpp"
	"sluice/smpp/pdu"
)

// configError ends a session because the SMSC refuses what the account may do.
type configError struct{ verdict classify.Verdict }

func (e *configError) Error() string {
	return fmt.Sprintf("%s: %s", e.verdict.Name, strings.TrimSuffix(e.verdict.Why, "."))
}

// recycleError ends a session because an answer says that it is no longer a valid one.
type recycleError struct{ verdict classify.Verdict }

func (e *recycleError) Error() string {
	return fmt.Sprintf("the SMSC answered %s: the bind is renewed", e.verdict.Name)
}

// Of a bind whose SMSC answers enquire_link and no submit_sm: how many submits in a row must have expired before it is
// renewed.
const deafAfter = 3

// deafError ends a session whose SMSC is there and answers no submit.
type deafError struct {
	unanswered uint64
	since      time.Duration
}

func (e *deafError) Error() string {
	return fmt.Sprintf("the SMSC answered enquire_link and none of %d submits in %v: the bind is renewed", e.unanswered, e.since)
}

// deaf ends a bind whose submits have gone unanswered for longer than a late answer is waited for, although the session
// lives: something between us and the SMSC, or a part of it, has lost the session.
func (b *bind) deaf(now time.Time, log *slog.Logger, patience time.Duration) {
	s := b.session.Stats()
	since := now.Sub(s.UnansweredSince)
	if s.Unanswered < deafAfter || since < patience || b.ctx.Err() != nil {
		return
	}
	err := &deafError{s.Unanswered, since.Round(time.Second)}
	b.end(err)
	log.Warn("the SMSC answers enquire_link and no submit_sm; the bind is renewed", "bind", b.name,
		"unanswered", err.unanswered, "for", err.since)
}

// unwantedError ends a session because the operator, or the number of binds that other instances have, says so.
type unwantedError struct{ why string }

func (e *unwantedError) Error() string { return e.why }

// keeper keeps one bind of an account alive.
type keeper struct {
	account *account
	number  int // from 1
	address int // counts the tries that failed, to take turns among the account's addresses
	probe   slowProbe
	probed  time.Time // when the account was last found misconfigured

	mu   sync.Mutex
	now  standing
	live *smpp.Session // that submits; nil: none
}

// standing says where a bind stands, since when and why, and when it will be tried again.
type standing struct {
	state  State
	since  time.Time
	reason string // in words for an operator
	until  time.Time
}

func newKeeper(a *account, number int) *keeper {
	return &keeper{
		account: a, number: number,
		now: standing{state: Unbound, since: time.Now(), reason: "not bound yet"},
	}
}

func (k *keeper) name() string { return fmt.Sprintf("%s/%d", k.account.name, k.number) }

func (k *keeper) standing() standing {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// session is the one that submits, nil when there is none.
func (k *keeper) session() *smpp.Session {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.live
}

func (k *keeper) enter(s State, reason string, until time.Time, live *smpp.Session) {
	k.mu.Lock()
	was := k.now
	k.now = standing{state: s, since: was.since, reason: reason, until: until}
	if was.state != s {
		k.now.since = time.Now()
	}
	k.live = live
	k.mu.Unlock()
	if was.state == s && was.reason == reason {
		return
	}
	level := slog.LevelInfo
	if s == ConfigFault {
		level = slog.LevelError
	}
	k.account.log.Log(context.Background(), level, "bind state changed", "bind", k.name(), "state", string(s), "reason", reason)
}

// supervise keeps the bind alive until ctx ends: it dials, binds, waits for the end of the session, and backs off.
// Sessions never reconnect by themselves.
func (k *keeper) supervise(ctx context.Context) {
	for k.awaitWanted(ctx) {
		t := k.target()
		if !pause(ctx, t.reserve(time.Now())) || !pause(ctx, t.host.reserve(time.Now())) {
			return
		}
		lived, err := k.runBind(ctx)
		if ctx.Err() != nil || !k.backOff(ctx, t, lived, err) {
			return
		}
	}
}

// target is what the bind dials next.
func (k *keeper) target() *target {
	t := k.account.hosts.of(k.dialled(), k.account.cfg.SystemID)
	if k.account.relieved {
		t.isBacked()
	}
	return t
}

// dialled is the address whose turn it is.
func (k *keeper) dialled() string {
	return k.account.cfg.Address[k.address%len(k.account.cfg.Address)]
}

// runBind opens the sessions of the bind and serves them; it returns how long the bind lived.
func (k *keeper) runBind(ctx context.Context) (lived time.Duration, err error) {
	sessions, err := k.open(ctx)
	if err != nil {
		k.address++ // the next try is at the next address, where there are several
		return 0, err
	}
	started := time.Now()
	err = k.serve(ctx, sessions)
	return time.Since(started), err
}

// open dials and binds: one transceiver or transmitter, or a receiver and then a transmitter. The last session submits.
func (k *keeper) open(ctx context.Context) (sessions []*smpp.Session, err error) {
	a := k.account
	modes := []smpp.Mode{smpp.Transceiver}
	switch a.cfg.Bind {
	case config.TransmitterReceiver:
		modes = []smpp.Mode{smpp.Receiver, smpp.Transmitter}
	case config.Transmitter:
		modes = []smpp.Mode{smpp.Transmitter}
	case config.Transceiver:
	}
	for _, mode := range modes {
		cfg := a.smpp
		cfg.Mode = mode
		cfg.Address = k.dialled()
		listener := k.listen()
		cfg.Handler = listener
		session, err := a.connect(ctx, cfg)
		if err != nil {
			listener.ended(false)
			for _, s := range sessions {
				err = errors.Join(err, s.Close(ctx))
			}
			return nil, err
		}
		go func() { // until the session ends, which serve sees to, or who closes it
			<-session.Done()
			listener.ended(true)
		}()
		sessions = append(sessions, session)
	}
	return sessions, nil
}

func (a *account) connect(ctx context.Context, cfg smpp.Config) (*smpp.Session, error) {
	conn, err := a.dial(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", cfg.Address, err)
	}
	session, err := smpp.Bind(ctx, crashpoint.Watch(conn), cfg)
	if err != nil {
		return nil, fmt.Errorf("bind to %s as %s: %w", cfg.Address, cfg.Mode, err)
	}
	return session, nil
}

// serve opens the bind to traffic for as long as all its sessions live.
func (k *keeper) serve(ctx context.Context, sessions []*smpp.Session) error {
	a := k.account
	submitting := sessions[len(sessions)-1]
	b := &bind{name: k.name(), session: submitting, version: submitting.Stats().PeerVersion}
	b.ctx, b.end = context.WithCancelCause(ctx)
	for _, s := range sessions {
		go func() { // until the session ends, which serve sees to
			<-s.Done()
			b.end(s.Err())
		}()
	}
	k.enter(Bound, "", time.Time{}, submitting)
	a.join(b)
	k.awaitEnd(b)
	a.leave(b)
	if ctx.Err() != nil {
		k.enter(ShuttingDown, "the gateway is stopping", time.Time{}, submitting)
	}

	// What is in flight still gets its answers: Close waits for them, then unbinds.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.smpp.ResponseTimeout+a.smpp.UnbindTimeout)
	defer cancel()
	err := context.Cause(b.ctx)
	for _, s := range slices.Backward(sessions) {
		if closeErr := s.Close(stop); closeErr != nil && err == nil {
			err = closeErr
		}
	}
	return err
}

// awaitEnd waits for the end of the bind, and ends it when it is wanted no longer.
func (k *keeper) awaitEnd(b *bind) {
	for {
		why, change := k.account.flow.mayBind(k.number)
		if why != "" {
			b.end(&unwantedError{why})
		}
		select {
		case <-change:
		case <-b.ctx.Done():
			return
		}
	}
}

// awaitWanted waits until the bind is wanted; it returns false when ctx ended first.
func (k *keeper) awaitWanted(ctx context.Context) bool {
	for {
		why, change := k.account.flow.mayBind(k.number)
		if why == "" {
			return ctx.Err() == nil
		}
		k.enter(Unbound, why, time.Time{}, nil)
		select {
		case <-change:
		case <-ctx.Done():
			return false
		}
	}
}

// backOff notes how a bind to t ended and prepares the wait before the next one. It returns false when ctx ended.
func (k *keeper) backOff(ctx context.Context, t *target, lived time.Duration, err error) bool {
	a, now := k.account, time.Now()
	var refused *smpp.BindError
	var misconfigured *configError
	var unwanted *unwantedError
	switch {
	case errors.As(err, &unwanted):
		return true // awaitWanted says why
	case errors.As(err, &misconfigured):
		return k.awaitProbe(ctx, misconfigured.Error())
	case errors.As(err, &refused):
		v := a.table.Of(classify.Bind, refused.Status)
		if v.Class == classify.Config {
			return k.awaitProbe(ctx, fmt.Sprintf("bind refused with %s (0x%08X): %s",
				v.Name, uint32(refused.Status), strings.TrimSuffix(v.Why, ".")))
		}
		if refused.Status == pdu.StatusAlreadyBound {
			t.ghost(now)
		} else {
			t.ended(now, 0)
		}
	default:
		t.ended(now, lived)
	}
	a.metrics.reconnects.WithLabelValues(a.name, endReason(err)).Inc()
	reason := "the session ended"
	if err != nil {
		reason = err.Error()
	}
	k.enter(Unbound, reason, k.target().next(), nil)
	return true
}

// awaitProbe keeps a bind that the SMSC refuses quiet until its slow probe is due. The messages stay queued and lose
// nothing.
func (k *keeper) awaitProbe(ctx context.Context, reason string) bool {
	a := k.account
	if a.lastAccepted.get().After(k.probed) {
		k.probe.reset()
	}
	k.probed = time.Now()
	now := a.flow.probed()
	wait := k.probe.next()
	k.enter(ConfigFault, reason, time.Now().Add(wait), nil)
	a.metrics.reconnects.WithLabelValues(a.name, "config").Inc()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-now: // the operator says that it was mended
		k.probe.reset()
	}
	return true
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
