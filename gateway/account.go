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
	"sluice/smpp"
	"sluice/smpp/receipt"
	"sluice/smpp/text"
	"sluice/window"
)

// State is where a bind, or an account as a whole, stands.
type State string

// The states. They form a closed set, fit for a metric label.
const (
	Unbound      State = "unbound"       // no session; the back-off runs
	Bound        State = "bound"         // the session takes submits
	ConfigFault  State = "config"        // refused for its credentials, rights or credit: probed slowly, the queue is kept
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
	joiner  joiner

	references   *text.References
	matching     receipt.Matching
	receiptWaits []time.Duration // for the response that a receipt has overtaken
	conflicts    hourly

	destinations destinations
	settling     settling
	suspects     suspects
	silence      silence
	strange      strangeStatuses

	work     context.Context //nolint:containedctx // the life of outcomes: it outlasts every call, and abandon ends it
	abandon  context.CancelFunc
	carrying sync.WaitGroup // messages between their permit and their settlement

	lastAccepted atomic.Int64 // Unix time in ns

	keepers []*keeper // one for each bind; fixed

	mu         sync.Mutex
	binds      map[window.BindID]*bind // live
	escalation classify.Escalation
}

// intake is where an account takes its messages from: the number of callers blocked in Next is the credit.
type intake interface {
	Next(ctx context.Context) (queue.Job, error)
	Close(ctx context.Context) error
}

// bind is one live session that takes submits.
type bind struct {
	name    string // account/number, as events and commands show it
	id      window.BindID
	session *smpp.Session
	ctx     context.Context //nolint:containedctx // ends when the session takes no more submits
	end     context.CancelCauseFunc
}

// join adds a bind whose session lives.
func (a *account) join(b *bind) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b.id = a.gate.AddBind()
	a.binds[b.id] = b
	a.metrics.binds.WithLabelValues(a.name).Set(float64(len(a.binds)))
}

// leave takes a bind out: its window is gone, and permits for it with it.
func (a *account) leave(b *bind) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.binds, b.id)
	a.gate.RemoveBind(b.id)
	a.metrics.binds.WithLabelValues(a.name).Set(float64(len(a.binds)))
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

// standing is where the account is as a whole: bound while any bind is, else where its first bind is.
func (a *account) standing() standing {
	first := a.keepers[0].standing()
	for _, k := range a.keepers {
		if s := k.standing(); s.state == Bound {
			return s
		}
	}
	return first
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
func (a *account) carry(permit window.Permit, b *bind) {
	defer permit.Release(window.Signal{Answer: window.Lost}) // for a panic; else released before
	job, err := a.intake.Next(b.ctx)
	if err != nil {
		permit.Release(window.Signal{})
		return
	}
	a.deliver(permit, b, job)
}
