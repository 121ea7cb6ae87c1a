package course

import (
	"fmt"
	"time"

	"sluice/testserver"
)

// Change is a step of the ceiling, and how the sender followed.
type Change struct {
	At   float64 `json:"at_seconds"`
	Rate float64 `json:"rate"` // messages per second from then on
	// Clean is how many seconds later a second began in which at most 5 % were throttled, Reached the same with 90 % of
	// the ceiling accepted too; absent: never.
	Clean   *float64 `json:"clean_after_seconds,omitempty"`
	Reached *float64 `json:"reached_after_seconds,omitempty"`
}

// Changes are the steps in the scenario's limits that the course has seen.
func (c Course) Changes(sc testserver.Scenario) (all []Change) {
	for _, l := range sc.Limits {
		for i, step := range l.Rate.Steps {
			if i > 0 && c.Has(step.At) {
				all = append(all, Change{
					At: step.At.Seconds(), Rate: step.Rate, Clean: seconds(c.Clean(step.At)), Reached: seconds(c.Reached(step.At)),
				})
			}
		}
	}
	return all
}

func seconds(after time.Duration, ok bool) *float64 {
	if !ok {
		return nil
	}
	s := after.Seconds()
	return &s
}

// String is a sentence such as "ceiling 30/s from 60 s on: clean after 2.1 s, 90 % of it after 4.0 s".
func (c Change) String() string {
	after := func(s *float64) string {
		if s == nil {
			return "never"
		}
		return fmt.Sprintf("after %.1f s", *s)
	}
	return fmt.Sprintf("ceiling %.0f/s from %.0f s on: clean %s, 90 %% of it %s", c.Rate, c.At, after(c.Clean), after(c.Reached))
}
