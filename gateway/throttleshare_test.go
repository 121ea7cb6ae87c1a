package gateway

import (
	"testing"
	"time"
)

func TestThrottleShareForgets(t *testing.T) {
	var s throttleShare
	check := func(now float64, span time.Duration, want float64) {
		t.Helper()
		if got := s.over(at(now), span); got != want {
			t.Errorf("share of %v at %v s: %v, want %v", span, now, got, want)
		}
	}
	for i := range 10 {
		s.add(at(0), i < 3)
	}
	check(0, time.Minute, 0.3)
	check(30, time.Minute, 0.3)
	check(70, time.Minute, 0)
	for range 10 {
		s.add(at(300), false)
	}
	check(300, time.Minute, 0)
	check(300, 15*time.Minute, 0.15)
	check(905, 15*time.Minute, 0)
	check(5000, 15*time.Minute, 0)
}
