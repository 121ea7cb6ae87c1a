package classify

import "slices"

// EscalatePairs and EscalateTenants say how widely a run of field-shape answers must be spread before it is held
// against the route instead of the messages.
const (
	EscalatePairs   = 5 // different (from, to) pairs
	EscalateTenants = 2 // different tenants, where messages name them
)

// Escalation watches one account for a run of field-shape answers with no accepted message between: one bad message
// must not stop a route, and a bad route must not burn a queue. It is a value; the zero value has seen nothing.
type Escalation struct {
	pairs        [EscalatePairs]uint64 // fingerprints of the pairs seen in this run: no address is kept
	seen         int                   // how many of pairs are filled
	tenant       uint64                // fingerprint of the first tenant of this run
	otherTenants bool                  // another tenant was seen after it
	namesTenants bool                  // a message of this run named its tenant
}

// Observe returns the state after one answer to a message, and whether the account must now be treated as class
// Config. Only an accepted message ends a run; answers that are neither accepted nor about a field's shape say
// nothing either way. After an escalation the returned state has seen nothing.
func (e Escalation) Observe(v Verdict, from, to, tenant string) (next Escalation, escalate bool) {
	switch {
	case v.Class == OK:
		return Escalation{}, false
	case !v.Shape:
		return e, false
	}
	e.addTenant(tenant)
	e.addPair(fingerprint(from, to))
	if e.seen < EscalatePairs || e.namesTenants && !e.otherTenants {
		return e, false
	}
	return Escalation{}, true
}

// Pairs returns how many different (from, to) pairs the present run holds, at most EscalatePairs.
func (e Escalation) Pairs() int { return e.seen }

// addTenant notes the tenant of a message; a message without one counts as a tenant of its own.
func (e *Escalation) addTenant(tenant string) {
	f := fingerprint(tenant, "")
	if e.seen == 0 {
		e.tenant = f
	}
	e.otherTenants = e.otherTenants || f != e.tenant
	e.namesTenants = e.namesTenants || tenant != ""
}

// addPair notes a pair that the run does not hold yet.
func (e *Escalation) addPair(f uint64) {
	if e.seen < len(e.pairs) && !slices.Contains(e.pairs[:e.seen], f) {
		e.pairs[e.seen] = f
		e.seen++
	}
}

// fingerprint is FNV-1a over both strings with a zero octet between them, which no address holds.
func fingerprint(a, b string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(a) {
		h = (h ^ uint64(a[i])) * prime
	}
	h *= prime
	for i := range len(b) {
		h = (h ^ uint64(b[i])) * prime
	}
	return h
}
