// Package smpp runs SMPP 3.4 sessions of an ESME: it binds on a connection,
// submits, answers what the SMSC asks, and says exactly what became of every
// submit when the session ends.
//
// A Session takes one net.Conn and never reconnects; whoever owns it dials,
// binds and backs off. Inside, one mutex guards the state, and each kind of
// waiting has its own goroutine: the reader cuts the stream into PDUs and
// matches responses, the writer puts what is queued on the wire, and the keeper
// watches the deadlines and alone takes the session down. What its responses make
// room for the reader writes itself, as far as that needs no waiting. User code
// runs on goroutines of its own, so that a slow handler delays neither a response
// nor an enquire_link.
package smpp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"sluice/smpp/pdu"
)

// state is where a session is in its life. It only ever moves down this list.
type state uint8

const (
	open      state = iota // takes submits
	closing                // Close was called: what is in flight may finish
	unbinding              // our unbind is on its way
	unbound                // the peer unbound: what is in flight may finish
	ended                  // being taken down: nothing is queued any more
)

// Session is one bind. Its methods may be called from any goroutine.
type Session struct {
	cfg   Config
	conn  net.Conn
	began time.Time
	peer  peer

	waiters sync.Pool     // of *waiter
	inbox   chan *Inbound // filled by the reader alone
	kick    chan struct{} // tells the writer that something is queued
	wake    chan struct{} // tells the keeper to look again
	dig     chan struct{} // tells the late goroutine that something is in late
	stop    chan struct{} // closed when the writer has to end
	done    chan struct{} // closed when all submits are answered
	joined  chan struct{} // closed when the last goroutine has ended

	reader   sync.WaitGroup
	writer   sync.WaitGroup
	handlers sync.WaitGroup

	heard atomic.Int64 // when the last whole PDU came, in ns since began
	begun atomic.Int64 // when a PDU came in part whose rest is missing; 0: there is none
	looks atomic.Int64 // when the keeper looks next
	held  atomic.Int64 // inbound messages queued or being handled
	size  atomic.Int64 // octets of these

	direct     *direct // for the reader alone; nil when it has to leave all writing to the writer
	errTimeout error   // what an expired submit returns

	mu       sync.Mutex
	state    state
	cause    error // why the session ends; the first one stays
	requests *inflight
	graves   *graveyard
	echoes   echoes
	out      outbox
	reading  bool // the reader is settling, and looks at out before it is done
	backlog  backlog
	finished []*waiter     // of SubmitFunc, with their outcomes
	told     chan struct{} // tells the goroutine that tells of finished; nil before the first
	late     []LateResponse
	room     chan struct{} // closed and replaced when a full table gets room
	crowded  int           // submits that wait for room
	probe    prober
	unbind   uint32        // sequence number of our unbind, 0 before it
	deadline time.Duration // when closing, unbinding or unbound goes on anyway
	hurry    bool          // Close no longer waits for what is in flight
	lastLook bool          // a write failed: read what the peer sent before
	counts   counts
}

// peer is what the SMSC said about itself in its bind_resp.
type peer struct {
	systemID string
	version  uint8
}

// counts are the totals of a session.
type counts struct {
	submitted, answered, expired, late, unmatched uint64
	inbound, refused                              uint64
	lastStatus                                    pdu.Status
	silence                                       silence
}

// silence is a run of submits that expired with no answer to any other in between.
type silence struct {
	submits int
	since   time.Duration // when the first of them was sent
}

