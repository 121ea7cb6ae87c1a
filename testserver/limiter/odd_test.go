package limiter

import (
	"math"
	"testing"
	"time"
)

// oddTests are further cases of TestVerdicts.
func oddTests() []verdictTest {
	minute := QuotaConfig{N: 3, Period: time.Minute, Status: throttled}
	with := func(change func(*QuotaConfig)) Limiter {
		cfg := minute
		change(&cfg)
		return Quota(cfg)
	}
	return []verdictTest{
		{
			"quota starts anew with the minute of the clock", Quota(minute),
			[]arrival{
				{at: 50, times: 5, taken: 3, status: throttled},
				{at: 60, times: 5, taken: 3, status: throttled},
				{at: 119.9, times: 1, status: throttled},
				{at: 200, times: 4, taken: 3, status: throttled},
			},
		},
		{
			"quota starts anew at its phase", with(func(c *QuotaConfig) { c.Phase = 15 * time.Second }),
			[]arrival{
				{at: 14, times: 5, taken: 3, status: throttled},
				{at: 15, times: 5, taken: 3, status: throttled},
				{at: 74.9, times: 1, status: throttled},
				{at: 75, times: 1, taken: 1},
			},
		},
		{
			"quota of a day starts at midnight", with(func(c *QuotaConfig) { c.Period = 24 * time.Hour }),
			[]arrival{
				{at: 0, times: 5, taken: 3, status: throttled},
				{at: 12*3600 - 1, times: 1, status: throttled},
				{at: 12 * 3600, times: 5, taken: 3, status: throttled},
			},
		},
		{
			"sliding quota looks back a minute", with(func(c *QuotaConfig) { c.Sliding = true }),
			[]arrival{
				{at: 50, times: 5, taken: 3, status: throttled},
				{at: 60, times: 1, status: throttled},
				{at: 110, times: 5, taken: 3, status: throttled},
			},
		},
		{
			"sliding quota that charges counts what it refused", with(func(c *QuotaConfig) { c.Sliding, c.Charge = true, true }),
			[]arrival{
				{at: 0, times: 3, taken: 3},
				{at: 50, times: 3, status: throttled},
				{at: 61, times: 1, status: throttled},
				{at: 110, times: 3, taken: 2, status: throttled}, // the refused one of 61 s counts
			},
		},
		{
			"quota that charges takes what it refused from the next minute", with(func(c *QuotaConfig) { c.Charge = true }),
			[]arrival{
				{at: 0, times: 5, taken: 3, status: throttled},  // 2 charged
				{at: 60, times: 2, taken: 1, status: throttled}, // 1 charged
				{at: 180, times: 3, taken: 3},                   // a minute without submits has paid
				{at: 190, times: 20, status: throttled},
				{at: 240, times: 1, status: throttled},
				{at: 300, times: 2, taken: 2},
			},
		},
		{
			"session quota never starts anew", SessionQuota(2, throttled),
			[]arrival{
				{at: 0, times: 3, taken: 2, status: throttled},
				{at: 1e6, times: 1, status: throttled},
			},
		},
		{
			"spacing takes one at a time", Spacing(Constant(10), 1, throttled),
			[]arrival{
				{at: 0, times: 2, taken: 1, status: throttled},
				{at: 0.09, times: 1, status: throttled},
				{at: 0.1, times: 2, taken: 1, status: throttled},
				{at: 9, times: 2, taken: 1, status: throttled},
			},
		},
		{
			"pause ends by itself, whatever comes meanwhile", Pause(TokenBucket(Constant(100), 1, queueFull), 5*time.Second),
			[]arrival{
				{at: 0, times: 2, taken: 1, status: queueFull},
				{at: 4.9, times: 3, status: queueFull},
				{at: 5, times: 1, taken: 1},
			},
		},
		{
			"noise in the last second of every ten", All(During(Noise(All(), 1, random(), throttled), time.Second, 10*time.Second)),
			[]arrival{
				{at: 0, times: 2, taken: 2},
				{at: 8.99, times: 2, taken: 2},
				{at: 9, times: 2, status: throttled},
				{at: 10, times: 2, taken: 2},
				{at: 19.5, times: 2, status: throttled},
			},
		},
		{
			"bucket that is warmed up", TokenBucket(Ramp(1, 11, 10*time.Second), 1, throttled),
			[]arrival{
				{at: 0, times: 1, taken: 1},
				{at: 0.4, times: 1, status: throttled},
				{at: 10, times: 1, taken: 1},
				{at: 10.1, times: 1, taken: 1},
			},
		},
	}
}

