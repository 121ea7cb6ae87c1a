// Package limiter holds the ways in which an SMSC says "slow down", as values: token bucket, calendar and sliding
// second, quota of any length, finite queue, outstanding limit, mere latency, penalty, load-independent refusals, another
// sender's load, limits that close the session or are silent, and schedules that move a ceiling over time.
//
// A limiter has no clock, lock or goroutine: the time is passed in and must not run backwards. It is not safe for
// concurrent use; a server with several connections calls it under its own lock. Equal calls give equal verdicts,
// so that the fake SMSC over TCP and a simulation in virtual time can use the same values.
package limiter

import "time"

// Verdict is what a limiter says about one submit.
type Verdict struct {
	Refuse  bool          // the submit is answered with Status and nothing else happens to it
	Status  uint32        // command_status of the answer; 0 (ESME_ROK) unless Refuse
	Service time.Duration // time the SMSC takes before it answers; network time comes on top
	Silent  bool          // set with Refuse: the submit is not taken, and nothing is answered
	Close   bool          // set with Refuse: the submit is not taken, and the SMSC ends the session instead of an answer
}

// Limiter decides about submits in the order of their arrival.
type Limiter interface {
	// Arrive is asked once for each submit.
	Arrive(now time.Time) Verdict
	// Done tells, once for each submit that was not refused, that its Service has passed.
	Done(now time.Time)
	// Capacity is the rate in messages per second that would be taken at now; 0 when it is unknown. Tests integrate
	// it to know what a perfect client could have sent.
	Capacity(now time.Time) float64
}

// clock starts at its first use, so that a schedule runs from the first submit, or from a call of Capacity before it.
type clock struct {
	start time.Time
}

func (c *clock) since(now time.Time) time.Duration {
	if c.start.IsZero() {
		c.start = now
	}
	return now.Sub(c.start)
}

// slack absorbs the rounding of sums of fractions: a client exactly at the ceiling is not refused for it.
const slack = 1e-6

func accept() Verdict { return Verdict{} }

func refuse(status uint32) Verdict { return Verdict{Refuse: true, Status: status} }
