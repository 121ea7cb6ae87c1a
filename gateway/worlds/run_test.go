package worlds

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"sluice/gateway"
	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// instance is one life of a gateway.
type instance struct {
	number, life int
	cancel       context.CancelFunc
	ended        chan struct{}
	began        time.Time // its last start; under the lock of the run

	mu     sync.Mutex
	fenced bool
}

func (i *instance) name() string { return fmt.Sprintf("gw-%d", i.number) }

func (i *instance) isFenced() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fenced
}

// sending is one submit_sm as it left an instance.
type sending struct {
	at          time.Time
	instance    string
	life        time.Time // when that life of it began
	account     string
	destination string
}

// run is a world that is lived through.
type run struct {
	*world
	dir   string
	begin time.Time
	smscs map[string]*testserver.Server
	going sync.WaitGroup // everything but the gateways
	lives sync.WaitGroup // gateways

	mu        sync.Mutex
	server    *server.Server // nil while it is down
	relays    map[*relay]struct{}
	instances []*instance // the present life of each
	all       []*instance
	armed     []*fault // faults that wait for a message
	counts    map[*fault]int
	active    []*fault // faults of the SMSCs
	sent      []sending
	confirmed []time.Time          // when the stream took each message
	seqs      map[string]uint64    // of the delivery ids, as the stream confirmed them
	taken     map[string]time.Time // when it did
	cancelled []cancelling
	trace     []string
	faulty    []error // what the harness itself could not do
}

const accountYAML = `
  %s:
    address: "%s.example:2775"
    system_id: sluice
    password: secret
    binds: 1
    response_timeout: 10s
`

func (r *run) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noteLocked(format, args...)
}

func (r *run) noteLocked(format string, args ...any) {
	r.trace = append(r.trace, fmt.Sprintf("%10.3f ", time.Since(r.begin).Seconds())+fmt.Sprintf(format, args...))
}

// Write takes the log lines of the gateways.
func (r *run) Write(line []byte) (int, error) {
	r.note("log %s", strings.TrimSpace(string(line)))
	return len(line), nil
}

// errDown reports a dial to a server that does not run, or by an instance that is fenced.
var errDown = errors.New("connection refused")

func (r *run) dialNATS(i *instance) func() (net.Conn, error) {
	return func() (net.Conn, error) {
		r.mu.Lock()
		s := r.server
		r.mu.Unlock()
		if s == nil || i.isFenced() {
			return nil, errDown
		}
		far, err := s.InProcessConn()
		if err != nil {
			return nil, err
		}
		return r.join(i, natsLink, "", far), nil
	}
}

func (r *run) dialSMSC(i *instance) func(context.Context, smpp.Config) (net.Conn, error) {
	return func(_ context.Context, cfg smpp.Config) (net.Conn, error) {
		if i.isFenced() {
			return nil, errDown
		}
		account, _, _ := strings.Cut(cfg.Address, ".")
		far, theirs := net.Pipe()
		r.going.Go(func() { _ = r.smscs[account].ServeConn(context.Background(), theirs) })
		return r.join(i, smscLink, account, far), nil
	}
}

// boot starts the NATS server on its store.
func (r *run) boot() error {
	s, err := server.NewServer(&server.Options{
		ServerName: "world", DontListen: true, JetStream: true, StoreDir: r.dir, NoSigs: true, NoLog: true,
		JetStreamMaxStore: 1 << 30, PingInterval: 15 * time.Second, MaxPingsOut: 2,
	})
	if err != nil {
		return err
	}
	go s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		return errors.New("the NATS server does not become ready")
	}
	r.mu.Lock()
	r.server = s
	r.mu.Unlock()
	r.note("NATS runs")
	return nil
}

func (r *run) shutdown() {
	r.mu.Lock()
	s := r.server
	r.server = nil
	r.mu.Unlock()
	if s == nil {
		return
	}
	// The server sleeps in its shutdown while it holds a lock. Who waits for a lock holds up the time of the bubble: so
	// the connections end first, and what they asked for is done.
	r.mu.Lock()
	for c := range r.relays {
		if c.link == natsLink {
			r.going.Go(c.end)
		}
	}
	r.mu.Unlock()
	time.Sleep(100 * time.Millisecond)
	s.Shutdown()
	s.WaitForShutdown()
	r.note("NATS stopped")
}

