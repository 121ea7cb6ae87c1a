package gateway

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/classify"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// outage is an SMSC that answers 0x08 to everything, or to some.
func outage(m testserver.Match) testserver.Scenario {
	return testserver.Scenario{
		Latency: testserver.Between(10*time.Millisecond, 30*time.Millisecond),
		Errors:  []testserver.ErrorRule{{Match: m, Status: pdu.StatusSysErr}},
	}
}

func healthy() testserver.Scenario {
	return testserver.Scenario{Latency: testserver.Between(10*time.Millisecond, 30*time.Millisecond)}
}

func (v *virtual) scenario(t *testing.T, sc testserver.Scenario) {
	t.Helper()
	if err := v.smsc.SetScenario(sc); err != nil {
		t.Fatal(err)
	}
}

// send publishes n messages with a life to numbers with the prefix.
func (v *virtual) send(t *testing.T, n int, life time.Duration, prefix, tenant string) {
	t.Helper()
	for i := range n {
		m := &queue.Message{
			ID: fmt.Sprintf("%s-%d", strings.Trim(prefix, "+"), i), From: "1000", To: fmt.Sprintf("%s%04d", prefix, i),
			Text: "hello", Tenant: tenant, ExpiresIn: life,
		}
		if _, _, err := v.source.Publish(context.Background(), "main", "otp", m); err != nil {
			t.Fatal(err)
		}
	}
}

// lastAccepted is when the last message was submitted, and how many were.
func (v *virtual) submitted() (last time.Time, n int) {
	for _, e := range v.source.Events(0) {
		if e.Type == queue.EventSubmitted {
			n++
			last = latest(last, e.At)
		}
	}
	return last, n
}

// 0x08 to everything for a while costs no message: all are accepted within 12 s of the recovery.
func TestAnOutageOfTemporaryErrorsCostsNoMessage(t *testing.T) {
	for _, c := range []struct {
		length   time.Duration
		messages int
		life     time.Duration
		before   bool // the account accepted a message just before
	}{
		{5 * time.Second, 20, 5 * time.Minute, false},
		{11 * time.Second, 20, 5 * time.Minute, true},
		{23 * time.Second, 20, 5 * time.Minute, false},
		{47 * time.Second, 20, 5 * time.Minute, true},
		{90 * time.Second, 20, 5 * time.Minute, true},
		{10 * time.Second, 3, 5 * time.Minute, false},
		{10 * time.Second, 3, 5 * time.Minute, true},
		{60 * time.Second, 3, 5 * time.Minute, true},
		{8 * time.Second, 3, 5 * time.Minute, true},
		{5 * time.Second, 3, 30 * time.Second, true},
		{40 * time.Second, 20, 60 * time.Second, true},
		{6 * time.Second, 1, 10 * time.Second, true},
	} {
		t.Run(fmt.Sprintf("%v for %d that live %v, warm %v", c.length, c.messages, c.life, c.before), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := startVirtual(t, healthy(), "")
				defer v.stop()
				if c.before {
					v.send(t, 5, time.Hour, "+4477", "")
					time.Sleep(5 * time.Second)
				}
				_, warm := v.submitted()
				v.scenario(t, outage(testserver.Match{}))
				v.send(t, c.messages, c.life, "+1555", "")
				time.Sleep(c.length)
				recovered := time.Now()
				v.scenario(t, healthy())
				time.Sleep(2 * time.Minute)
				last, n := v.submitted()
				t.Logf("%d of %d accepted, the last one %v after the recovery", n-warm, c.messages, last.Sub(recovered).Round(time.Millisecond))
				if n-warm != c.messages {
					t.Errorf("%d of %d messages were accepted: %v", n-warm, c.messages, v.finals())
				}
				for _, e := range v.source.Events(0) {
					if e.Type == queue.EventSubmitted && e.Attempt != 1 && c.length >= 10*time.Second {
						t.Errorf("%s has used %d attempts: those of the outage were not given back", e.ID, e.Attempt)
					}
				}
				if after := last.Sub(recovered); after > 12*time.Second {
					t.Errorf("the last one was accepted %v after the recovery, want at most 12s", after)
				}
			})
		})
	}
}

