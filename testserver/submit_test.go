package testserver

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
	"sluice/testserver/limiter"
)

func TestSubmitIsAcceptedAndRecorded(t *testing.T) {
	bubble(t, Scenario{Name: "plain", Ledger: LedgerConfig{PDUs: true}}, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		sm := message("41791234567", "hello")
		sm.TLVs = pdu.TLVs{{Tag: pdu.TagUserMessageReference, Value: []byte{0x12, 0x34}}}
		for range 2 {
			c.send(sm)
			c.want(pdu.IDSubmitSMResp, pdu.StatusOK)
		}
		r := c.submit("41790000000")
		if r.messageID() != "3" {
			t.Errorf("message id %q, want 3", r.messageID())
		}
		records := s.Ledger()
		if len(records) != 3 {
			t.Fatalf("%d records, want 3", len(records))
		}
		first, second, third := records[0], records[1], records[2]
		if first.SystemID != "sluice" || first.Bind != 1 || first.Destination != "41791234567" ||
			first.Reference != 0x1234 || first.MessageID != "1" || !first.Answered || first.Duplicate || len(first.PDU) == 0 {
			t.Errorf("first record is %+v", first)
		}
		if !second.Duplicate || second.Key != first.Key {
			t.Errorf("the second submit is not seen as a duplicate: %+v", second)
		}
		if third.Duplicate || third.Key == first.Key || third.Reference != -1 {
			t.Errorf("third record is %+v", third)
		}
		stats := s.Stats()
		if stats.Submits != 3 || stats.Accepted != 3 || stats.Unique != 2 || stats.Duplicated != 1 || stats.Bound != 1 ||
			stats.MaxRate != 3 || stats.Statuses["ESME_ROK"] != 3 || stats.Accounts["sluice"].Submits != 3 {
			t.Errorf("stats are %+v", stats)
		}
	})
}

func TestSubmitOutOfPlaceIsRefused(t *testing.T) {
	bubble(t, Scenario{}, func(t *testing.T, s *Server) {
		c := connect(t, s)
		if r := c.submit("1"); r.Status != pdu.StatusInvBndSts || r.Length != pdu.HeaderLen {
			t.Errorf("before a bind: %v", r.Status)
		}
		c.bindAs(pdu.IDBindReceiver, "sluice", "")
		if r := c.submit("1"); r.Status != pdu.StatusInvBndSts {
			t.Errorf("on a receiver: %v", r.Status)
		}
		if stats := s.Stats(); stats.Submits != 0 {
			t.Errorf("counted: %+v", stats)
		}
	})
}

// paced submits n messages to a destination, evenly at a rate, and counts the answers by status.
func paced(c *client, n int, rate float64, to string) map[pdu.Status]int {
	statuses := map[pdu.Status]int{}
	for range n {
		statuses[c.submit(to).Status]++
		time.Sleep(time.Duration(float64(time.Second) / rate))
	}
	return statuses
}

func TestTokenBucketThrottles(t *testing.T) {
	sc := Scenario{Limits: []Limit{{Kind: TokenBucket, Rate: PerSecond(100), Burst: 10}}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		if got := paced(c, 1000, 100, "1")[pdu.StatusOK]; got != 1000 {
			t.Errorf("%d of 1000 accepted at the ceiling", got)
		}
		got := paced(c, 2000, 200, "1")
		if got[pdu.StatusOK] < 1000 || got[pdu.StatusOK] > 1012 || got[pdu.StatusThrottled] != 2000-got[pdu.StatusOK] {
			t.Errorf("at twice the ceiling: %v", got)
		}
		stats := s.Stats()
		if stats.Throttled != uint64(got[pdu.StatusThrottled]) || stats.MaxAcceptedRate > 110 || stats.MaxRate != 200 {
			t.Errorf("stats are %+v", stats)
		}
	})
}

