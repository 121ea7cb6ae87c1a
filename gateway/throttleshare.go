package gateway

import (
	"sync"
	"time"
)

// The counts behind a throttle share: 15 minutes in steps of 10 s.
const (
	shareStep  = 10 * time.Second
	shareSteps = 90
)

// throttleShare counts answers, and the throttles among them, over the last 15 minutes.
type throttleShare struct {
	mu      sync.Mutex
	began   time.Time // the first time: times count from it, so that setting the clock changes nothing
	newest  int64     // number of the newest step since then
	answers [shareSteps]int
	refused [shareSteps]int
}

func (s *throttleShare) add(now time.Time, throttled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.advance(now)
	s.answers[i]++
	if throttled {
		s.refused[i]++
	}
}

// over returns the share of throttles among the answers of the last d, to the step; 0 without answers.
func (s *throttleShare) over(now time.Time, d time.Duration) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.advance(now)
	var answers, refused int
	for range min(int(d/shareStep), shareSteps) {
		answers += s.answers[i]
		refused += s.refused[i]
		i = (i + shareSteps - 1) % shareSteps
	}
	if answers == 0 {
		return 0
	}
	return float64(refused) / float64(answers)
}

// advance clears the steps that have passed and returns the place of the current one.
func (s *throttleShare) advance(now time.Time) int {
	if s.began.IsZero() {
		s.began = now
	}
	step := int64(now.Sub(s.began) / shareStep)
	for n := max(s.newest+1, step-shareSteps+1); n <= step; n++ {
		s.answers[n%shareSteps], s.refused[n%shareSteps] = 0, 0
	}
	s.newest = max(s.newest, step)
	return int(s.newest % shareSteps)
}
