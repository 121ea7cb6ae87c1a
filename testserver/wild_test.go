package testserver

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/smpp/pdu"
)

// drive sends at a constant pace, on the clients in turn, and waits a minute for late answers.
func drive(t *testing.T, clients []*client, pace int, length time.Duration) {
	t.Helper()
	for i := range int(length.Seconds() * float64(pace)) {
		c := clients[i%len(clients)]
		c.send(message("41791234567", "hello"))
		for len(c.replies) > 1000 {
			<-c.replies
		}
		time.Sleep(time.Second / time.Duration(pace))
	}
	time.Sleep(time.Minute)
}

func bound(t *testing.T, s *Server, n int) (clients []*client) {
	t.Helper()
	for range n {
		clients = append(clients, connect(t, s).bind())
	}
	return clients
}

// wildCourse is what a client that sends at a constant pace meets. The bubble's clock begins at midnight UTC.
type wildCourse struct {
	binds, pace         int
	length              time.Duration
	accepted, throttled [2]uint64 // least and most
}

// Every file of a kind that the controller was not made for loads, and behaves as its description says. The sessions
// that are closed, silence and late answers have tests of their own.
func TestWildScenarios(t *testing.T) {
	courses := map[string]wildCourse{
		"w01-idle-then-campaign": {1, 600, 10 * time.Second, [2]uint64{5000, 5060}, [2]uint64{940, 1000}},
		"w02-busy-host":          {1, 1000, 10 * time.Second, [2]uint64{10_000, 10_000}, [2]uint64{}},
		"w04-penalty-60s":        {1, 5, 2 * time.Minute, [2]uint64{600, 600}, [2]uint64{}},
		"w07-unequal-binds":      {4, 80, 20 * time.Second, [2]uint64{1300, 1305}, [2]uint64{295, 300}}, // 20/s each, but 5/s on the fourth
		"w08-600-a-minute":       {1, 20, 3 * time.Minute, [2]uint64{1800, 1800}, [2]uint64{1800, 1800}},
		// From midnight on: 20 s, two full minutes and 40 s.
		"w08-100-a-second-3000-a-minute": {1, 80, 3 * time.Minute, [2]uint64{1600 + 3*3000, 1600 + 3*3000}, [2]uint64{3800, 3800}},
		"w08-100-in-10s-charged":         {1, 11, 40 * time.Second, [2]uint64{100, 100}, [2]uint64{340, 340}},
		"w08-10000-a-day":                {1, 50, 4 * time.Minute, [2]uint64{10_000, 10_000}, [2]uint64{2000, 2000}},
		"w09-slow-with-dips":             {1, 10, 9 * time.Minute, [2]uint64{4860, 4870}, [2]uint64{530, 540}},
		"w09-another-sender":             {1, 12, 10 * time.Minute, [2]uint64{4200, 5700}, [2]uint64{1500, 3000}},
		"w10-1024-a-session":             {2, 50, 60 * time.Second, [2]uint64{2048, 2048}, [2]uint64{952, 952}},
		"w11-maintenance":                {1, 10, 10 * time.Minute, [2]uint64{5399, 5401}, [2]uint64{599, 601}},
		"w12-warming-up":                 {1, 100, 5 * time.Minute, [2]uint64{23_000, 24_500}, [2]uint64{5500, 7000}},
		"w12-swinging":                   {1, 100, 8 * time.Minute, [2]uint64{35_500, 36_500}, [2]uint64{11_500, 12_500}},
		"w13-bursts-of-noise":            {1, 50, 10 * time.Minute, [2]uint64{28_950, 29_250}, [2]uint64{750, 1050}},
		"w15-spacing":                    {1, 150, 10 * time.Second, [2]uint64{740, 1000}, [2]uint64{500, 760}}, // every other one is too early
	}
	others := []string{
		"w03-late-refusals", "w03-late-acceptances", "w05-closes-above-100", "w05-closes-beyond-10", "w06-silent-above-100",
	}
	files, err := filepath.Glob("../configs/scenarios/w[0-9]*.yaml")
	if err != nil || len(files) != len(courses)+len(others) {
		t.Errorf("%d files, want %d: %v", len(files), len(courses)+len(others), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		course, listed := courses[name]
		if !listed && !slices.Contains(others, name) {
			t.Errorf("%s: no test says how it behaves", name)
		}
		if !listed {
			continue
		}
		t.Run(name, func(t *testing.T) {
			bubble(t, wild(t, name), func(t *testing.T, s *Server) {
				drive(t, bound(t, s, course.binds), course.pace, course.length)
				got := s.Stats()
				if got.Accepted < course.accepted[0] || got.Accepted > course.accepted[1] {
					t.Errorf("%d accepted, want %d to %d", got.Accepted, course.accepted[0], course.accepted[1])
				}
				if got.Throttled < course.throttled[0] || got.Throttled > course.throttled[1] {
					t.Errorf("%d throttled, want %d to %d", got.Throttled, course.throttled[0], course.throttled[1])
				}
				if got.Swallowed > 0 || got.Refused > 0 {
					t.Errorf("%d unanswered and %d refused otherwise, want none", got.Swallowed, got.Refused)
				}
			})
		})
	}
}

// wild loads a scenario of the directory.
func wild(t *testing.T, name string) Scenario {
	t.Helper()
	sc, err := Load("../configs/scenarios/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// answerTimes submits so many at once and returns how long the answers of each status took, shortest first.
func answerTimes(t *testing.T, c *client, n int) map[pdu.Status][]time.Duration {
	t.Helper()
	began := time.Now()
	for range n {
		c.send(message("41791234567", "hello"))
	}
	times := map[pdu.Status][]time.Duration{}
	for range n {
		r := c.next()
		times[r.Status] = append(times[r.Status], r.at.Sub(began))
	}
	return times
}

func TestLateAnswers(t *testing.T) {
	const soon, least, most = 50 * time.Millisecond, time.Second, 3100 * time.Millisecond
	for _, tt := range []struct {
		name        string
		late, quick pdu.Status
	}{{"w03-late-refusals", pdu.StatusThrottled, pdu.StatusOK}, {"w03-late-acceptances", pdu.StatusOK, pdu.StatusThrottled}} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, wild(t, tt.name), func(t *testing.T, s *Server) {
				times := answerTimes(t, connect(t, s).bind(), 20) // the bucket holds 10
				if late := times[tt.late]; len(late) != 10 || late[0] < least || late[9] > most {
					t.Errorf("%v after %v, want 10 after 1 to 3 s", tt.late, late)
				}
				if quick := times[tt.quick]; len(quick) != 10 || quick[9] > soon {
					t.Errorf("%v after %v, want 10 after 20 ms", tt.quick, quick)
				}
			})
		})
	}
}

