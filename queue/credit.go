package queue

import "time"

// pullGrace is how long after its end a pull request may still be answered.
const pullGrace = 2 * time.Second

// credit counts the messages that were asked of one lane's consumer and have
// not come. It is a value: time is passed in.
//
// Messages do not say which request they answer, and the server serves requests
// in turn; only the sum is exact. But a request that has ended, by a status or
// by its time, is owed nothing any more, so what is owed never exceeds the sum
// of those that have not. That bound repairs whatever was lost on the way.
type credit struct {
	owed     int
	requests []pullRequest // by the time they end
}

type pullRequest struct {
	token uint64
	size  int
	ends  time.Time
}

// asked notes a request for size messages.
func (c *credit) asked(token uint64, size int, ends time.Time) {
	c.owed += size
	c.requests = append(c.requests, pullRequest{token, size, ends})
}

// delivered notes one message.
func (c *credit) delivered() {
	c.owed = max(c.owed-1, 0)
	if c.owed == 0 {
		c.requests = c.requests[:0]
	}
}

// returned notes that a request has ended with this many messages unsent; below
// zero the server did not say how many.
func (c *credit) returned(token uint64, unsent int) {
	for i, r := range c.requests {
		if r.token == token {
			c.requests = append(c.requests[:i], c.requests[i+1:]...)
			c.owed = min(c.owed-max(unsent, 0), c.bound())
			c.owed = max(c.owed, 0)
			return
		}
	}
}

// expire drops the requests whose time is long over, and reports how many
// messages they were owed: neither they nor a status came.
func (c *credit) expire(now time.Time) (lost int) {
	for len(c.requests) > 0 && now.Sub(c.requests[0].ends) > pullGrace {
		c.requests = c.requests[1:]
	}
	if most := c.bound(); c.owed > most {
		lost = c.owed - most
		c.owed = most
	}
	return lost
}

func (c *credit) bound() int {
	sum := 0
	for _, r := range c.requests {
		sum += r.size
	}
	return sum
}