func TestLimitsOfEachKindRefuseWithTheirStatus(t *testing.T) {
	tests := map[string]struct {
		limit Limit
		want  pdu.Status
	}{
		"calendar second":    {Limit{Kind: CalendarSecond, Rate: PerSecond(10)}, pdu.StatusThrottled},
		"sliding second":     {Limit{Kind: SlidingSecond, Rate: PerSecond(10)}, pdu.StatusThrottled},
		"sliding attempts":   {Limit{Kind: SlidingSecond, Rate: PerSecond(10), Charge: true}, pdu.StatusThrottled},
		"charging bucket":    {Limit{Kind: TokenBucket, Rate: PerSecond(10), Charge: true, Floor: 5}, pdu.StatusThrottled},
		"queue":              {Limit{Kind: Queue, Rate: PerSecond(10), Size: 5}, pdu.StatusMsgQFull},
		"queue of one phone": {Limit{Kind: DestinationQueue, Rate: PerSecond(10), Size: 5}, pdu.StatusMsgQFull},
		"penalty":            {Limit{Kind: TokenBucket, Rate: PerSecond(10), Penalty: time.Second}, pdu.StatusThrottled},
		"noise":              {Limit{Kind: Noise, Share: 0.3, Status: 0x45}, pdu.StatusSubmitFail},
		"own status":         {Limit{Kind: TokenBucket, Rate: PerSecond(10), Status: 0x0400}, 0x0400},
		"per bind":           {Limit{Kind: TokenBucket, Rate: PerSecond(10), Scope: PerBind}, pdu.StatusThrottled},
		"per server":         {Limit{Kind: TokenBucket, Rate: PerSecond(10), Scope: PerServer}, pdu.StatusThrottled},
		"of this account":    {Limit{Kind: TokenBucket, Rate: PerSecond(10), Account: "sluice"}, pdu.StatusThrottled},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Scenario{Limits: []Limit{tt.limit}}, func(t *testing.T, s *Server) {
				c := connect(t, s).bind()
				got := paced(c, 50, 100, "1")
				if got[pdu.StatusOK] == 0 || got[tt.want] == 0 || got[pdu.StatusOK]+got[tt.want] != 50 {
					t.Errorf("answers are %v, want some accepted and the others with %v", got, tt.want)
				}
			})
		})
	}
}

func TestLimitOfAnotherAccountOrDestinationLetsPass(t *testing.T) {
	sc := Scenario{Limits: []Limit{
		{Kind: TokenBucket, Rate: PerSecond(1), Account: "other"},
		{Kind: DestinationQueue, Rate: PerSecond(1), Size: 1},
	}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		for _, to := range []string{"1", "2", "3"} {
			if r := c.submit(to); r.Status != pdu.StatusOK {
				t.Errorf("to %s: %v", to, r.Status)
			}
		}
		if r := c.submit("2"); r.Status != pdu.StatusMsgQFull {
			t.Errorf("again to 2: %v", r.Status)
		}
	})
}

func TestAccountLimitIsSharedByItsBinds(t *testing.T) {
	sc := Scenario{Limits: []Limit{{Kind: TokenBucket, Rate: PerSecond(1), Burst: 2}}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		a, b := connect(t, s).bind(), connect(t, s).bind()
		other := connect(t, s)
		other.bindAs(pdu.IDBindTransceiver, "other", "")
		var got []pdu.Status
		for _, c := range []*client{a, b, a, other} {
			got = append(got, c.submit("1").Status)
		}
		if want := []pdu.Status{0, 0, pdu.StatusThrottled, 0}; !slices.Equal(got, want) {
			t.Errorf("answers are %v, want %v", got, want)
		}
	})
}

func TestOutstandingLimitCountsWhatIsUnanswered(t *testing.T) {
	sc := Scenario{Limits: []Limit{{Kind: Outstanding, Size: 5}}, Latency: Exactly(time.Second)}
	bubble(t, sc, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		for range 7 {
			c.send(message("1", "x"))
		}
		var got []pdu.Status
		for range 7 {
			got = append(got, c.next().Status)
		}
		if want := []pdu.Status{0, 0, 0, 0, 0, 0x58, 0x58}; !slices.Equal(got, want) {
			t.Errorf("answers are %v, want %v", got, want)
		}
		if r := c.submit("1"); r.Status != pdu.StatusOK {
			t.Errorf("when all were answered: %v", r.Status)
		}
		if stats := s.Stats(); stats.MaxOutstanding != 7 || stats.MaxOutstandingBind != 7 {
			t.Errorf("stats are %+v", stats)
		}
		if b := s.Binds(); len(b) != 1 || b[0].Outstanding != 0 || b[0].Submits != 8 {
			t.Errorf("binds are %+v", b)
		}
	})
}

func TestLatencyOnlySlowsDown(t *testing.T) {
	bubble(t, Scenario{Limits: []Limit{{Kind: LatencyOnly, Rate: PerSecond(10)}}}, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		begin := time.Now()
		for range 10 {
			c.send(message("1", "x"))
		}
		for range 10 {
			c.want(pdu.IDSubmitSMResp, pdu.StatusOK)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("ten messages at 10/s took %v", took)
		}
	})
}

