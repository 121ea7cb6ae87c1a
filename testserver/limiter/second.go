package limiter

import "time"

type calendarSecond struct {
	clock
	rate   Curve
	status uint32

	second int64
	taken  float64
}

// CalendarSecond takes as many submits in each second of the wall clock as the rate says and refuses the rest of
// that second with status.
func CalendarSecond(rate Curve, status uint32) Limiter {
	return &calendarSecond{rate: rate, status: status}
}

func (c *calendarSecond) Arrive(now time.Time) Verdict {
	if s := now.Unix(); s != c.second {
		c.second, c.taken = s, 0
	}
	if c.taken+1 > c.rate(c.since(now))+slack {
		return refuse(c.status)
	}
	c.taken++
	return accept()
}

func (c *calendarSecond) Done(time.Time) {}

func (c *calendarSecond) Capacity(now time.Time) float64 { return c.rate(c.since(now)) }

type sliding struct {
	clock
	most   Curve // submits within any stretch of length
	length time.Duration
	status uint32
	all    bool // refused submits count too

	times []time.Time // submits that count, oldest first
	head  int         // index of the oldest within the last length
}

// SlidingSecond takes no more submits within any stretch of one second than the rate says and refuses the others
// with status. Refused submits do not count.
func SlidingSecond(rate Curve, status uint32) Limiter {
	return &sliding{most: rate, length: time.Second, status: status}
}

// SlidingAttempts is a SlidingSecond that counts refused submits too.
func SlidingAttempts(rate Curve, status uint32) Limiter {
	return &sliding{most: rate, length: time.Second, status: status, all: true}
}

func (s *sliding) Arrive(now time.Time) Verdict {
	for s.head < len(s.times) && now.Sub(s.times[s.head]) >= s.length {
		s.head++
	}
	if s.head > 1024 && s.head > len(s.times)/2 {
		s.times = s.times[:copy(s.times, s.times[s.head:])]
		s.head = 0
	}
	taken := float64(len(s.times) - s.head)
	fits := taken+1 <= s.most(s.since(now))+slack
	if fits || s.all {
		s.times = append(s.times, now)
	}
	if !fits {
		return refuse(s.status)
	}
	return accept()
}

func (s *sliding) Done(time.Time) {}

func (s *sliding) Capacity(now time.Time) float64 {
	return s.most(s.since(now)) / s.length.Seconds()
}
