package worlds

import (
	"slices"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
)

// How exactly the waits are held.
const (
	crossing   = 2 * time.Second  // between the write of a final and the last submit that did not know of it
	handedOut  = 30 * time.Second // the same where the final knew of the submit, and says so
	resendWait = 55 * time.Second // unknown.after is 60 s
	sentEarly  = 20 * time.Millisecond
	shortWait  = 11 * time.Second // nothing but a submit without answer has a message wait for longer
	lateExpiry = time.Minute
)

// waits: a message is sent neither after its final nor before the time that its newest event names, what the SMSC has
// accepted is not sent again for a minute, and no message is given up long before its deadline.
func (r *run) waits(s *story, events []queue.Event, complain func(string, ...any)) {
	var next, said time.Time // of the newest event that names a time
	unanswered := false
	e := 0
	for _, sent := range r.sent {
		if sent.destination != s.message.To[1:] {
			continue
		}
		for ; e < len(events) && events[e].At.Before(sent.at); e++ {
			if next = events[e].NextAttemptAt; !next.IsZero() {
				said = events[e].At
			}
		}
		if !next.IsZero() && sent.at.Before(next.Add(-sentEarly)) {
			complain("seq %d (%s) was sent %v before the time that was said at %s", s.seq, s.message.ID, next.Sub(sent.at), said.Format("15:04:05.000"))
			break
		}
		within := crossing
		if s.marked {
			within = handedOut
		}
		if len(s.finals) == 1 && sent.at.After(s.finals[0].At.Add(within)) {
			complain("seq %d (%s) was sent %v after its final", s.seq, s.message.ID, sent.at.Sub(s.finals[0].At))
			break
		}
	}
	for _, ev := range events {
		unanswered = unanswered || ev.Type == queue.EventUnknownOutcome
	}
	if len(s.finals) != 1 || s.finals[0].Type != queue.EventExpired || s.finals[0].Deadline.IsZero() {
		return
	}
	f := s.finals[0]
	switch early := f.Deadline.Sub(f.At); {
	case early > shortWait && !unanswered && !f.PossibleDuplicate:
		complain("seq %d (%s) was given up %v before its deadline (%s)", s.seq, s.message.ID, early, f.Reason)
	case early < -lateExpiry && !r.lostSomebody():
		complain("seq %d (%s) expired %v after its deadline", s.seq, s.message.ID, -early)
	}
}

// lostSomebody says that an instance was killed or cut off with messages in hand: they come back when their AckWait is over.
func (r *run) lostSomebody() bool {
	for _, f := range r.faults {
		if f.kind == kill || f.kind == cut || f.kind == drop {
			return true
		}
	}
	return false
}

// heldUp says that what an SMSC took then may have been held up on its way: the wait began when it was sent.
func (r *run) heldUp(at time.Time) bool {
	return slices.ContainsFunc(r.faults, func(f *fault) bool {
		return f.link == smscLink && (f.kind == stall || f.kind == delay) && at.After(r.begin.Add(f.at)) && at.Before(r.heldUntil(f).Add(time.Second))
	})
}

// heldUntil is when a stall or a delay lets pass again what it held.
func (r *run) heldUntil(f *fault) time.Time {
	if f.kind == delay {
		return f.struck.Add(f.length)
	}
	return f.ended
}

// resends: what the SMSC has accepted is sent again no sooner than a late answer may come.
func (r *run) resends(complain func(string, ...any)) {
	for _, smsc := range r.smscs {
		taken := map[string]time.Time{}
		for _, record := range smsc.Ledger() {
			if at, ok := taken[record.Key]; ok && record.Time.Sub(at) < resendWait && !r.within(at) && !r.heldUp(at) {
				complain("a submit_sm to %s was sent again %v after the SMSC had accepted it", record.Destination, record.Time.Sub(at))
			}
			if record.Status == pdu.StatusOK {
				taken[record.Key] = record.Time
			}
		}
	}
}
