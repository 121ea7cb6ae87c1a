package gateway

import (
	"math"
	"math/bits"
	"time"

	"sluice/classify"
	"sluice/smpp/pdu"
)

// When temporary errors are the account's, and how it is tested then.
const (
	// othersWithin is how long an acceptance speaks for the account: a temporary error after it is the message's.
	othersWithin = time.Minute
	// failingAnswers in a row begin the state failing at once, failingLeast when they are spread over failingSpread.
	failingAnswers = 20
	failingLeast   = 3
	failingSpread  = 5 * time.Second
	// probeEvery is the most between two probes; the first come after 1, 2 and 4 s.
	probeEvery = 5 * time.Second
	// mostSpells bounds what is remembered of times that are over.
	mostSpells = 32
)

// spell is a time in which the account was failing.
type spell struct{ from, to time.Time }

// failing tells an account whose SMSC has nothing but temporary errors for all messages from messages that are at fault.
// While it does, only probes go out, one at a time; after the first acceptance the account climbs from one submit a second.
// It is a value without clock or lock.
type failing struct {
	accepted time.Time // newest acceptance; zero: none yet

	// The run of temporary errors since the last acceptance or throttle.
	from, last     time.Time
	answers        int
	tried, refused twoNumbers
	status         pdu.Status // of the newest

	since   time.Time // since when it is failing: the first answer of the run; zero: it is not
	probing bool      // only probes go out: it is failing, or the run began with nothing accepted for a minute
	probes  int       // answered since then
	next    time.Time // no probe before

	// elsewhere is since when another instance finds the account failing and this one follows it; zero: it does not.
	// claimed is since when the other one says so, at the earliest that was read; heard when the SMSC last accepted or
	// throttled a message here.
	elsewhere, claimed, heard time.Time

	climb  climb
	spells []spell // that are over, oldest first
}

// twoNumbers counts different numbers up to two.
type twoNumbers struct {
	first uint64
	n     int
}

func (t *twoNumbers) add(number uint64) {
	switch {
	case t.n == 0:
		t.first, t.n = number, 1
	case number != t.first:
		t.n = 2
	}
}

// answer is one answer to a submit as the state of the account sees it.
type accountAnswer struct {
	class      classify.Class
	status     pdu.Status
	number     uint64    // of the recipient: a hash, equal for equal numbers
	unanswered bool      // there was none
	before     time.Time // of the message's last temporary error that is its own so far; zero: there was none
}

// change is what an answer has changed.
type change uint8

const (
	noChange change = iota
	beganFailing
	endedFailing
)

// ownFault says that a temporary error now is the message's: others pass.
func (f *failing) ownFault(now time.Time) bool {
	return f.since.IsZero() && f.elsewhere.IsZero() && !f.accepted.IsZero() && now.Sub(f.accepted) <= othersWithin
}

// hear takes an answer. Terminal answers neither count nor end a run; a throttle ends it, for the SMSC is there.
func (f *failing) hear(now time.Time, a accountAnswer) change {
	switch {
	case a.unanswered:
		f.tried.add(a.number)
		f.probed(now)
		return noChange
	case a.class == classify.OK:
		f.accepted = now
		return f.end(now)
	case a.class == classify.Throttle:
		return f.end(now)
	case a.class != classify.Retry && a.class != classify.Unknown:
		f.tried.add(a.number)
		f.probed(now)
		return noChange
	}
	own := f.ownFault(now)
	if !a.before.IsZero() && a.before.Before(f.accepted) {
		// Another message has passed since this one was refused: it is at fault, and says nothing of the account.
		f.probed(now)
		if !own {
			f.probe(now)
		}
		return noChange
	}
	if f.answers == 0 {
		f.from = now
	}
	f.answers++
	f.last, f.status = now, a.status
	f.tried.add(a.number)
	f.refused.add(a.number)
	f.probed(now)
	if !own {
		f.probe(now)
	}
	if !f.since.IsZero() || !f.persists() {
		return noChange
	}
	f.since = f.from
	f.probe(now)
	return beganFailing
}

// persists says that the run is long enough to be the account's.
func (f *failing) persists() bool {
	if f.tried.n > 1 && f.refused.n < 2 {
		return false
	}
	return f.answers >= failingAnswers || f.answers >= failingLeast && f.last.Sub(f.from) >= failingSpread
}

// probe lets only probes go from now on.
func (f *failing) probe(now time.Time) {
	if !f.probing {
		f.probing, f.probes, f.next = true, 0, now.Add(time.Second)
		f.climb = climb{}
	}
}