// 3,000 messages queued, 0x08 for a minute: the account is failing, says so once, and sends no more than probes.
func TestFailingAccountSendsProbesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := startVirtual(t, healthy(), "")
		defer v.stop()
		var log bytes.Buffer
		v.log = slog.New(slog.NewTextHandler(&log, nil))
		v.send(t, 500, time.Hour, "+4477", "")
		time.Sleep(3 * time.Minute)
		before := v.smsc.Stats()
		_, pace, _ := v.gate.Size()
		v.scenario(t, outage(testserver.Match{}))
		v.send(t, 3000, time.Hour, "+1555", "")
		time.Sleep(time.Minute)
		refused := v.smsc.Stats().Submits - before.Submits
		_, paceAfter, _ := v.gate.Size()
		t.Logf("%d refused in a minute, pace %.1f and then %.1f, state %s", refused, pace, paceAfter, v.standing().state)
		if refused >= 60 {
			t.Errorf("%d submits were refused, want under 60", refused)
		}
		if s := v.standing(); s.state != Failing || !strings.Contains(s.reason, "ESME_RSYSERR") {
			t.Errorf("the account is %s (%s), want failing with ESME_RSYSERR", s.state, s.reason)
		}
		if n := strings.Count(log.String(), "the account is failing"); n != 1 {
			t.Errorf("%d lines say that the account is failing, want 1:\n%s", n, log.String())
		}
		if paceAfter > pace {
			t.Errorf("the pace rose from %v to %v by temporary errors", pace, paceAfter)
		}
		v.scenario(t, healthy())
		recovered := time.Now()
		time.Sleep(20 * time.Minute)
		last, n := v.submitted()
		t.Logf("%d accepted, the last one %v after the recovery", n, last.Sub(recovered))
		if n != 3500 {
			t.Errorf("%d accepted, want 3500: %v", n, v.finals())
		}
	})
}

// A message a minute and 0x08 for ten: none is given up.
func TestSparseTrafficOutlivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := startVirtual(t, healthy(), "")
		defer v.stop()
		for n := range 20 {
			switch n {
			case 3:
				v.scenario(t, outage(testserver.Match{}))
			case 13:
				v.scenario(t, healthy())
			}
			v.send(t, 1, 24*time.Hour, fmt.Sprintf("+1555%02d", n), "")
			time.Sleep(time.Minute)
		}
		if _, n := v.submitted(); n != 20 {
			t.Errorf("%d of 20 accepted: %v", n, v.finals())
		}
	})
}

// One tenant's messages alone get 0x08 while others pass: his use up their attempts, the others flow.
func TestTemporaryErrorsOfOneTenantAreHis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := startVirtual(t, outage(testserver.Match{Prefix: "1555"}), "")
		defer v.stop()
		for n := range 240 {
			if n < 10 {
				v.send(t, 1, 12*time.Hour, fmt.Sprintf("+1555%03d", n), "bad")
			}
			v.send(t, 5, 24*time.Hour, fmt.Sprintf("+4477%03d", n), "good")
			time.Sleep(15 * time.Second)
		}
		finals := v.finals()
		t.Logf("%v", finals)
		if finals[queue.EventSubmitted] != 1200 || finals[queue.EventDeferred] != 10 {
			t.Errorf("finals %v, want 1200 submitted and 10 deferred", finals)
		}
	})
}

