package gateway

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/gateway/admin"
	"sluice/queue"
	"sluice/smpp"
)

// How much of a bind a report carries: the newest decisions of its window, and its oldest submits without an answer.
const (
	decisionsShown = 20
	pendingShown   = 50
)

// Instance is the name of this gateway.
func (g *Gateway) Instance() string { return g.cfg.Instance }

// Version is the program's.
func (g *Gateway) Version() string { return g.opts.Version }

// Binds reports every bind of this instance.
func (g *Gateway) Binds() []admin.Bind {
	binds := make([]admin.Bind, 0, len(g.accounts))
	for _, a := range g.accounts {
		binds = append(binds, a.report(g.cfg.Instance, time.Now()))
	}
	return binds
}

func (a *account) report(instance string, now time.Time) admin.Bind {
	state, since, reason, until := a.standing()
	w := a.gate.Snapshot()
	b := admin.Bind{
		Instance: instance, Account: a.name, Number: 1, State: string(state), Since: since, Reason: reason, Until: until,
		InFlight: w.Unanswered, Pace: w.Pace, Ceiling: w.Ceiling, Declared: w.Declared, Mode: w.Mode.String(),
		Throttled1m: a.shares.over(now, time.Minute), Throttled15m: a.shares.over(now, 15*time.Minute),
	}
	for _, bind := range w.Binds {
		b.Window += bind.Window
		b.Ahead += bind.Ahead
	}
	a.mu.Lock()
	live := a.bind
	a.mu.Unlock()
	if live != nil {
		stats := live.session.Stats()
		b.HeardAgo = now.Sub(stats.LastHeard).Milliseconds()
		if stats.Answered > 0 {
			b.LastStatus = stats.LastStatus.String()
		}
		b.Pending = pendingOf(live.session)
	}
	decisions := a.gate.Decisions()
	for _, d := range decisions[max(0, len(decisions)-decisionsShown):] {
		b.Decisions = append(b.Decisions, d.String())
	}
	return b
}

func pendingOf(session *smpp.Session) []admin.Pending {
	pending := session.Pending()
	list := make([]admin.Pending, 0, min(len(pending), pendingShown))
	for _, p := range pending[:cap(list)] {
		shown := admin.Pending{Sequence: p.Sequence, Age: p.Age.Milliseconds()}
		if d, ok := p.Ref.(*delivery); ok {
			shown.DeliveryID = d.job.ID()
		}
		list = append(list, shown)
	}
	return list
}

// rememberCeiling stores what the window has learned every minute and at the end, so that a restart begins there.
func (a *account) rememberCeiling(ctx context.Context, store *queue.Client) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		ended := false
		select {
		case <-ctx.Done():
			ended = true
		case <-ticker.C:
		}
		if learned := a.gate.Snapshot().Learned; learned > 0 {
			put, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
			if err := store.PutLearned(put, a.name, queue.Learned{Ceiling: learned, At: time.Now().UTC()}); err != nil {
				a.log.Warn("the learned ceiling could not be stored", "error", err)
			}
			cancel()
		}
		if ended {
			return
		}
	}
}

// windowCollector exports the windows of all accounts as gauges, read when they are scraped.
type windowCollector struct{ g *Gateway }

// Describe sends nothing: the metrics depend on the accounts, so the collector is unchecked.
func (windowCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads every account's window.
func (c windowCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(name, help, account string, v float64) {
		desc := prometheus.NewDesc(name, help, []string{"account"}, nil)
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, account)
	}
	mode := prometheus.NewDesc("sluice_window_mode", "1 for the mode that the window controller is in.", []string{"account", "mode"}, nil)
	state := prometheus.NewDesc("sluice_account_state", "1 for the state that the account is in.", []string{"account", "state"}, nil)
	for _, a := range c.g.accounts {
		b := a.report(c.g.cfg.Instance, time.Now())
		gauge("sluice_window_size", "How far submits may run ahead of the newest answer.", a.name, float64(b.Window))
		gauge("sluice_window_in_flight", "submit_sm without an answer.", a.name, float64(b.InFlight))
		gauge("sluice_pace", "Submits a second that may start.", a.name, b.Pace)
		gauge("sluice_ceiling", "Submits a second that the SMSC is believed to accept.", a.name, b.Ceiling)
		gauge("sluice_declared_rate", "Submits a second that the operator declared; 0: none.", a.name, b.Declared)
		gauge("sluice_throttled_ratio", "Share of throttles among the answers of the last minute.", a.name, b.Throttled1m)
		out <- prometheus.MustNewConstMetric(mode, prometheus.GaugeValue, 1, a.name, b.Mode)
		out <- prometheus.MustNewConstMetric(state, prometheus.GaugeValue, 1, a.name, b.State)
	}
}
