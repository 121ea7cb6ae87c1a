package window

import "time"

// usual is what is known of the answers: how long they take, and what share of the messages gets none at any pace.
type usual struct {
	longestTrips [2]time.Duration // in this half minute, and in the one before
	half         time.Time        // when this one began
	refusedAfter time.Duration    // about the longest that the last refusals took

	round          time.Time  // when the newest round began
	marks          [2]int64   // newest ticket when this round began, and the one before
	sent, answered [2]float64 // of the messages of this round, and of the one before; not those of probes
	allSent, none  float64    // of all rounds, fading, as far as they are over
	mute           float64    // share of the messages that is neither accepted nor refused
}

// slowest is the longest that an answer took in the last minute.
func (u *usual) slowest() time.Duration { return max(u.longestTrips[0], u.longestTrips[1]) }

// patience is how long a message may be without answer: twice as long as any took, and at least 5 s.
func (u *usual) patience() time.Duration { return max(patient, 2*u.slowest()) }

// remember counts the result of a message. What a lost connection left unanswered says nothing.
func (c *Controller) remember(now time.Time, t Ticket, s Signal) {
	u := &c.usual
	if s.Answer != Lost {
		if now.Sub(u.half) >= 30*time.Second {
			u.half = now
			u.longestTrips = [2]time.Duration{0, u.longestTrips[0]}
		}
		u.longestTrips[0] = max(u.longestTrips[0], now.Sub(t.at))
	}
	if s.Answer == Refused {
		u.refusedAfter = max(now.Sub(t.at), u.refusedAfter-u.refusedAfter/10)
	}
	if t.step == 0 && (s.Answer < Other || c.bind(t.bind.id) == nil) {
		switch {
		case t.n > u.marks[0]:
			u.answered[0]++
		case t.n > u.marks[1]:
			u.answered[1]++
		}
	}
	if now.Sub(u.round) >= u.patience() {
		u.turn(now, c.issued)
	}
}

// turn begins a round and looks at the messages of the one before the last, that had time to be answered.
func (u *usual) turn(now time.Time, newest int64) {
	const fades = 0.9
	u.allSent = fades*u.allSent + u.sent[1]
	u.none = fades*u.none + max(0, u.sent[1]-u.answered[1])
	if u.sent[1] > 0 {
		u.mute = u.none / (u.allSent + 20)
	}
	u.round, u.marks = now, [2]int64{newest, u.marks[0]}
	u.sent, u.answered = [2]float64{0, u.sent[0]}, [2]float64{0, u.answered[0]}
}
