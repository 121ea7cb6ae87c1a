package smpp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

func TestFullQueueIsAnsweredNotStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		cfg := testConfig()
		cfg.InboundQueue = 2
		cfg.Handler = handler{deliver: func(ctx context.Context, _ *Inbound) pdu.Status {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return pdu.StatusOK
		}}
		s, p := bound(t, cfg)
		for seq := range uint32(5) { // one is being handled, two wait
			p.sendPDU(0, seq+1, &pdu.DeliverSM{})
			synctest.Wait()
		}
		p.expect(pdu.IDDeliverSMResp, pdu.StatusMsgQFull, 4)
		p.expect(pdu.IDDeliverSMResp, pdu.StatusMsgQFull, 5)
		c := submit(t.Context(), s, nil)
		p.answer(p.submits(1)[0], "A")
		wantAccepted(t, <-c, "A")
		close(release)
		for seq := range uint32(3) {
			p.expect(pdu.IDDeliverSMResp, pdu.StatusOK, seq+1)
		}
		if st := s.Stats(); st.Inbound != 3 || st.Refused != 2 {
			t.Fatalf("stats %+v, want 3 inbound and 2 refused", st)
		}
	})
}

// A flood of long PDUs is bounded by its octets: 1,000 of them would be 64 MiB a session. One is always taken.
func TestInboundIsBoundedByOctets(t *testing.T) {
	long := func(n int) *pdu.DeliverSM {
		return &pdu.DeliverSM{TLVs: pdu.TLVs{{Tag: pdu.TagMessagePayload, Value: make([]byte, n)}}}
	}
	for name, tc := range map[string]struct {
		octets, each int // the bound, and the payload of each of five PDUs
		taken        uint64
	}{
		"room for two":        {octets: 25_000, each: 10_000, taken: 2},
		"room for all":        {octets: 60_000, each: 10_000, taken: 5},
		"one beyond the room": {octets: 1_000, each: 10_000, taken: 1},
		"short ones":          {octets: 10_000, each: 10, taken: 5},
		"the default":         {each: 60_000, taken: 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				cfg := testConfig()
				cfg.InboundOctets = tc.octets
				cfg.Handler = handler{deliver: func(ctx context.Context, _ *Inbound) pdu.Status {
					select {
					case <-release:
					case <-ctx.Done():
					}
					return pdu.StatusOK
				}}
				s, p := bound(t, cfg)
				for seq := range uint32(5) {
					p.sendPDU(0, seq+1, long(tc.each))
					synctest.Wait()
				}
				if st := s.Stats(); st.Inbound != tc.taken || st.Refused != 5-tc.taken {
					t.Fatalf("%d taken and %d refused, want %d and %d", st.Inbound, st.Refused, tc.taken, 5-tc.taken)
				}
				for seq := tc.taken; seq < 5; seq++ {
					p.expect(pdu.IDDeliverSMResp, pdu.StatusMsgQFull, uint32(seq)+1)
				}
				close(release)
				for seq := range tc.taken {
					p.expect(pdu.IDDeliverSMResp, pdu.StatusOK, uint32(seq)+1)
				}
				p.sendPDU(0, 9, long(tc.each)) // what was handled has left its room
				p.expect(pdu.IDDeliverSMResp, pdu.StatusOK, 9)
			})
		})
	}
}

func TestInboundWithoutAHandlerIsNotAcknowledged(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		p.sendPDU(0, 5, &pdu.DeliverSM{})
		p.expect(pdu.IDDeliverSMResp, pdu.StatusSysErr, 5)
		wantKept(t, s, p)
	})
}

func TestTransmitterRefusesInbound(t *testing.T) {
	cfg := testConfig()
	cfg.Mode = Transmitter
	cfg.Handler = handler{}
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		p.sendPDU(0, 5, &pdu.DataSM{})
		p.expect(pdu.IDDataSMResp, pdu.StatusInvBndSts, 5)
		wantKept(t, s, p)
	})
}

func TestInboundOwnsItsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inbound := make(chan *Inbound, 2)
		cfg := testConfig()
		cfg.Handler = collect(inbound)
		_, p := bound(t, cfg)
		p.sendPDU(0, 1, &pdu.DeliverSM{ShortMessage: []byte("first")})
		synctest.Wait()
		p.sendPDU(0, 2, &pdu.DeliverSM{ShortMessage: []byte("other")})
		synctest.Wait()
		a, b := <-inbound, <-inbound
		if string(a.Deliver.ShortMessage) != "first" || string(b.Deliver.ShortMessage) != "other" {
			t.Fatalf("texts %q and %q", a.Deliver.ShortMessage, b.Deliver.ShortMessage)
		}
		if h, body, err := pdu.Parse(a.Raw); err != nil || h.Sequence != 1 || string(body.(*pdu.DeliverSM).ShortMessage) != "first" {
			t.Fatalf("Raw holds %+v, %v", h, err)
		}
	})
}

