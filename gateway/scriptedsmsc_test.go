package gateway

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/smpp/pdu"
)

// scriptedSMSC answers every submit_sm as the test says, and sends what the test gives it: for ids and octets that
// the fake SMSC does not make.
type scriptedSMSC struct {
	addr   string
	answer func(sm *pdu.SubmitSM) (messageID string, silent bool)
	// version is the sc_interface_version of bind_resp, 0 for none; refuse is asked before answer. Options set them.
	version uint8
	refuse  func(sm *pdu.SubmitSM) pdu.Status

	mu      sync.Mutex
	open    []net.Conn // that were accepted
	conns   []net.Conn // that were bound, and know it
	binds   []pdu.Bind
	submits []submit
	next    uint32
	acks    chan pdu.Header // responses to what was delivered
}

// submit is one submit_sm and where it came from.
type submit struct {
	pdu.SubmitSM
	conn     net.Conn
	sequence uint32
}

// newScripted is an SMSC that serve lets speak. It announces SMPP 3.4 and refuses nothing, unless options say so.
func newScripted(answer func(sm *pdu.SubmitSM) (messageID string, silent bool), options ...func(*scriptedSMSC)) *scriptedSMSC {
	s := &scriptedSMSC{
		answer: answer, version: 0x34, refuse: func(*pdu.SubmitSM) pdu.Status { return pdu.StatusOK },
		acks: make(chan pdu.Header, 1000),
	}
	for _, o := range options {
		o(s)
	}
	return s
}

// startScripted serves on loopback until the test ends.
func startScripted(
	t *testing.T, answer func(sm *pdu.SubmitSM) (messageID string, silent bool), options ...func(*scriptedSMSC),
) *scriptedSMSC {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newScripted(answer, options...)
	s.addr = listener.Addr().String()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.open = append(s.open, conn)
			s.mu.Unlock()
			serving.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.mu.Lock()
		for _, conn := range s.open {
			_ = conn.Close()
		}
		s.mu.Unlock()
		serving.Wait()
	})
	return s
}

// serve answers one connection until it ends.
func (s *scriptedSMSC) serve(conn net.Conn) {
	defer conn.Close()
	for {
		frame := make([]byte, 4, 512)
		if _, err := io.ReadFull(conn, frame); err != nil {
			return
		}
		frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame)-4)...)
		if _, err := io.ReadFull(conn, frame[4:]); err != nil {
			return
		}
		h, body, err := pdu.Parse(frame)
		if err != nil {
			return
		}
		var reply pdu.Body
		switch b := body.(type) {
		case *pdu.Bind:
			resp := &pdu.BindResp{Command: h.ID.Response(), SystemID: "scripted"}
			if s.version != 0 {
				resp.TLVs = pdu.TLVs{pdu.Uint8TLV(pdu.TagSCInterfaceVersion, s.version)}
			}
			s.send(conn, resp, h.Sequence)
			s.mu.Lock()
			s.conns, s.binds = append(s.conns, conn), append(s.binds, *b)
			s.mu.Unlock()
		case *pdu.EnquireLink:
			reply = &pdu.EnquireLinkResp{}
		case *pdu.Unbind:
			reply = &pdu.UnbindResp{}
		case *pdu.SubmitSM:
			s.mu.Lock()
			s.submits = append(s.submits, submit{*b, conn, h.Sequence})
			s.mu.Unlock()
			if status := s.refuse(b); status != pdu.StatusOK {
				s.sendStatus(conn, status, &pdu.SubmitSMResp{}, h.Sequence)
			} else if id, silent := s.answer(b); !silent {
				reply = &pdu.SubmitSMResp{MessageID: []byte(id)}
			}
		default:
			s.acks <- h
		}
		if reply != nil {
			s.send(conn, reply, h.Sequence)
		}
	}
}

func (s *scriptedSMSC) send(conn net.Conn, body pdu.Body, sequence uint32) {
	s.sendStatus(conn, pdu.StatusOK, body, sequence)
}

func (s *scriptedSMSC) sendStatus(conn net.Conn, status pdu.Status, body pdu.Body, sequence uint32) {
	octets, err := pdu.Append(nil, status, sequence, body)
	if err != nil {
		panic(err) // the test's own PDU
	}
	_, _ = conn.Write(octets) // a peer that is gone has ended the test already
}

// deliver sends a request on the newest bind, and extra octets at the end of it, and returns its sequence number.
func (s *scriptedSMSC) deliver(t *testing.T, body pdu.Body, extra ...byte) uint32 {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	octets, err := pdu.Append(nil, pdu.StatusOK, s.next, body)
	if err != nil {
		t.Fatal(err)
	}
	octets = append(octets, extra...)
	binary.BigEndian.PutUint32(octets, uint32(len(octets)))
	if _, err := s.conns[len(s.conns)-1].Write(octets); err != nil {
		t.Fatal(err)
	}
	return s.next
}

// acked waits for the responses to n deliveries and returns them.
func (s *scriptedSMSC) acked(t *testing.T, n int) (acks []pdu.Header) {
	t.Helper()
	for range n {
		select {
		case h := <-s.acks:
			acks = append(acks, h)
		case <-time.After(patience):
			t.Fatalf("%d of %d deliveries were answered", len(acks), n)
		}
	}
	return acks
}

// seen returns the submits so far.
func (s *scriptedSMSC) seen() []submit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.submits)
}

// awaitSeen waits for the n-th submit.
func (s *scriptedSMSC) awaitSeen(t *testing.T, n int) submit {
	t.Helper()
	await(t, "submits", func() bool { return len(s.seen()) >= n })
	return s.seen()[n-1]
}

func silentSMSC(*pdu.SubmitSM) (string, bool) { return "", true }

// answerLate answers a submit that got no answer.
func (s *scriptedSMSC) answerLate(to submit, messageID string) {
	s.send(to.conn, &pdu.SubmitSMResp{MessageID: []byte(messageID)}, to.sequence)
}