func TestPenaltyOfAMinute(t *testing.T) {
	bubble(t, wild(t, "w04-penalty-60s"), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		for range 3 {
			c.send(message("1", "hello"))
		}
		time.Sleep(time.Second)
		for range 3 { // each begins the minute anew
			time.Sleep(50 * time.Second)
			c.send(message("1", "hello"))
		}
		time.Sleep(61 * time.Second)
		c.send(message("1", "hello"))
		time.Sleep(time.Second)
		if got := s.Stats(); got.Accepted != 3 || got.Throttled != 4 {
			t.Errorf("%d accepted and %d throttled, want 3 and 4", got.Accepted, got.Throttled)
		}
	})
}

func TestClosingLimits(t *testing.T) {
	for _, tt := range []struct {
		name    string
		most    int // at once
		lockout time.Duration
	}{{"w05-closes-above-100", 100, 30 * time.Second}, {"w05-closes-beyond-10", 10, 5 * time.Second}} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, wild(t, tt.name), func(t *testing.T, s *Server) {
				c, other := connect(t, s).bind(), connect(t, s).bind()
				for range tt.most {
					c.send(message("1", "hello"))
				}
				for range tt.most {
					c.want(pdu.IDSubmitSMResp, pdu.StatusOK)
				}
				time.Sleep(time.Second)
				for range tt.most + 1 {
					c.send(message("1", "hello"))
				}
				c.wantEnd()
				time.Sleep(time.Second)
				if got := s.Stats(); got.Accepted != uint64(2*tt.most) || got.Swallowed != uint64(tt.most+1) {
					t.Errorf("%d accepted and %d unanswered, want %d and %d", got.Accepted, got.Swallowed, 2*tt.most, tt.most+1)
				}
				time.Sleep(tt.lockout - 3*time.Second)
				if r := connect(t, s).bindAs(pdu.IDBindTransceiver, "sluice", "secret"); r.Status != pdu.StatusBindFail {
					t.Errorf("a bind before %v gets %v, want 0x0D", tt.lockout, r.Status)
				}
				if r := other.submit("1"); r.Status != pdu.StatusOK {
					t.Errorf("the other session: %v", r.Status)
				}
				time.Sleep(3 * time.Second)
				connect(t, s).bind()
			})
		})
	}
}