func TestCloseWaitsForTheHandler(t *testing.T) {
	cfg := testConfig()
	cfg.Handler = handler{deliver: func(context.Context, *Inbound) pdu.Status {
		time.Sleep(2 * time.Second)
		return pdu.StatusOK
	}}
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		p.sendPDU(0, 1, &pdu.DeliverSM{})
		p.sendPDU(0, 2, &pdu.DeliverSM{})
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- s.Close(t.Context()) }()
		p.expect(pdu.IDDeliverSMResp, pdu.StatusOK, 1)
		p.expect(pdu.IDDeliverSMResp, pdu.StatusOK, 2)
		h := p.next()
		if h.ID != pdu.IDUnbind {
			t.Fatalf("the session sent %v, want unbind", h.ID)
		}
		// What comes now stays with the SMSC.
		p.sendPDU(0, 3, &pdu.DeliverSM{})
		p.expect(pdu.IDDeliverSMResp, pdu.StatusMsgQFull, 3)
		p.sendPDU(0, h.Sequence, &pdu.UnbindResp{})
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
	})
}

func TestHandlerContextEndsWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := make(chan error, 1)
		cfg := testConfig()
		cfg.Handler = handler{deliver: func(ctx context.Context, _ *Inbound) pdu.Status {
			<-ctx.Done()
			cause <- ctx.Err()
			return pdu.StatusOK
		}}
		s, p := bound(t, cfg)
		p.sendPDU(0, 1, &pdu.DeliverSM{})
		p.sendPDU(0, 2, &pdu.DeliverSM{}) // never handled, never answered
		synctest.Wait()
		_ = p.conn.Close()
		<-s.Done()
		<-cause
		if err := s.Close(t.Context()); err == nil {
			t.Fatal("Close returned nil after the peer hung up")
		}
		select {
		case <-cause:
			t.Fatal("a message was handled after the end")
		default:
		}
	})
}

func TestLateResponsesDoNotWaitBehindDeliver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan LateResponse, 1)
		cfg := testConfig()
		cfg.Handler = handler{
			deliver: func(ctx context.Context, _ *Inbound) pdu.Status {
				<-ctx.Done()
				return pdu.StatusOK
			},
			late: func(l LateResponse) { late <- l },
		}
		s, p := bound(t, cfg)
		p.sendPDU(0, 1, &pdu.DeliverSM{})
		ctx, cancel := context.WithCancel(t.Context())
		c := submit(ctx, s, "mine")
		seq := p.submits(1)[0]
		cancel()
		wantError(t, <-c, ErrNoResponse)
		p.sendPDU(pdu.StatusSysErr, seq, &pdu.GenericNack{})
		l := <-late
		if l.Ref != "mine" || !l.Response.Nack || l.Response.Status != pdu.StatusSysErr {
			t.Fatalf("late response %+v", l)
		}
	})
}

func TestLateResponseAtTheEndIsStillTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan LateResponse, 10)
		cfg := testConfig()
		cfg.Handler = handler{late: func(l LateResponse) { late <- l }}
		s, p := bound(t, cfg)
		ctx, cancel := context.WithCancel(t.Context())
		c := submit(ctx, s, "mine")
		seq := p.submits(1)[0]
		cancel()
		<-c
		p.answer(seq, "A")
		synctest.Wait()
		_ = p.conn.Close()
		_ = s.Close(t.Context())
		if len(late) != 1 {
			t.Fatalf("%d late responses told, want 1", len(late))
		}
	})
}

func TestTextsThatOnlyLookShiftedAreKept(t *testing.T) {
	good := []*pdu.DeliverSM{
		{ShortMessage: []byte("\x00bc")},                    // @bc in the GSM alphabet
		{ShortMessage: []byte("\x00h\x00i"), DataCoding: 8}, // UCS2
		{ShortMessage: []byte("\x00bc"), TLVs: pdu.TLVs{{Tag: pdu.TagMessageState, Value: []byte{2}}}},
	}
	for _, d := range good {
		m := Inbound{Raw: encode(t, 0, 1, d)}
		if err := m.parse(); err != nil {
			t.Errorf("%q: %v", d.ShortMessage, err)
		}
		m = Inbound{Raw: append(encode(t, 0, 1, d), 0)} // a stray NUL behind the text is common
		if err := m.parse(); err != nil {
			t.Errorf("%q with a NUL behind it: %v", d.ShortMessage, err)
		}
	}
	m := Inbound{Raw: append(encode(t, 0, 1, good[0]), 'x')}
	if m.parse() == nil {
		t.Error("a text with a NUL before it and an octet behind it was taken")
	}
}