// probed sets the time of the next probe.
func (f *failing) probed(now time.Time) {
	if !f.probing {
		return
	}
	f.probes++
	f.next = now.Add(min(time.Second<<min(f.probes, 3), probeEvery))
}

// end ends a run, and the state with it.
func (f *failing) end(now time.Time) change {
	was := !f.since.IsZero()
	if f.heard = now; !f.elsewhere.IsZero() {
		f.elsewhere, f.climb = time.Time{}, climb{began: now}
	}
	if was {
		f.spells = append(f.spells, spell{f.since, now})
		f.spells = f.spells[max(0, len(f.spells)-mostSpells):]
		f.climb = climb{began: now}
	}
	f.answers, f.tried, f.refused = 0, twoNumbers{}, twoNumbers{}
	f.since, f.probing = time.Time{}, false
	if was {
		return endedFailing
	}
	return noChange
}

// refutedAfter is how long after another instance began to find the account failing an acceptance here says that it is
// not: what was answered at the same time says nothing.
const refutedAfter = 2 * time.Second

// claim takes what the other instances say: since when one of them finds the account failing, zero when none does. This
// one sends only probes then, until one of its own passes.
func (f *failing) claim(now, since time.Time) change {
	switch {
	case since.IsZero():
		f.claimed = time.Time{}
		if f.elsewhere.IsZero() {
			return noChange
		}
		f.elsewhere = time.Time{}
		if !f.since.IsZero() {
			return noChange
		}
		if f.answers == 0 { // it has no reason of its own
			f.probing, f.climb = false, climb{began: now}
		}
		return endedFailing
	case f.claimed.IsZero() || since.Before(f.claimed):
		f.claimed = since
	}
	if !f.since.IsZero() || !f.elsewhere.IsZero() || f.heard.After(f.claimed.Add(refutedAfter)) {
		return noChange
	}
	f.elsewhere = now
	f.probe(now)
	return beganFailing
}

// learn takes a spell that another instance, or an earlier life, has seen.
func (f *failing) learn(s spell) {
	for i, known := range f.spells {
		if known.from.Equal(s.from) {
			f.spells[i].to = latest(known.to, s.to)
			return
		}
	}
	f.spells = append(f.spells, s)
	f.spells = f.spells[max(0, len(f.spells)-mostSpells):]
}

// within reports whether the time lies in one in which the account was failing.
func (f *failing) within(at time.Time) bool {
	if !f.since.IsZero() && !at.Before(f.since) {
		return true
	}
	for _, s := range f.spells {
		if !at.Before(s.from) && !at.After(s.to) {
			return true
		}
	}
	return false
}

// climb spaces submits from one a second on, doubling each second. The zero value spaces none.
type climb struct {
	began time.Time
	given uint64

	accepted, refused int // since it last went back
}

// over says that the climb has reached the pace in submits per second; there may have been none.
func (c *climb) over(now time.Time, pace float64) bool {
	return c.began.IsZero() || math.Exp2(now.Sub(c.began).Seconds()) >= pace
}

// hear takes an answer. The rate doubles while hardly anything is refused; else it goes back to the one before.
func (c *climb) hear(now time.Time, accepted bool) {
	if c.began.IsZero() {
		return
	}
	if accepted {
		c.accepted++
		return
	}
	if c.refused++; 10*c.refused <= c.accepted {
		return
	}
	second := max(bits.Len64(c.given+1)-2, 0)
	*c = climb{began: now.Add(-time.Duration(second) * time.Second), given: 1<<second - 1}
}

// take reserves the next submit and says when it may go, now when the climb has reached the pace in submits per second.
func (c *climb) take(now time.Time, pace float64) time.Time {
	if c.began.IsZero() {
		return now
	}
	// In the k-th second, from 0, there are 2^k submits: up to its begin there were 2^k - 1.
	second := bits.Len64(c.given+1) - 1
	rate := math.Ldexp(1, second)
	if rate >= pace {
		*c = climb{}
		return now
	}
	place := float64(c.given+1) - rate
	at := c.began.Add(time.Duration((float64(second) + place/rate) * float64(time.Second)))
	c.given++
	if at.Before(now) { // what was not used is not caught up
		passed := min(now.Sub(c.began).Seconds(), 40)
		whole, part := math.Modf(passed)
		c.given = max(c.given, uint64(math.Ldexp(1+part, int(whole))))
		return now
	}
	return at
}
