package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sluice/gateway/admin"
	"sluice/gateway/printable"
	"sluice/queue"
)

// readyz is for load balancers and Kubernetes: 200 when this instance can take and give messages through NATS, whatever
// its accounts do; also for a standby and a paused account. Else 503 with one line for each reason.
func (g *Gateway) readyz(w http.ResponseWriter, _ *http.Request) {
	faults := g.notReady(time.Now())
	if len(faults) == 0 {
		_, _ = w.Write([]byte("ready\n"))
		return
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write([]byte(strings.Join(faults, "\n") + "\n"))
}

// notReady says why this instance cannot do its work: no connection, a store that does not take a small write, or a
// lease that is not confirmed.
func (g *Gateway) notReady(now time.Time) (faults []string) {
	if !g.client.Conn().IsConnected() {
		faults = append(faults, "nats: not connected")
	}
	if err := g.journal.Failure(); err != nil {
		faults = append(faults, "journal: "+printable.String(err.Error()))
	}
	if since := g.presence.unconfirmedFor(now); since >= leaseTrust {
		faults = append(faults, fmt.Sprintf("lease: not confirmed for %v", since.Round(time.Second)))
	}
	return faults
}

// Status is the answer to /status.
type Status struct {
	Instance string   `json:"instance"`
	Version  string   `json:"version"`
	Ready    bool     `json:"ready"`
	NotReady []string `json:"not_ready,omitempty"` // what /readyz says
	// Accounts are those of this instance; Standing says in words how each stands.
	Accounts []AccountStatus `json:"accounts"`
	// Lanes are those of all routes; LanesFault says why they cannot be read.
	Lanes      []LaneStatus `json:"lanes,omitempty"`
	LanesFault string       `json:"lanes_fault,omitempty"`
}

// AccountStatus is how one account stands.
type AccountStatus struct {
	admin.Account
	CanSubmit bool   `json:"can_submit"`
	Standing  string `json:"standing"`
}

// LaneStatus is what one route and class hold.
type LaneStatus struct {
	Route         string  `json:"route,omitempty"`
	Class         string  `json:"class,omitempty"`
	Subject       string  `json:"subject"`
	Queued        uint64  `json:"queued"`
	HandedOut     uint64  `json:"handed_out"` // in flight, or waiting for their next attempt
	OldestSeconds float64 `json:"oldest_seconds"`
	Unserved      bool    `json:"unserved,omitempty"` // no route leads from there
	// PausedUntil: somebody has paused the lane's consumer.
	PausedUntil time.Time `json:"paused_until,omitzero"`
}

// status answers with all accounts and lanes, or with one account (?account=x): 503 when that cannot submit.
func (g *Gateway) status(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	accounts := g.accountStatus()
	w.Header().Set("Content-Type", "application/json")
	if name := r.URL.Query().Get("account"); name != "" {
		for _, a := range accounts {
			if a.Account.Account != name {
				continue
			}
			if !a.CanSubmit {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			_ = json.NewEncoder(w).Encode(a) // who asked has gone
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": fmt.Sprintf("account %q is not one of this instance", printable.String(name))})
		return
	}
	s := Status{Instance: g.cfg.Instance, Version: g.opts.Version, NotReady: g.notReady(time.Now()), Accounts: accounts}
	s.Ready = len(s.NotReady) == 0
	stats, err := g.client.LaneStats(ctx)
	if err != nil {
		s.LanesFault = printable.String(err.Error())
	}
	for _, l := range stats {
		s.Lanes = append(s.Lanes, laneStatus(l))
	}
	_ = json.NewEncoder(w).Encode(s)
}

func (g *Gateway) accountStatus() []AccountStatus {
	list := make([]AccountStatus, 0, len(g.accounts))
	for n, a := range g.Accounts() {
		standing := admin.Standing(a.State, a.Reason, a.Until)
		a.Reason = printable.String(a.Reason)
		list = append(list, AccountStatus{Account: a, CanSubmit: a.State == string(Bound) && !g.accounts[n].flow.isClosed(time.Now()), Standing: standing})
	}
	return list
}

func laneStatus(l queue.LaneStats) LaneStatus {
	return LaneStatus{
		Route: l.Route, Class: l.Class, Subject: printable.String(l.Subject), Queued: l.Pending, HandedOut: l.AckPending,
		OldestSeconds: l.Oldest.Seconds(), Unserved: l.Orphan, PausedUntil: l.Paused,
	}
}
