package testserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"sluice/smpp/pdu"
	"sluice/testserver/limiter"
)

// session is one connection. A reader and a writer serve it; the reader is the goroutine of ServeConn.
type session struct {
	srv    *Server
	conn   net.Conn
	number int
	rnd    *rand.Rand // used under the server's mutex

	box    outbox
	done   chan struct{} // closed with the connection
	fin    chan struct{} // closed when we have said our last word and wait for the peer to close
	closer sync.Once
	heard  atomic.Int64 // when the last octets came, in Unix nanoseconds

	// The reader's own.
	now       time.Time // when the octets at hand came
	batch     []byte    // responses to the PDUs at hand
	submitSM  pdu.SubmitSM
	frame     []byte        // the PDU at hand
	pause     time.Duration // to be made before the next PDU; below 0 for ever
	unwritten int           // submits answered in the batch, and counted as outstanding until it is written
	ending    bool          // a hangup is on its way: nothing more is read

	// Under the server's mutex.
	account     *account // nil until it is bound
	kind        pdu.CommandID
	slot        int             // its place in the account, from 1
	limits      limiter.Limiter // nil when there are none
	tallies     tallies
	submits     uint64
	outstanding int
	lastDue     time.Time // of the newest response, where responses keep their order
	unbound     bool      // the client took its leave
	freed       bool      // it has given back its place in the account
	sequence    uint32    // of the last request of ours
	unacked     map[uint32]*delivery
	probed      time.Time // when the enquire_link was sent that has no answer yet
}

func newSession(s *Server, conn net.Conn, number int) *session {
	return &session{
		srv:     s,
		conn:    conn,
		number:  number,
		rnd:     rand.New(rand.NewPCG(s.sc.Seed, uint64(number))),
		box:     newOutbox(),
		done:    make(chan struct{}),
		fin:     make(chan struct{}),
		tallies: newTallies(&s.sc),
		unacked: map[uint32]*delivery{},
	}
}

// close ends the connection once; RST takes effect on TCP only.
func (c *session) close(how How) {
	c.closer.Do(func() {
		if tcp, ok := c.conn.(interface{ SetLinger(sec int) error }); ok && how == RST {
			_ = tcp.SetLinger(0)
		}
		close(c.done)
		_ = c.conn.Close()
	})
}

