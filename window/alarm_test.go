package window

import (
	"math/rand/v2"
	"testing"
	"time"

	"sluice/testserver/limiter"
)

// alarms runs a scenario and returns its first sender's decisions about alarms, and the state at the end.
func alarms(sc scenario, seed uint64) (log []Decision, last Alarm) {
	var first *Controller
	var seen uint64
	sc.inspect = func(_ time.Time, c *Controller, _ Signal, _ Decision) {
		if first == nil {
			first = c
		}
		if c != first || c.decided == seen {
			return
		}
		for _, d := range c.Decisions() { // a cut may follow in the same call
			if d.Seq > seen && (d.Reason == ReasonAlarm || d.Reason == ReasonAlarmOver) {
				log = append(log, d)
			}
		}
		seen = c.decided
	}
	s := simulate(sc, seed)
	return log, first.Snapshot(s.clock()).Alarm
}

func noisyBucket(rate, noise float64) func(*rand.Rand) limiter.Limiter {
	return noisy(bucket(rate, max(2, rate/10)), noise, throttled)
}

// Noise above noise.max, or any with the tests off: the goodput decays, and somebody must be told.
func TestAlarmWhereNothingIsSafe(t *testing.T) {
	for _, tt := range []struct {
		name        string
		rate, noise float64
		max         float64
		rtt         int
	}{
		{"10 % at 10/s", 10, .10, .06, 20},
		{"10 % at 100/s", 100, .10, .06, 200},
		{"10 % at 1000/s", 1000, .10, .06, 20},
		{"8 % at 100/s", 100, .08, .06, 20},
		{"2 % at 100/s, tests off", 100, .02, 0, 20},
		{"2 % at 1000/s, tests off", 1000, .02, 0, 20},
	} {
		for seed := range uint64(3) {
			log, _ := alarms(scenario{smsc: noisyBucket(tt.rate, tt.noise), rtt: ms(tt.rtt), length: 20 * time.Minute, config: Config{NoiseMax: tt.max}}, seed)
			if len(log) == 0 {
				t.Errorf("%s: no alarm", tt.name)
				continue
			}
			for _, d := range log {
				if a := d.Alarm; d.Reason == ReasonAlarm && (a.Share < tt.noise/2 || a.Share > 1.5*tt.noise || a.Suggested() != 1.5*a.Share || a.Since != d.At) {
					t.Errorf("%s: %v", tt.name, d)
				}
			}
			t.Logf("%s: %v", tt.name, log[0])
		}
	}
}

// The operator who does what the alarm says has his goodput back and the alarm off.
func TestAlarmEndsWhenItsAdviceIsTaken(t *testing.T) {
	sc := scenario{smsc: noisyBucket(100, .10), rtt: ms(20), length: 30 * time.Minute, warm: 20 * time.Minute, config: Config{NoiseMax: .06}}
	plain := simulate(sc, 2)
	sc.inspect = func(now time.Time, c *Controller, _ Signal, _ Decision) {
		if a := c.Snapshot(now).Alarm; a.Reason != "" && now.Sub(virtualStart()) > 10*time.Minute {
			c.Configure(now, Config{NoiseMax: .06, NoiseIgnore: a.Suggested()})
		}
	}
	s := simulate(sc, 2)
	without, with := plain.goodput(sc.warm, sc.length), s.goodput(sc.warm, sc.length)
	t.Logf("goodput %.1f %% without, %.1f %% with the advice", 100*without, 100*with)
	if with < .6 || without > .2 {
		t.Errorf("goodput %.2f without, %.2f with", without, with)
	}
	if a := s.senders[0].c.Snapshot(s.clock()).Alarm; a.Reason != "" {
		t.Errorf("at the end: %v", a)
	}
}

