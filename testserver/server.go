// Package testserver is a fake SMSC: an SMPP server whose limits, latency, errors, faults and receipts are described
// by a Scenario, and that remembers every submit_sm in a ledger to assert on.
//
// It serves a listener or a single net.Conn. All time goes through package time, so that a server works in a
// testing/synctest bubble over net.Pipe (whose two ends need a goroutine for reading and one for writing, since the
// pipe holds nothing). Random choices come from the scenario's seed: the nth session draws from the nth source.
package testserver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"sluice/smpp/pdu"
	"sluice/testserver/limiter"
)

// Server is a fake SMSC. All methods may be called at any time from any goroutine.
type Server struct {
	invalid error // what is wrong with the scenario

	mu       sync.Mutex // guards all below, and the state of sessions where it is said there
	sc       Scenario
	rnd      *rand.Rand
	accounts map[string]*account
	sessions map[*session]struct{}
	limits   []limiter.Limiter // of the whole server
	tallies  tallies
	refusals refusals
	ledger   ledger
	epoch    uint64 // of the ledger: counts the resets
	counters counters
	totals   totals
	lastBind int
	lastID   uint64
	latest   time.Time   // of all arrivals: limits take no time that runs backwards
	waiting  []*delivery // for an account that nobody is bound to
}

// account is what all sessions of one system_id share. It is guarded by the server's mutex.
type account struct {
	systemID     string
	bound        int
	slots        []bool      // which of them are taken by a session
	lockedUntil  time.Time   // before that no bind is accepted
	ghosts       []time.Time // when each session that ended without unbind stops counting
	limits       []limiter.Limiter
	destinations []*destinationQueues
	counters     counters
	ceilings     []ceiling
	started      bool // the newest ceiling has begun
}

// New returns a server for a scenario. A scenario that Validate refuses is reported by Serve and ServeConn.
func New(sc Scenario) *Server {
	s := &Server{
		invalid:  sc.Validate(),
		sc:       sc,
		rnd:      rand.New(rand.NewPCG(sc.Seed, 0)),
		accounts: map[string]*account{},
		sessions: map[*session]struct{}{},
		lastID:   max(sc.MessageID.First, 1) - 1,
	}
	if s.invalid == nil {
		s.restart()
	}
	return s
}

func (s *Server) now() time.Time { return time.Now() }

// Serve takes connections from the listener until ctx ends, then closes the listener and all connections and returns
// nil once they are gone. Any other end is an error.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	if s.invalid != nil {
		return s.invalid
	}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	var sessions sync.WaitGroup
	defer sessions.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("testserver: accept: %w", err)
		}
		sessions.Go(func() { _ = s.ServeConn(ctx, conn) })
	}
}

// ServeConn serves one connection and closes it. It returns nil when the session ended in order (by unbind, by the
// peer's close between two PDUs, by ctx or by this server's own will), otherwise what ended it.
func (s *Server) ServeConn(ctx context.Context, conn net.Conn) error {
	if s.invalid != nil {
		return errors.Join(s.invalid, conn.Close())
	}
	c := s.open(conn)
	stop := context.AfterFunc(ctx, func() { c.close(FIN) })
	defer stop()
	var writer sync.WaitGroup
	writer.Go(c.write)
	err := c.read()
	writer.Wait()
	s.leave(c)
	return err
}

// open registers a connection.
func (s *Server) open(conn net.Conn) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastBind++
	s.totals.connections++
	c := newSession(s, conn, s.lastBind)
	s.sessions[c] = struct{}{}
	return c
}

// leave forgets a session: what it had not answered stays so, what it had not delivered goes to others.
func (s *Server) leave(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, c)
	s.free(c)
	if c.unwritten > 0 {
		c.uncount(c.unwritten)
		c.unwritten = 0
	}
	now := s.now()
	for _, it := range c.box.drain() {
		if it.settles != 0 {
			c.conclude(now, &it)
			if !it.silent {
				c.swallowed()
			}
		}
		if it.special != nil && it.special.delivery != nil {
			s.deliverAt(it.due, it.special.delivery)
		}
	}
	if s.sc.Receipts.Redeliver > 0 {
		for _, d := range c.inOrder() {
			s.deliverAt(now, d)
		}
	}
}

