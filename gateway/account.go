package gateway

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sluice/classify"
	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp"
	"sluice/window"
)

// AccountState is where an account stands as a whole.
type AccountState string

// The states of an account. They form a closed set, fit for a metric label.
const (
	Unbound      AccountState = "unbound"       // no session; the back-off runs
	Bound        AccountState = "bound"         // at least one session
	ConfigFault  AccountState = "config"        // refused for its credentials, rights or credit: probed slowly, the queue is kept
	ShuttingDown AccountState = "shutting_down" // no new submits, in flight is being finished
)

// account is one (SMSC, system_id): the owner of a quota. Its binds share one window controller; its intake hands it
// the messages of every route that leads to it.
type account struct {
	name    string
	cfg     *config.Account
	smpp    smpp.Config
	table   *classify.Table
	gate    *window.Gate
	intake  intake
	routes  map[string]routePolicy
	host    *hostBackoff
	slots   retrySlots
	unknown unknownPolicy
	metrics *metrics
	log     *slog.Logger
	random  func() float64 // uniform in [0, 1)
	store   *queue.Client
	journal *queue.Journal
	shares  throttleShare
	strange strangeStatuses

	work     context.Context //nolint:containedctx // the life of outcomes: it outlasts every call, and abandon ends it
	abandon  context.CancelFunc
	carrying sync.WaitGroup // messages between their permit and their settlement

	lastAccepted atomic.Int64  // Unix time in ns
	probe        slowProbe     // of the supervisor alone, like probed
	probed       int64         // when the account was last found misconfigured, Unix time in ns
	resume       chan struct{} // an operator ends the wait of a config state

	mu     sync.Mutex
	state  AccountState
	since  time.Time
	reason string // why it is not bound, in words for an operator
	until  time.Time
	bind   *bind
}

// intake is where an account takes its messages from: the number of callers blocked in Next is the credit.
type intake interface {
	Next(ctx context.Context) (queue.Job, error)
	Close(ctx context.Context) error
}

// bind is one live session of an account.
type bind struct {
	name    string // account/number, as events and commands show it
	id      window.BindID
	session *smpp.Session
	since   time.Time
	ctx     context.Context //nolint:containedctx // ends when the session takes no more submits
	end     context.CancelCauseFunc
}

// live returns the bind with that id while its session lives.
func (a *account) live(id window.BindID) *bind {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bind == nil || a.bind.id != id {
		return nil
	}
	return a.bind
}

func (a *account) enter(s AccountState, reason string, until time.Time) {
	a.mu.Lock()
	changed := a.state != s || a.reason != reason
	if a.state != s {
		a.since = time.Now()
	}
	a.state, a.reason, a.until = s, reason, until
	a.mu.Unlock()
	if !changed {
		return
	}
	level := slog.LevelInfo
	if s == ConfigFault {
		level = slog.LevelError
	}
	a.log.Log(context.Background(), level, "account state changed", "state", string(s), "reason", reason)
}

// standing is the account's state with its reason, for health and the admin plane.
func (a *account) standing() (s AccountState, since time.Time, reason string, until time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state, a.since, a.reason, a.until
}

// pump takes permits and lets each carry one message, until ctx ends. Permit first, then the message: what is pulled
// and unsent never exceeds the window.
func (a *account) pump(ctx context.Context) {
	for {
		permit, err := a.gate.Acquire(ctx)
		if err != nil {
			return
		}
		b := a.live(permit.Bind())
		if b == nil {
			permit.Release(window.Signal{})
			continue
		}
		a.carrying.Go(func() { a.carry(permit, b) })
	}
}

// carry waits for one message under a permit and follows it to its settlement.
func (a *account) carry(permit *window.Permit, b *bind) {
	defer permit.Release(window.Signal{Answer: window.Lost}) // for a panic; else released before
	job, err := a.intake.Next(b.ctx)
	if err != nil {
		permit.Release(window.Signal{})
		return
	}
	a.deliver(permit, b, job)
}
