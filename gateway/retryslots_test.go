package gateway

import (
	"testing"
	"time"
)

func TestRetrySlotsComeBackAsAQuarterOfThePace(t *testing.T) {
	var s retrySlots
	for i := range 10 {
		got := s.take(at(0), retry{earliest: at(0)}, 100)
		if want := at(float64(i) * 0.04); !got.Equal(want) {
			t.Errorf("message %d comes back at %v, want %v", i, got.Sub(at(0)), want.Sub(at(0)))
		}
	}
}

func TestRetrySlotNeverShortensAnAskedWait(t *testing.T) {
	var s retrySlots
	if got := s.take(at(0), retry{earliest: at(30), deadline: at(20)}, 100); !got.Equal(at(30)) {
		t.Errorf("eligible at %v, want 30s although the deadline is before", got.Sub(at(0)))
	}
}

func TestRetrySlotBeyondTheDeadlineIsBroughtForward(t *testing.T) {
	var s retrySlots
	for range 100 {
		s.take(at(0), retry{earliest: at(0)}, 1) // the next slot is 400 s away
	}
	if got := s.take(at(0), retry{earliest: at(2), deadline: at(60)}, 1); !got.Equal(at(59)) {
		t.Errorf("eligible at %v, want 59s", got.Sub(at(0)))
	}
	if got := s.take(at(0), retry{earliest: at(59.5), deadline: at(60)}, 1); !got.Equal(at(59.5)) {
		t.Errorf("eligible at %v, want 59.5s: the earliest time is kept", got.Sub(at(0)))
	}
}

func TestRetrySlotsDoNotSaveUpIdleTime(t *testing.T) {
	var s retrySlots
	s.take(at(0), retry{earliest: at(0)}, 100)
	first := s.take(at(100), retry{earliest: at(100)}, 100)
	second := s.take(at(100), retry{earliest: at(100)}, 100)
	if !first.Equal(at(100)) || second.Sub(first) != 40*time.Millisecond {
		t.Errorf("after an idle spell %v and %v, want 100s and 40ms later", first.Sub(at(0)), second.Sub(first))
	}
}

// 3,000 throttled bulk messages put no OTP behind them, and share with other classes by weight.
func TestRetrySlotsAreOfEachClass(t *testing.T) {
	var s retrySlots
	var bulk, normal time.Time
	for range 3000 {
		bulk = s.take(at(0), retry{class: "bulk", weight: 1, earliest: at(0)}, 100)
	}
	if got := s.take(at(0), retry{class: "otp", earliest: at(1)}, 100); !got.Equal(at(1)) {
		t.Errorf("an OTP comes back at %v behind 3,000 bulk messages, want 1s", got.Sub(at(0)))
	}
	if bulk.Sub(at(0)) < 119*time.Second {
		t.Errorf("3,000 messages come back within %v, want a quarter of 100/s: 2m", bulk.Sub(at(0)))
	}
	for range 76 {
		normal = s.take(at(0), retry{class: "normal", weight: 3, earliest: at(0)}, 100)
	}
	if got := normal.Sub(at(0)); got.Round(time.Second) != 4*time.Second { // three of four slots
		t.Errorf("the 76th normal message comes back after %v, want 4s", got)
	}
}

// A campaign whose slots would miss its deadline takes the last ones before it, not one moment, and what finds none asks
// again after half of its life.
func TestSlotsBeforeADeadlineAreSpread(t *testing.T) {
	var s retrySlots
	for range 3000 { // to 120 s from now
		s.take(at(0), retry{class: "bulk", weight: 1, earliest: at(0)}, 100)
	}
	perSecond, halves := map[int]int{}, 0
	for range 1000 {
		got := s.take(at(0), retry{class: "bulk", weight: 1, earliest: at(2), deadline: at(31)}, 100)
		switch {
		case got.Before(at(2)), got.After(at(30)):
			t.Fatalf("eligible at %v, want between 2s and 30s", got.Sub(at(0)))
		case got.Equal(at(15.5)):
			halves++
			continue
		}
		perSecond[int(got.Add(-time.Nanosecond).Sub(at(0))/time.Second)]++
	}
	for second, n := range perSecond {
		if n > 51 {
			t.Errorf("%d come back in second %d, want about 25", n, second)
		}
	}
	if halves < 200 {
		t.Errorf("%d of 1,000 ask again later, want those for which no slot is left (250)", halves)
	}
	if got := s.take(at(0), retry{class: "bulk", weight: 1, earliest: at(29.9), deadline: at(31)}, 100); got.Before(at(29.9)) || got.After(at(31)) {
		t.Errorf("eligible at %v, want within the life", got.Sub(at(0)))
	}
}
