package testserver

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

// withFault is a scenario whose only rule spoils what goes to "9…".
func withFault(f Fault) Scenario {
	f.Prefix = "9"
	return Scenario{Faults: []Fault{f}}
}

func TestSwallowedSubmitIsAcceptedAndUnanswered(t *testing.T) {
	bubble(t, withFault(Fault{Kind: FaultSwallow}), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		c.send(message("91", "x"))
		c.wantSilence(time.Minute)
		if r := c.submit("1"); r.Sequence != 3 {
			t.Errorf("answer to %d, want 3", r.Sequence)
		}
		lost := s.Records(Query{Unanswered: true})
		if len(lost) != 1 || lost[0].Destination != "91" || lost[0].MessageID == "" {
			t.Errorf("unanswered: %+v", lost)
		}
		if stats := s.Stats(); stats.Swallowed != 1 || stats.Accepted != 2 || s.Binds()[0].Outstanding != 0 {
			t.Errorf("stats are %+v", stats)
		}
	})
}

func TestLateResponseIsPassedByOthers(t *testing.T) {
	bubble(t, withFault(Fault{Kind: FaultDelay, By: Exactly(40 * time.Second)}), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		begin := time.Now()
		late := c.send(message("91", "x"))
		c.submit("1")
		if r := c.next(); r.Sequence != late || r.at.Sub(begin) != 40*time.Second {
			t.Errorf("answer to %d after %v", r.Sequence, r.at.Sub(begin))
		}
	})
}

func TestDuplicateResponse(t *testing.T) {
	bubble(t, withFault(Fault{Kind: FaultDuplicate, Copies: 2, By: Exactly(time.Second)}), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		first := c.submit("91")
		for range 2 {
			again := c.next()
			if again.Sequence != first.Sequence || again.messageID() != first.messageID() {
				t.Errorf("copy is %+v, want %+v", again.Header, first.Header)
			}
		}
		c.wantSilence(time.Minute)
		if stats := s.Stats(); stats.Submits != 1 || stats.Accepted != 1 {
			t.Errorf("stats are %+v", stats)
		}
	})
}

func TestReorderedResponseFollowsTheNext(t *testing.T) {
	bubble(t, withFault(Fault{Kind: FaultReorder}), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		var order []uint32
		for _, to := range []string{"91", "92", "1", "93"} {
			c.send(message(to, "x"))
		}
		begin := time.Now()
		for range 4 {
			order = append(order, c.next().Sequence)
		}
		if want := []uint32{4, 2, 3, 5}; !slices.Equal(order, want) {
			t.Errorf("answers to %v, want %v", order, want)
		}
		if waited := time.Since(begin); waited != 100*time.Millisecond {
			t.Errorf("the last one, with none behind it, came after %v", waited)
		}
	})
}

func TestNackInsteadOfResponse(t *testing.T) {
	bubble(t, withFault(Fault{Kind: FaultNack, Status: pdu.StatusThrottled}), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		seq := c.send(message("91", "x"))
		if r := c.want(pdu.IDGenericNack, pdu.StatusThrottled); r.Sequence != seq {
			t.Errorf("nack of %d, want %d", r.Sequence, seq)
		}
		if r := s.Ledger()[0]; !r.Nack || r.MessageID != "" || s.Stats().Refused != 1 {
			t.Errorf("record is %+v", r)
		}
	})
}

func TestCongestionStateIsAdded(t *testing.T) {
	bubble(t, withFault(Fault{Kind: FaultCongestion, Value: 95}), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		c.send(message("91", "x"))
		body := c.next().body.(*pdu.SubmitSMResp)
		if state, ok := body.TLVs.Uint8(pdu.TagCongestionState); !ok || state != 95 || string(body.MessageID) != "1" {
			t.Errorf("response is %+v", body)
		}
	})
}

