package smpp

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

// The tests of this file and of field_pdu_test.go are named after public bug
// reports of other SMPP software: what went wrong there must not go wrong here.
// This file has those about the link and the life of a session.

// F02: no reply in time; the message was neither retried nor reported.
func TestF02SwallowedSubmitHasOneVerdict(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		c := submit(t.Context(), s, nil)
		if seq := p.submits(1)[0]; seq != 2 {
			t.Fatalf("sequence %d, want 2", seq)
		}
		time.Sleep(7 * time.Second)
		_ = p.conn.Close()
		r := <-c
		wantError(t, r, ErrNoResponse)
		wantError(t, r, ErrHungUp)
		wantEnd(t, s, ErrHungUp)
		if n := s.Stats().InFlight; n != 0 {
			t.Fatalf("%d in flight after the end", n)
		}
	})
}

// brokenConn fails its writes once told to, as a socket that died between the
// grant of a slot and the write.
type brokenConn struct {
	net.Conn
	broken chan struct{}
}

func (c brokenConn) Write(b []byte) (int, error) {
	select {
	case <-c.broken:
		return 0, errors.New("broken pipe")
	default:
		return c.Conn.Write(b)
	}
}

// F09: the window showed room, the socket was closed, the message was lost
// between the slot and the write.
func TestF09FailedWriteGivesSlotAndMessageBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		p := newScript(t, far)
		conn := brokenConn{near, make(chan struct{})}
		go func() {
			h := p.next()
			p.sendPDU(0, h.Sequence, &pdu.BindResp{Command: h.ID.Response()})
		}()
		s, err := Bind(t.Context(), conn, testConfig())
		if err != nil {
			t.Fatal(err)
		}
		close(conn.broken)
		_, err = s.Submit(t.Context(), message(), nil)
		if !errors.Is(err, ErrNotSent) {
			t.Fatalf("Submit returned %v, want ErrNotSent", err)
		}
		<-s.Done()
		if st := s.Stats(); st.InFlight != 0 || st.Tombstones != 0 {
			t.Fatalf("stats %+v, want nothing in flight", st)
		}
	})
}

// F12: the first PDU used sequence number 0.
func TestF12BindIsSequenceOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		p := newScript(t, far)
		go func() { _, _ = Bind(t.Context(), near, testConfig()) }()
		p.expectHex("00000023" + "00000009" + "00000000" + "00000001" +
			"736c7569636500" + "73656372657400" + "00" + "34" + "0000" + "00")
	})
}

// F18: the client dropped TCP without unbind, and the next bind was 0x05.
func TestF18StopDrainsThenUnbinds(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		cs := submitInOrder(t.Context(), s, 3)
		closed := make(chan error, 1)
		go func() { closed <- s.Close(t.Context()) }()
		for i, seq := range p.submits(3) {
			time.Sleep(time.Second)
			p.answer(seq, "A")
			wantAccepted(t, <-cs[i], "A")
		}
		p.expectHex("00000010000000060000000000000005")
		p.sendHex("00000010800000060000000000000005")
		p.expectClosed()
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
	})
}

// F19: unbind from the SMSC was ignored, or the session stayed half closed for
// days.
func TestF19UnbindOfTheSMSC(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		cs := submitInOrder(t.Context(), s, 2)
		seqs := p.submits(2)
		start := time.Now()
		p.sendHex("00000010000000060000000000000009")
		p.expectHex("00000010800000060000000000000009")
		_, err := s.Submit(t.Context(), message(), nil)
		if !errors.Is(err, ErrNotSent) || !errors.Is(err, ErrUnbound) {
			t.Fatalf("Submit after the unbind returned %v, want ErrNotSent and ErrUnbound", err)
		}
		p.answer(seqs[0], "A")
		wantAccepted(t, <-cs[0], "A")
		wantError(t, <-cs[1], ErrNoResponse)
		p.expectClosed()
		wantEnd(t, s, ErrUnbound)
		if d := time.Since(start); d != 5*time.Second {
			t.Fatalf("the session ended %v after the unbind, want UnbindTimeout", d)
		}
	})
}

