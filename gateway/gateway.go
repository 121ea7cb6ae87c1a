// Package gateway is the one place that knows all parts: it takes messages from the queue under the window's permits,
// submits them over bound sessions, lets the status table judge the answers, and settles the messages. Follow one
// message from top to bottom in deliver.go.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/gateway/admin"
	"sluice/gateway/config"
	"sluice/gateway/loglimit"
	"sluice/queue"
	"sluice/smpp"
)

// The bounds of a stop, beyond what sessions need for the answers to what is in flight.
const (
	inboundGrace = 5 * time.Second  // for what phones have sent: the SMSC keeps what is not stored by then
	settleGrace  = 15 * time.Second // for the outcomes of what was answered
	closeGrace   = 10 * time.Second // for the journal, the intakes and the servers together
)

// writeGrace bounds one look into NATS, or one note there.
const writeGrace = 5 * time.Second

// connectPatience is how long a start waits for NATS.
const connectPatience = 15 * time.Second

// Options are what a gateway gets from its program. The zero value works.
type Options struct {
	Logger   *slog.Logger         // default: discards; gets at most a few lines of one kind a minute, and their number
	Registry *prometheus.Registry // default: a new one
	Version  string               // of the program, for the admin plane and the metrics
	Commit   string

	// DialNATS and DialSMSC open the connections instead of TCP. A simulation hands over pipes by them.
	DialNATS func() (net.Conn, error)
	DialSMSC func(context.Context, smpp.Config) (net.Conn, error)

	receiptWaits []time.Duration // default: receiptPatience
}

// Gateway is one instance. Build it with New, run it once with Run.
type Gateway struct {
	cfg      *config.Config
	opts     Options
	log      *slog.Logger
	client   *queue.Client
	embedded *queue.Embedded // nil: the server is not ours
	journal  *queue.Journal
	accounts []*account
	presence *presence
	metrics  *metrics
	queue    *queue.Metrics
	teardown teardown
	url      string
	addr     string
}

// New connects to NATS, starting the embedded server when no other is configured, creates what is missing there,
// and opens the listeners. Nothing is submitted before Run. After an error everything is closed again.
func New(ctx context.Context, cfg *config.Config, opts Options) (*Gateway, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	limited := loglimit.New(opts.Logger.Handler())
	opts.Logger = slog.New(limited)
	if opts.Registry == nil {
		opts.Registry = prometheus.NewRegistry()
	}
	if opts.DialSMSC == nil {
		opts.DialSMSC = smpp.Dial
	}
	if opts.receiptWaits == nil {
		opts.receiptWaits = receiptPatience()
	}
	g := &Gateway{cfg: cfg, opts: opts, log: opts.Logger, metrics: newMetrics(opts.Registry)}
	g.queue = queue.NewMetrics(opts.Registry)
	g.teardown.push("log", func(context.Context) error { limited.Flush(); return nil })
	g.metrics.buildInfo.WithLabelValues(opts.Version, opts.Commit).Set(1)
	for _, step := range []func(context.Context) error{
		g.startNATS, g.ensureTopology, g.openJournal, g.watchCancels, g.openPresence, g.openAccounts, g.serveAdmin, g.serveHTTP,
	} {
		if err := step(ctx); err != nil {
			if g.client != nil && g.client.Forbidden() != nil {
				err = fmt.Errorf("%w (%w; grant this NATS user what docs/operations.md lists)", err, g.client.Forbidden())
			}
			return nil, errors.Join(err, g.teardown.run())
		}
	}
	opts.Registry.MustRegister(windowCollector{g})
	return g, nil
}

// Run serves until ctx ends, then stops in order: no new messages, the answers to what is in flight, their outcomes,
// unbind, the journal, the servers. It returns nil after a clean stop, and an error at once when the queue is lost for
// good.
func (g *Gateway) Run(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var running sync.WaitGroup
	var lost error
	running.Go(func() {
		lost = g.watch(ctx)
		end()
	})
	var taken error
	running.Go(func() {
		taken = g.keepLease(ctx)
		end()
	})
	running.Go(func() { g.checkStore(ctx) })
	running.Go(func() { g.readJournalAge(ctx) })
	running.Go(func() { g.watchUnserved(ctx) })
	running.Go(func() { g.client.FollowControl(ctx, g.readControl) })
	for _, a := range g.accounts {
		running.Go(func() { a.storeHolds(ctx) })
		running.Go(func() { a.sweep(ctx, g.presence) })
		for _, k := range a.keepers {
			running.Go(func() { k.supervise(ctx) })
		}
		running.Go(func() { a.pump(ctx) })
		running.Go(func() { a.consumeInbound(ctx) })
		running.Go(func() { a.rememberCeiling(ctx, g.client) })
	}
	<-ctx.Done()
	g.log.Info("stopping: finishing what is in flight")
	enough := time.AfterFunc(inboundGrace, func() {
		for _, a := range g.accounts {
			a.closeInbound()
		}
	})
	defer enough.Stop()
	running.Wait() // sessions have answered, unbound and closed, within their own bounds
	if !g.settled(settleGrace) {
		g.log.Error("some outcomes could not be stored; their messages stay in the queue")
	}
	var holds sync.WaitGroup
	for _, a := range g.accounts {
		holds.Go(a.storeLastHold)
	}
	holds.Wait()
	return errors.Join(lost, taken, g.teardown.run())
}

// settled waits until no message is between its permit and its settlement, and cuts the wait short after grace.
func (g *Gateway) settled(grace time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, a := range g.accounts {
			a.carrying.Wait()
		}
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		for _, a := range g.accounts {
			a.abandon()
		}
		<-done
		return false
	}
}