func TestSilentAndClosingSayWhatBecomesOfRefusals(t *testing.T) {
	silent := Silent(TokenBucket(Constant(1), 1, throttled))
	closing := All(Delay(0, 0, nil), Closing(TokenBucket(Constant(1), 1, throttled)))
	if v := silent.Arrive(epoch()); v != (Verdict{}) {
		t.Errorf("the first is %+v", v)
	}
	if v := silent.Arrive(epoch()); v != (Verdict{Refuse: true, Status: throttled, Silent: true}) {
		t.Errorf("the second is %+v, want silence", v)
	}
	closing.Arrive(epoch())
	if v := closing.Arrive(epoch()); v != (Verdict{Refuse: true, Status: throttled, Close: true}) {
		t.Errorf("the second is %+v, want the end of the session", v)
	}
}

func TestLateRefusals(t *testing.T) {
	l := Late(TokenBucket(Constant(1), 1, throttled), time.Second, 3*time.Second, random())
	if v := l.Arrive(epoch()); v != (Verdict{}) {
		t.Errorf("what is taken is %+v, want it at once", v)
	}
	for range 100 {
		if v := l.Arrive(epoch()); !v.Refuse || v.Service < time.Second || v.Service >= 3*time.Second {
			t.Fatalf("a refusal is %+v, want it after 1 to 3 s", v)
		}
	}
}

// counted counts what arrives.
type counted struct {
	Limiter
	arrived, taken float64
}

func (c *counted) Arrive(now time.Time) Verdict {
	v := c.Limiter.Arrive(now)
	c.arrived++
	if !v.Refuse {
		c.taken++
	}
	return v
}

// Another sender of 40 a second takes its part of 100, and once it is gone all is ours.
func TestSharedIsWhatOthersLeave(t *testing.T) {
	others := Steps([]Step{{0, 40}, {100 * time.Second, 0}})
	both := &counted{Limiter: TokenBucket(Constant(100), 10, throttled)}
	l := Shared(both, others, random())
	const pace = 170
	taken := [2]float64{}
	for i := range 200 * pace {
		if v := l.Arrive(after(float64(i) / pace)); !v.Refuse {
			taken[i/(100*pace)]++
		}
	}
	if theirs := both.arrived - 200*pace; theirs < 3700 || theirs > 4300 {
		t.Errorf("%v submits of the other sender in 100 s, want about 4000", theirs)
	}
	if theirs := both.taken - taken[0] - taken[1]; theirs < 800 || theirs > 2000 || taken[0]+theirs < 9900 {
		t.Errorf("%v of ours and %v of the other's were taken in 100 s, want 10000 together, and hundreds of the other's", taken[0], theirs)
	}
	if taken[1] < 9900 || taken[1] > 10_100 {
		t.Errorf("%v taken in 100 s without another sender, want 10000", taken[1])
	}
	if got := [2]float64{l.Capacity(after(50)), l.Capacity(after(150))}; got != [2]float64{60, 100} {
		t.Errorf("capacity %v, want 60 and 100", got)
	}
}

func TestMoreCurves(t *testing.T) {
	for _, tt := range []struct {
		name  string
		curve Curve
		since time.Duration
		want  float64
	}{
		{"ramp at its start", Ramp(10, 200, 5*time.Minute), 0, 10},
		{"ramp half way", Ramp(10, 200, 5*time.Minute), 150 * time.Second, 105},
		{"ramp after its end", Ramp(10, 200, 5*time.Minute), time.Hour, 200},
		{"before a dip", Dips(10, 1, 20*time.Second, 3*time.Minute), 159 * time.Second, 10},
		{"in a dip", Dips(10, 1, 20*time.Second, 3*time.Minute), 160 * time.Second, 1},
		{"after a dip", Dips(10, 1, 20*time.Second, 3*time.Minute), 180 * time.Second, 10},
	} {
		if got := tt.curve(tt.since); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