func TestWhenAnAccountIsFailing(t *testing.T) {
	type said struct {
		at     float64
		class  classify.Class
		number uint64
		before float64 // of the message's last temporary error, 0: none
	}
	twenty := func(number func(int) uint64) (list []said) {
		for i := range 20 {
			list = append(list, said{at: float64(i) / 100, class: classify.Retry, number: number(i)})
		}
		return list
	}
	each := func(i int) uint64 { return uint64(i) }
	for _, c := range []struct {
		name    string
		said    []said
		failing bool
	}{
		{"20 in a moment", twenty(each), true},
		{"20 of one number alone", twenty(func(int) uint64 { return 1 }), true},
		{"19", twenty(each)[:19], false},
		{"3 over 5 s", []said{{at: 0, class: classify.Retry, number: 1}, {at: 2, class: classify.Unknown, number: 2}, {at: 5, class: classify.Retry, number: 1}}, true},
		{"3 over 4.9 s", []said{{at: 0, class: classify.Retry, number: 1}, {at: 2, class: classify.Unknown, number: 2}, {at: 4.9, class: classify.Retry, number: 1}}, false},
		{"2 over an hour", []said{{at: 0, class: classify.Retry, number: 1}, {at: 3600, class: classify.Retry, number: 2}}, false},
		{"one number of two that were tried", []said{{at: 0, class: classify.Retry, number: 1}, {at: 1, class: classify.Terminal, number: 2}, {at: 3, class: classify.Retry, number: 1}, {at: 9, class: classify.Retry, number: 1}}, false},
		{"terminals between", []said{{at: 0, class: classify.Retry, number: 1}, {at: 1, class: classify.Terminal, number: 3}, {at: 3, class: classify.Retry, number: 2}, {at: 9, class: classify.Retry, number: 1}}, true},
		{"an acceptance between", []said{{at: 0, class: classify.Retry, number: 1}, {at: 1, class: classify.OK, number: 3}, {at: 3, class: classify.Retry, number: 2}, {at: 9, class: classify.Retry, number: 1}}, false},
		{"a throttle between", []said{{at: 0, class: classify.Retry, number: 1}, {at: 1, class: classify.Throttle, number: 3}, {at: 3, class: classify.Retry, number: 2}, {at: 9, class: classify.Retry, number: 1}}, false},
		{"throttles only", []said{{at: 0, class: classify.Throttle, number: 1}, {at: 5, class: classify.Throttle, number: 2}, {at: 10, class: classify.Throttle, number: 3}}, false},
		{"messages refused before another one passed", []said{
			{at: 0, class: classify.Retry, number: 1, before: -20},
			{at: 2, class: classify.Retry, number: 2, before: -9},
			{at: 6, class: classify.Retry, number: 3, before: -30},
			{at: 9, class: classify.Retry, number: 4, before: -2},
		}, false},
		{"messages refused since the last one passed", []said{
			{at: 0, class: classify.Retry, number: 1, before: -0.5},
			{at: 2, class: classify.Retry, number: 2, before: -0.5},
			{at: 6, class: classify.Retry, number: 1, before: 0.1},
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := failing{accepted: at(-1)}
			for _, s := range c.said {
				a := accountAnswer{class: s.class, number: s.number}
				if s.before != 0 {
					a.before = at(s.before)
				}
				f.hear(at(s.at), a)
			}
			if got := !f.since.IsZero(); got != c.failing {
				t.Errorf("failing %v, want %v: %+v", got, c.failing, f)
			}
		})
	}
}

func TestProbesAndTheWayBack(t *testing.T) {
	var f failing
	now := at(0)
	f.hear(now, accountAnswer{class: classify.Retry, number: 1})
	for n, want := range []float64{1, 2, 4, 5, 5} {
		if got := f.next.Sub(now).Seconds(); got != want {
			t.Errorf("probe %d comes after %v s, want %v", n+1, got, want)
		}
		now = f.next
		f.hear(now, accountAnswer{class: classify.Retry, number: uint64(n)})
	}
	if f.since != at(0) || !f.within(at(3)) || f.within(at(-1)) {
		t.Errorf("failing since %v, want from the first answer on", f.since)
	}
	if c := f.hear(now, accountAnswer{class: classify.OK}); c != endedFailing || f.probing || !f.within(at(3)) || f.within(now.Add(time.Second)) {
		t.Errorf("an acceptance leaves %+v", f)
	}
	inSecond := map[int]int{}
	for range 62 {
		inSecond[int(f.climb.take(now, 1000).Sub(now)/time.Second)]++
	}
	for second, want := range []int{0, 2, 4, 8, 16} { // the first second's falls on the begin of the second
		if second > 0 && inSecond[second] != want {
			t.Errorf("%d submits in second %d of the climb, want %d", inSecond[second], second, want)
		}
	}
}

