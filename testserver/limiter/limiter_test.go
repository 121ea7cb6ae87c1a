package limiter

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

const (
	throttled = 0x58
	queueFull = 0x14
	invalid   = 0x0B
)

func epoch() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

func after(seconds float64) time.Time {
	return epoch().Add(time.Duration(math.Round(seconds * float64(time.Second))))
}

func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// verdictTest is a limiter and how many of the submits that arrive are taken.
type verdictTest struct {
	name     string
	limiter  Limiter
	arrivals []arrival
}

type arrival struct {
	at     float64 // seconds after a Thursday's noon
	times  int
	taken  int
	done   int // submits that are done before it
	status uint32
}

func TestVerdicts(t *testing.T) {
	tests := []verdictTest{
		{
			"token bucket starts full, refills at its rate, and never holds more than its burst",
			TokenBucket(Constant(10), 5, throttled),
			[]arrival{
				{at: 0, times: 8, taken: 5, status: throttled},
				{at: 0.1, times: 2, taken: 1, status: throttled},
				{at: 60, times: 8, taken: 5, status: throttled},
			},
		},
		{
			"token bucket follows a step",
			TokenBucket(Steps([]Step{{0, 10}, {time.Second, 100}}), 1, throttled),
			[]arrival{
				{at: 0, times: 2, taken: 1, status: throttled},
				{at: 0.05, times: 1, taken: 0, status: throttled},
				{at: 1, times: 2, taken: 1, status: throttled},
				{at: 1.01, times: 2, taken: 1, status: throttled},
			},
		},
		{
			"charging bucket owes for what it refused, down to its floor",
			ChargingBucket(Constant(10), 2, 3, throttled),
			[]arrival{
				{at: 0, times: 20, taken: 2, status: throttled},
				{at: 0.3, times: 1, taken: 0, status: throttled}, // owed 3, now 0, charged again: 1
				{at: 0.5, times: 1, taken: 1},
			},
		},
		{
			"finite queue takes its size at once and then what it drains",
			FiniteQueue(Constant(2), 4, queueFull),
			[]arrival{
				{at: 0, times: 6, taken: 4, status: queueFull},
				{at: 0.5, times: 2, taken: 1, status: queueFull},
				{at: 1.5, times: 3, taken: 2, status: queueFull},
			},
		},
		{
			"calendar second starts anew at the full second",
			CalendarSecond(Constant(3), throttled),
			[]arrival{
				{at: 0.9, times: 5, taken: 3, status: throttled},
				{at: 1, times: 5, taken: 3, status: throttled},
				{at: 1.99, times: 1, taken: 0, status: throttled},
			},
		},
		{
			"sliding second looks back one second",
			SlidingSecond(Constant(3), throttled),
			[]arrival{
				{at: 0.9, times: 5, taken: 3, status: throttled},
				{at: 1, times: 1, taken: 0, status: throttled},
				{at: 1.9, times: 5, taken: 3, status: throttled},
			},
		},
		{
			"sliding attempts count what was refused",
			SlidingAttempts(Constant(2), throttled),
			[]arrival{
				{at: 0, times: 3, taken: 2, status: throttled},
				{at: 0.9, times: 2, taken: 0, status: throttled},
				{at: 1.5, times: 1, taken: 0, status: throttled},
				{at: 2.6, times: 1, taken: 1},
			},
		},
		{
			"outstanding limit frees a place with each answer",
			Outstanding(2, queueFull),
			[]arrival{
				{at: 0, times: 3, taken: 2, status: queueFull},
				{at: 0.1, done: 1, times: 3, taken: 1, status: queueFull},
				{at: 0.2, done: 2, times: 3, taken: 2, status: queueFull},
			},
		},
		{
			"penalty is extended by every submit that arrives in it",
			Penalty(TokenBucket(Constant(1), 1, queueFull), 5*time.Second),
			[]arrival{
				{at: 0, times: 2, taken: 1, status: queueFull},
				{at: 4.9, times: 1, taken: 0, status: queueFull},
				{at: 9.8, times: 1, taken: 0, status: queueFull},
				{at: 14.8, times: 1, taken: 1},
			},
		},
		{
			"all refuses with the first refusal and keeps no place for it",
			All(Outstanding(1, queueFull), TokenBucket(Constant(1), 1, throttled)),
			[]arrival{
				{at: 0, times: 2, taken: 1, status: queueFull},
				{at: 0.1, done: 1, times: 2, taken: 0, status: throttled},
				{at: 1.1, times: 1, taken: 1},
			},
		},
	}
	tests = append(tests, oddTests()...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, a := range tt.arrivals {
				for range a.done {
					tt.limiter.Done(after(a.at))
				}
				taken := 0
				for range a.times {
					v := tt.limiter.Arrive(after(a.at))
					switch {
					case !v.Refuse && v.Status == 0:
						taken++
					case !v.Refuse || v.Status != a.status:
						t.Fatalf("at %v s: verdict %+v, want status %#x for refusals only", a.at, v, a.status)
					}
				}
				if taken != a.taken {
					t.Fatalf("at %v s: %d of %d taken, want %d", a.at, taken, a.times, a.taken)
				}
			}
		})
	}
}

