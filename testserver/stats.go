package testserver

import (
	"fmt"
	"maps"
	"time"

	"sluice/smpp/pdu"
)

// Counts are the submits of a server or of one account since it began or was reset.
type Counts struct {
	Submits  uint64 `json:"submits"`
	Accepted uint64 `json:"accepted"`
	// Throttled were refused with 0x58 or 0x14, those included that a limit left unanswered.
	Throttled uint64 `json:"throttled"`
	// Refused were answered with any other status, or with generic_nack.
	Refused uint64 `json:"refused"`
	// Swallowed were never answered: by a fault, or because the session ended first.
	Swallowed uint64 `json:"swallowed"`
	// MaxRate is the highest number of submits in any second, MaxAcceptedRate that of accepted ones.
	MaxRate         uint64 `json:"max_rate"`
	MaxAcceptedRate uint64 `json:"max_accepted_rate"`
	// MaxOutstanding is the highest number of submits that waited for their response at once. A swallowed one counts
	// until its response would have been sent.
	MaxOutstanding int `json:"max_outstanding"`
}

// Stats is what the server has seen since it began or was reset.
type Stats struct {
	Scenario string    `json:"scenario"`
	Since    time.Time `json:"since"`
	Counts
	// Unique counts the delivery keys accepted, Duplicated the submits accepted with a key accepted before.
	Unique     uint64 `json:"unique"`
	Duplicated uint64 `json:"duplicated"`
	// Statuses counts the answers by name, such as "ESME_ROK".
	Statuses map[string]uint64 `json:"statuses"`
	// MaxOutstandingBind is the highest number of submits that waited for their response at once on one bind.
	MaxOutstandingBind int `json:"max_outstanding_bind"`
	// Connections counts the connections, Bound the sessions bound now.
	Connections uint64 `json:"connections"`
	Bound       int    `json:"bound"`
	Binds       uint64 `json:"binds"`
	// BindsRefused counts bind responses with a status, by name, and "silent" and "dropped".
	BindsRefused map[string]uint64 `json:"binds_refused"`
	// Unbinds counts the sessions that the client ended with unbind.
	Unbinds uint64 `json:"unbinds"`
	// Malformed counts PDUs that could not be read, Unknown those of a kind that this SMSC does not know.
	Malformed uint64 `json:"malformed"`
	Unknown   uint64 `json:"unknown"`
	// Deliveries counts deliver_sm and data_sm sent, Acknowledged the responses with status 0, Rejected the others.
	Deliveries   uint64 `json:"deliveries"`
	Acknowledged uint64 `json:"acknowledged"`
	Rejected     uint64 `json:"rejected"`
	// Waiting counts the deliveries for which no session can receive now.
	Waiting int `json:"waiting"`
	// Accounts are the counts by system_id.
	Accounts map[string]Counts `json:"accounts"`
}

// counters is the live form of Counts.
type counters struct {
	counts      Counts
	all, taken  peak
	outstanding int
}

func (c *counters) submit(now int64, status pdu.Status, nack bool) {
	c.counts.Submits++
	c.all.add(now)
	switch {
	case nack:
		c.counts.Refused++
	case status == pdu.StatusOK:
		c.counts.Accepted++
		c.taken.add(now)
	case status == pdu.StatusThrottled || status == pdu.StatusMsgQFull:
		c.counts.Throttled++
	default:
		c.counts.Refused++
	}
	c.outstanding++
	c.counts.MaxOutstanding = max(c.counts.MaxOutstanding, c.outstanding)
}

func (c *counters) snapshot() Counts {
	counts := c.counts
	counts.MaxRate, counts.MaxAcceptedRate = c.all.highest, c.taken.highest
	return counts
}

// reset forgets the counts; what is outstanding stays so.
func (c *counters) reset() {
	*c = counters{outstanding: c.outstanding}
}