// yaml is the configuration of an instance: the defaults, but for what the world decides and a response timeout of 10 s,
// without which few answers would come late.
func (r *run) yaml(number int) string {
	var y strings.Builder
	fmt.Fprintf(&y, "instance: gw-%d\nnats: {url: \"nats://127.0.0.1:1\"}\nhttp: off\nstreams: {max_bytes: 64MiB}\naccounts:\n", number)
	for _, a := range r.accounts {
		fmt.Fprintf(&y, accountYAML, a, a)
		if r.declared > 0 {
			fmt.Fprintf(&y, "    rate: {declared: %v}\n", r.declared)
		}
	}
	fmt.Fprintf(&y, "routes:\n  main: {accounts: [%s], expires_in: %v}\n", strings.Join(r.accounts, ", "), life)
	return y.String()
}

// startInstance begins a life of a gateway. It tries again while NATS is away, as a supervisor would.
func (r *run) startInstance(ctx context.Context, number int) {
	i := &instance{number: number, ended: make(chan struct{})}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	i.cancel = cancel
	r.mu.Lock()
	for _, other := range r.all {
		if other.number == number {
			i.life++
		}
	}
	r.all = append(r.all, i)
	r.instances[number] = i
	r.mu.Unlock()
	r.lives.Go(func() {
		defer close(i.ended)
		for running.Err() == nil {
			err := r.live(running, i)
			r.note("%s life %d ended: %v", i.name(), i.life, err)
			if running.Err() == nil {
				time.Sleep(time.Second)
			}
		}
	})
}

func (r *run) live(ctx context.Context, i *instance) error {
	cfg, err := config.Decode([]byte(r.yaml(i.number)))
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: withoutTime})).With("gw", i.name(), "life", i.life)
	r.mu.Lock()
	i.began = time.Now()
	r.mu.Unlock()
	g, err := gateway.New(ctx, cfg, gateway.Options{Logger: log, DialNATS: r.dialNATS(i), DialSMSC: r.dialSMSC(i)})
	if err != nil {
		return err
	}
	r.note("%s life %d runs", i.name(), i.life)
	return g.Run(ctx)
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// fence kills an instance: from now on nothing that it writes leaves its pipes and nothing reaches it. A new life
// begins after a while; the old one is told to stop at the end of the world.
func (r *run) fence(i *instance, f *fault) {
	i.mu.Lock()
	already := i.fenced
	i.fenced = true
	i.mu.Unlock()
	if already {
		return
	}
	r.mu.Lock()
	r.noteLocked("%s life %d is killed", i.name(), i.life)
	for c := range r.relays {
		if c.owner == i {
			c.fence()
		}
	}
	r.mu.Unlock()
	r.going.Go(func() {
		time.Sleep(f.length)
		r.startInstance(context.Background(), i.number)
	})
}

// due finds the fault that has waited for this message, and notes what it hit.
func (r *run) due(i *instance, link, op string) *fault {
	if i == nil || op == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, f := range r.armed {
		if f.instance != i.number || f.link != link || f.op != op {
			continue
		}
		r.counts[f]++
		if r.counts[f] < f.nth {
			continue
		}
		r.armed = slices.Delete(r.armed, n, n+1)
		f.struck = time.Now()
		f.hit = fmt.Sprintf("%s of %s life %d at %.3f s", op, i.name(), i.life, time.Since(r.begin).Seconds())
		r.noteLocked("fault %v", f)
		return f
	}
	return nil
}

// submitted notes a submit_sm when it leaves an instance.
func (r *run) submitted(i *instance, account string, octets []byte) {
	_, body, err := pdu.Parse(octets)
	sm, ok := body.(*pdu.SubmitSM)
	if err != nil || !ok {
		return
	}
	to := string(sm.Dest.Addr)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, sending{time.Now(), i.name(), i.began, account, to})
	r.noteLocked("%s life %d submits to %s", i.name(), i.life, to)
}

