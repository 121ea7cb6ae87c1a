package gateway

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sluice/classify"
	"sluice/gateway/admin"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// backup is YAML of a second account and a route over both.
func backup(s smsc) string {
	return fmt.Sprintf("  backup: {address: %q, system_id: sluice, password: secret}\nroutes: {main: {accounts: [acme, backup]}}", s.addr)
}

func TestRouteFailsOverAndBack(t *testing.T) {
	t.Parallel()
	first := downSMSC(t)
	second := startSMSC(t, testserver.Scenario{})
	r := startGateway(t, t.TempDir(), first, "", backup(second))
	r.publish(t, messages(5, "+1555")...)
	for _, e := range r.await(t, 5, isFinal) {
		if e.Type != queue.EventSubmitted || e.Account != "backup" {
			t.Errorf("%s: %s over %s, want submitted over backup", e.ID, e.Type, e.Account)
		}
	}
	if err := first.SetScenario(testserver.Scenario{}); err != nil {
		t.Fatal(err)
	}
	r.awaitAccount(t, "both accounts are bound", func(a admin.Account) bool { return a.State == string(Bound) })
	await(t, "the first to be back at its pace", func() bool { return r.accounts[0].canTake(time.Now(), false) })
	r.publish(t, messages(5, "+1666")...)
	onFirst := 0
	for _, e := range r.await(t, 10, isFinal)[5:] {
		if e.Account == "acme" {
			onFirst++
		}
	}
	if onFirst < 4 { // one may have been asked for by the backup when its turn ended
		t.Errorf("%d of 5 messages went over the first account once it was bound, want at least 4", onFirst)
	}
	if a, b := first.Stats().Accepted, second.Stats().Accepted; a+b != 10 {
		t.Errorf("the SMSCs accepted %d and %d messages, want 10 in all", a, b)
	}
}

// The parts of a message stay with the SMSC that has taken the first ones, also when another account pulls it.
func TestPartsFollowTheirAccount(t *testing.T) {
	t.Parallel()
	first := downSMSC(t)
	second := startSMSC(t, testserver.Scenario{
		Errors: []testserver.ErrorRule{{Script: []pdu.Status{pdu.StatusOK, pdu.StatusThrottled, pdu.StatusSysErr}}}, Ledger: keepsPDUs(),
	})
	yaml := backup(second)
	yaml = yaml[:len(yaml)-len("}}")] + ", attempts_per: 1/20s}}" // so that it comes back only after the first is bound
	r := startGateway(t, t.TempDir(), first, "", yaml)
	r.publish(t, &queue.Message{ID: "m", From: "ACME", To: "+15550100", Text: long(3)})
	r.await(t, 1, func(e queue.Event) bool { return e.Type == queue.EventRetry }) // the backup has the first part
	if err := first.SetScenario(testserver.Scenario{}); err != nil {
		t.Fatal(err)
	}
	final := r.await(t, 1, isFinal)[0]
	if final.Type != queue.EventSubmitted || final.Account != "backup" || len(final.MessageIDs) != 3 {
		t.Errorf("final %+v, want submitted over backup with 3 ids", final)
	}
	if got := numbers(submits(t, second)); !slices.Equal(got, []int{1, 2, 3, 2, 3}) {
		t.Errorf("the second SMSC saw parts %v, want 1, 2, 3, 2, 3", got)
	}
	if n := first.Stats().Submits; n != 0 {
		t.Errorf("the first SMSC saw %d submits, want none", n)
	}
	if len(r.Binds()) != 2 || r.Binds()[0].State != string(Bound) {
		t.Errorf("the first account is not bound: the test does not test")
	}
}

func TestAddressesTakeTurns(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, testserver.Scenario{})
	gone := startSMSC(t, testserver.Scenario{Bind: testserver.BindRules{Refuse: testserver.Refusal{Drop: true}}})
	cfg := testConfig(t, t.TempDir(), gone, "", "")
	cfg.Accounts["acme"].Address = append(cfg.Accounts["acme"].Address, s.addr)
	r := runGateway(t, cfg, Options{})
	r.publish(t, messages(1, "+1555")...)
	if e := r.await(t, 1, isFinal)[0]; e.Type != queue.EventSubmitted || s.Stats().Accepted != 1 {
		t.Errorf("%s, and the second address accepted %d; want submitted over it", e.Type, s.Stats().Accepted)
	}
}