func TestLatencyKeepsOrderUnlessToldOtherwise(t *testing.T) {
	for name, anyOrder := range map[string]bool{"in order": false, "in any order": true} {
		t.Run(name, func(t *testing.T) {
			sc := Scenario{Seed: 1, Latency: Between(5*time.Millisecond, 20*time.Millisecond), AnyOrder: anyOrder}
			bubble(t, sc, func(t *testing.T, s *Server) {
				c := connect(t, s).bind()
				begin := time.Now()
				for range 50 {
					c.send(message("1", "x"))
				}
				var order []uint32
				for range 50 {
					r := c.next()
					order = append(order, r.Sequence)
					if took := r.at.Sub(begin); took < 5*time.Millisecond || took > 20*time.Millisecond {
						t.Errorf("answered after %v", took)
					}
				}
				if sorted := slices.IsSorted(order); sorted == anyOrder {
					t.Errorf("order of the answers: %v", order)
				}
			})
		})
	}
}

func TestErrorsByDestinationShareAndScript(t *testing.T) {
	sc := Scenario{Errors: []ErrorRule{
		{Match: Match{To: "123"}, Status: pdu.StatusInvDstAdr},
		{Match: Match{Prefix: "99"}, Status: pdu.StatusSysErr},
		{Match: Match{Suffix: "00"}, Status: pdu.StatusMsgQFull},
		{Match: Match{Prefix: "7"}, Script: []pdu.Status{0x45, 0, 0x64}},
		{Match: Match{Prefix: "8", Share: 0.5}, Status: pdu.StatusSubmitFail},
		{Match: Match{Prefix: "6", Times: 2}, Status: pdu.StatusThrottled},
		{Match: Match{Prefix: "5", Nth: 2}, Status: pdu.StatusThrottled},
		{Match: Match{Prefix: "4", Every: 3}, Status: pdu.StatusThrottled},
	}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		tests := []struct {
			to   string
			want []pdu.Status
		}{
			{"123", []pdu.Status{0x0B}},
			{"1234", []pdu.Status{0}},
			{"991", []pdu.Status{0x08}},
			{"100", []pdu.Status{0x14}},
			{"71", []pdu.Status{0x45, 0, 0x64, 0, 0}},
			{"61", []pdu.Status{0x58, 0x58, 0, 0}},
			{"51", []pdu.Status{0, 0x58, 0, 0}},
			{"41", []pdu.Status{0, 0, 0x58, 0, 0, 0x58}},
		}
		for _, tt := range tests {
			var got []pdu.Status
			for range tt.want {
				got = append(got, c.submit(tt.to).Status)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("to %s: %v, want %v", tt.to, got, tt.want)
			}
		}
		if got := paced(c, 200, 1000, "81"); got[pdu.StatusSubmitFail] < 70 || got[pdu.StatusSubmitFail] > 130 {
			t.Errorf("half of 200 are to fail: %v", got)
		}
	})
}

func TestRefusedDestinationCostsATokenWhenCharged(t *testing.T) {
	for name, charged := range map[string]bool{"charged": true, "free": false} {
		t.Run(name, func(t *testing.T) {
			sc := Scenario{
				Limits:                   []Limit{{Kind: TokenBucket, Rate: PerSecond(1), Burst: 2}},
				Errors:                   []ErrorRule{{Match: Match{Prefix: "99"}, Status: pdu.StatusInvDstAdr}},
				ChargeRefusedDestination: charged,
			}
			bubble(t, sc, func(t *testing.T, s *Server) {
				c := connect(t, s).bind()
				var got []pdu.Status
				for _, to := range []string{"991", "992", "1", "993"} {
					got = append(got, c.submit(to).Status)
				}
				want := []pdu.Status{0x0B, 0x0B, 0, 0x0B}
				if charged {
					want = []pdu.Status{0x0B, 0x0B, 0x58, 0x58}
				}
				if !slices.Equal(got, want) {
					t.Errorf("answers are %v, want %v", got, want)
				}
			})
		})
	}
}

func TestBodiedErrorsHaveAnEmptyMessageID(t *testing.T) {
	for _, bodied := range []bool{false, true} {
		sc := Scenario{BodiedErrors: bodied, Errors: []ErrorRule{{Status: pdu.StatusSysErr}}}
		bubble(t, sc, func(t *testing.T, s *Server) {
			want := uint32(pdu.HeaderLen)
			if bodied {
				want++
			}
			if r := connect(t, s).bind().submit("1"); r.Length != want {
				t.Errorf("bodied %v: length %d, want %d", bodied, r.Length, want)
			}
		})
	}
}