// strike carries out one fault and returns when it has ended; those that wait for a message are armed.
func (r *run) strike(ctx context.Context, f *fault) {
	time.Sleep(f.at)
	defer func() {
		r.mu.Lock()
		f.ended = time.Now()
		r.mu.Unlock()
	}()
	switch f.kind {
	case cut, delay, drop, kill, straggle:
		r.mu.Lock()
		r.armed = append(r.armed, f)
		r.mu.Unlock()
		return
	case stop:
		r.mu.Lock()
		i := r.instances[f.instance]
		r.noteLocked("fault %v", f)
		r.mu.Unlock()
		i.cancel()
		<-i.ended
		if i.isFenced() { // it was killed meanwhile, and its successor is on its way
			return
		}
		time.Sleep(f.length)
		r.startInstance(ctx, f.instance)
	case restart:
		r.note("fault %v", f)
		r.shutdown()
		time.Sleep(f.length)
		r.up()
	case stall, pauseNATS:
		r.mu.Lock()
		r.noteLocked("fault %v", f)
		for c := range r.relays {
			if f.kind == pauseNATS && c.link == natsLink || f.kind == stall && c.link == f.link && c.owner.number == f.instance {
				c.hold(f.length)
			}
		}
		r.mu.Unlock()
		time.Sleep(f.length)
	case rollback:
		if err := r.rollsBack(f); err != nil {
			r.mu.Lock()
			r.faulty = append(r.faulty, err)
			r.mu.Unlock()
		}
	case full:
		if err := r.fills(f); err != nil {
			r.note("%v did not come to be: %v", f, err)
		}
	case forget:
		if err := r.forgets(ctx, f); err != nil {
			r.note("%v did not come to be: %v", f, err)
		}
	case failing, throttled, swallow, late, tardily, hangUp:
		r.note("fault %v", f)
		r.behave(func(active []*fault) []*fault { return append(active, f) })
		time.Sleep(f.length)
		r.behave(func(active []*fault) []*fault {
			return slices.DeleteFunc(active, func(a *fault) bool { return a == f })
		})
		r.note("ended %v", f)
	}
}

// up starts the server unless another fault has.
func (r *run) up() {
	r.mu.Lock()
	runs := r.server != nil
	r.mu.Unlock()
	if runs {
		return
	}
	if err := r.boot(); err != nil {
		r.mu.Lock()
		r.faulty = append(r.faulty, err)
		r.mu.Unlock()
	}
}

// behave changes what the SMSCs do.
func (r *run) behave(change func([]*fault) []*fault) {
	r.mu.Lock()
	r.active = change(slices.Clone(r.active))
	sc := r.behaviour(r.active)
	r.mu.Unlock()
	for _, s := range r.smscs {
		if err := s.SetScenario(sc); err != nil {
			r.mu.Lock()
			r.faulty = append(r.faulty, err)
			r.mu.Unlock()
		}
	}
}

// client is a connection of somebody whom no fault strikes but those of the server.
func (r *run) client(ctx context.Context, name string) (*queue.Client, error) {
	nobody := &instance{number: -1}
	return queue.Connect(ctx, queue.ConnectConfig{URL: "nats://127.0.0.1:1", Name: name, Dial: r.dialNATS(nobody)})
}

// publish publishes everything at its time, again until the stream has confirmed it.
func (r *run) publish(ctx context.Context, c *queue.Client, j *queue.Journal) {
	var publishing sync.WaitGroup
	defer publishing.Wait()
	for _, p := range r.messages {
		if wait := p.at - time.Since(r.begin); wait > 0 {
			time.Sleep(wait)
		}
		publishing.Go(func() {
			for {
				try, cancel := context.WithTimeout(ctx, 3*time.Second)
				seq, _, err := c.Publish(try, "main", p.class, p.message)
				cancel()
				if err == nil {
					r.mu.Lock()
					r.seqs[p.message.ID] = seq
					r.confirmed = append(r.confirmed, time.Now())
					r.taken[p.message.ID] = time.Now()
					r.noteLocked("published %s as seq %d, %s to %s", p.message.ID, seq, p.class, p.message.To)
					r.mu.Unlock()
					if p.cancel > 0 {
						r.cancel(ctx, c, j, p, seq)
					}
					return
				}
				time.Sleep(500 * time.Millisecond)
			}
		})
	}
}