func (c *session) closed() bool { return isClosed(c.done) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// lingerTime is how long the peer has to close after our FIN.
const lingerTime = time.Second

// halfClose sends FIN and reports whether the peer's is to be waited for. Closing at once would turn the FIN into a
// reset while octets of the peer are unread.
func (c *session) halfClose() bool {
	conn, ok := c.conn.(interface {
		CloseWrite() error
		SetReadDeadline(at time.Time) error
	})
	if !ok || conn.CloseWrite() != nil || conn.SetReadDeadline(c.srv.now().Add(lingerTime)) != nil {
		return false
	}
	close(c.fin)
	return true
}

// readBuffer is what the reader takes from the connection at once; it holds the longest PDU.
const readBuffer = pdu.DefaultMaxLen

// read handles PDUs until the connection ends. What answers the PDUs of one read is handed to the writer together,
// before the reader waits for more.
func (c *session) read() error {
	defer c.close(FIN)
	in := bufio.NewReaderSize(c.conn, readBuffer)
	for {
		head, err := c.peek(in, 4)
		if isClosed(c.fin) {
			c.drain(in)
			return nil
		}
		if err != nil {
			return c.ended(err, in.Buffered() > 0)
		}
		length, err := pdu.CheckLength(head, pdu.DefaultMaxLen)
		if err != nil {
			return c.reject(in, err)
		}
		if c.frame, err = c.peek(in, length); err != nil {
			return c.ended(err, true)
		}
		c.handle()
		if _, err := in.Discard(length); err != nil {
			return fmt.Errorf("testserver: bind %d: %w", c.number, err)
		}
		if c.ending || c.pause != 0 {
			c.rest()
		}
		if c.ending {
			c.drain(in)
			return nil
		}
	}
}

// drain reads on without looking, until the peer closes or the time to linger is over, where we wait for that.
func (c *session) drain(in io.Reader) {
	if isClosed(c.fin) {
		_, _ = io.Copy(io.Discard, in) // how it ends does not matter any more
	}
}

// peek returns the next n octets. Before it waits for them it flushes.
func (c *session) peek(in *bufio.Reader, n int) ([]byte, error) {
	if in.Buffered() >= n {
		return in.Peek(n)
	}
	c.flush()
	octets, err := in.Peek(n)
	c.now = c.srv.now()
	c.heard.Store(c.now.UnixNano())
	return octets, err
}

// push hands the responses at hand to the writer.
func (c *session) push() {
	if len(c.batch) > 0 {
		c.batch = c.box.write(c.batch)
	}
}

// written ends the submits that are answered in the batch at hand: until then they wait, whoever reads the next PDU.
func (c *session) written() {
	if c.unwritten == 0 {
		return
	}
	c.srv.mu.Lock()
	defer c.srv.mu.Unlock()
	c.uncount(c.unwritten)
	c.unwritten = 0
}

// flush is push, and waits while the writer cannot keep up. It must not be called under the server's mutex, which the
// writer needs.
func (c *session) flush() {
	c.written()
	c.push()
	for c.box.crowded() {
		select {
		case <-c.box.space:
		case <-c.fin:
			return
		case <-c.done:
			return
		}
	}
}

// rest lets time pass, as a fault has ordered.
func (c *session) rest() {
	c.flush()
	var over <-chan time.Time
	if c.pause > 0 && !c.ending {
		timer := time.NewTimer(c.pause)
		defer timer.Stop()
		over = timer.C
	}
	c.pause = 0
	select {
	case <-over:
		c.now = c.srv.now()
	case <-c.fin:
	case <-c.done:
	}
}

// ended is what read returns for an error of the connection.
func (c *session) ended(err error, inside bool) error {
	switch {
	case c.closed():
		return nil
	case errors.Is(err, io.EOF) && inside:
		return fmt.Errorf("testserver: bind %d: the peer closed inside a PDU: %w", c.number, io.ErrUnexpectedEOF)
	case errors.Is(err, io.EOF):
		return nil
	default:
		return fmt.Errorf("testserver: bind %d: %w", c.number, err)
	}
}

// reject answers a stream in which the next PDU cannot be found, and ends it.
func (c *session) reject(in io.Reader, err error) error {
	c.srv.mu.Lock()
	c.srv.totals.malformed++
	c.respond(pdu.StatusInvCmdLen, 0, &pdu.GenericNack{})
	c.srv.mu.Unlock()
	c.push()
	c.hangUp(c.now, FIN)
	c.ending = true
	c.rest()
	c.drain(in)
	return fmt.Errorf("testserver: bind %d: %w", c.number, err)
}

// handle answers the PDU at hand.
func (c *session) handle() {
	head, err := pdu.ParseHeader(c.frame)
	if err != nil { // CheckLength has seen to it that there is a header
		return
	}
	body := c.frame[pdu.HeaderLen:]
	s := c.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.unanswerable(head) {
		return
	}
	switch head.ID {
	case pdu.IDSubmitSM:
		c.submit(head, body)
	case pdu.IDEnquireLink:
		if !s.sc.Link.Deaf {
			c.respond(pdu.StatusOK, head.Sequence, &pdu.EnquireLinkResp{})
		}
	case pdu.IDDeliverSMResp, pdu.IDDataSMResp:
		c.acknowledged(head)
	case pdu.IDBindTransceiver, pdu.IDBindTransmitter, pdu.IDBindReceiver:
		c.bind(head, body)
	case pdu.IDUnbind:
		c.leave(head)
	case pdu.IDUnbindResp:
		c.unbound = true
		c.hangUp(c.now, FIN)
	case pdu.IDGenericNack:
		c.acknowledged(head)
	case pdu.IDQuerySM, pdu.IDCancelSM, pdu.IDReplaceSM, pdu.IDSubmitMulti, pdu.IDDataSM:
		// Known, and not offered by this SMSC.
		s.totals.unknown++
		c.batch = pdu.Header{
			Length: pdu.HeaderLen, ID: head.ID.Response(), Status: pdu.StatusInvCmdID, Sequence: head.Sequence,
		}.Append(c.batch)
	default:
		if head.ID.IsResponse() {
			return
		}
		s.totals.unknown++
		c.respond(pdu.StatusInvCmdID, head.Sequence, &pdu.GenericNack{})
	}
}

// unanswerable refuses a bind and an enquire_link whose sequence number no response can echo (SMPP 3.4 section 3.2: 1 to
// 0x7FFFFFFF) with generic_nack, and does nothing else about it.
func (c *session) unanswerable(head pdu.Header) bool {
	if head.Sequence > 0 && head.Sequence <= pdu.MaxSequence {
		return false
	}
	switch head.ID {
	case pdu.IDBindTransceiver, pdu.IDBindTransmitter, pdu.IDBindReceiver:
		c.srv.totals.bindsRefused[pdu.StatusUnknownErr.String()]++
	case pdu.IDEnquireLink:
	default:
		return false
	}
	c.srv.totals.malformed++
	c.respond(pdu.StatusUnknownErr, 0, &pdu.GenericNack{})
	return true
}

// respond puts a response behind those at hand. Its fields are ours and fit, but for the sequence number, which is
// the peer's: one that cannot be echoed is left out.
func (c *session) respond(status pdu.Status, sequence uint32, body pdu.Body) {
	if sequence > pdu.MaxSequence {
		sequence = 0
	}
	if sequence == 0 {
		body = &pdu.GenericNack{}
	}
	batch, err := pdu.Append(c.batch, status, sequence, body)
	if err == nil {
		c.batch = batch
	}
}

// leave answers unbind, behind the responses that are still to come, and ends the connection.
func (c *session) leave(head pdu.Header) {
	c.srv.totals.unbinds++
	c.unbound = true
	c.srv.free(c)
	due := c.now
	if c.lastDue.After(due) {
		due = c.lastDue
	}
	c.push()
	response := pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDUnbindResp, Sequence: head.Sequence}
	c.box.put(item{due: due, special: &special{raw: response.Append(nil)}})
	c.hangUp(due, FIN)
	c.ending = true
}

// hangUp ends the connection at a moment, behind all that is due until then.
func (c *session) hangUp(due time.Time, how How) {
	c.box.put(item{due: due, special: &special{hangup: how}})
}

// unbindTimeout is how long the SMSC waits for the response to its own unbind.
const unbindTimeout = 5 * time.Second

// sendUnbind takes leave of the client.
func (c *session) sendUnbind(due time.Time) {
	unbind := pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDUnbind, Sequence: c.nextSequence()}
	c.box.put(item{due: due, special: &special{raw: unbind.Append(nil)}})
	c.hangUp(due.Add(unbindTimeout), FIN)
}

func (c *session) nextSequence() uint32 {
	c.sequence = c.sequence%pdu.MaxSequence + 1
	return c.sequence
}
