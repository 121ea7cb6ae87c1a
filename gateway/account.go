package gateway

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"sluice/classify"
	"sluice/gateway/config"
	"sluice/queue"
	"sluice/queue/crashpoint"
	"sluice/smpp"
	"sluice/smpp/receipt"
	"sluice/window"
)

// State is where a bind, or an account as a whole, stands.
type State string

// The states. They form a closed set, fit for a metric label.
const (
	Unbound      State = "unbound"       // no session; the back-off runs
	Bound        State = "bound"         // the session takes submits
	Failing      State = "failing"       // the SMSC answers nothing but temporary errors, or nothing at all: only probes are sent
	ConfigFault  State = "config"        // refused for its credentials, rights or credit: probed slowly, the queue is kept
	Throttled    State = "throttled"     // the SMSC has asked for a wait of more than 5 minutes
	Paused       State = "paused"        // by the operator: nothing is submitted, the binds are kept
	Draining     State = "draining"      // by the operator: what is in flight is finished, then it is unbound
	ShuttingDown State = "shutting_down" // no new submits, in flight is being finished
)

// account is one (SMSC, system_id): the owner of a quota. Its binds share one window controller; its intake hands it
// the messages of every route that leads to it.
type account struct {
	name    string
	cfg     *config.Account
	smpp    smpp.Config
	dial    func(context.Context, smpp.Config) (net.Conn, error) // smpp.Dial
	table   *classify.Table
	gate    *window.Gate
	intake  intake
	lanes   *queue.Intake // the same where it is JetStream's, for the sweeper
	flow    *flow
	follow  controlled
	moved   func()                     // called when it can pull again, or no longer
	others  func(name string) *account // the gateway's accounts
	routes  map[string]routePolicy
	hosts   *hosts
	slots   retrySlots
	weights map[string]int  // of <route>.<class>; 0: strict
	backed  map[string]bool // routes that other accounts serve when this one cannot
	// relieved says that there is such a route.
	relieved bool
	unknown  unknownPolicy
	metrics  *metrics
	counts   counts
	log      *slog.Logger
	random   func() float64 // uniform in [0, 1)
	store    *queue.Client
	journal  *queue.Journal
	shares   throttleShare
	joiner   joiner

	instance string    // the name of this one
	began    time.Time // when this process did
	sessions sessions
	arrivals arrivals

	matching     receipt.Matching
	receiptWaits []time.Duration // for the response that a receipt has overtaken
	reading      receipt.Options // but for the time
	conflicts    hourly
	unread       hourly
	fullLives    hourly

	destinations destinations
	faults       faults
	settling     settling
	suspects     suspects
	silence      silence
	holdTests    holdTests
	strange      strangeStatuses
	widths       strangeWidths
	withheld     withheld

	work     context.Context //nolint:containedctx // the life of outcomes: it outlasts every call, and abandon ends it
	abandon  context.CancelFunc
	carrying sync.WaitGroup // messages between their permit and their settlement
	crew     crew

	inbound      context.Context //nolint:containedctx // the life of inbound messages that are to be stored
	closeInbound context.CancelFunc

	lastAccepted moment
	blamed       moment // when an answer to a submit last stopped the account

	keepers []*keeper // one for each bind; fixed

	mu         sync.Mutex
	binds      map[window.BindID]*bind // live
	unbound    time.Time               // since when there is none; zero: there is one
	closed     time.Time               // since when nothing can be pulled; zero: something can
	escalation classify.Escalation
	// refusedCommands is the run of 0x03 since the last acceptance.
	refusedCommands classify.Escalation
}

// intake is where an account takes its messages from: the number of callers blocked in Next is the credit.
type intake interface {
	Next(ctx context.Context) (queue.Job, error)
	// Unseen reports whether messages wait that nobody has been handed yet.
	Unseen() bool
	Close(ctx context.Context) error
}

// bind is one live session that takes submits.
type bind struct {
	name    string // account/number, as events and commands show it
	id      window.BindID
	session *smpp.Session
	version uint8           // sc_interface_version of its bind_resp, 0: none
	ctx     context.Context //nolint:containedctx // ends when the session takes no more submits
	end     context.CancelCauseFunc

	pull  atomic.Pointer[context.Context] // ends when nothing more may be pulled or submitted
	probe atomic.Pointer[context.Context] // the same for the probes of an account that is failing
	halt  context.CancelFunc              // ends pull; guarded by the account's lock
	mute  context.CancelFunc              // ends probe; the same
}

// mayPull begins a time in which messages may be pulled for the bind, under the account's lock.
func (b *bind) mayPull() {
	ctx, halt := context.WithCancel(b.ctx)
	b.halt = halt
	b.pull.Store(&ctx)
}

// mayProbe is the same for probes.
func (b *bind) mayProbe() {
	ctx, mute := context.WithCancel(b.ctx)
	b.mute = mute
	b.probe.Store(&ctx)
}