func TestSilenceAboveARate(t *testing.T) {
	bubble(t, wild(t, "w06-silent-above-100"), func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		for range 12 {
			c.send(message("1", "hello"))
		}
		for range 10 {
			c.want(pdu.IDSubmitSMResp, pdu.StatusOK)
		}
		time.Sleep(1900 * time.Millisecond)
		c.send(message("1", "hello")) // still silent
		c.wantSilence(time.Minute)
		if r := c.submit("1"); r.Status != pdu.StatusOK {
			t.Errorf("afterwards: %v", r.Status)
		}
		if got := s.Stats(); got.Accepted != 11 || got.Swallowed != 3 || got.Throttled != 3 {
			t.Errorf("%d accepted, %d unanswered, %d throttled, want 11, 3 and 3", got.Accepted, got.Swallowed, got.Throttled)
		}
	})
}

// A bind that comes takes the lowest slot that is free, and each slot has its limits.
func TestSlotsOfBinds(t *testing.T) {
	bubble(t, wild(t, "w07-unequal-binds"), func(t *testing.T, s *Server) {
		clients := bound(t, s, 4)
		takes := func(c *client) int { return len(answerTimes(t, c, 10)[pdu.StatusOK]) }
		for i, want := range []int{5, 5, 5, 2} {
			if got := takes(clients[i]); got != want {
				t.Errorf("bind %d takes %d at once, want %d", i+1, got, want)
			}
		}
		clients[1].send(&pdu.Unbind{})
		clients[1].want(pdu.IDUnbindResp, pdu.StatusOK)
		time.Sleep(time.Second)
		if got := takes(connect(t, s).bind()); got != 5 {
			t.Errorf("the bind that comes instead of the second takes %d at once, want 5", got)
		}
	})
}

// Another bind has the quota of a session anew.
func TestSessionQuotaEndsWithTheSession(t *testing.T) {
	bubble(t, Scenario{Limits: []Limit{{Kind: SessionQuota, Count: 3}}}, func(t *testing.T, s *Server) {
		for range 2 {
			c := connect(t, s).bind()
			times := answerTimes(t, c, 5)
			if len(times[pdu.StatusOK]) != 3 || len(times[pdu.StatusThrottled]) != 2 {
				t.Errorf("answers are %v, want 3 accepted and 2 throttled", times)
			}
			c.send(&pdu.Unbind{})
			c.want(pdu.IDUnbindResp, pdu.StatusOK)
		}
	})
}

