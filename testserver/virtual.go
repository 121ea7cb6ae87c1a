package testserver

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"sluice/smpp/pdu"
	"sluice/testserver/limiter"
)

// Limiter is the scenario as one limiter, for a simulation in virtual time: the latency, the limits that one bind of
// the account meets, and the errors that are about no destination. Its capacity knows outstanding limits too, as what
// a client with as many submits in flight reaches. The parts that need a connection, a destination or a receipt are
// left out and named, as are limits of other accounts.
func (sc *Scenario) Limiter(account string, rnd *rand.Rand) (built limiter.Limiter, left []string) {
	var limits []limiter.Limiter
	for _, scope := range []Scope{PerServer, PerAccount, PerBind} {
		limits = append(limits, buildAll(sc.simple(), scope, account, 1, rnd)...)
	}
	errors := &ruled{rules: sc.Errors, counts: make([]tally, len(sc.Errors)), rnd: rnd}
	if sc.ChargeRefusedDestination {
		limits = append(limits, errors)
	} else {
		limits = append([]limiter.Limiter{errors}, limits...)
	}
	latency := limiter.Delay(sc.Latency.Min, max(sc.Latency.Min, sc.Latency.Max), rnd)
	limits = append([]limiter.Limiter{latency}, limits...)
	mean := (sc.Latency.Min + max(sc.Latency.Min, sc.Latency.Max)) / 2
	for _, l := range sc.Limits {
		if l.Kind == Outstanding && mean > 0 && (l.Account == "" || l.Account == account) {
			limits = append(limits, turnover(float64(l.Size)/mean.Seconds()))
		}
	}
	return limiter.All(limits...), sc.beyond(account)
}

// simple are the limits that answer what they refuse, on whatever bind it comes.
func (sc *Scenario) simple() []Limit {
	return slices.DeleteFunc(slices.Clone(sc.Limits), func(l Limit) bool { return !l.plain() })
}

// beyond names what Limiter leaves out.
func (sc *Scenario) beyond(account string) (left []string) {
	for i, l := range sc.Limits {
		switch {
		case l.Account != "" && l.Account != account:
			left = append(left, fmt.Sprintf("limits[%d], which is of account %s", i, l.Account))
		case l.Kind == DestinationQueue:
			left = append(left, fmt.Sprintf("limits[%d] (%s)", i, l.Kind))
		case l.Slot > 0:
			left = append(left, fmt.Sprintf("limits[%d], which is of slot %d", i, l.Slot))
		case !l.plain():
			left = append(left, fmt.Sprintf("limits[%d] (over: %s)", i, l.Over))
		}
	}
	for i := range sc.Errors {
		if sc.Errors[i].ofDestination() {
			left = append(left, fmt.Sprintf("errors[%d], which is about destinations", i))
		}
	}
	for i := range sc.Faults {
		left = append(left, fmt.Sprintf("faults[%d] (%s)", i, sc.Faults[i].Kind))
	}
	for _, part := range []struct {
		name string
		set  any
	}{{"bind", sc.Bind}, {"link", sc.Link}, {"receipts", sc.Receipts}} {
		if !reflect.ValueOf(part.set).IsZero() {
			left = append(left, part.name)
		}
	}
	return left
}

// ofDestination reports whether the rule looks at the address.
func (m *Match) ofDestination() bool { return m.To != "" || m.Prefix != "" || m.Suffix != "" }

// ruled refuses what the error rules say that are about no destination.
type ruled struct {
	rules  []ErrorRule
	counts []tally
	rnd    *rand.Rand
}

func (r *ruled) Arrive(time.Time) limiter.Verdict {
	for i := range r.rules {
		rule, count := &r.rules[i], &r.counts[i]
		if rule.ofDestination() || !rule.fires(count, nil, r.rnd) {
			continue
		}
		status := rule.Status
		if n := uint64(len(rule.Script)); n > 0 {
			if count.fired > n {
				continue
			}
			status = rule.Script[count.fired-1]
		}
		return limiter.Verdict{Refuse: status != pdu.StatusOK, Status: uint32(status)}
	}
	return limiter.Verdict{}
}

func (r *ruled) Done(time.Time) {}

func (r *ruled) Capacity(time.Time) float64 { return 0 }

// turnover limits nothing and knows a capacity in messages per second.
type turnover float64

func (t turnover) Arrive(time.Time) limiter.Verdict { return limiter.Verdict{} }

func (t turnover) Done(time.Time) {}

func (t turnover) Capacity(time.Time) float64 { return float64(t) }
