package worlds

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
)

// story is what is known of one message.
type story struct {
	planned
	seq     uint64
	finals  []queue.Event
	marked  bool           // a final, or what corrected it, says possible_duplicate
	taken   map[string]int // how often each of its parts was accepted
	events  []queue.Event  // but its receipts, in order
	retries int            // answers that may use an attempt
	told    int            // receipts
}

// judge holds what happened against the promises, and words each that was broken.
func (r *run) judge(events []queue.Event, unread []string, settled bool) (faults []error) {
	complain := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for _, what := range unread {
		complain("%s", what)
	}
	if !settled {
		complain("not everything is settled %v after the faults and the publishing ended", settleBound)
	}
	stories := r.stories(events)
	alone := r.aloneReceipts(events)
	for _, s := range stories {
		r.outcome(s, complain)
		r.duplicates(s, complain)
		r.deadline(s, complain)
		r.attempts(s, complain)
		r.receipts(s, alone, complain)
		r.waits(s, s.events, complain)
	}
	r.resends(complain)
	r.cancels(stories, complain)
	r.matched(stories, events, complain)
	r.obeyed(complain)
	for _, a := range r.accounts {
		r.rate(a, complain)
	}
	r.silence(complain)
	slices.SortStableFunc(faults, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return faults
}

func (r *run) stories(events []queue.Event) []*story {
	all := make([]*story, 0, len(r.messages))
	bySeq, byNumber := map[uint64]*story{}, map[string]*story{}
	for _, p := range r.messages {
		s := &story{planned: p, seq: r.seqs[p.message.ID], taken: map[string]int{}}
		if r.undone(s) {
			continue
		}
		all = append(all, s)
		bySeq[s.seq], byNumber[p.message.To[1:]] = s, s
	}
	for _, e := range events {
		s := bySeq[e.Seq]
		if s == nil || e.ID != s.message.ID && r.rolledBack() { // the sequence was another message's before
			continue
		}
		if e.Type == queue.EventReceipt {
			s.told++
			continue
		}
		s.events = append(s.events, e)
		switch {
		case e.Type.Final():
			s.finals = append(s.finals, e)
			s.marked = s.marked || e.PossibleDuplicate
		case e.Type == queue.EventLateResponse, e.Type == queue.EventDuplicateAccepted:
			s.marked = s.marked || e.PossibleDuplicate
		case e.Type == queue.EventRetry:
			s.retries++
		}
	}
	for _, smsc := range r.smscs {
		for _, record := range smsc.Ledger() {
			if s := byNumber[record.Destination]; s != nil && record.Status == pdu.StatusOK {
				s.taken[record.Key]++
			}
		}
	}
	return all
}

// outcome: every message that the stream confirmed has exactly one final, and it is true.
func (r *run) outcome(s *story, complain func(string, ...any)) {
	if s.seq == 0 {
		complain("%s was never confirmed by the stream", s.message.ID)
		return
	}
	if len(s.finals) != 1 {
		complain("seq %d (%s) has %d finals: %v", s.seq, s.message.ID, len(s.finals), words(s.finals))
		return
	}
	f := s.finals[0]
	if f.Type == queue.EventSubmitted && len(s.taken) < s.parts {
		complain("seq %d (%s) was lost: it ended submitted, and the SMSC has %d of %d parts", s.seq, s.message.ID, len(s.taken), s.parts)
	}
	if f.Type != queue.EventSubmitted && len(s.taken) > f.SegmentsAccepted && !s.marked {
		complain("seq %d (%s) ended %s with %d parts accepted, the SMSC has %d, and nothing marks it",
			s.seq, s.message.ID, f.Type, f.SegmentsAccepted, len(s.taken))
	}
	if f.Type == queue.EventFailed && s.message.To[1:5] != terminal {
		complain("seq %d (%s) failed (%s), and its number is good", s.seq, s.message.ID, f.Reason)
	}
	if f.Type == queue.EventDeferred && f.Reason == "attempts" && s.message.To[1:5] != broken {
		complain("seq %d (%s) was deferred for its attempts, and only faults of the account refused it", s.seq, s.message.ID)
	}
}

// duplicates: what was accepted twice is marked.
func (r *run) duplicates(s *story, complain func(string, ...any)) {
	extra := max(0, len(s.taken)-s.parts)
	for _, n := range s.taken {
		extra += n - 1
		if n > 2 { // unknown.max is 1
			complain("seq %d (%s): one submit_sm was accepted %d times", s.seq, s.message.ID, n)
		}
	}
	if extra > 0 && !s.marked {
		complain("seq %d (%s) was accepted %d times too often, and no final says possible_duplicate", s.seq, s.message.ID, extra)
	}
}

// deadline: nothing leaves an instance after its deadline.
func (r *run) deadline(s *story, complain func(string, ...any)) {
	if len(s.finals) == 0 || s.finals[0].Deadline.IsZero() {
		return
	}
	for _, sent := range r.sent {
		if sent.destination == s.message.To[1:] && sent.at.After(s.finals[0].Deadline) {
			complain("seq %d (%s) left %s %v after its deadline", s.seq, s.message.ID, sent.instance, sent.at.Sub(s.finals[0].Deadline))
		}
	}
}

// attempts: throttles use none.
func (r *run) attempts(s *story, complain func(string, ...any)) {
	for _, f := range s.finals {
		if f.Attempt > s.retries+1 {
			complain("seq %d (%s) ended after %d attempts, and was answered with an error %d times", s.seq, s.message.ID, f.Attempt, s.retries)
		}
	}
}

// receipts: what asked for a receipt and ended submitted without any doubt has one. A receipt waits 60 s for its message:
// where an instance died, its message may come back later, and the receipt is published alone.
func (r *run) receipts(s *story, alone map[string]bool, complain func(string, ...any)) {
	if !s.message.Receipt || len(s.finals) != 1 || s.finals[0].Type != queue.EventSubmitted || s.marked || s.told > 0 {
		return
	}
	if alone[s.message.To[1:]] && r.lostSomebody() {
		return
	}
	complain("seq %d (%s) has no receipt", s.seq, s.message.ID)
}

// aloneReceipts are the destinations of receipts that were published without their message.
func (r *run) aloneReceipts(events []queue.Event) map[string]bool {
	to, alone := r.destinations(), map[string]bool{}
	for _, e := range events {
		if e.Type == queue.EventReceipt && e.Receipt != nil && e.Seq == 0 {
			alone[to[e.Receipt.MessageID]] = true
		}
	}
	return alone
}

// The silence that a stall of NATS may leave behind, and the peace that it takes to measure it.
const (
	silenceMost    = 15 * time.Second
	silenceInARush = 4 * time.Second
	peace          = 30 * time.Second
)

// silence: after a stall or restart of NATS that nothing else went beside, new messages leave.
func (r *run) silence(complain func(string, ...any)) {
	for _, f := range r.faults {
		if f.kind != pauseNATS && f.kind != restart || r.disturbed(f) {
			continue
		}
		most := silenceMost
		if r.seed%8 == rush {
			most = silenceInARush
		}
		published, left := 0, 0
		for _, at := range r.confirmed {
			if at.After(f.ended) && at.Before(f.ended.Add(most)) {
				published++
			}
		}
		for _, s := range r.sent {
			if s.at.After(f.ended) && s.at.Before(f.ended.Add(most)) {
				left++
			}
		}
		if published >= 5 && left == 0 {
			complain("nothing left for %v after %v, and %d messages were published", most, f, published)
		}
	}
}

// disturbed says whether something else was wrong from shortly before a fault until some time after it.
func (r *run) disturbed(f *fault) bool {
	from, to := r.begin.Add(f.at-peace), f.ended.Add(peace)
	for _, o := range r.orders {
		if r.begin.Add(o.at).Before(to) && o.until.Add(peace).After(from) {
			return true
		}
	}
	for _, other := range r.faults {
		began := r.begin.Add(other.at)
		if other != f && began.Before(to) && (other.ended.After(from) || other.op != "") { // what waits for a message strikes later
			return true
		}
	}
	return false
}

// rate: a declared rate is never exceeded by the times at which submits are written, whatever the instances, nor is one
// that the operator has set. One part an instance may fall into the second beside.
func (r *run) rate(account string, complain func(string, ...any)) {
	var sent []time.Time
	for _, s := range r.sent {
		if s.account == account {
			sent = append(sent, s.at)
		}
	}
	for _, l := range r.limits(account) {
		within := slices.DeleteFunc(slices.Clone(sent), func(at time.Time) bool { return !at.After(l.from) || at.After(l.to) })
		if n, at := most(within, time.Second); n > int(l.rate)+r.world.instances {
			complain("%d submits left for %s within a second at %.3f s, allowed are %v", n, account, r.seconds(at), l.rate)
		}
	}
}

// most is the largest number of times within a span, and the last of them.
func most(times []time.Time, span time.Duration) (n int, at time.Time) {
	from := 0
	for to := range times {
		for times[to].Sub(times[from]) >= span {
			from++
		}
		if to-from+1 > n {
			n, at = to-from+1, times[to]
		}
	}
	return n, at
}

func words(events []queue.Event) []string {
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprintf("%s of delivery %d at %s by %s %s", e.Type, e.Delivery, e.At.Format("15:04:05.000"), e.Bind, e.Reason))
	}
	return all
}