// settleBound is how long after the last fault and the last publish everything may take to have its final: the longest
// life, and the sweeper's.
const settleBound = life + 2*time.Minute

// play lives through a world and judges it. It must run inside a bubble.
func play(t *testing.T, w *world, dir string) (r *run, faults []error) {
	r = &run{
		world: w, dir: dir, begin: time.Now(), smscs: map[string]*testserver.Server{}, relays: map[*relay]struct{}{},
		instances: make([]*instance, w.instances), counts: map[*fault]int{}, seqs: map[string]uint64{},
		taken: map[string]time.Time{},
	}
	ctx := t.Context()
	if err := r.boot(); err != nil {
		return r, []error{err}
	}
	for n, a := range w.accounts {
		sc := w.behaviour(nil)
		sc.Seed += uint64(n)
		sc.MessageID.First = uint64(n+1) * 1_000_000
		r.smscs[a] = testserver.New(sc)
	}
	for n := range w.instances {
		r.startInstance(ctx, n)
	}
	c, err := r.client(ctx, "publisher")
	if err != nil {
		return r, []error{err}
	}
	j, err := c.OpenJournal(queue.JournalConfig{})
	if err != nil {
		return r, []error{err}
	}
	time.Sleep(5 * time.Second) // the gateways make the streams
	var striking sync.WaitGroup
	for _, f := range w.faults {
		striking.Go(func() { r.strike(ctx, f) })
	}
	striking.Go(func() { r.operate(ctx, c) })
	for i := range w.phones {
		striking.Go(func() { r.phone(&w.phones[i]) })
	}
	r.publish(ctx, c, j)
	striking.Wait()
	if wait := w.length - time.Since(r.begin); wait > 0 {
		time.Sleep(wait)
	}
	r.mu.Lock()
	r.armed = nil // what it waited for did not come
	r.mu.Unlock()
	r.note("faults have ended")
	settled := r.await(ctx, c)
	time.Sleep(30 * time.Second) // late receipts
	events, left := r.read(ctx, c)
	faults = append(r.judge(events, left, settled), r.faulty...)
	faults = append(faults, r.awaitPhones(ctx, c)...)
	_ = j.Close(ctx) // what it wrote has been judged
	r.finish(c)
	return r, faults
}

// await waits until the queue is empty, within the bound.
func (r *run) await(ctx context.Context, c *queue.Client) (settled bool) {
	for end := time.Now().Add(settleBound); time.Now().Before(end); time.Sleep(2 * time.Second) {
		r.mu.Lock()
		all := len(r.seqs) == len(r.messages)
		r.mu.Unlock()
		if stats, err := c.LaneStats(ctx); err == nil && all && len(stats) > 0 && queued(stats) == 0 {
			return true
		}
	}
	return false
}

func queued(stats []queue.LaneStats) (n uint64) {
	for _, s := range stats {
		n += s.Pending + s.AckPending
	}
	return n
}

// read collects the journal.
func (r *run) read(ctx context.Context, c *queue.Client) (events []queue.Event, left []string) {
	for e, err := range c.Events(ctx, queue.EventFilter{}) {
		if err != nil {
			return events, []string{"the journal cannot be read: " + err.Error()}
		}
		events = append(events, e)
	}
	return events, nil
}

// finish ends everything.
func (r *run) finish(c *queue.Client) {
	c.Close()
	r.mu.Lock()
	all := slices.Clone(r.all)
	r.mu.Unlock()
	for _, i := range all {
		i.cancel()
	}
	for _, i := range all {
		<-i.ended
	}
	r.lives.Wait()
	r.mu.Lock()
	relays := make([]*relay, 0, len(r.relays))
	for c := range r.relays {
		relays = append(relays, c)
	}
	r.mu.Unlock()
	for _, c := range relays {
		c.end()
	}
	r.going.Wait()
	r.shutdown()
	time.Sleep(2 * time.Minute) // what the server leaves behind ends
}
