package gateway

import (
	"testing"
	"time"
)

func TestRetrySlotsComeBackAsAQuarterOfThePace(t *testing.T) {
	var s retrySlots
	for i := range 10 {
		got := s.take(at(0), at(0), time.Time{}, 100)
		if want := at(float64(i) * 0.04); !got.Equal(want) {
			t.Errorf("message %d comes back at %v, want %v", i, got.Sub(at(0)), want.Sub(at(0)))
		}
	}
}

func TestRetrySlotNeverShortensAnAskedWait(t *testing.T) {
	var s retrySlots
	if got := s.take(at(0), at(30), at(20), 100); !got.Equal(at(30)) {
		t.Errorf("eligible at %v, want 30s although the deadline is before", got.Sub(at(0)))
	}
}

func TestRetrySlotBeyondTheDeadlineIsBroughtForward(t *testing.T) {
	var s retrySlots
	for range 100 {
		s.take(at(0), at(0), time.Time{}, 1) // the next slot is 400 s away
	}
	if got := s.take(at(0), at(2), at(60), 1); !got.Equal(at(59)) {
		t.Errorf("eligible at %v, want 59s", got.Sub(at(0)))
	}
	if got := s.take(at(0), at(59.5), at(60), 1); !got.Equal(at(59.5)) {
		t.Errorf("eligible at %v, want 59.5s: the earliest time is kept", got.Sub(at(0)))
	}
}

func TestRetrySlotsDoNotSaveUpIdleTime(t *testing.T) {
	var s retrySlots
	s.take(at(0), at(0), time.Time{}, 100)
	first := s.take(at(100), at(100), time.Time{}, 100)
	second := s.take(at(100), at(100), time.Time{}, 100)
	if !first.Equal(at(100)) || second.Sub(first) != 40*time.Millisecond {
		t.Errorf("after an idle spell %v and %v, want 100s and 40ms later", first.Sub(at(0)), second.Sub(first))
	}
}