func TestMessageIDForms(t *testing.T) {
	tests := map[string]struct {
		form MessageID
		want string
	}{
		"decimal": {MessageID{First: 255}, "255"},
		"padded":  {MessageID{First: 255, Width: 10}, "0000000255"},
		"hex":     {MessageID{First: 255, Format: Hex, Width: 8}, "000000ff"},
		"uuid":    {MessageID{First: 255, Format: UUID}, "00000000-0000-4000-8000-0000000000ff"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, Scenario{MessageID: tt.form}, func(t *testing.T, s *Server) {
				if got := connect(t, s).bind().submit("1").messageID(); got != tt.want {
					t.Errorf("%q, want %q", got, tt.want)
				}
				if got := s.Ledger()[0].MessageID; got != tt.want {
					t.Errorf("%q in the ledger, want %q", got, tt.want)
				}
			})
		})
	}
}

func TestCapacityFollowsTheScheduleAndChanges(t *testing.T) {
	demo := Steps(limiter.Step{Rate: 100}, limiter.Step{At: 20 * time.Second, Rate: 40}, limiter.Step{At: 40 * time.Second, Rate: 120})
	bubble(t, Scenario{Limits: []Limit{{Kind: TokenBucket, Rate: demo, Burst: 10}}}, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		time.Sleep(5 * time.Second) // the schedule starts with the first submit
		begin := time.Now()
		c.submit("1")
		if got := s.Ceiling("sluice"); got != 100 {
			t.Errorf("the ceiling is %v, want 100", got)
		}
		about := func(want float64, from, to time.Duration) {
			t.Helper()
			if got := s.Capacity("sluice", begin.Add(from), begin.Add(to)); got < want-1 || got > want+1 {
				t.Errorf("from %v to %v: %v messages, want %v", from, to, got, want)
			}
		}
		about(2000+800+1200, 0, 50*time.Second)
		about(0, -5*time.Second, 0)
		about(500+200, 15*time.Second, 25*time.Second)
		time.Sleep(10 * time.Second)
		if err := s.SetLimits(Limit{Kind: TokenBucket, Rate: PerSecond(7)}); err != nil {
			t.Fatal(err)
		}
		c.submit("1")
		about(1000+70, 0, 20*time.Second)
		if err := s.SetLimits(Limit{Kind: Queue}); err == nil {
			t.Error("a limit without a rate was taken")
		}
		if got := s.Ceiling("sluice"); got != 7 {
			t.Errorf("the ceiling is %v, want 7", got)
		}
		if got := s.Capacity("nobody", begin, begin.Add(time.Second)); got != 0 {
			t.Errorf("capacity of an unknown account is %v", got)
		}
	})
}

func TestResetStartsAnew(t *testing.T) {
	sc := Scenario{
		Limits: []Limit{{Kind: TokenBucket, Rate: PerSecond(0.001), Burst: 1}},
		Errors: []ErrorRule{{Match: Match{Nth: 1}, Status: pdu.StatusSysErr}},
	}
	bubble(t, sc, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		for range 2 {
			var got []pdu.Status
			for range 3 {
				got = append(got, c.submit("1").Status)
			}
			if want := []pdu.Status{0x08, 0, 0x58}; !slices.Equal(got, want) {
				t.Errorf("answers are %v, want %v", got, want)
			}
			s.Reset()
			if stats := s.Stats(); stats.Submits != 0 || len(s.Ledger()) != 0 || stats.Bound != 1 || stats.MaxRate != 0 {
				t.Errorf("after a reset: %+v", stats)
			}
		}
	})
}

func TestSameSeedSameAnswers(t *testing.T) {
	run := func(seed uint64) (answers []pdu.Status) {
		sc := Scenario{Seed: seed, Errors: []ErrorRule{{Match: Match{Share: 0.5}, Status: pdu.StatusSysErr}}}
		bubble(t, sc, func(t *testing.T, s *Server) {
			c := connect(t, s).bind()
			for range 64 {
				answers = append(answers, c.submit("1").Status)
			}
			synctest.Wait()
		})
		return answers
	}
	first := run(1)
	if !slices.Equal(first, run(1)) {
		t.Error("one seed gave two runs")
	}
	if slices.Equal(first, run(2)) {
		t.Error("two seeds gave one run")
	}
}
