package testserver

import (
	"bytes"
	"math/rand/v2"
)

// Match selects submits. All conditions that are set must hold; none at all match every submit.
type Match struct {
	To     string `yaml:"to"`     // the whole destination address
	Prefix string `yaml:"prefix"` // its beginning
	Suffix string `yaml:"suffix"` // its end
	// Nth fires at the nth submit to such a destination, Every at each nth.
	Nth   uint64 `yaml:"nth"`
	Every uint64 `yaml:"every"`
	// Share fires with this probability; 0 is always.
	Share Share `yaml:"share"`
	// Times ends the rule after it fired so often; 0 is no end.
	Times uint64 `yaml:"times"`
	// PerBind has Nth, Every and Times count each bind by itself.
	PerBind bool `yaml:"per_bind"`
}

// tally is what a rule has counted.
type tally struct {
	seen  uint64 // submits to such a destination
	fired uint64
}

// fires counts one submit and reports whether the rule is about it.
func (m *Match) fires(t *tally, destination []byte, rnd *rand.Rand) bool {
	if m.To != "" && string(destination) != m.To ||
		len(destination) < len(m.Prefix) || string(destination[:len(m.Prefix)]) != m.Prefix ||
		m.Suffix != "" && !bytes.HasSuffix(destination, []byte(m.Suffix)) {
		return false
	}
	t.seen++
	if m.Times > 0 && t.fired >= m.Times ||
		m.Nth > 0 && t.seen != m.Nth ||
		m.Every > 0 && t.seen%m.Every != 0 ||
		m.Share > 0 && rnd.Float64() >= float64(m.Share) {
		return false
	}
	t.fired++
	return true
}

// tallies are the counts of all rules of a scenario, of one bind or of all binds together.
type tallies struct {
	errors   []tally
	faults   []tally
	receipts []tally
}

func newTallies(sc *Scenario) tallies {
	return tallies{
		errors:   make([]tally, len(sc.Errors)),
		faults:   make([]tally, len(sc.Faults)),
		receipts: make([]tally, len(sc.Receipts.Rules)),
	}
}

// pick is the count that a rule goes by.
func (m *Match) pick(shared, own *tally) *tally {
	if m.PerBind {
		return own
	}
	return shared
}
