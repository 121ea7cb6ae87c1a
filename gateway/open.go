package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp"
	"sluice/window"
)

// remembered is how long a learned ceiling is worth starting from.
const remembered = 7 * 24 * time.Hour

// mostInFlight bounds the memory of a session; the window bounds the traffic.
const mostInFlight = 1 << 14

// tombstones is how long a late response is still told to its message.
const tombstones = 10 * time.Minute

func (g *Gateway) openAccounts(ctx context.Context) error {
	hosts := newHosts()
	for _, name := range sortedKeys(g.cfg.Accounts) {
		a, err := g.openAccount(ctx, name, g.cfg.Accounts[name], hosts)
		if err != nil {
			return fmt.Errorf("account %s: %w", name, err)
		}
		g.accounts = append(g.accounts, a)
	}
	return nil
}

func (g *Gateway) openAccount(ctx context.Context, name string, cfg *config.Account, hosts *hosts) (*account, error) {
	a, lanes, err := g.newAccount(name, cfg, hosts)
	if err != nil {
		return nil, err
	}
	wanted, err := g.client.ReadControl(ctx, name)
	if err != nil {
		return nil, err // what an operator has stopped must not go on by itself
	}
	a.follow.shown = g.presence.expected(name)
	a.follow.window, a.follow.total = g.windowConfig(ctx, name, cfg, wanted.Desired, a.follow.shown)
	a.follow.declared = a.follow.window.Declared
	a.gate = window.NewGate(window.NewController(a.follow.window))
	a.control(time.Now(), wanted)
	in, err := g.client.OpenIntake(ctx, g.journal, queue.IntakeConfig{
		Lanes: lanes, AckWait: g.cfg.Streams.AckWait, Metrics: g.queue,
	})
	if err != nil {
		return nil, err
	}
	a.intake, a.lanes = in, in
	g.teardown.push("intake of account "+name, in.Close)
	return a, nil
}

// newAccount builds an account that still lacks its window and its intake, and says which lanes lead to it.
func (g *Gateway) newAccount(name string, cfg *config.Account, hosts *hosts) (*account, []queue.IntakeLane, error) {
	table, err := cfg.StatusTable()
	if err != nil {
		return nil, nil, err
	}
	work, abandon := context.WithCancel(context.Background())
	inbound, closeInbound := context.WithCancel(work)
	a := &account{
		name: name, cfg: cfg, table: table, dial: g.opts.DialSMSC, metrics: g.metrics, counts: g.metrics.of(name), log: g.log.With("account", name),
		hosts: hosts, random: rand.Float64, routes: map[string]routePolicy{}, weights: map[string]int{}, backed: map[string]bool{},
		unknown: unknownPolicy{
			hold: cfg.Unknown.Policy == config.UnknownHold, max: cfg.Unknown.Max, after: cfg.Unknown.After, late: tombstones,
		},
		matching: matchingOf(cfg.Receipts), reading: readingOf(cfg.Receipts), receiptWaits: g.opts.receiptWaits,
		instance: g.cfg.Instance, began: time.Now(),
		store: g.client, journal: g.journal, work: work, abandon: abandon,
		inbound: inbound, closeInbound: closeInbound,
		binds: map[window.BindID]*bind{}, moved: g.presence.poke, others: g.account, follow: controlled{asked: make(chan struct{}, 1)},
	}
	limited := cfg.Binds
	if cfg.MaxBinds > 0 {
		limited = 0 // until the other instances are known
	}
	a.flow = newFlow(limited, a.refresh)
	g.teardown.push("timers of account "+name, func(context.Context) error { a.flow.stop(); return nil })
	for n := range cfg.Binds {
		a.keepers = append(a.keepers, newKeeper(a, n+1))
	}
	if a.smpp, err = smppConfig(cfg); err != nil {
		return nil, nil, err
	}
	a.metrics.open(name, cfg.Binds)

	var lanes []queue.IntakeLane
	for _, route := range sortedKeys(g.cfg.Routes) {
		r := g.cfg.Routes[route]
		turn := slices.Index(r.Accounts, name)
		if turn < 0 {
			continue
		}
		a.backed[route] = turn < len(r.Accounts)-1
		a.relieved = a.relieved || a.backed[route]
		for _, lane := range lanesOf(route, r) {
			if turn > 0 {
				lane.Open = g.noneCan(r.Accounts[:turn], lane.Weight == 0)
			}
			lanes = append(lanes, lane)
			a.weights[route+"."+lane.Class] = lane.Weight
		}
		a.routes[route] = routePolicy{
			attempts: r.Attempts, per: r.AttemptsPer, expiresIn: r.ExpiresIn, keepTerminal: r.TerminalToDeferred,
		}
	}
	return a, lanes, nil
}

// windowConfig is what the controller starts from: the operator's word, else what was learned in the last 7 days; of the
// latter the share that this instance can expect.
func (g *Gateway) windowConfig(
	ctx context.Context, name string, cfg *config.Account, d queue.Desired, share float64,
) (w window.Config, learned float64) {
	w = configuredWindow(cfg)
	l, ok, err := g.client.GetLearned(ctx, name)
	switch {
	case err != nil:
		g.log.Warn("the learned ceiling could not be read, the account starts from nothing", "account", name, "error", err)
	case ok && time.Since(l.At) < remembered && l.At.After(d.ForgetAt):
		learned = l.Ceiling
		w.Remembered = learned * share
	}
	if d.Rate != nil {
		w.Declared = *d.Rate
	}
	return w, learned
}

// configuredWindow is what the configuration says of the window.
func configuredWindow(cfg *config.Account) window.Config {
	return window.Config{
		Declared: cfg.Rate.Declared, MaxWindow: cfg.Window.Max, ProbeBudget: float64(cfg.Rate.ProbeBudget),
		NoiseMax: float64(cfg.Noise.Max), NoiseIgnore: float64(cfg.Noise.Ignore),
	}
}

// smppConfig is the session's part of an account's configuration.
func smppConfig(cfg *config.Account) (smpp.Config, error) {
	c := smpp.Config{
		SystemID: cfg.SystemID, Password: cfg.Password.Value(), SystemType: cfg.SystemType,
		InterfaceVersion: uint8(cfg.InterfaceVersion), AddrTON: cfg.AddrTON, AddrNPI: cfg.AddrNPI,
		AddressRange: cfg.AddressRange, Address: cfg.Address[0], LocalAddress: cfg.LocalAddress,
		ConnectTimeout: 10 * time.Second, BindTimeout: cfg.BindTimeout, WriteTimeout: 10 * time.Second,
		UnbindTimeout: 5 * time.Second, ResponseTimeout: cfg.ResponseTimeout, Tombstones: tombstones,
		EnquireLinkInterval: cfg.EnquireLink.Interval, EnquireLinkTimeout: cfg.EnquireLink.Timeout,
		MaxInFlight: mostInFlight,
	}
	if cfg.TLS.Enabled {
		t, err := tlsConfig(cfg.TLS.CA, cfg.TLS.Cert, cfg.TLS.Key)
		if err != nil {
			return c, fmt.Errorf("tls: %w", err)
		}
		t.ServerName = cfg.TLS.ServerName
		c.TLS = t
	}
	return c, c.Validate()
}

// tlsConfig reads PEM files; empty names mean the system's authorities and no client certificate.
func tlsConfig(ca, cert, key string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("ca: the file holds no PEM certificate")
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("cert and key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