// join adds a bind whose session lives.
func (a *account) join(b *bind) {
	a.mu.Lock()
	if now := time.Now(); len(a.binds) == 0 {
		var unbound time.Duration
		if !a.unbound.IsZero() {
			unbound = now.Sub(a.unbound)
		}
		a.faults.joined(now, unbound, a.relieved)
	}
	b.id = a.gate.AddBindAs(b.name)
	b.mayPull()
	b.mayProbe()
	a.binds[b.id] = b
	a.metrics.binds.WithLabelValues(a.name).Set(float64(len(a.binds)))
	a.mu.Unlock()
	a.refresh()
}

// leave takes a bind out: its window is gone, and permits for it with it.
func (a *account) leave(b *bind) {
	a.mu.Lock()
	delete(a.binds, b.id)
	a.gate.RemoveBind(b.id)
	a.metrics.binds.WithLabelValues(a.name).Set(float64(len(a.binds)))
	a.mu.Unlock()
	b.halt()
	b.mute()
	a.refresh()
}

// refresh lets what waits for messages, or for its start, go on or give up, as the flow is open or closed.
func (a *account) refresh() {
	a.mu.Lock()
	now := time.Now()
	open, _ := a.flow.open(now)
	for _, b := range a.binds {
		switch {
		case !open:
			b.halt()
		case (*b.pull.Load()).Err() != nil:
			b.mayPull()
		}
		switch {
		case !a.flow.mayProbe(now):
			b.mute()
		case (*b.probe.Load()).Err() != nil:
			b.mayProbe()
		}
	}
	was := a.closed.IsZero()
	a.closed = sinceWhen(a.closed, !open || len(a.binds) == 0, now)
	a.unbound = sinceWhen(a.unbound, len(a.binds) == 0, now)
	changed := was != a.closed.IsZero()
	a.mu.Unlock()
	if changed {
		a.moved()
	}
}

// sinceWhen is since when a condition has held, zero while it does not.
func sinceWhen(since time.Time, holds bool, now time.Time) time.Time {
	switch {
	case !holds:
		return time.Time{}
	case since.IsZero():
		return now
	}
	return since
}

// pulling is the context of everything under way on the bind that was not submitted.
func (a *account) pulling(b *bind) context.Context { return *b.pull.Load() }

// demandAfter is how long an account must have had no bind until this instance could use nothing of it.
const demandAfter = 10 * time.Second

// presence is what the other instances learn of the account: its live binds, what it could use, and for how long nothing
// has been pulled.
func (a *account) presence(now time.Time) (binds, demand int, closed bool, closedFor time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if demand = a.cfg.Binds; !a.unbound.IsZero() && now.Sub(a.unbound) > demandAfter {
		demand = 0
	}
	if closed = !a.closed.IsZero(); closed {
		closedFor = now.Sub(a.closed)
	}
	return len(a.binds), demand, closed, closedFor
}

// live returns the bind with that id while its session lives.
func (a *account) live(id window.BindID) *bind {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.binds[id]
}

// liveNamed returns the bind of that name while its session lives.
func (a *account) liveNamed(name string) *bind {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range a.binds {
		if b.name == name {
			return b
		}
	}
	return nil
}

// misconfigured stops the account: an answer to a submit says that no message can pass.
func (a *account) misconfigured(v classify.Verdict) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range a.binds {
		b.end(&configError{verdict: v})
	}
}

// standing is where the account is as a whole: bound while any bind is, else where its first bind is; and what stops it
// beside that.
func (a *account) standing() standing {
	at := a.keepers[0].standing()
	for _, k := range a.keepers {
		if s := k.standing(); s.state == Bound {
			at = s
			break
		}
	}
	return a.flow.over(time.Now(), at)
}

// pump takes permits and lets each carry one message, until ctx ends. Permit first, then the message: what is pulled
// and unsent never exceeds the window.
func (a *account) pump(ctx context.Context) {
	a.carrying.Go(func() { a.work1(ctx) })
	a.carrying.Go(func() { a.probe(ctx) })
	if a.relieved {
		a.carrying.Go(func() { a.testSilence(ctx) })
	}
	<-ctx.Done()
}

// carryOn carries a message with the permit, unless its bind is gone.
func (a *account) carryOn(permit window.Permit) {
	b := a.live(permit.Bind())
	if b == nil {
		permit.Release(window.Signal{})
		return
	}
	a.carry(permit, b)
}

// awaitOpen waits until messages may be pulled; it returns false when ctx ended first.
func (a *account) awaitOpen(ctx context.Context) bool {
	for {
		open, change := a.flow.open(time.Now())
		if open {
			return ctx.Err() == nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return false
		}
	}
}

// carry waits for one message under a permit and follows it to its settlement.
func (a *account) carry(permit window.Permit, b *bind) {
	defer permit.Release(window.Signal{Answer: window.Lost}) // for a panic; else released before
	pulling := a.pulling(b)
	err := a.awaitClimb(pulling) // before it pulls: meanwhile others may have what waits
	var job queue.Job
	if err == nil {
		job, err = a.intake.Next(pulling)
	}
	if err != nil {
		permit.Release(window.Signal{})
		return
	}
	crashpoint.At(crashpoint.AfterPull)
	if other := a.rival(job.State()); other != nil {
		permit.Release(window.Signal{})
		if !other.takeOver(job) {
			a.giveBack(job, time.Now().Add(failoverAfter))
		}
		return
	}
	a.deliverAs(permit, b, job, false, true)
}