func TestLimitsNameFieldValueAndRemedy(t *testing.T) {
	for yaml, want := range map[string][]string{
		"{kind: quota, period: 1m}":                                     {"limits[0].count", "0", "1 or more"},
		"{kind: quota, count: 5}":                                       {"limits[0].period", "0s", "24h"},
		"{kind: quota, count: 5, period: 1m, phase: 1m}":                {"limits[0].phase", "1m0s", "below the period"},
		"{kind: quota, count: 5, period: 1m, phase: 1s, sliding: true}": {"limits[0].phase", "1s", "no phase"},
		"{kind: session_quota, count: 5, scope: account}":               {"limits[0].scope", "account", "leave scope out"},
		"{kind: session_quota, count: 5, period: 1m}":                   {"limits[0]", "period 1m0s", "quota"},
		"{kind: token_bucket, rate: 1, count: 5}":                       {"limits[0].count", "5", "leave it out"},
		"{kind: token_bucket, rate: 1, over: hangup}":                   {"limits[0].over", "hangup", "close"},
		"{kind: token_bucket, rate: 1, slot: -1}":                       {"limits[0].slot", "-1", "1 or more"},
		"{kind: token_bucket, rate: 1, slot: 2, scope: account}":        {"limits[0].slot", "2", "scope: bind"},
		"{kind: token_bucket, rate: 1, pause: -1s}":                     {"limits[0].pause", "-1s", "5s"},
		"{kind: token_bucket, rate: 1, pause: 1s, penalty: 2s}":         {"penalty 2s and pause 1s", "one of them"},
		"{kind: token_bucket, rate: 1, late: 1s, over: silent}":         {"limits[0].late", "1s", "leave over out"},
		"{kind: token_bucket, rate: 1, late: 2s-1s}":                    {"limits[0].late", "2s-1s", "shorter one first"},
		"{kind: delay}":                                                     {"limits[0].by", "0s", "1s-3s"},
		"{kind: noise, share: 1%, by: 1s}":                                  {"limits[0].by", "1s", "late"},
		"{kind: delay, by: 1s, over: close}":                                {"limits[0].kind", "delay", "refuses nothing"},
		"{kind: noise, share: 1%, for: 3s}":                                 {"limits[0]", "every 0s", "give both"},
		"{kind: noise, share: 1%, for: 3s, every: 2s}":                      {"limits[0]", "for 3s", "shorter"},
		"{kind: outstanding, size: 1, for: 1s, every: 2s}":                  {"limits[0].every", "2s", "leave for and every out"},
		"{kind: noise, share: 1%, others: 4}":                               {"limits[0].others", "noise", "leave others out"},
		"{kind: token_bucket, rate: 1, others: -4}":                         {"limits[0].others", "-4", "messages per second"},
		"{kind: destination_queue, rate: 1, size: 1, over: close}":          {"limits[0].kind", "destination_queue", "leave over"},
		"{kind: spacing}":                                                   {"limits[0].rate", "0", "above 0"},
		"{kind: spacing, rate: {from: 1, over: 5m}}":                        {"limits[0].rate", "to 0", "two rates above 0"},
		"{kind: spacing, rate: {rate: 1, low: 0, for: 20s, every: 3m}}":     {"limits[0].rate", "low 0", "above 0"},
		"{kind: spacing, rate: {rate: 1, low: 0.5, for: 20s, every: 10s}}":  {"limits[0].rate", "for 20s", "shorter"},
		"{kind: spacing, rate: {rate: 1, lo: 0.5, for: 20s, every: 3m}}":    {"unknown field", "lo"},
		"{kind: token_bucket, rate: 1, burst: 1, sliding: true}":            {"limits[0]", "sliding true", "quota"},
		"{kind: latency_only, rate: 1, penalty: 5s}":                        {"limits[0].kind", "latency_only", "refuses nothing"},
		"{kind: session_quota, count: 0}":                                   {"limits[0].count", "0", "1 or more"},
		"{kind: token_bucket, rate: {from: 1, to: 2, over: 5}}":             {"limits[0].rate", "5", "20ms"},
		"{kind: token_bucket, rate: 1, others: [{at: 0s, rate: -1}]}":       {"limits[0].others[0].rate", "-1", "messages per second"},
		"{kind: quota, count: 5, period: 1m, others: 1, scope: everywhere}": {"limits[0].scope", "everywhere", "account"},
	} {
		_, err := Decode([]byte("limits: [" + yaml + "]"))
		if err == nil {
			t.Errorf("%s: no error", yaml)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v: does not say %q", yaml, err, part)
			}
		}
	}
	if _, err := Decode([]byte("bind: {lockout: -1s}")); err == nil || !strings.Contains(err.Error(), "bind.lockout: -1s") {
		t.Errorf("a lockout below 0: %v", err)
	}
	if _, err := Decode([]byte("limits: [{kind: token_bucket, rate: 9, others: {rate: 0, low: 5, for: 1s, every: 9s}}]")); err != nil {
		t.Errorf("another sender that rests: %v", err)
	}
}