func TestDisconnect(t *testing.T) {
	for name, when := range map[string]When{"before": Before, "after": After} {
		t.Run(name, func(t *testing.T) {
			sc := Scenario{Faults: []Fault{{Match: Match{Every: 3}, Kind: FaultDisconnect, When: when, How: RST}}}
			bubble(t, sc, func(t *testing.T, s *Server) {
				c := connect(t, s).bind()
				go func() { // the server does not read the last one
					for i := range 4 {
						octets, _ := pdu.Append(nil, 0, uint32(i+2), message("1", string(rune('a'+i))))
						if _, err := c.conn.Write(octets); err != nil {
							return
						}
					}
				}()
				answers := 2
				if when == After {
					answers++
				}
				for range answers {
					c.want(pdu.IDSubmitSMResp, pdu.StatusOK)
				}
				c.wantEnd()
				synctest.Wait()
				stats := s.Stats()
				if stats.Submits != 3 || stats.Accepted != 3 || stats.Swallowed != uint64(3-answers) || stats.Bound != 0 {
					t.Errorf("stats are %+v", stats)
				}
			})
		})
	}
}

func TestDisconnectLosesWhatWasToBeAnsweredLater(t *testing.T) {
	bubble(t, Scenario{Latency: Exactly(time.Second)}, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		c.send(message("1", "x"))
		synctest.Wait()
		if n := s.Disconnect(0, FIN); n != 1 {
			t.Errorf("%d sessions ended", n)
		}
		c.wantEnd()
		synctest.Wait()
		if stats := s.Stats(); stats.Swallowed != 1 || len(s.Records(Query{Unanswered: true})) != 1 {
			t.Errorf("stats are %+v", stats)
		}
	})
}

func TestServerUnbinds(t *testing.T) {
	bubble(t, withFault(Fault{Kind: FaultUnbind}), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		c.submit("91")
		r := c.want(pdu.IDUnbind, pdu.StatusOK)
		c.write(pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDUnbindResp, Sequence: r.Sequence}.Append(nil))
		c.wantEnd()

		deaf := connect(t, s).bind()
		begin := time.Now()
		s.Disconnect(2, Unbind)
		deaf.want(pdu.IDUnbind, pdu.StatusOK)
		deaf.wantEnd()
		if waited := time.Since(begin); waited != 5*time.Second {
			t.Errorf("gave up after %v", waited)
		}
	})
}

func TestStopReading(t *testing.T) {
	bubble(t, withFault(Fault{Kind: FaultStopReading, By: Exactly(time.Minute)}), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		begin := time.Now()
		c.submit("91")
		if r := c.submit("1"); r.at.Sub(begin) != time.Minute {
			t.Errorf("read on after %v", r.at.Sub(begin))
		}
	})
	bubble(t, withFault(Fault{Kind: FaultStopReading}), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		c.submit("91")
		go func() { _, _ = c.conn.Write(make([]byte, 64)) }()
		c.wantSilence(24 * time.Hour)
	})
}

func TestDripWritesOctetByOctet(t *testing.T) {
	bubble(t, withFault(Fault{Kind: FaultDrip, By: Exactly(20 * time.Millisecond)}), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		begin := time.Now()
		r := c.submit("91")
		if want := time.Duration(r.Length-1) * 20 * time.Millisecond; r.at.Sub(begin) != want {
			t.Errorf("%d octets took %v, want %v", r.Length, r.at.Sub(begin), want)
		}
		c.submit("1")
	})
}

func TestGarbageAndOversizedComeAheadOfTheResponse(t *testing.T) {
	bubble(t, withFault(Fault{Kind: FaultGarbage, Hex: "485454502f312e31"}), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		c.send(message("91", "x"))
		synctest.Wait()
		s.Disconnect(0, FIN)
		c.wantEnd()
		if len(c.left) != 8+18 || string(c.left[:8]) != "HTTP/1.1" {
			t.Errorf("got %q", c.left)
		}
	})
	bubble(t, withFault(Fault{Kind: FaultGarbage}), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		c.send(message("91", "x"))
		synctest.Wait()
		s.Disconnect(0, FIN)
		for range c.replies { // to the end
		}
		synctest.Wait()
		if stats := s.Stats(); stats.Submits != 1 {
			t.Errorf("stats are %+v", stats)
		}
	})
	bubble(t, withFault(Fault{Kind: FaultOversized}), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		c.send(message("91", "x"))
		if r := c.next(); r.Length != 70_000 || r.ID != pdu.IDDeliverSM {
			t.Errorf("got %+v", r.Header)
		}
		c.want(pdu.IDSubmitSMResp, pdu.StatusOK)
	})
}