// The way back doubles while hardly anything is refused, and goes a step back else.
func TestTheWayBackWaitsForAcceptances(t *testing.T) {
	now := at(0)
	rate := func(c climb) (n int) { // of the next second
		for at := now.Add(time.Second); c.take(now, 1000).Before(at); n++ {
			if n > 1000 {
				return n
			}
		}
		return n
	}
	c := climb{began: now}
	for second := range 5 {
		now = at(float64(second))
		for n := 1 << second; n > 0; n-- {
			c.take(now, 1000)
			c.hear(now, second < 4 || n > 1)
		}
	}
	now = at(5)
	if n := rate(c); n < 31 {
		t.Errorf("one refused of 31 leaves %d submits in the next second, want about 32", n)
	}
	for range 3 {
		c.hear(now, false)
	}
	if n := rate(c); n < 15 || n > 16 {
		t.Errorf("four refused of 34 leave %d submits in the next second, want 16", n)
	}
	for range 10 {
		c.hear(now, false)
	}
	if n := rate(c); n > 2 || c.over(now, 2) {
		t.Errorf("with all refused there are %d submits in the next second, want 1 or 2", n)
	}
	if !c.over(now.Add(10*time.Second), 1000) || c.over(now.Add(9*time.Second), 1000) || !(&climb{}).over(now, 1) {
		t.Error("it does not end after 10 s at a pace of 1,000/s")
	}
}

// One generic_nack with 0x03 among submits that are accepted is its message's; a run of them stops the account.
func TestOneRefusedCommandIsItsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc := healthy()
		sc.Faults = []testserver.Fault{{Kind: testserver.FaultNack, Status: pdu.StatusInvCmdID, Match: testserver.Match{Prefix: "999", Times: 1}}}
		v := startVirtual(t, sc, "")
		defer v.stop()
		v.send(t, 10, time.Hour, "+4477", "")
		time.Sleep(10 * time.Second)
		v.send(t, 1, time.Hour, "+999", "")
		v.send(t, 90, time.Hour, "+1555", "")
		time.Sleep(time.Minute)
		if _, n := v.submitted(); n != 101 || v.standing().state != Bound {
			t.Errorf("%d of 101 accepted, and the account is %s; want bound", n, v.standing().state)
		}
		sc.Faults[0].Match = testserver.Match{}
		v.scenario(t, sc)
		before := v.smsc.Stats().Submits
		v.send(t, 50, time.Hour, "+2666", "")
		time.Sleep(30 * time.Second)
		n := v.smsc.Stats().Submits - before
		t.Logf("%d submits until the account is %s", n, v.standing().state)
		if v.standing().state != ConfigFault || n > 20 {
			t.Errorf("after %d of 0x03 in a row the account is %s, want config after a few", n, v.standing().state)
		}
		if left := v.finals(); left[queue.EventFailed]+left[queue.EventDeferred]+left[queue.EventExpired] != 0 {
			t.Errorf("messages were given up: %v", left)
		}
	})
}

// Two that set the flow at once never shorten a wait that was asked for.
func TestAskedWaitOutlastsARace(t *testing.T) {
	f := newFlow(1, func() {})
	defer f.stop()
	now := time.Now()
	for range 4000 {
		f.mu.Lock()
		f.held = hold{}
		f.mu.Unlock()
		done := make(chan struct{})
		go func() { f.extend(now, time.Minute, time.Minute, "short"); close(done) }()
		f.extend(now, time.Hour, time.Hour, "long")
		<-done
		if got := f.heldUntil(now).Sub(now); got != time.Hour {
			t.Fatalf("held for %v, want 1h", got)
		}
	}
}