// totals is the live form of what Stats has beyond Counts.
type totals struct {
	since              time.Time
	statuses           map[pdu.Status]uint64
	accepted           uint64 // status 0, apart from the map for speed
	maxOutstandingBind int
	connections, binds uint64
	bindsRefused       map[string]uint64
	unbinds            uint64
	malformed, unknown uint64
	deliveries         uint64
	acknowledged       uint64
	rejected           uint64
}

func newTotals(now time.Time) totals {
	return totals{since: now, statuses: map[pdu.Status]uint64{}, bindsRefused: map[string]uint64{}}
}

// Stats returns what the server has seen since it began or was reset.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.totals
	stats := Stats{
		Scenario: s.sc.Name, Since: t.since, Counts: s.counters.snapshot(),
		Unique: s.ledger.unique, Duplicated: s.ledger.duplicated,
		Statuses: map[string]uint64{}, MaxOutstandingBind: t.maxOutstandingBind,
		Connections: t.connections, Binds: t.binds, BindsRefused: map[string]uint64{}, Unbinds: t.unbinds,
		Malformed: t.malformed, Unknown: t.unknown,
		Deliveries: t.deliveries, Acknowledged: t.acknowledged, Rejected: t.rejected, Waiting: len(s.waiting),
		Accounts: map[string]Counts{},
	}
	if t.accepted > 0 {
		stats.Statuses[pdu.StatusOK.String()] = t.accepted
	}
	for status, count := range t.statuses {
		stats.Statuses[status.String()] = count
	}
	maps.Copy(stats.BindsRefused, t.bindsRefused)
	for id, a := range s.accounts {
		stats.Bound += a.bound
		stats.Accounts[id] = a.counters.snapshot()
	}
	return stats
}

// Reset forgets the ledger and the statistics, and starts limits, schedules and rules anew. Sessions stay.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restart()
}

// restart is Reset under the lock.
func (s *Server) restart() {
	sink, fault := s.ledger.sink, s.ledger.sinkFault
	s.ledger = newLedger(s.sc.Ledger)
	s.ledger.sink, s.ledger.sinkFault = sink, fault
	s.epoch++
	s.totals = newTotals(s.now())
	s.counters.reset()
	s.tallies = newTallies(&s.sc)
	s.refusals = refusals{}
	for _, a := range s.accounts {
		a.counters.reset()
		a.ceilings = nil
	}
	for c := range s.sessions {
		c.tallies = newTallies(&s.sc)
	}
	s.renewLimits()
}

// SetLimits replaces the limits of all accounts. Their schedules start with the next submit.
func (s *Server) SetLimits(limits ...Limit) error {
	for i := range limits {
		if err := limits[i].validate(fmt.Sprintf("limits[%d]", i)); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sc.Limits = limits
	s.renewLimits()
	return nil
}

// SetScenario replaces everything but the seed, the ledger's bounds and the form of message ids, and keeps what has
// been counted; sessions stay.
func (s *Server) SetScenario(sc Scenario) error {
	if err := sc.Validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sc.Seed, sc.Ledger, sc.MessageID = s.sc.Seed, s.sc.Ledger, s.sc.MessageID
	s.sc = sc
	s.tallies = newTallies(&s.sc)
	for c := range s.sessions {
		c.tallies = newTallies(&s.sc)
	}
	s.renewLimits()
	return nil
}

// Ceiling is how many submits a second the limits of an account, and those of the whole server, let through now; 0
// before the account's first submit and where no limit has a rate. Limits per bind or per destination do not count.
func (s *Server) Ceiling(systemID string) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[systemID]
	if a == nil || len(a.ceilings) == 0 {
		return 0
	}
	return a.ceilings[len(a.ceilings)-1].limits.Capacity(s.now())
}

// Capacity is how many submits the limits of an account, and those of the whole server, would have let through
// between two moments: what a perfect client could have sent. Time before the account's first submit counts nothing,
// nor do limits per bind or per destination, and a time without any known ceiling.
func (s *Server) Capacity(systemID string, from, to time.Time) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[systemID]
	if a == nil {
		return 0
	}
	return integrate(a.ceilings, from, to)
}
