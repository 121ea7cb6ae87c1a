package testserver

import (
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

func TestBindOfEachKind(t *testing.T) {
	bubble(t, Scenario{SystemID: "smsc"}, func(t *testing.T, s *Server) {
		for _, kind := range []pdu.CommandID{pdu.IDBindReceiver, pdu.IDBindTransmitter, pdu.IDBindTransceiver} {
			c := connect(t, s)
			r := c.bindAs(kind, "anybody", "")
			body, ok := r.body.(*pdu.BindResp)
			if r.ID != kind.Response() || r.Status != pdu.StatusOK || !ok || body.SystemID != "smsc" {
				t.Errorf("%v: %+v", kind, r)
			}
			if r := c.bindAs(kind, "anybody", ""); r.Status != pdu.StatusAlreadyBound {
				t.Errorf("%v again: %v", kind, r.Status)
			}
		}
		if stats := s.Stats(); stats.Bound != 3 || stats.Binds != 3 || stats.BindsRefused["ESME_RALYBND"] != 3 {
			t.Errorf("stats are %+v", stats)
		}
		if b := s.Binds(); len(b) != 3 || b[0].Command != "bind_receiver" || b[2].Bind != 3 {
			t.Errorf("binds are %+v", b)
		}
	})
}

func TestCredentials(t *testing.T) {
	sc := Scenario{Bind: BindRules{Accounts: map[string]string{"sluice": "secret"}}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		c := connect(t, s)
		if r := c.bindAs(pdu.IDBindTransceiver, "nobody", "secret"); r.Status != pdu.StatusInvSysID {
			t.Errorf("unknown system_id: %v", r.Status)
		}
		if r := c.bindAs(pdu.IDBindTransceiver, "sluice", "wrong"); r.Status != pdu.StatusInvPaswd {
			t.Errorf("wrong password: %v", r.Status)
		}
		c.bind()
	})
}

func TestMaxBindsAndGhost(t *testing.T) {
	sc := Scenario{Bind: BindRules{Max: 1, Ghost: 2 * time.Minute}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		first := connect(t, s).bind()
		second := connect(t, s)
		try := func() pdu.Status { return second.bindAs(pdu.IDBindTransceiver, "sluice", "").Status }
		if got := try(); got != pdu.StatusAlreadyBound {
			t.Errorf("second bind: %v", got)
		}
		_ = first.conn.Close() // without unbind
		synctest.Wait()
		time.Sleep(2*time.Minute - time.Second)
		if got := try(); got != pdu.StatusAlreadyBound {
			t.Errorf("with the ghost: %v", got)
		}
		time.Sleep(time.Second)
		if got := try(); got != pdu.StatusOK {
			t.Errorf("without the ghost: %v", got)
		}
		second.send(&pdu.Unbind{})
		second.want(pdu.IDUnbindResp, pdu.StatusOK)
		second.wantEnd()
		synctest.Wait()
		connect(t, s).bind() // unbind leaves no ghost
	})
}

func TestRefusedBinds(t *testing.T) {
	tests := map[string]struct {
		rule    Refusal
		refused int // of six binds, 20 s apart
	}{
		"always":           {Refusal{Status: pdu.StatusBindFail}, 6},
		"the first two":    {Refusal{Status: 0x0400, Times: 2}, 2},
		"for fifty second": {Refusal{Status: pdu.StatusAlreadyBound, For: 50 * time.Second}, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Scenario{Bind: BindRules{Refuse: tt.rule}}, func(t *testing.T, s *Server) {
				for i := range 6 {
					want := pdu.StatusOK
					if i < tt.refused {
						want = tt.rule.Status
					}
					if r := connect(t, s).bindAs(pdu.IDBindTransceiver, "sluice", ""); r.Status != want {
						t.Errorf("bind %d: %v, want %v", i, r.Status, want)
					}
					time.Sleep(20 * time.Second)
				}
			})
		})
	}
}

func TestSilentAndDroppedBinds(t *testing.T) {
	bubble(t, Scenario{Bind: BindRules{Refuse: Refusal{Silent: true, Times: 1}}}, func(t *testing.T, s *Server) {
		c := connect(t, s)
		c.send(&pdu.Bind{SystemID: "sluice"})
		c.wantSilence(time.Hour)
		c.bind()
		if s.Stats().BindsRefused["silent"] != 1 {
			t.Error("not counted")
		}
	})
	bubble(t, Scenario{Bind: BindRules{Refuse: Refusal{Drop: true}}}, func(t *testing.T, s *Server) {
		c := connect(t, s)
		c.send(&pdu.Bind{SystemID: "sluice"})
		c.wantEnd()
	})
}

func TestUnbindWaitsForResponsesOnTheirWay(t *testing.T) {
	bubble(t, Scenario{Latency: Exactly(time.Second)}, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		for range 3 {
			c.send(message("1", "x"))
		}
		c.send(&pdu.Unbind{})
		for range 3 {
			c.want(pdu.IDSubmitSMResp, pdu.StatusOK)
		}
		c.want(pdu.IDUnbindResp, pdu.StatusOK)
		c.wantEnd()
		if s.Stats().Unbinds != 1 {
			t.Error("not counted")
		}
	})
}

func TestLinkIsProbedWhenSilent(t *testing.T) {
	sc := Scenario{Link: Link{Interval: 30 * time.Second, Timeout: 10 * time.Second}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		begin := time.Now()
		for i := range 3 {
			r := c.want(pdu.IDEnquireLink, pdu.StatusOK)
			if at := r.at.Sub(begin); at != time.Duration(i+1)*30*time.Second {
				t.Errorf("probe %d after %v", i, at)
			}
			c.write(pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDEnquireLinkResp, Sequence: r.Sequence}.Append(nil))
		}
		time.Sleep(20 * time.Second)
		c.submit("1") // traffic is life: the next probe counts from here
		c.want(pdu.IDEnquireLink, pdu.StatusOK)
		if at := time.Since(begin); at != 140*time.Second {
			t.Errorf("probe after %v", at)
		}
		c.wantEnd() // it is not answered
		if at := time.Since(begin); at != 150*time.Second {
			t.Errorf("gave up after %v", at)
		}
	})
}

func TestIdleSessionIsCut(t *testing.T) {
	bubble(t, Scenario{Link: Link{Idle: 30 * time.Second}}, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		time.Sleep(20 * time.Second)
		c.send(&pdu.EnquireLink{})
		c.want(pdu.IDEnquireLinkResp, pdu.StatusOK)
		begin := time.Now()
		c.wantEnd()
		if at := time.Since(begin); at != 30*time.Second {
			t.Errorf("cut after %v", at)
		}
	})
}

func TestDeafLink(t *testing.T) {
	bubble(t, Scenario{Link: Link{Deaf: true}}, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		c.send(&pdu.EnquireLink{})
		c.wantSilence(time.Minute)
		c.submit("1")
	})
}