// newSession starts the goroutines of a session on a bound connection. The
// framer may hold octets that came behind the bind_resp.
func newSession(conn net.Conn, cfg Config, p peer, f *framer, requests *inflight) *Session {
	s := &Session{
		cfg:      cfg,
		conn:     conn,
		began:    time.Now(),
		peer:     p,
		waiters:  sync.Pool{New: func() any { return &waiter{answered: make(chan struct{}, 1)} }},
		inbox:    make(chan *Inbound, cfg.InboundQueue),
		kick:     make(chan struct{}, 1),
		wake:     make(chan struct{}, 1),
		dig:      make(chan struct{}, 1),
		stop:     make(chan struct{}),
		done:     make(chan struct{}),
		joined:   make(chan struct{}),
		requests: requests,
		direct:   newDirect(conn),
		graves:   newGraveyard(cfg.Tombstones, maxTombstones),
		room:     make(chan struct{}),
		probe:    prober{interval: cfg.EnquireLinkInterval, timeout: cfg.EnquireLinkTimeout},
	}
	s.errTimeout = fmt.Errorf("%w, which is %v", ErrTimeout, cfg.ResponseTimeout)
	ctx, cancel := context.WithCancel(context.Background())
	if cfg.Handler != nil {
		s.handlers.Go(func() { s.handleInbound(ctx) })
		s.handlers.Go(func() { s.handleLate(ctx) })
	}
	s.reader.Go(func() { s.read(f) })
	s.writer.Go(s.write)
	go s.keep(cancel)
	return s
}

// now is the time since the session began.
func (s *Session) now() time.Duration { return time.Since(s.began) }

// signal wakes the one goroutine that listens on c, now or as soon as it
// listens again.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// fail notes why the session has to end; the keeper does the rest. The caller
// holds the mutex.
func (s *Session) fail(cause error) {
	if s.cause == nil {
		s.cause = cause
	}
	signal(s.wake)
}

// advance moves the session to a later state. Submits that wait for room learn
// of it, for only an open session takes them. The caller holds the mutex.
func (s *Session) advance(to state) {
	if to <= s.state {
		return
	}
	s.state = to
	s.dropBacklog()
	s.makeRoom()
}

// makeRoom fills the table from the backlog, and lets submits that found no room
// look again. The caller holds the mutex.
func (s *Session) makeRoom() {
	s.refill()
	if s.crowded > 0 {
		close(s.room)
		s.room = make(chan struct{})
	}
}

// Done is closed when the session has ended: its connection is closed and every
// submit has its answer.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns nil while the session lives, and then why it ended: ErrClosed,
// ErrUnbound, ErrSilent, ErrNotReading, ErrHungUp, a *pdu.LengthError (what the
// peer sent is not SMPP) or an error of the network, each with its particulars.
func (s *Session) Err() error {
	select {
	case <-s.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.cause
	default:
		return nil
	}
}

// Close ends the session in good order: no new submits, a wait for what is in
// flight and for the handler, unbind, a wait for unbind_resp, and the
// connection is closed (SMPP 3.4 section 4.2). It returns when every goroutine
// of the session has ended.
//
// ctx bounds the wait for what is in flight, as ResponseTimeout does in any
// case; the unbind that follows is bounded by UnbindTimeout. Submits without an
// answer by then return ErrNoResponse or ErrNotSent.
//
// Close returns nil after an orderly end and otherwise what Err returns; an
// error of its own says that Handler.Deliver, Handler.Late or the callback of a
// SubmitFunc ignores the end of the session. It may be called again, and after the session ended by itself,
// to wait for its goroutines. Handlers and callbacks must not
// call it.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.state == open {
		s.advance(closing)
		s.deadline = s.now() + s.cfg.ResponseTimeout
	}
	s.mu.Unlock()
	signal(s.wake)

	select {
	case <-s.done:
	case <-ctx.Done():
		s.mu.Lock()
		s.hurry = true
		s.mu.Unlock()
		signal(s.wake)
		<-s.done
	}

	patience := time.NewTimer(s.cfg.UnbindTimeout)
	defer patience.Stop()
	select {
	case <-s.joined:
	case <-patience.C:
		return fmt.Errorf("%w, but its handler still runs %v after the end of its context", ErrClosed, s.cfg.UnbindTimeout)
	}
	if err := s.Err(); !orderly(err) {
		return err
	}
	return nil
}

// orderly reports whether a session ended by Close with nothing left over.
func orderly(cause error) bool {
	return errors.Is(cause, ErrClosed) && errors.Unwrap(cause) == nil
}