// free gives back the place of a session in its account, once. It comes before the connection is closed, so that a
// client that binds again at once finds it free.
func (s *Server) free(c *session) {
	if c.account == nil || c.freed {
		return
	}
	c.freed = true
	c.account.bound--
	c.account.slots[c.slot-1] = false
	if s.sc.Bind.Ghost > 0 && !c.unbound {
		c.account.ghosts = append(c.account.ghosts, s.now().Add(s.sc.Bind.Ghost))
	}
}

// account returns the account of a system_id and makes it at its first use.
func (s *Server) account(systemID string) *account {
	a := s.accounts[systemID]
	if a == nil {
		a = &account{systemID: systemID}
		s.accounts[systemID] = a
		s.renewAccount(a)
	}
	return a
}

// renewLimits builds all limits anew after they or the scenario changed.
func (s *Server) renewLimits() {
	s.limits = buildAll(s.sc.Limits, PerServer, "", 0, s.rnd)
	for _, a := range s.accounts {
		s.renewAccount(a)
	}
	for c := range s.sessions {
		if c.account != nil {
			c.limits = s.limitsOf(c)
		}
	}
}

func (s *Server) renewAccount(a *account) {
	a.limits = buildAll(s.sc.Limits, PerAccount, a.systemID, 0, s.rnd)
	a.destinations = buildDestinations(s.sc.Limits, a.systemID)
	a.started = false
}

// limitsOf is what a session has to pass: nil when there is no limit.
func (s *Server) limitsOf(c *session) limiter.Limiter {
	limits := append([]limiter.Limiter{}, s.limits...)
	limits = append(limits, c.account.limits...)
	limits = append(limits, buildAll(s.sc.Limits, PerBind, c.account.systemID, c.slot, c.rnd)...)
	switch len(limits) {
	case 0:
		return nil
	case 1:
		return limits[0]
	default:
		return limiter.All(limits...)
	}
}

// begin notes the moment from which the account's present limits count.
func (s *Server) begin(a *account, now time.Time) {
	a.started = true
	limits := buildAll(s.sc.Limits, PerServer, "", 0, s.rnd)
	limits = append(limits, buildAll(s.sc.Limits, PerAccount, a.systemID, 0, s.rnd)...)
	a.ceilings = append(a.ceilings, ceiling{from: now, limits: limiter.All(limits...)})
}

// BindInfo is one session.
type BindInfo struct {
	// Bind is its number, from 1 in the order of the connections.
	Bind     int    `json:"bind"`
	SystemID string `json:"system_id"` // "" before it is bound
	// Command is the bind it asked for, such as "bind_transceiver".
	Command string `json:"command"`
	Remote  string `json:"remote"`
	// Submits counts its submits, Outstanding those without a response yet.
	Submits     uint64 `json:"submits"`
	Outstanding int    `json:"outstanding"`
}

// Binds lists the open sessions in the order of their numbers.
func (s *Server) Binds() []BindInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	binds := []BindInfo{}
	for _, c := range s.ordered() {
		info := BindInfo{Bind: c.number, Submits: c.submits, Outstanding: c.outstanding}
		if addr := c.conn.RemoteAddr(); addr != nil {
			info.Remote = addr.String()
		}
		if c.account != nil {
			info.SystemID, info.Command = c.account.systemID, c.kind.String()
		}
		binds = append(binds, info)
	}
	return binds
}

// Disconnect ends the session of a bind number, or all sessions for 0. It returns how many it ended.
func (s *Server) Disconnect(bind int, how How) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := 0
	for _, c := range s.ordered() {
		if bind != 0 && c.number != bind {
			continue
		}
		ended++
		if how == Unbind {
			c.sendUnbind(s.now())
		} else {
			c.hangUp(s.now(), how)
		}
	}
	return ended
}

// DefaultSystemID is the name of the SMSC in bind responses when the scenario names none.
const DefaultSystemID = "fakesmsc"

func (s *Server) systemID() string {
	if s.sc.SystemID == "" {
		return DefaultSystemID
	}
	return s.sc.SystemID
}

// receives reports whether a session of this kind takes deliver_sm.
func receives(kind pdu.CommandID) bool {
	return kind == pdu.IDBindReceiver || kind == pdu.IDBindTransceiver
}