func TestAPacedClientIsNeverRefused(t *testing.T) {
	for _, rate := range []float64{0.3, 7, 100, 20000} {
		for name, l := range map[string]Limiter{
			"bucket of 1": TokenBucket(Constant(rate), 1, throttled),
			"queue of 1":  FiniteQueue(Constant(rate), 1, queueFull),
		} {
			for i := range 5000 {
				if v := l.Arrive(after(float64(i) / rate)); v.Refuse {
					t.Fatalf("%s at %v/s: submit %d refused", name, rate, i)
				}
			}
		}
	}
}

func TestSlidingSecondForgetsWhatIsOld(t *testing.T) {
	l := SlidingSecond(Constant(100), throttled).(*sliding)
	for i := range 100_000 {
		if v := l.Arrive(after(float64(i) / 100)); v.Refuse {
			t.Fatalf("submit %d refused", i)
		}
	}
	if len(l.times) > 4096 {
		t.Errorf("%d times are kept, want a few thousand at most", len(l.times))
	}
}

func TestServiceTimes(t *testing.T) {
	queue := LatencyOnly(Constant(10))
	for i := range 5 {
		if v := queue.Arrive(epoch()); v.Refuse || v.Service != time.Duration(i+1)*100*time.Millisecond {
			t.Fatalf("submit %d: %+v", i, v)
		}
	}
	if v := queue.Arrive(after(10)); v.Service != 100*time.Millisecond {
		t.Errorf("an idle server takes %v, want 100ms", v.Service)
	}

	delayed := All(Delay(50*time.Millisecond, 100*time.Millisecond, random()), TokenBucket(Constant(1), 1, throttled))
	for i := range 100 {
		v := delayed.Arrive(epoch())
		if v.Service < 50*time.Millisecond || v.Service >= 100*time.Millisecond || v.Refuse != (i > 0) {
			t.Fatalf("submit %d: %+v", i, v)
		}
	}
	if v := Delay(time.Second, time.Second, nil).Arrive(epoch()); v.Service != time.Second {
		t.Errorf("a fixed delay takes %v, want 1s", v.Service)
	}
}

func TestNoiseIsItsShareAndRepeatable(t *testing.T) {
	count := func() (refused int) {
		l := Noise(LatencyOnly(Constant(100)), 0.02, random(), invalid)
		for i := range 100_000 {
			if v := l.Arrive(after(float64(i))); v.Refuse {
				if v.Status != invalid {
					t.Fatalf("status %#x", v.Status)
				}
				refused++
			}
		}
		return refused
	}
	first := count()
	if first < 1800 || first > 2200 {
		t.Errorf("%d of 100000 refused, want about 2000", first)
	}
	if second := count(); second != first {
		t.Errorf("the same seed gave %d and %d", first, second)
	}
}

func TestCurves(t *testing.T) {
	steps := Steps([]Step{{time.Minute, 1}, {2 * time.Minute, 2}, {3 * time.Minute, 3}})
	sine := Sine(100, 0.5, 600*time.Second)
	for _, tt := range []struct {
		name  string
		curve Curve
		since time.Duration
		want  float64
	}{
		{"constant", Constant(7), time.Hour, 7},
		{"before the first step", steps, 0, 1},
		{"just before a step", steps, 2*time.Minute - 1, 1},
		{"at a step", steps, 2 * time.Minute, 2},
		{"after the last step", steps, time.Hour, 3},
		{"no steps", Steps(nil), time.Hour, 0},
		{"sine at its start", sine, 0, 100},
		{"sine at its top", sine, 150 * time.Second, 150},
		{"sine at its bottom", sine, 450 * time.Second, 50},
	} {
		if got := tt.curve(tt.since); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestCapacity(t *testing.T) {
	step := Steps([]Step{{0, 100}, {time.Second, 40}})
	for _, tt := range []struct {
		name    string
		limiter Limiter
		want    [2]float64 // at the start, and two seconds later
	}{
		{"token bucket", TokenBucket(step, 10, throttled), [2]float64{100, 40}},
		{"calendar second", CalendarSecond(step, throttled), [2]float64{100, 40}},
		{"sliding second", SlidingSecond(step, throttled), [2]float64{100, 40}},
		{"latency only", LatencyOnly(step), [2]float64{100, 40}},
		{"outstanding", Outstanding(5, throttled), [2]float64{0, 0}},
		{"penalty", Penalty(TokenBucket(step, 10, throttled), time.Second), [2]float64{100, 40}},
		{"noise", Noise(TokenBucket(step, 10, throttled), 1, random(), invalid), [2]float64{100, 40}},
		{"all is the least that is known", All(Delay(0, 0, nil), TokenBucket(step, 10, throttled), LatencyOnly(Constant(70))), [2]float64{70, 40}},
	} {
		for i, want := range tt.want {
			if got := tt.limiter.Capacity(after(2 * float64(i))); got != want {
				t.Errorf("%s: %v at %d s, want %v", tt.name, got, 2*i, want)
			}
		}
	}
}

// A schedule behind Noise starts with the first submit, also when noise answers it.
func TestNoiseStartsTheSchedule(t *testing.T) {
	inner := TokenBucket(Steps([]Step{{0, 1}, {time.Second, 2}}), 1, throttled)
	Noise(inner, 1, random(), invalid).Arrive(epoch())
	if got := inner.Capacity(after(1)); got != 2 {
		t.Errorf("capacity %v one second after the first submit, want 2", got)
	}
}