func TestFaultsPerBind(t *testing.T) {
	sc := Scenario{Faults: []Fault{{Match: Match{Nth: 1, PerBind: true}, Kind: FaultSwallow}}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		for range 2 {
			c := connect(t, s).bind()
			c.send(message("1", "x"))
			c.submit("1")
		}
		if got := s.Stats().Swallowed; got != 2 {
			t.Errorf("%d swallowed, want the first of each bind", got)
		}
	})
}

func TestBrokenStreamIsRejected(t *testing.T) {
	tests := map[string][]byte{
		"HTTP":     []byte("GET / HTTP/1.1\r\n\r\n"),
		"zero":     {0, 0, 0, 0},
		"fifteen":  {0, 0, 0, 15, 0, 0, 0, 0x15, 0, 0, 0, 0, 0, 0, 0},
		"negative": {0x80, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1},
	}
	for name, octets := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Scenario{}, func(t *testing.T, s *Server) {
				c := connect(t, s).bind()
				go func() { _, _ = c.conn.Write(octets) }() // it may end before all is read
				if r := c.want(pdu.IDGenericNack, pdu.StatusInvCmdLen); r.Sequence != 0 {
					t.Errorf("sequence %d", r.Sequence)
				}
				c.wantEnd()
				if s.Stats().Malformed != 1 {
					t.Error("not counted")
				}
			})
		})
	}
}

func TestPDUsThatCannotBeReadOrAreNotKnownKeepTheSession(t *testing.T) {
	bubble(t, Scenario{}, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		tests := []struct {
			head pdu.Header
			body []byte
			id   pdu.CommandID
			want pdu.Status
		}{
			{pdu.Header{ID: 0x11F, Sequence: 13}, nil, pdu.IDGenericNack, pdu.StatusInvCmdID},
			{pdu.Header{ID: pdu.IDQuerySM, Sequence: 14}, []byte("1\x00\x00\x00\x00"), pdu.IDQuerySMResp, pdu.StatusInvCmdID},
			{pdu.Header{ID: pdu.IDSubmitSM, Sequence: 15}, []byte{0, 1}, pdu.IDSubmitSMResp, pdu.StatusInvCmdLen},
			{pdu.Header{ID: pdu.IDBindReceiver, Sequence: 16}, nil, pdu.IDBindReceiverResp, pdu.StatusInvCmdLen},
			{pdu.Header{ID: pdu.IDEnquireLink, Sequence: 17}, nil, pdu.IDEnquireLinkResp, pdu.StatusOK},
			{pdu.Header{ID: pdu.IDEnquireLink, Sequence: 0xFFFFFFFF}, nil, pdu.IDGenericNack, pdu.StatusUnknownErr},
			{pdu.Header{ID: pdu.IDEnquireLink}, nil, pdu.IDGenericNack, pdu.StatusUnknownErr},
		}
		for _, tt := range tests {
			tt.head.Length = uint32(pdu.HeaderLen + len(tt.body))
			c.write(append(tt.head.Append(nil), tt.body...))
			r := c.want(tt.id, tt.want)
			if tt.id != pdu.IDGenericNack && r.Sequence != tt.head.Sequence {
				t.Errorf("%v: sequence %d, want %d", tt.head.ID, r.Sequence, tt.head.Sequence)
			}
		}
		c.write(pdu.Header{Length: pdu.HeaderLen, ID: 0x80000FFF, Sequence: 1}.Append(nil)) // answers nothing
		c.submit("1")
	})
}