// A first account that takes nothing, whatever it says, loses its traffic to the second, gets it back when it takes
// messages again, and nothing is sent to both.
func TestTrafficLeavesAnAccountThatTakesNothing(t *testing.T) {
	t.Parallel()
	for name, sc := range map[string]testserver.Scenario{
		"0x08":    {Errors: []testserver.ErrorRule{{Status: pdu.StatusSysErr}}},
		"0x58":    {Errors: []testserver.ErrorRule{{Status: pdu.StatusThrottled}}},
		"nothing": {Faults: []testserver.Fault{{Kind: testserver.FaultSwallow}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := startSMSC(t, sc), startSMSC(t, testserver.Scenario{})
			r := startGateway(t, t.TempDir(), first, "", backup(second))
			send := func(n int, prefix string) {
				for _, m := range messages(n, prefix) {
					if _, _, err := r.client.Publish(t.Context(), "main", "otp", m); err != nil {
						t.Fatal(err)
					}
				}
			}
			overSecond := func(e queue.Event) bool { return e.Type == queue.EventSubmitted && e.Account == "backup" }
			send(40, "+1555")
			r.await(t, 20, overSecond) // 20 at the most are in the first one's window when it swallows them
			if err := first.SetScenario(testserver.Scenario{}); err != nil {
				t.Fatal(err)
			}
			for n := 0; first.Stats().Accepted == 0 || name == "nothing" && n < 1; n++ {
				send(1, fmt.Sprintf("+1666%04d", n))
				r.await(t, 21+n, func(e queue.Event) bool { return e.Type == queue.EventSubmitted })
			}
			taken := map[string]int{}
			for _, s := range []smsc{first, second} {
				if d := s.Stats().Duplicated; d != 0 {
					t.Errorf("%d messages came twice to one SMSC", d)
				}
			}
			for _, e := range r.events(t) {
				if e.Type == queue.EventSubmitted {
					taken[e.ID]++
				}
			}
			for _, e := range r.events(t) {
				if e.Type == queue.EventUnknownOutcome && taken[e.ID] > 0 && !e.PossibleDuplicate {
					t.Errorf("%s was swallowed by the first SMSC and sent to the second", e.ID)
				}
			}
			for id, n := range taken {
				if n != 1 {
					t.Errorf("%s was submitted %d times", id, n)
				}
			}
		})
	}
}

func TestWhenAnAccountTakesNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		strict bool
		slow   time.Duration
		pace   float64
		want   time.Duration
	}{
		{"default", false, 0, 100, 8 * time.Second},
		{"otp", true, 0, 100, 3 * time.Second},
		{"a slow SMSC", true, 2 * time.Second, 100, 6 * time.Second},
		{"a low pace", true, 0, 0.5, 6 * time.Second},
	} {
		state := taking{slow: c.slow}
		if got := state.patience(c.strict, c.pace); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	var s taking
	s.offered(at(0))
	s.answered(classify.Retry, time.Second)
	s.answered(classify.Throttle, time.Second)
	s.offered(at(5))
	if !s.since.Equal(at(0)) || s.slow < 990*time.Millisecond {
		t.Errorf("nothing taken since %v, want from the first offer on", s.since)
	}
	for _, class := range []classify.Class{classify.OK, classify.Terminal} {
		s.offered(at(6))
		if s.answered(class, 0); !s.since.IsZero() {
			t.Errorf("%v leaves the account as one that takes nothing", class)
		}
	}
}

// A silent account is tested every 5 s for a minute, then once each response timeout, and anew after a new session.
func TestWhenASilentAccountIsTested(t *testing.T) {
	const after, response = 8 * time.Second, 30 * time.Second
	var s taking
	s.offered(at(0))
	if began, test := s.silence(at(7.9), after, response, true); began || test {
		t.Error("it is silent before 8 s")
	}
	if began, test := s.silence(at(8), after, response, false); !began || test {
		t.Errorf("after 8 s it is silent %v, tested beyond its window %v; want silent, and no test yet", began, test)
	}
	var tests []float64
	for n := 0; n <= 150; n++ {
		if n == 140 {
			s.joined(at(148))
		}
		if began, test := s.silence(at(float64(8+n)), after, response, true); test {
			tests = append(tests, float64(n))
		} else if began {
			t.Error("it begins to be silent again")
		}
	}
	want := []float64{0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 90, 120, 140, 145, 150}
	if !slices.Equal(tests, want) {
		t.Errorf("tests after %v s, want %v", tests, want)
	}
	s.answered(classify.Throttle, 0)
	if began, test := s.silence(at(1000), after, response, true); began || test {
		t.Error("an answer does not end the silence")
	}
}

// What an SMSC may have taken goes to no other.
func TestUnknownOutcomesStayWithTheirAccount(t *testing.T) {
	first := &account{name: "first"}
	second := &account{name: "second", others: func(string) *account { return first }}
	o := testRules().unanswered(at(0), letter{}, reasonNoResponse)
	if o.State.Account != "acme" {
		t.Errorf("the message is kept for %q, want acme", o.State.Account)
	}
	if second.rival(o.State) != first {
		t.Error("another account would send it again")
	}
}