func TestF19UnbindEndsAtOnceWhenNothingIsInFlight(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		start := time.Now()
		p.sendHex("00000010000000060000000000000009")
		p.expectHex("00000010800000060000000000000009")
		p.expectClosed()
		wantEnd(t, s, ErrUnbound)
		if d := time.Since(start); d != 0 {
			t.Fatalf("the session ended %v after the unbind, want at once", d)
		}
	})
}

func TestF19UnbindWithdrawsWhatWasNotWritten(t *testing.T) {
	bubbleStalled(t, testConfig(), func(t *testing.T, s *Session, p *stalled) {
		stuck := submit(t.Context(), s, nil)
		synctest.Wait()
		queued := submit(t.Context(), s, nil)
		synctest.Wait()
		go func() { _, _ = p.conn.Write(octets(t, "00000010000000060000000000000009")) }()
		r := <-queued
		wantError(t, r, ErrNotSent)
		wantError(t, r, ErrUnbound)
		q := p.resume(t)
		q.answer(q.submits(1)[0], "A")
		wantAccepted(t, <-stuck, "A")
		q.expect(pdu.IDUnbindResp, 0, 9)
		q.expectClosed()
	})
}

// F37: a dead link was not seen; or enquire_link went out each second without
// a look at the replies.
func TestF37DeadLinkEndsAfterIntervalAndTimeout(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		start := time.Now()
		c := submit(t.Context(), s, nil)
		p.submits(1)
		p.expect(pdu.IDEnquireLink, 0, 3)
		if d := time.Since(start); d != 30*time.Second {
			t.Fatalf("the probe came after %v, want 30s", d)
		}
		wantError(t, <-c, ErrNoResponse)
		wantEnd(t, s, ErrSilent)
		if d := time.Since(start); d != 40*time.Second {
			t.Fatalf("the session ended after %v, want 40s", d)
		}
		p.expectClosed()
	})
}

func TestF37SilentPeerGetsOneProbePerInterval(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, _ *Session, p *script) {
		start := time.Now()
		for i := range 20 {
			h := p.next()
			if d := time.Since(start); h.ID != pdu.IDEnquireLink || d != time.Duration(i+1)*30*time.Second {
				t.Fatalf("%v after %v, want probe %d at %v", h.ID, d, i+1, time.Duration(i+1)*30*time.Second)
			}
			p.sendPDU(0, h.Sequence, &pdu.EnquireLinkResp{})
		}
	})
}

func TestF37TrafficIsLife(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		for i := range 10 {
			time.Sleep(29 * time.Second)
			p.sendPDU(0, uint32(i+1), &pdu.EnquireLink{})
			p.expect(pdu.IDEnquireLinkResp, 0, uint32(i+1)) // and no probe of ours
		}
		// A whole PDU is life for a probe too, whatever it is; octets that are none are not.
		p.expect(pdu.IDEnquireLink, 0, 2)
		p.sendHex("00000010800000090000000000000063")
		synctest.Wait()
		began := time.Now()
		p.expect(pdu.IDEnquireLink, 0, 3)
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("the next probe came %v after a PDU, want 30s", d)
		}
		time.Sleep(9 * time.Second)
		p.send(make([]byte, 3))
		wantEnd(t, s, ErrSilent)
		if d := time.Since(began); d != 40*time.Second {
			t.Errorf("the session ended %v after the last whole PDU, want 40s", d)
		}
	})
}

