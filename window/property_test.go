package window

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/testserver/limiter"
)

// machine drives a controller with whatever rapid can think of and checks, after every step, what must always hold.
type machine struct {
	t    *rapid.T
	c    *Controller
	now  time.Time
	out  []Ticket
	cfg  Config
	cut  int64   // newest ticket at the newest cut
	test bool    // a test message of a hold is out
	low  float64 // lowest rate that was ever declared, or the ceiling's floor
}

func (m *machine) send(id BindID) {
	b := m.c.bind(id)
	ok, at := m.c.Next(m.now, id)
	switch {
	case m.cfg.MaxWindow > 0 && m.c.unanswered >= m.cfg.MaxWindow && ok:
		m.t.Fatalf("may send with %d unanswered, the cap is %d", m.c.unanswered, m.cfg.MaxWindow)
	case m.c.mode == Hold && m.test && ok:
		m.t.Fatal("may send a second test message in a hold")
	case m.c.mode != Hold && b.ahead() >= m.c.size(b) && ok:
		m.t.Fatalf("may send %d ahead in a window of %d", b.ahead(), m.c.size(b))
	case !ok && len(m.out) == 0:
		m.t.Fatal("waits for an answer, but nothing is out")
	case !ok:
		return
	}
	m.now = latest(m.now, at)
	m.test = m.c.mode == Hold
	m.out = append(m.out, m.c.OnSend(m.now, id))
}

func (m *machine) answer(i int, s Signal) {
	t := m.out[i]
	m.out = slices.Delete(m.out, i, i+1)
	before, mode := *m.c, m.c.mode
	sizes := m.sizes()
	d := m.c.OnResult(m.now, t, s)
	if mode == Hold && t.n > before.epoch {
		m.test = false
	}
	if d.Reason == "" {
		return
	}
	if d.String() == "" || d.Seq <= before.decided || d.Seq > before.decided+2 || d.Mode != m.c.mode {
		m.t.Fatalf("decision %+v", d)
	}
	if d.WindowWas == 0 || d.Reason == ReasonHold {
		return
	}
	// A cut.
	if t.n <= m.cut {
		m.t.Fatalf("%v: by message %d, which was sent before the last cut at %d", d, t.n, m.cut)
	}
	m.cut = before.issued
	lower := m.c.pace < before.pace
	if mode == Compare { // its slow phases are slower than anything that follows
		lower = m.c.ceiling < before.ceiling
	}
	if !lower && before.ceiling > slowest {
		m.t.Fatalf("%v: pace %v was %v", d, m.c.pace, before.pace)
	}
	for i, size := range m.sizes() {
		if size >= sizes[i] && sizes[i] > 1 {
			m.t.Fatalf("%v: window of bind %d is %d, was %d", d, i, size, sizes[i])
		}
	}
}

func (m *machine) sizes() (all []int) {
	for _, b := range m.c.binds {
		all = append(all, m.c.size(b))
	}
	return all
}

func (m *machine) check() {
	c := m.c
	if m.cfg.Declared > 0 {
		m.low = min(m.low, m.cfg.Declared)
		if c.pace > m.cfg.Declared || c.ceiling > m.cfg.Declared {
			m.t.Fatalf("pace %v, ceiling %v above the declared %v", c.pace, c.ceiling, m.cfg.Declared)
		}
	}
	if !(c.ceiling >= m.low) || !(c.pace >= m.low*cruise*(1-deepDip)) || c.pace > fastest || math.IsInf(c.ceiling, 0) {
		m.t.Fatalf("pace %v, ceiling %v", c.pace, c.ceiling)
	}
	for _, n := range m.sizes() {
		if n < 1 || m.cfg.MaxWindow > 0 && n > m.cfg.MaxWindow {
			m.t.Fatalf("window %d, the cap is %d", n, m.cfg.MaxWindow)
		}
	}
	if c.unanswered != len(m.out) {
		m.t.Fatalf("%d unanswered, want %d", c.unanswered, len(m.out))
	}
	if later := c.Snapshot(m.now.Add(24 * time.Hour)); later.Ceiling != c.ceiling || later.Pace != c.pace {
		m.t.Fatal("time alone changed the ceiling")
	}
}

func configs() *rapid.Generator[Config] {
	return rapid.Custom(func(t *rapid.T) Config {
		rate := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0.01, 50_000))
		share := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0.001, 0.2))
		return Config{
			Declared: rate.Draw(t, "declared"), Remembered: rate.Draw(t, "remembered"), MaxWindow: rapid.IntRange(0, 20).Draw(t, "max"),
			NoiseMax: share.Draw(t, "noise max"), NoiseIgnore: share.Draw(t, "ignore"), ProbeBudget: share.Draw(t, "budget"),
		}
	})
}

func TestControllerProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := configs().Draw(t, "config")
		m := &machine{t: t, c: NewController(cfg), now: virtualStart(), cfg: cfg, low: slowest}
		m.c.AddBind()
		signals := rapid.Custom(func(t *rapid.T) Signal {
			s := Signal{Answer: rapid.SampledFrom([]Answer{Accepted, Accepted, Accepted, Accepted, Refused, Other, Lost}).Draw(t, "answer")}
			if rapid.IntRange(0, 9).Draw(t, "congested") == 0 {
				s.Congestion = rapid.Uint8Range(1, 99).Draw(t, "congestion")
			}
			return s
		})
		bind := func(t *rapid.T) BindID {
			return m.c.binds[rapid.IntRange(0, len(m.c.binds)-1).Draw(t, "bind")].id
		}
		flood := func(t *rapid.T) {
			// Waves of the same answer reach the states that single ones do not.
			s := signals.Draw(t, "signal")
			for range rapid.IntRange(1, 60).Draw(t, "wave") {
				m.send(bind(t))
				m.now = m.now.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "ms")) * time.Millisecond)
				if len(m.out) > 0 {
					m.answer(0, s)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"":     func(*rapid.T) { m.check() },
			"send": func(t *rapid.T) { m.send(bind(t)) },
			"answer": func(t *rapid.T) {
				if len(m.out) > 0 {
					m.answer(rapid.IntRange(0, len(m.out)-1).Draw(t, "which"), signals.Draw(t, "signal"))
				}
			},
			"flood": flood,
			"wait": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
			},
			"add bind": func(*rapid.T) {
				if len(m.c.binds) < 4 {
					m.c.AddBind()
				}
			},
			"remove bind": func(t *rapid.T) {
				if len(m.c.binds) > 1 {
					m.c.RemoveBind(m.now, bind(t))
				}
			},
			"configure": func(t *rapid.T) {
				m.cfg = configs().Draw(t, "config")
				m.c.Configure(m.now, m.cfg)
			},
			"forget": func(*rapid.T) { m.c.Forget(m.now) },
		})
	})
}

func TestSameSeedSameDecisions(t *testing.T) {
	run := func() (log []string) {
		sc := scenario{smsc: noisy(bucketAlong(steps(100), 10), .01, throttled), rtt: ms(20, 200), length: 300 * time.Second, config: Config{NoiseMax: .06}, lost: .01}
		for _, d := range simulate(sc, 7).senders[0].c.Decisions() {
			log = append(log, d.String())
		}
		return log
	}
	if a, b := run(), run(); !slices.Equal(a, b) {
		t.Error("two runs of the same seed decided differently")
	}
}

// Answers that are not about load change nothing: B14.
func TestOtherAnswersAreLikeAccepted(t *testing.T) {
	run := func(status uint32) (log []string) {
		sc := scenario{rtt: ms(20), length: 60 * time.Second, smsc: func(rnd *rand.Rand) limiter.Limiter {
			return limiter.All(limiter.TokenBucket(limiter.Constant(100), 10, throttled), limiter.Noise(limiter.Delay(0, 0, nil), .005, rnd, status))
		}}
		s := simulate(sc, 3)
		for _, d := range s.senders[0].c.Decisions() {
			log = append(log, d.String())
		}
		return append(log, limiterRefusals(s)...)
	}
	plain := run(0x45)
	if !slices.Equal(plain, run(sysErr)) {
		t.Error("0x08 and 0x45 give different decisions")
	}
}

func limiterRefusals(s *simulation) []string { return []string{count(s.refused)} }

// Each cut lowers the window in the same call, and clean rounds give it back one by one: B24.
func TestWindowComesBackByCleanRounds(t *testing.T) {
	c := NewController(Config{Declared: 1000})
	id := c.AddBind()
	now := virtualStart()
	round := func(s Signal) (decided []Decision) {
		var out []Ticket
		for {
			ok, at := c.Next(now, id)
			if !ok || len(out) > 0 && at.After(now.Add(20*time.Millisecond)) {
				break
			}
			now = latest(now, at)
			out = append(out, c.OnSend(now, id))
		}
		now = now.Add(20 * time.Millisecond)
		for i, t := range out {
			if i > 0 { // at least one is accepted, or it would be a hold
				if d := c.OnResult(now, t, s); d.Reason != "" {
					decided = append(decided, d)
				}
				continue
			}
			c.OnResult(now, t, Signal{Congestion: loaded}) // no probes here
		}
		return decided
	}
	for range 5 {
		round(Signal{})
	}
	before := c.windows()
	decided := round(Signal{Answer: Refused})
	if len(decided) != 1 || decided[0].Reason != ReasonCutExcess || c.windows() >= before || decided[0].Window != c.windows() {
		t.Fatalf("window %d, was %d; decisions %v", c.windows(), before, decided)
	}
	b := c.bind(id)
	for lowest, rounds := c.windows(), 1; c.windows() < int(c.whole(b)); rounds++ {
		round(Signal{Congestion: loaded})
		if want := min(lowest+rounds, int(c.whole(b))); c.windows() < want {
			t.Fatalf("window is %d after %d clean rounds from %d, want %d", c.windows(), rounds, lowest, want)
		}
	}
}

