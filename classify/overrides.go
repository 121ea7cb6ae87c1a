package classify

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/smpp/pdu"
)

// MaxHold is the longest wait that an override may ask for.
const MaxHold = 24 * time.Hour

// Override is an account's own meaning of one status.
type Override struct {
	Class Class
	// Hold is the wait before the next try, 0 to MaxHold; 0 asks for none. Only throttle and retry can wait.
	Hold time.Duration
}

// rule is one change to a table: from a profile, or from an account.
type rule struct {
	phases  []Phase
	status  pdu.Status
	class   Class
	hold    time.Duration
	shape   bool
	meaning string // empty: the meaning stays
	source  string
	origin  string
}

// With returns a table with a vendor profile and then an account's overrides laid over t, which stays as it was.
// An empty profile names none.
//
// A key is a status in hexadecimal, "0x45", for the answers to a message (submit and nack; the bind too where t gives
// the status the scope of the bind), or names one phase: "submit:0x45", "bind:0x0A", "nack:0x03". A key with a phase
// goes before one without. An override to terminal is meant for the message: such a status never escalates.
//
// The error joins every fault, each naming the key, the value and the remedy.
func (t *Table) With(profile string, overrides map[string]Override) (*Table, error) {
	var faults []error
	var rules []rule
	if profile != "" {
		var err error
		if rules, err = profileRules(profile); err != nil {
			faults = append(faults, err)
		}
	}
	own, err := t.accountRules(overrides)
	if err != nil {
		faults = append(faults, err)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}

	out := &Table{single: maps.Clone(t.single), ranges: t.ranges}
	for _, r := range append(rules, own...) {
		for _, p := range r.phases {
			row := r.over(*t.row(p, r.status), p)
			out.single[key{p, r.status}] = &row
		}
	}
	return out, nil
}

// over returns the row that results from a rule laid over another row.
func (r rule) over(row Row, p Phase) Row {
	row.Low, row.High, row.Source = r.status, r.status, r.source
	if r.meaning != "" {
		row.Meaning = r.meaning
	}
	v := &row.Verdict
	v.Scope = scopeOver(p, r.class, *v)
	v.Class, v.Hold, v.Shape, v.Origin = r.class, r.hold, r.shape, r.origin
	v.Why = why(&row)
	return row
}

// scopeOver returns the scope of a status that is given a class in place of its old verdict. A status that stays in
// its class keeps its scope.
func scopeOver(p Phase, class Class, old Verdict) Scope {
	switch {
	case p == Bind:
		return ScopeBind
	case class == old.Class:
		return old.Scope
	case class == Throttle || class == Config:
		return ScopeRoute
	}
	return ScopeMessage
}

// accountRules checks the overrides of an account, and returns their rules with those for one phase last.
func (t *Table) accountRules(overrides map[string]Override) ([]rule, error) {
	var faults []error
	var both, one []rule
	written := make(map[string]string, len(overrides)) // phases and number that a key means -> the key that said so
	for _, k := range slices.Sorted(maps.Keys(overrides)) {
		o := overrides[k]
		phases, status, err := t.parseKey(k)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		r := rule{phases: phases, status: status, class: o.Class, hold: o.Hold, origin: "account override"}
		meant := fmt.Sprintf("%v 0x%X", phases, uint32(status))
		if first, ok := written[meant]; ok {
			faults = append(faults, fmt.Errorf("statuses %q: the same status as %q: keep one of them", k, first))
		}
		written[meant] = k
		for _, err := range r.faults() {
			faults = append(faults, fmt.Errorf("statuses %q: %w", k, err))
		}
		if len(phases) > 1 {
			both = append(both, r)
		} else {
			one = append(one, r)
		}
	}
	return append(both, one...), errors.Join(faults...)
}

// parseKey reads the key of an override.
func (t *Table) parseKey(k string) ([]Phase, pdu.Status, error) {
	prefix, number, ok := strings.Cut(k, ":")
	if !ok {
		number = prefix
	}
	status, err := parseStatus(number)
	if err != nil {
		return nil, 0, fmt.Errorf("statuses %q: %w", k, err)
	}
	if !ok {
		if t.Of(Submit, status).Scope == ScopeBind {
			return Phases(), status, nil
		}
		return []Phase{Submit, Nack}, status, nil
	}
	for _, p := range Phases() {
		if prefix == p.String() {
			return []Phase{p}, status, nil
		}
	}
	return nil, 0, fmt.Errorf("statuses %q: phase %q is not known: write submit:, bind: or nack:, or no phase", k, prefix)
}

// faults returns what is wrong with an account's rule.
func (r rule) faults() []error {
	var faults []error
	if r.status == pdu.StatusOK {
		faults = append(faults, errors.New("0x00 is success and cannot mean anything else: remove it"))
	}
	if r.class > Config {
		faults = append(faults, fmt.Errorf("%s does not exist: use ok, throttle, retry, terminal, config or unknown", r.class))
	}
	if slices.Contains(r.phases, Bind) && r.class != Retry && r.class != Config {
		faults = append(faults, fmt.Errorf("class %s has no meaning for a refused bind: use retry (with back-off) or config, or write submit: before the status", r.class))
	}
	if r.hold < 0 || r.hold > MaxHold {
		faults = append(faults, fmt.Errorf("hold %s is out of range: use 0s to %s", r.hold, MaxHold))
	}
	if r.hold > 0 && r.class != Throttle && r.class != Retry {
		faults = append(faults, fmt.Errorf("hold %s has no effect on class %s: only throttle and retry wait", r.hold, r.class))
	}
	return faults
}
