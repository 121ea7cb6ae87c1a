package course

import (
	"testing"
	"time"
)

// steady appends bins of so many accepted and throttled each.
func (c *Course) steady(length time.Duration, accepted, throttled int, capacity float64) {
	for range int(length / Width) {
		*c = append(*c, Bin{Accepted: accepted, Throttled: throttled, Capacity: capacity})
	}
}

func TestCourse(t *testing.T) {
	var c Course
	c.steady(2*time.Second, 2, 0, 100)  // slow start
	c.steady(3*time.Second, 10, 0, 100) // full
	c.steady(2*time.Second, 3, 7, 30)   // the ceiling fell
	c.steady(3*time.Second, 3, 0, 30)
	if got, ok := c.Reached(0); !ok || got != 1900*time.Millisecond {
		t.Errorf("90 %% reached after %v, %v", got, ok) // nine bins of ten and one of two are 92
	}
	if got, ok := c.Clean(5 * time.Second); !ok || got != 2*time.Second {
		t.Errorf("clean %v after the fall, %v", got, ok)
	}
	if got := c.Share(2*time.Second, 5*time.Second); got != 1 {
		t.Errorf("share %v, want 1", got)
	}
	if got := c.Throttled(5*time.Second, 7*time.Second); got != 0.7 {
		t.Errorf("throttled %v, want 0.7", got)
	}
	if _, ok := c.Reached(time.Hour); ok {
		t.Error("90 % reached after the end")
	}
	var unknown Course
	unknown.At(time.Second).Accepted++
	if _, ok := unknown.Reached(0); ok || unknown.Share(0, time.Minute) != 0 {
		t.Error("an unknown ceiling was reached")
	}
}
