package smpp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"sluice/smpp/pdu"
)

const (
	// writeChunk is the most one write(2) is given, so that a write deadline
	// measures a peer that does not read and not a queue that is long.
	writeChunk = 128 << 10
	// keptBuffer is the largest buffer that is kept for the next batch.
	keptBuffer = 1 << 20
	// maxReplies bounds what may wait for a peer that asks and does not read.
	// Replies are shorter than requests, so a peer that reads as fast as it
	// writes never gets there.
	maxReplies = 1 << 20
)

// outbox collects whole PDUs for the writer, which takes all of them at a time
// and leaves its last buffer in exchange: while one batch is in the kernel the
// next one grows, and its size follows the load.
type outbox struct {
	queued  []byte
	spare   []byte
	replies int    // octets of queued that answer the peer
	writing bool   // somebody has a batch in hand
	begun   []byte // a batch that the reader could not write whole: the writer goes on
	from    int    // octets of begun that are written
	unbegun []byte // what a failed write left, no octet of it written
}

// take hands the queued PDUs to whoever writes them; there is nothing while
// another has a batch in hand.
func (o *outbox) take() []byte {
	if o.writing {
		return nil
	}
	batch := o.queued
	o.queued, o.spare = o.spare[:0], nil
	o.replies = 0
	o.writing = len(batch) > 0
	return batch
}

// resume hands the writer what there is to write: a batch that was begun, from
// the first octet that is not written, or else the queued PDUs.
func (o *outbox) resume() (batch []byte, from int) {
	if o.begun == nil {
		return o.take(), 0
	}
	batch, from = o.begun, o.from
	o.begun = nil
	return batch, from
}

// abandon gives up a batch that was begun and that nobody will go on with.
func (o *outbox) abandon() {
	if o.begun != nil {
		batch, from := o.resume()
		o.written(batch, from)
	}
}

// written takes the buffer of a batch back, of which n octets were written.
func (o *outbox) written(batch []byte, n int) {
	o.writing = false
	if n < len(batch) {
		o.unbegun = append(o.unbegun, batch[nextStart(batch, n):]...)
		return
	}
	if cap(batch) <= keptBuffer {
		o.spare = batch
	}
}

// idle reports whether all that was queued is written.
func (o *outbox) idle() bool { return len(o.queued) == 0 && !o.writing }

// withdraw takes a submit_sm that the writer did not take yet out of the queue.
func (o *outbox) withdraw(sequence uint32) bool {
	for at := 0; at < len(o.queued); {
		p := pduAt(o.queued, at)
		if isSubmit(p) && sequenceOf(p) == sequence {
			o.queued = append(o.queued[:at], o.queued[at+len(p):]...)
			return true
		}
		at += len(p)
	}
	return false
}

// withdrawAll takes every submit_sm that the writer did not take, or that it
// could not begin to write, and returns their sequence numbers.
func (o *outbox) withdrawAll() []uint32 {
	var sequences []uint32
	for at := 0; at < len(o.unbegun); {
		p := pduAt(o.unbegun, at)
		at += len(p)
		if isSubmit(p) {
			sequences = append(sequences, sequenceOf(p))
		}
	}
	o.unbegun = nil
	kept := o.queued[:0]
	for at := 0; at < len(o.queued); {
		p := pduAt(o.queued, at)
		at += len(p)
		if isSubmit(p) {
			sequences = append(sequences, sequenceOf(p))
		} else {
			kept = append(kept, p...)
		}
	}
	o.queued = kept
	return sequences
}

// pduAt returns the PDU that starts at an offset of a buffer of whole PDUs.
func pduAt(b []byte, at int) []byte {
	n := int(binary.BigEndian.Uint32(b[at:]))
	return b[at : at+n]
}

// nextStart returns the offset of the first PDU that starts at n or behind it.
func nextStart(b []byte, n int) int {
	at := 0
	for at < n {
		at += len(pduAt(b, at))
	}
	return at
}

func isSubmit(p []byte) bool {
	return pdu.CommandID(binary.BigEndian.Uint32(p[4:])) == pdu.IDSubmitSM
}

func sequenceOf(p []byte) uint32 { return binary.BigEndian.Uint32(p[pdu.HeaderLen-4:]) }

// queue appends whole PDUs for the writer. The writer is told when the first
// one is queued; it takes the ones behind it along. The caller holds the mutex.
func (s *Session) queue(p []byte) {
	if len(s.out.queued) == 0 && !s.reading {
		signal(s.kick)
	}
	s.out.queued = append(s.out.queued, p...)
}

// queueReplies appends answers to what the peer asked. The caller holds the
// mutex.
func (s *Session) queueReplies(p []byte) {
	if len(p) == 0 || s.state == ended {
		return
	}
	s.queue(p)
	s.out.replies += len(p)
	if s.out.replies > maxReplies {
		s.fail(fmt.Errorf("%w: %d octets of answers wait for it", ErrNotReading, s.out.replies))
	}
}

// ownBatch is what the reader writes itself: what it has just queued behind the
// octets that were there, when it can write without waiting and nobody else is
// writing. So a response turns into the next submit of the backlog without a
// change of goroutines. Else it is left to the writer, which behind a failed write
// will not come. The caller is the reader and holds the mutex.
func (s *Session) ownBatch(there int) []byte {
	switch {
	case len(s.out.queued) <= there:
		return nil
	case s.direct == nil, s.out.writing, s.cause != nil:
		signal(s.kick)
		return nil
	}
	return s.out.take()
}

// writeDirect writes a batch as far as the kernel takes it now, for the reader
// must not wait for a peer that does not read. The writer does the rest.
func (s *Session) writeDirect(batch []byte) {
	n, err := s.direct.try(batch)
	if err == nil && n < len(batch) {
		s.mu.Lock()
		s.out.begun, s.out.from = batch, n
		s.mu.Unlock()
		signal(s.kick)
		return
	}
	s.wrote(batch, n, err)
}

// wrote notes the end of a write.
func (s *Session) wrote(batch []byte, n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.written(batch, n)
	if len(s.out.queued) > 0 {
		signal(s.kick) // it came while this was written
	}
	if s.state != open {
		signal(s.wake) // the keeper waits until all is written
	}
	if err != nil {
		s.lastLook = true
		s.fail(err)
	}
}

// write is the goroutine that writes to the connection, but for what the reader
// writes on the way.
func (s *Session) write() {
	for {
		select {
		case <-s.kick:
		case <-s.stop:
			return
		}
		// Whoever is about to submit may do so first and ride along.
		runtime.Gosched()
		s.mu.Lock()
		batch, from := s.out.resume()
		s.mu.Unlock()
		if len(batch) == 0 {
			continue // all of it was withdrawn, or the reader writes it
		}
		n, err := s.writeBatch(batch, from)
		s.wrote(batch, n, err)
		if err != nil {
			return
		}
	}
}

// writeBatch writes a batch from an offset on, and returns how many of its octets
// the network has taken.
func (s *Session) writeBatch(batch []byte, at int) (int, error) {
	for at < len(batch) {
		if err := s.conn.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout)); err != nil {
			return at, fmt.Errorf("smpp: set write deadline: %w", err)
		}
		n, err := s.conn.Write(batch[at:min(at+writeChunk, len(batch))])
		at += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return at, fmt.Errorf("%w: %d octets were not taken within %v", ErrNotReading, len(batch)-at, s.cfg.WriteTimeout)
		}
		if err != nil {
			return at, fmt.Errorf("smpp: write: %w", err)
		}
	}
	return len(batch), nil
}