// A dead bind was kept for 40 minutes by a PDU that came in at one octet a second: it was never to end, and every octet
// counted as life. A begun PDU has the time of a probe.
func TestDrippedPDUIsNoLife(t *testing.T) {
	whole := "000000238000000000000000000000016162636465666768696a6b6c6d6e6f70717273" // 35 octets
	for _, tc := range []struct {
		name       string
		before     time.Duration // until the first octet
		gap        time.Duration
		ends       bool
		after      time.Duration // from the first octet to the end of the session
		lastOctets string
	}{
		{name: "from the start", gap: time.Second, ends: true, after: 10 * time.Second},
		{name: "after a silence", before: 25 * time.Second, gap: time.Second, ends: true, after: 10 * time.Second},
		{name: "quick enough", gap: 250 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
				time.Sleep(tc.before)
				began := time.Now()
				for _, octet := range octets(t, whole) {
					p.send([]byte{octet})
					time.Sleep(tc.gap)
					if s.Err() != nil {
						break
					}
				}
				synctest.Wait()
				if !tc.ends {
					if err := s.Err(); err != nil {
						t.Errorf("the session ended with %v, want it open: the PDU was whole in time", err)
					}
					return
				}
				if err := s.Err(); !errors.Is(err, ErrSilent) {
					t.Fatalf("the session ended with %v, want ErrSilent", err)
				}
				if d := time.Since(began); d < tc.after || d > tc.after+tc.gap {
					t.Errorf("the session ended %v after the first octet, want %v", d, tc.after)
				}
			})
		})
	}
}

// A PDU that ends with the first octets of the next gives that one its own time.
func TestEveryBegunPDUHasItsOwnTime(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		probe := octets(t, "00000010000000150000000000000001")
		p.send(probe[:8])
		for range 20 {
			time.Sleep(9 * time.Second)
			p.send(append(bytes.Clone(probe[8:]), probe[:8]...))
			p.expect(pdu.IDEnquireLinkResp, 0, 1)
		}
		if err := s.Err(); err != nil {
			t.Fatalf("the session ended with %v, want it open", err)
		}
		began := time.Now()
		wantEnd(t, s, ErrSilent)
		if d := time.Since(began); d != 10*time.Second {
			t.Errorf("the session ended %v after the last octets, want 10s", d)
		}
	})
}

// Stats tells since when no submit was answered; any answer ends that, a late one too.
func TestRunOfUnansweredSubmitsIsCounted(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		go func() {
			for h := range p.in { // probes are answered, submits are not
				if id := binary.BigEndian.Uint32(h[4:]); id == uint32(pdu.IDEnquireLink) {
					p.sendPDU(0, binary.BigEndian.Uint32(h[12:]), &pdu.EnquireLinkResp{})
				}
			}
		}()
		began := time.Now()
		for range 3 {
			wantError(t, <-submit(t.Context(), s, nil), ErrTimeout)
		}
		if st := s.Stats(); st.Unanswered != 3 || !st.UnansweredSince.Equal(began) {
			t.Errorf("%d unanswered since %v, want 3 since %v", st.Unanswered, st.UnansweredSince, began)
		}
		p.answer(2, "late")
		synctest.Wait()
		if st := s.Stats(); st.Unanswered != 0 || !st.UnansweredSince.IsZero() || st.Late != 1 {
			t.Errorf("after a late answer: %+v, want no run", st)
		}
	})
}

// A probe is neither paced nor in need of a place in the window: a full one is probed, and its answer is not counted as
// one to a submit.
func TestProbeTakesNoPlaceInTheWindow(t *testing.T) {
	cfg := testConfig()
	cfg.MaxInFlight, cfg.ResponseTimeout = 1, 5*time.Minute
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		c := submit(t.Context(), s, nil)
		seq := p.submits(1)[0]
		began := time.Now()
		probe := p.next()
		if waited := time.Since(began); probe.ID != pdu.IDEnquireLink || waited != 30*time.Second {
			t.Fatalf("%v after %v, want enquire_link after 30s", probe.ID, waited)
		}
		p.sendPDU(0, probe.Sequence, &pdu.EnquireLinkResp{})
		synctest.Wait()
		if st := s.Stats(); st.InFlight != 1 || st.Answered != 0 || st.Unmatched != 0 {
			t.Errorf("stats %+v, want the submit alone in flight", st)
		}
		p.answer(seq, "A")
		wantAccepted(t, <-c, "A")
	})
}