// What is load, or noise that may be ignored, is none.
func TestNoAlarmWhereThePaceIsTheRemedy(t *testing.T) {
	after := func(n int) (at []time.Duration) {
		for i := range n {
			at = append(at, time.Duration(i)*5*time.Second)
		}
		return at
	}
	falls := func(from, to, b float64) func(*rand.Rand) limiter.Limiter {
		return bucketAlong(limiter.Steps([]limiter.Step{{At: 0, Rate: from}, {At: seconds(120), Rate: to}, {At: seconds(400), Rate: from}}), b)
	}
	both, tests := []float64{0, .06}, []float64{.06}
	for name, tt := range map[string]struct {
		sc    scenario
		noise []float64
	}{
		"a fall to 30 %":   {scenario{smsc: falls(100, 30, 10)}, both},
		"a fall to 3 %":    {scenario{smsc: falls(300, 10, 10)}, both},
		"a small fall":     {scenario{smsc: falls(10, 3, 2)}, both},
		"noise of 1 %":     {scenario{smsc: noisyBucket(100, .01)}, tests},
		"noise of 2 %":     {scenario{smsc: noisyBucket(100, .02)}, tests},
		"two blind ones":   {scenario{smsc: bucket(100, 10), senders: after(2)}, tests},
		"four blind ones":  {scenario{smsc: bucket(100, 10), senders: after(4)}, tests},
		"a queue":          {scenario{smsc: func(*rand.Rand) limiter.Limiter { return limiter.FiniteQueue(limiter.Constant(100), 10, queueFull) }}, both},
		"calendar seconds": {scenario{smsc: func(*rand.Rand) limiter.Limiter { return limiter.CalendarSecond(limiter.Constant(100), throttled) }}, both},
		"a penalty": {scenario{smsc: func(*rand.Rand) limiter.Limiter {
			return limiter.Penalty(limiter.TokenBucket(limiter.Constant(10), 2, throttled), 5*time.Second)
		}}, both},
	} {
		tt.sc.rtt, tt.sc.length = ms(20), 10*time.Minute
		for _, tt.sc.config.NoiseMax = range tt.noise {
			for seed := range uint64(2) {
				if log, _ := alarms(tt.sc, seed); len(log) > 0 {
					t.Errorf("%s, noise.max %v, seed %d: %v", name, tt.sc.config.NoiseMax, seed, log)
				}
			}
		}
	}
}

// drive takes a controller through tests for noise whose answers it chooses.
type drive struct {
	c   *Controller
	id  BindID
	now time.Time
}

func (m *drive) answer(s Signal) {
	_, at := m.c.Next(m.now, m.id)
	m.now = latest(m.now, at)
	ticket := m.c.OnSend(m.now, m.id)
	m.now = m.now.Add(time.Millisecond)
	m.c.OnResult(m.now, ticket, s)
}

func inATest() *drive {
	c := NewController(Config{Remembered: 100, NoiseMax: .06})
	m := &drive{c: c, id: c.AddBind(), now: virtualStart()}
	m.answer(Signal{})
	c.compare(m.now, .05)
	return m
}

// A silence ends a test without a verdict; after two of them in a row nobody knows.
func TestAlarmAfterTwoUndecidedTests(t *testing.T) {
	m := inATest()
	for test := 1; test <= 2; test++ {
		if a := m.c.alarm; a.Reason != "" {
			t.Fatalf("before the end of test %d: %v", test, a)
		}
		for range 3 {
			m.answer(Signal{Answer: Refused, Again: true})
		}
		if m.c.mode != Hold {
			t.Fatalf("mode %v", m.c.mode)
		}
		m.answer(Signal{})
		if test == 1 {
			m.c.compare(m.now, .05)
		}
	}
	a := m.c.Snapshot(m.now).Alarm
	if a.Reason != AlarmUndecided || a.Refused+a.SlowRefused != 1 && a.Again == 0 {
		t.Errorf("%+v", a)
	}
	// 1,000 answers with hardly a refusal end it.
	for i := 0; m.c.alarm.Reason != "" && i < 3000; i++ {
		m.answer(Signal{Congestion: loaded}) // no probes here
	}
	if d := m.c.newest(); m.c.alarm.Reason != "" || d.Reason != ReasonAlarmOver || d.Accepted != lastHeard {
		t.Errorf("alarm %v, decision %v", m.c.alarm, d)
	}
}

// A test that goes on and on counts as undecided every forty phases.
func TestAlarmInAnEndlessTest(t *testing.T) {
	m := inATest()
	for phase, refused, most := 0, 0, 0; m.c.mode == Compare && m.c.phase <= 2*longTest; {
		if m.c.phase != phase {
			phase, refused, most = m.c.phase, 0, 3
			if phase%2 == 1 && phase > 1 { // neither load nor noise, but something between
				most = int(min(4, max(0, 2*(m.c.likelihood()+2))))
			}
		}
		s := Signal{}
		if m.c.fresh > 10*float64(refused) && refused < most {
			refused++
			s.Answer = Refused
		}
		m.answer(s)
		if a := m.c.alarm; a.Reason != "" {
			if a.Reason != AlarmUndecided || phase < 2*longTest || a.SlowRefused == 0 {
				t.Errorf("in phase %d: %+v", phase, a)
			}
			return
		}
	}
	t.Errorf("no alarm; mode %v, phase %d, decisions %v", m.c.mode, m.c.phase, m.c.newest())
}