// NATSURL is where the queue is, with the port that an embedded server really took.
func (g *Gateway) NATSURL() string { return g.url }

// HTTPAddr is where /metrics, /healthz and /readyz are, with the port really taken; empty when off.
func (g *Gateway) HTTPAddr() string { return g.addr }

func (g *Gateway) startNATS(ctx context.Context) error {
	connect := queue.ConnectConfig{
		URL: g.cfg.NATS.URL, Name: "sluice " + g.cfg.Instance, Prefix: g.cfg.Streams.Prefix, Logger: g.log,
		CredentialsFile: g.cfg.NATS.Credentials.File, NKeyFile: g.cfg.NATS.Credentials.NKey,
		User: g.cfg.NATS.Credentials.User, Password: g.cfg.NATS.Credentials.Password.Value(),
		InboxPrefix: g.cfg.NATS.Credentials.InboxPrefix, CanonicalID: canonicalIDs(g.cfg.Accounts),
		Dial: g.opts.DialNATS,
	}
	if connect.URL == "" {
		embedded, err := queue.StartEmbedded(queue.EmbeddedConfig{
			Dir: g.cfg.NATS.Embedded.Dir, Listen: g.cfg.NATS.Embedded.Listen,
			User: g.cfg.NATS.Embedded.User, Password: g.cfg.NATS.Embedded.Password.Value(),
			MaxStore: int64(g.cfg.NATS.Embedded.ServerStore()),
			Logger:   g.log, Sync: time.Duration(g.cfg.Streams.Sync), SyncAlways: g.cfg.Streams.Sync == config.SyncAlways,
		})
		if err != nil {
			return err
		}
		g.teardown.push("embedded NATS server", func(context.Context) error { embedded.Shutdown(); return nil })
		g.embedded = embedded
		connect.URL = embedded.URL()
		connect.User, connect.Password = g.cfg.NATS.Embedded.User, g.cfg.NATS.Embedded.Password.Value()
	} else if files := g.cfg.NATS.Credentials.TLS; files != (config.CertFiles{}) {
		tls, err := tlsConfig(files.CA, files.Cert, files.Key)
		if err != nil {
			return fmt.Errorf("nats.credentials.tls: %w", err)
		}
		connect.TLS = tls
	}
	g.url = connect.URL
	patient, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	client, err := queue.Connect(patient, connect)
	if err != nil { // the configuration keeps credentials out of the URL
		return fmt.Errorf("%w: nats.url is %s; start that server, or correct nats.url or nats.credentials", err, g.url)
	}
	g.client = client
	g.teardown.push("NATS connection", func(context.Context) error { client.Close(); return nil })
	return nil
}

func (g *Gateway) ensureTopology(ctx context.Context) error {
	patient, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	s, limits := g.cfg.Streams, g.cfg.Limits()
	t := queue.Topology{
		Prefix: s.Prefix, Replicas: s.Replicas, DuplicateWindow: s.DuplicateWindow, JournalAge: s.JournalAge, AckWait: s.AckWait,
		MaxBytes: int64(limits.Queue), JournalBytes: int64(limits.Journal), InboundBytes: int64(limits.Inbound),
		MOBytes: int64(limits.MO), DeferredBytes: int64(limits.Deferred), BucketBytes: int64(limits.Buckets),
	}
	for _, name := range sortedKeys(g.cfg.Routes) {
		for _, lane := range lanesOf(name, g.cfg.Routes[name]) {
			t.Lanes = append(t.Lanes, lane.Lane)
		}
	}
	differences, err := g.client.Ensure(patient, t)
	if err != nil {
		return err
	}
	for _, d := range differences {
		g.log.Warn("a stream or consumer differs from the configuration and was left as it is", "difference", d)
	}
	return nil
}

func (g *Gateway) openJournal(context.Context) error {
	journal, err := g.client.OpenJournal(queue.JournalConfig{Metrics: g.queue})
	if err != nil {
		return err
	}
	g.journal = journal
	g.teardown.push("journal", journal.Close)
	return nil
}

func (g *Gateway) serveAdmin(context.Context) error {
	stop, err := admin.Serve(g.client, g)
	if err != nil {
		return err
	}
	g.teardown.push("admin service", func(context.Context) error { return stop() })
	return nil
}

// lanesOf are the classes of a route, strict ones first, then by falling weight.
func lanesOf(route string, r *config.Route) []queue.IntakeLane {
	lanes := make([]queue.IntakeLane, 0, len(r.Classes))
	for _, class := range sortedKeys(r.Classes) {
		lane := queue.IntakeLane{Lane: queue.Lane{Route: route, Class: class}, ExpiresIn: r.ExpiresIn}
		if w := r.Classes[class]; w != config.Strict {
			lane.Weight = int(w)
		}
		lanes = append(lanes, lane)
	}
	slices.SortStableFunc(lanes, func(a, b queue.IntakeLane) int {
		switch {
		case (a.Weight == 0) != (b.Weight == 0):
			if a.Weight == 0 {
				return -1
			}
			return 1
		default:
			return b.Weight - a.Weight
		}
	})
	return lanes
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// teardown is a named stack of what must be closed, last opened first.
type teardown []struct {
	name  string
	close func(context.Context) error
}

func (t *teardown) push(name string, close func(context.Context) error) {
	*t = append(*t, struct {
		name  string
		close func(context.Context) error
	}{name, close})
}

func (t *teardown) run() error {
	var faults []error
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	for _, step := range slices.Backward(*t) {
		if err := step.close(ctx); err != nil {
			faults = append(faults, fmt.Errorf("closing the %s: %w", step.name, err))
		}
	}
	*t = nil
	return errors.Join(faults...)
}