// The interval is kept where the answer to a probe may take longer than that.
func TestProbesComeAtTheirInterval(t *testing.T) {
	cfg := testConfig()
	cfg.EnquireLinkInterval, cfg.EnquireLinkTimeout = 2*time.Second, 10*time.Second
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		for n := range 5 {
			heard := time.Now()
			probe := p.next()
			if waited := time.Since(heard); probe.ID != pdu.IDEnquireLink || waited != 2*time.Second {
				t.Fatalf("%v after %v of silence, want enquire_link %d after 2s", probe.ID, waited, n+1)
			}
			time.Sleep(500 * time.Millisecond)
			p.sendPDU(0, probe.Sequence, &pdu.EnquireLinkResp{})
			synctest.Wait()
		}
		p.next() // the sixth is not answered
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if err := s.Err(); err != nil {
			t.Fatalf("the session ended with %v before the timeout", err)
		}
		<-s.Done()
		if err := s.Err(); !errors.Is(err, ErrSilent) {
			t.Errorf("the session ended with %v, want ErrSilent", err)
		}
	})
}

// F38: enquire_link "timeout" though the reply is in the capture: the reader
// was busy with a handler.
func TestF38SlowHandlerDelaysNothing(t *testing.T) {
	cfg := testConfig()
	cfg.EnquireLinkInterval = 5 * time.Second
	cfg.EnquireLinkTimeout = 2 * time.Second
	cfg.Handler = handler{deliver: func(ctx context.Context, _ *Inbound) pdu.Status {
		select {
		case <-time.After(15 * time.Second):
		case <-ctx.Done():
		}
		return pdu.StatusOK
	}}
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		start := time.Now()
		p.sendPDU(0, 77, &pdu.DeliverSM{})
		c := submit(t.Context(), s, nil)
		p.answer(p.submits(1)[0], "A")
		r := <-c
		wantAccepted(t, r, "A")
		if r.response.RTT != 0 {
			t.Fatalf("the answer took %v behind a busy handler", r.response.RTT)
		}
		for range 2 {
			h := p.next()
			if h.ID != pdu.IDEnquireLink {
				t.Fatalf("the session sent %v, want enquire_link", h.ID)
			}
			p.sendPDU(0, h.Sequence, &pdu.EnquireLinkResp{})
		}
		for {
			h := p.next()
			if h.ID == pdu.IDDeliverSMResp {
				break
			}
			p.sendPDU(0, h.Sequence, &pdu.EnquireLinkResp{})
		}
		if d := time.Since(start); d != 15*time.Second {
			t.Fatalf("deliver_sm_resp came after %v, want 15s", d)
		}
	})
}

// F44: TLS spoken to a plain port, or the reverse.
func TestF44TLSClientToSilentPlainServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		newScriptlessReader(t, far)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		_, err := handshake(ctx, near, &tls.Config{}, "smsc.example.net")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "plain SMPP") {
			t.Fatalf("the handshake returned %v, want its deadline and a hint", err)
		}
		if d := time.Since(start); d != 10*time.Second {
			t.Fatalf("the handshake took %v, want 10s", d)
		}
	})
}

func TestF44TLSClientToTalkativePlainServer(t *testing.T) {
	for name, reply := range map[string]string{
		"generic_nack": "00000010800000000000000200000000",
		"HTTP":         "485454502f312e3120343030204261642052657175657374",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				newScriptlessReader(t, far)
				go func() { _, _ = far.Write(octets(t, reply)) }()
				_, err := handshake(t.Context(), near, &tls.Config{}, "smsc.example.net")
				if !errors.Is(err, ErrNotTLS) {
					t.Fatalf("the handshake returned %v, want ErrNotTLS", err)
				}
			})
		})
	}
}

func TestF44PlainClientToTLSServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		p := newScript(t, far)
		p.sendHex("15030300020228")
		_, err := Bind(t.Context(), near, testConfig())
		le, ok := errors.AsType[*pdu.LengthError](err)
		if !ok || !strings.Contains(le.Guess, "TLS") {
			t.Fatalf("Bind returned %v, want a *pdu.LengthError that names TLS", err)
		}
	})
}

// newScriptlessReader reads and drops what a test's peer is sent.
func newScriptlessReader(t *testing.T, conn net.Conn) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b := make([]byte, 4096)
		for {
			if _, err := conn.Read(b); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
}