// Attempts in a time in which the account was failing are given back, also where another instance has seen it.
func TestAttemptsOfAFailingTimeAreGivenBack(t *testing.T) {
	var f faults
	f.learn([]queue.Spell{{From: at(10), To: at(20)}, {From: at(10), To: at(30)}})
	st := queue.State{Attempts: 4, AttemptTimes: []time.Time{at(5), at(10), at(25), at(31)}}
	if got := f.taken(st); got.Attempts != 2 || len(got.AttemptTimes) != 2 || !got.AttemptTimes[0].Equal(at(5)) || !got.AttemptTimes[1].Equal(at(31)) {
		t.Errorf("%d attempts at %v are left, want those at 5 s and 31 s", got.Attempts, got.AttemptTimes)
	}
}

// Over the real queue: 0x08 for a while and OTPs of five minutes with the default configuration.
func TestOTPsOutliveTemporaryErrors(t *testing.T) {
	t.Parallel()
	s := startSMSC(t, outage(testserver.Match{}))
	r := startGateway(t, t.TempDir(), s, "", "")
	for _, m := range short(20, "+1555", 5*time.Minute) {
		if _, _, err := r.client.Publish(t.Context(), "main", "otp", m); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the state failing", func() bool { return r.Accounts()[0].State == string(Failing) && r.Binds()[0].State == string(Failing) })
	if err := s.SetScenario(testserver.Scenario{}); err != nil {
		t.Fatal(err)
	}
	for _, e := range r.await(t, 20, isFinal) {
		if e.Type != queue.EventSubmitted || e.Attempt != 1 {
			t.Errorf("%s: %s (%s) after %d attempts, want submitted after one", e.ID, e.Type, e.Reason, e.Attempt)
		}
	}
	await(t, "the state bound", func() bool { return r.Accounts()[0].State == string(Bound) })
	await(t, "what is stored of the failing time", func() bool {
		spells, err := r.client.Spells(t.Context(), "acme")
		return err == nil && len(spells) == 1 && spells[0].To.After(spells[0].From)
	})
}

// Events of attempts that may yet be given back say so, and only those.
func TestAttemptsThatMayBeGivenBackAreProvisional(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := startVirtual(t, outage(testserver.Match{Prefix: "1555"}), "")
		defer v.stop()
		v.send(t, 10, time.Hour, "+4477", "")
		time.Sleep(10 * time.Second)
		v.send(t, 1, time.Hour, "+1555", "") // refused while others pass, and again
		for n := range 30 {
			time.Sleep(time.Second)
			v.send(t, 2, time.Hour, fmt.Sprintf("+4478%02d", n), "")
		}
		time.Sleep(10 * time.Second)
		charged := map[string][]bool{}
		said := func() {
			clear(charged)
			for _, e := range v.source.Events(0) {
				switch {
				case e.Type == queue.EventRetry && e.Reason == reasonRetry:
					charged[e.ID] = append(charged[e.ID], e.Provisional)
				case e.Provisional:
					t.Errorf("%s: %s (%s) is provisional", e.ID, e.Type, e.Reason)
				}
			}
		}
		said()
		if got := charged["1555-0"]; len(got) < 2 || !got[0] || slices.Contains(got[1:], true) {
			t.Errorf("provisional %v for a message that alone is refused, want the first attempt only", got)
		}
		v.scenario(t, outage(testserver.Match{}))
		v.send(t, 10, time.Hour, "+4666", "")
		time.Sleep(20 * time.Second)
		said()
		n := 0
		for id, list := range charged {
			if strings.HasPrefix(id, "4666") {
				n++
				if slices.Contains(list, false) {
					t.Errorf("%s: provisional %v in an outage, want all its attempts to be", id, list)
				}
			}
		}
		if n == 0 {
			t.Error("no attempt was used at the begin of the outage: the test does not test")
		}
		v.scenario(t, healthy())
		time.Sleep(time.Minute)
		for _, e := range v.source.Events(0) {
			if e.Type == queue.EventSubmitted && strings.HasPrefix(e.ID, "4666") && e.Attempt != 1 {
				t.Errorf("%s has used %d attempts, want 1: the provisional ones are given back", e.ID, e.Attempt)
			}
		}
	})
}
