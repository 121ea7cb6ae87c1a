package gateway

import (
	"cmp"
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/gateway/admin"
	"sluice/queue"
	"sluice/smpp"
	"sluice/window"
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
	var binds []admin.Bind
	for _, a := range g.accounts {
		binds = append(binds, a.report(g.cfg.Instance, time.Now())...)
	}
	return binds
}

// Accounts reports every account of this instance.
func (g *Gateway) Accounts() []admin.Account {
	list := make([]admin.Account, 0, len(g.accounts))
	for _, a := range g.accounts {
		list = append(list, a.summary(g.cfg.Instance, time.Now()))
	}
	return list
}

func (a *account) summary(instance string, now time.Time) admin.Account {
	w, at := a.gate.Snapshot(), a.standing()
	s := admin.Account{
		Account: a.name, Instance: instance, State: string(at.state), Since: at.since, Reason: at.reason, Until: at.until,
		Binds: len(w.Binds), InFlight: w.Unanswered, Pace: w.Pace, Ceiling: w.Ceiling,
	}
	s.HoldUntil = a.flow.heldUntil(now)
	a.follow.mu.Lock()
	defer a.follow.mu.Unlock()
	declared, limits := a.limits()
	s.Mode, s.Applied = string(cmp.Or(a.follow.desired.Mode, "run")), a.follow.applied
	s.Declared, s.MaxWindow, s.Share = declared, limits.window, a.follow.stake.rate
	return s
}

func (a *account) report(instance string, now time.Time) []admin.Bind {
	w := a.gate.Snapshot()
	var sentences []string
	decisions := a.gate.Decisions()
	for _, d := range decisions[max(0, len(decisions)-decisionsShown):] {
		sentences = append(sentences, d.String())
	}
	binds := make([]admin.Bind, 0, len(a.keepers))
	for _, k := range a.keepers {
		at := a.flow.over(now, k.standing())
		b := admin.Bind{
			Instance: instance, Account: a.name, Number: k.number,
			State: string(at.state), Since: at.since, Reason: at.reason, Until: at.until,
			Pace: w.Pace, Ceiling: w.Ceiling, Declared: w.Declared, Mode: w.Mode.String(), Alarm: w.Alarm.String(),
			Throttled1m: a.shares.over(now, time.Minute), Throttled15m: a.shares.over(now, 15*time.Minute),
			Decisions: sentences,
		}
		if session := k.session(); session != nil {
			stats := session.Stats()
			b.HeardAgo = now.Sub(stats.LastHeard).Milliseconds()
			if stats.Answered > 0 {
				b.LastStatus = stats.LastStatus.String()
			}
			b.Pending = pendingOf(session)
			a.addWindow(&b, w, session)
		}
		binds = append(binds, b)
	}
	return binds
}

// addWindow adds the window of the bind with that session.
func (a *account) addWindow(b *admin.Bind, w window.Snapshot, session *smpp.Session) {
	for i := range w.Binds {
		if live := a.live(w.Binds[i].ID); live != nil && live.session == session {
			b.Window, b.Ahead, b.InFlight = w.Binds[i].Window, w.Binds[i].Ahead, w.Binds[i].Unanswered
			if own := w.Binds[i]; own.Ceiling > 0 {
				b.Pace, b.Ceiling = own.Pace, own.Ceiling
			}
		}
	}
}

func pendingOf(session *smpp.Session) []admin.Pending {
	pending := session.Pending()
	list := make([]admin.Pending, 0, min(len(pending), pendingShown))
	for _, p := range pending[:cap(list)] {
		shown := admin.Pending{Sequence: p.Sequence, Age: p.Age.Milliseconds()}
		if p, ok := p.Ref.(*segment); ok {
			shown.DeliveryID = p.delivery.job.ID()
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
		if learned := a.learned(); learned > 0 {
			put, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeGrace)
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

// learned is the ceiling of the whole account that follows from what this instance has learned with its share; 0: none.
func (a *account) learned() float64 {
	a.follow.mu.Lock()
	defer a.follow.mu.Unlock()
	if a.follow.stake.rate == 0 {
		return 0
	}
	return a.follow.whole(a.gate.Snapshot().Learned)
}

// rateShare is what this instance has of the account's rate, 0 to 1.
func (a *account) rateShare() float64 {
	a.follow.mu.Lock()
	defer a.follow.mu.Unlock()
	return a.follow.stake.rate
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
	alarm := prometheus.NewDesc("sluice_refusals_alarm", "1 while refusals seem not to follow the pace and an operator must decide, by what shows it.", []string{"account", "reason"}, nil)
	state := prometheus.NewDesc("sluice_account_state", "1 for the state that the account is in.", []string{"account", "state"}, nil)
	for _, a := range c.g.accounts {
		w := a.gate.Snapshot()
		size := 0
		for i := range w.Binds {
			size += w.Binds[i].Window
		}
		gauge("sluice_window_size", "How far submits may run ahead of the newest answers, over all binds.", a.name, float64(size))
		gauge("sluice_window_in_flight", "submit_sm without an answer.", a.name, float64(w.Unanswered))
		gauge("sluice_pace", "Submits a second that may start.", a.name, w.Pace)
		gauge("sluice_ceiling", "Submits a second that the SMSC is believed to accept.", a.name, w.Ceiling)
		gauge("sluice_declared_rate", "Submits a second that the operator declared; 0: none.", a.name, w.Declared)
		gauge("sluice_ignored_refusals_ratio", "Share of refusals that was found not to follow the pace.", a.name, w.Noise)
		gauge("sluice_throttled_ratio", "Share of throttles among the answers of the last minute.", a.name, a.shares.over(time.Now(), time.Minute))
		gauge("sluice_share_ratio", "Share of the account's rate that this instance has.", a.name, a.rateShare())
		gauge("sluice_hold_seconds", "How long a wait that the SMSC asked of the account still lasts; 0: there is none.", a.name,
			max(0, time.Until(a.flow.heldUntil(time.Now())).Seconds()))
		out <- prometheus.MustNewConstMetric(mode, prometheus.GaugeValue, 1, a.name, w.Mode.String())
		for _, r := range window.AlarmReasons() {
			on := 0.0
			if w.Alarm.Reason == r {
				on = 1
			}
			out <- prometheus.MustNewConstMetric(alarm, prometheus.GaugeValue, on, a.name, string(r))
		}
		out <- prometheus.MustNewConstMetric(state, prometheus.GaugeValue, 1, a.name, string(a.standing().state))
	}
}