// An idle account keeps what it knows, and is not carried away when messages come back: B13.
func TestIdleNeitherRaisesNorForgets(t *testing.T) {
	s := simulate(scenario{smsc: bucket(100, 10), rtt: ms(20), length: 120 * time.Second}, 1)
	c := s.senders[0].c
	before := c.Snapshot(s.clock())
	id := c.binds[0].id
	at := s.clock()
	for range 100 { // one message an hour
		at = at.Add(time.Hour)
		ok, due := c.Next(at, id)
		if !ok || due.After(at) {
			t.Fatalf("an idle account may not send: %v %v", ok, due)
		}
		c.OnResult(at.Add(20*time.Millisecond), c.OnSend(at, id), Signal{})
	}
	after := c.Snapshot(at)
	if after.Ceiling < before.Ceiling || after.Ceiling > before.Ceiling*1.05 {
		t.Errorf("ceiling %v, was %v", after.Ceiling, before.Ceiling)
	}
}

// The operator's cap, not the queue, stopped the sender: its probe goes on and the step stays.
func TestProbeUnderMaxWindowIsNotUnused(t *testing.T) {
	s := simulate(scenario{
		smsc: outstanding(5, 100*time.Millisecond, .5), rtt: ms(1), local: true, length: 60 * time.Second, rate: 50, config: Config{MaxWindow: 5},
	}, 1)
	for _, d := range s.senders[0].c.Decisions() {
		if d.Reason == ReasonProbeUnused {
			t.Errorf("%v", d)
		}
	}
	if s.refused > 0 || s.goodput(s.warm, s.length) < .9 {
		t.Errorf("%d refused, goodput %.2f", s.refused, s.goodput(s.warm, s.length))
	}
}

// congestion_state: 80 to 89 lets no probe start, from 90 on an answer counts as refused.
func TestCongestionHints(t *testing.T) {
	run := func(congestion uint8) *Controller {
		c := NewController(Config{Remembered: 100})
		id := c.AddBind()
		now := virtualStart()
		for range 2000 {
			ok, at := c.Next(now, id)
			if !ok {
				t.Fatal("one message at a time must fit")
			}
			now = latest(now, at)
			c.OnResult(now.Add(5*time.Millisecond), c.OnSend(now, id), Signal{Congestion: congestion})
		}
		return c
	}
	if c := run(79); c.ceiling <= 95 {
		t.Errorf("congestion 79: ceiling %v, want more than at the start", c.ceiling)
	}
	if c := run(85); c.ceiling != 95 || c.mode != Cruise {
		t.Errorf("congestion 85: ceiling %v, mode %v, want 95 in cruise", c.ceiling, c.mode)
	}
	c := run(95)
	if c.ceiling > 50 {
		t.Errorf("congestion 95: ceiling %v, want a cut", c.ceiling)
	}
	if d := run(85).Decisions(); d[len(d)-1].Reason != ReasonCongestion {
		t.Errorf("congestion 85: %v", d[len(d)-1])
	}
}

func TestLearnedIsWhatAnswersTaught(t *testing.T) {
	for _, cfg := range []Config{{}, {Declared: 50}, {Remembered: 50}} {
		if got := NewController(cfg).Snapshot(virtualStart()).Learned; got != 0 {
			t.Errorf("%+v: learned %v before any answer", cfg, got)
		}
	}
	s := simulate(scenario{smsc: bucket(100, 10), rtt: ms(20), length: 60 * time.Second}, 1)
	if got := s.senders[0].c.Snapshot(s.clock()).Learned; got < 95 || got > 105 {
		t.Errorf("learned %v of a ceiling of 100", got)
	}
}

func TestConfigThatMakesNoSenseCountsAsNone(t *testing.T) {
	nan := math.NaN()
	c := NewController(Config{Declared: nan, Remembered: math.Inf(1), MaxWindow: -3, NoiseMax: -1, NoiseIgnore: 7, ProbeBudget: nan})
	want := Config{ProbeBudget: budget, NoiseIgnore: .5}
	if c.cfg != want || c.ceiling != startRate {
		t.Errorf("config %+v, ceiling %v", c.cfg, c.ceiling)
	}
	id := c.AddBind()
	if ok, _ := c.Next(virtualStart(), id+1); ok {
		t.Error("an unknown bind may send")
	}
	if d := c.OnResult(virtualStart(), c.OnSend(virtualStart(), id+1), Signal{}); d.Reason != "" {
		t.Errorf("a ticket of an unknown bind decided %v", d)
	}
}
