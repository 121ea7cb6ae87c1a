package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// evidence is all that a run left behind.
type evidence struct {
	messages []*message
	lastSeq  uint64 // of the stream: how many messages it has taken
	left     map[uint64]bool
	events   []queue.Event
	ledger   []testserver.Entry
	records  int             // of messages that wait
	deferred map[uint64]bool // sequences with a copy in the deferred stream
	// cancelled are the sequences that the operator's command has called cancelled.
	cancelled map[uint64]bool
	windows   int // places of all windows
	crashes   int
	drops     int // connections that ended, and processes that stood still
	struck    []struck
}

// result is the line that a run ends with.
type result struct {
	Seed      uint64 `json:"seed"`
	Published int    `json:"published"` // messages that the stream took
	Submitted int    `json:"submitted"`
	Failed    int    `json:"failed"`
	Expired   int    `json:"expired"`
	Deferred  int    `json:"deferred"`
	Cancelled int    `json:"cancelled"`
	Lost      int    `json:"lost"`
	Unmarked  int    `json:"unmarked_duplicates"`
	NotOne    int    `json:"outcomes_not_one"`
	Marked    int    `json:"marked_duplicates"`
	Bound     int    `json:"duplicate_bound"`
	Crashes   int    `json:"crashes"`
	Drops     int    `json:"disconnects"`
	Withheld  int    `json:"answers_swallowed_or_late"`
	Left      int    `json:"left_in_queue"`
	Records   int    `json:"records_left"`
	Unsaid    int    `json:"accepted_unsaid"`    // accepted, its final says otherwise, and nothing marks it
	Missing   int    `json:"deferred_not_kept"`  // finals without a copy in the deferred stream
	Cancels   int    `json:"cancels"`            // asked for
	Denied    int    `json:"cancelled_and_not"`  // called cancelled, with another final
	MostTaken int    `json:"most_accepted"`      // of one submit_sm, by the SMSC
	Submits   int    `json:"submits"`            // by the SMSC's ledger
	Throttled int    `json:"throttled"`          // of them
	Receipts  int    `json:"receipts"`           // events
	Twice     int    `json:"published_twice"`    // messages that got more than one sequence
	Exits     int    `json:"exits_by_itself"`    // of processes, beside the crashes
	Panics    int    `json:"panics"`             // in the logs
	Forced    string `json:"forced,omitempty"`   // processes that did not end in order
	DiskBy    string `json:"disk_full_by"`       // how the disk became full
	LeftOut   string `json:"left_out,omitempty"` // faults that could not be caused
	Faults    int    `json:"faults"`
	Seconds   int    `json:"seconds"`
	// Silences is, for each kind of fault and what it struck, the longest time from its end to the next submit_sm that
	// the SMSC read, in seconds.
	Silences   map[string]float64 `json:"silence_after_s"`
	Longest    string             `json:"longest_silence"`  // of the whole run, and the faults beside it
	Slow       int                `json:"silences_over_3s"` // after a fault that nothing else overlapped
	Mute       int                `json:"silences_too_long"`
	complaints []string
}

// trail is what is known of one sequence.
type trail struct {
	message *message
	finals  []queue.Event
	marked  bool // the final, or what corrected it, says possible_duplicate
}

// judge joins everything.
func judge(e *evidence) *result {
	r := &result{Published: int(e.lastSeq), Crashes: e.crashes, Drops: e.drops, Submits: len(e.ledger), Left: len(e.left), Records: e.records}
	trails := r.trails(e)
	byID := map[string][]*trail{}
	for seq := uint64(1); seq <= e.lastSeq; seq++ {
		t := trails[seq]
		if t == nil {
			t = &trail{}
		}
		r.outcome(e, seq, t)
		if t.message != nil {
			byID[t.message.id()] = append(byID[t.message.id()], t)
		}
	}
	taken := r.accepted(e)
	for _, m := range e.messages {
		ts := byID[m.id()]
		if len(m.seqs) > 0 && len(ts) == 0 {
			r.lose("%s was confirmed by the queue as %v and is nowhere", m.id(), m.seqs)
		}
		if len(ts) > 1 {
			r.Twice++
		}
		r.compare(m, ts, taken[m.destination])
	}
	r.Bound = e.windows*(e.crashes+e.drops) + r.Withheld
	r.silences(e)
	return r
}

// trails sorts the events by sequence, and the sequences by message.
func (r *result) trails(e *evidence) map[uint64]*trail {
	byID := make(map[string]*message, len(e.messages))
	trails := make(map[uint64]*trail, e.lastSeq)
	of := func(seq uint64) *trail {
		t := trails[seq]
		if t == nil {
			t = &trail{}
			trails[seq] = t
		}
		return t
	}
	for _, m := range e.messages {
		byID[m.id()] = m
		for _, seq := range m.seqs {
			of(seq).message = m
		}
	}
	for i := range e.events {
		event := &e.events[i]
		if event.Type == queue.EventReceipt {
			r.Receipts++
			continue
		}
		t := of(event.Seq)
		if m := byID[event.ID]; m != nil {
			t.message = m
		}
		switch {
		case event.Type.Final():
			t.finals = append(t.finals, *event)
			t.marked = t.marked || event.PossibleDuplicate
		case event.Type == queue.EventDuplicateAccepted, event.Type == queue.EventLateResponse:
			t.marked = t.marked || event.PossibleDuplicate
		}
	}
	return trails
}

// outcome counts the finals of one sequence.
func (r *result) outcome(e *evidence, seq uint64, t *trail) {
	if len(t.finals) != 1 {
		r.NotOne++
		r.complain("seq %d has %d finals: %v", seq, len(t.finals), types(t.finals))
	}
	if len(t.finals) == 0 {
		if !e.left[seq] {
			r.lose("seq %d has no outcome and is not in the queue", seq)
		}
		return
	}
	if e.cancelled[seq] && t.finals[0].Type != queue.EventCancelled {
		r.Denied++
		r.complain("seq %d was called cancelled and ended %s", seq, t.finals[0].Type)
	}
	switch t.finals[0].Type {
	case queue.EventSubmitted:
		r.Submitted++
	case queue.EventFailed:
		r.Failed++
	case queue.EventExpired:
		r.Expired++
	case queue.EventDeferred:
		r.Deferred++
		if !e.deferred[seq] {
			r.Missing++
			r.complain("seq %d ended deferred and is not in the deferred stream", seq)
		}
	case queue.EventCancelled:
		r.Cancelled++
	default:
	}
}

// accepted counts what the SMSC accepted, by destination and key of each submit.
func (r *result) accepted(e *evidence) map[string]map[string]int {
	taken := map[string]map[string]int{}
	for i := range e.ledger {
		entry := &e.ledger[i]
		if entry.Status == pdu.StatusThrottled || entry.Status == pdu.StatusMsgQFull {
			r.Throttled++
		}
		if entry.Status != pdu.StatusOK {
			continue
		}
		if entry.Swallowed || entry.LateMillis >= responseTimeout.Milliseconds() {
			r.Withheld++
		}
		keys := taken[entry.Destination]
		if keys == nil {
			keys = map[string]int{}
			taken[entry.Destination] = keys
		}
		keys[entry.Key]++
		r.MostTaken = max(r.MostTaken, keys[entry.Key])
	}
	return taken
}

// compare holds the SMSC's account of one message against the journal's. A message that the stream took twice, because
// the publisher could not know, has two sequences, and each of them may be sent.
func (r *result) compare(m *message, ts []*trail, taken map[string]int) {
	submitted, said, marked := 0, 0, false
	for _, t := range ts {
		marked = marked || t.marked
		if len(t.finals) > 0 { // more than one is another complaint
			if t.finals[0].Type == queue.EventSubmitted {
				submitted++
			}
			said += t.finals[0].SegmentsAccepted
		}
	}
	if len(taken) < submitted*m.parts {
		r.lose("%s: %d submitted, and the SMSC has %d of %d parts", m.id(), submitted, len(taken), submitted*m.parts)
	}
	if len(taken) > max(said, submitted*m.parts) && !marked {
		r.Unsaid++
		r.complain("%s: the SMSC accepted %d parts, the finals say %d and nothing is marked", m.id(), len(taken), said)
	}
	extra := max(0, len(taken)-len(ts)*m.parts) // parts that were cut otherwise the second time
	for _, n := range taken {
		extra += n - 1
	}
	switch {
	case extra == 0:
	case marked:
		r.Marked += extra
	default:
		r.Unmarked += extra
		r.complain("%s: accepted %d times too often, and no final says possible_duplicate", m.id(), extra)
	}
}

func types(events []queue.Event) string {
	words := make([]string, 0, len(events))
	for _, e := range events {
		words = append(words, fmt.Sprintf("%s of delivery %d %s", e.Type, e.Delivery, e.Reason))
	}
	return strings.Join(words, ", ")
}

func (r *result) lose(format string, args ...any) {
	r.Lost++
	r.complain("lost: "+format, args...)
}

func (r *result) complain(format string, args ...any) {
	r.complaints = append(r.complaints, fmt.Sprintf(format, args...))
}

// broken is an error that names each promise that does not hold.
func (r *result) broken() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	ends := r.Submitted + r.Failed + r.Expired + r.Deferred + r.Cancelled
	fault(r.Published != ends, "%d published, %d outcomes", r.Published, ends)
	fault(r.Lost != 0, "%d lost", r.Lost)
	fault(r.Unmarked != 0, "%d duplicates that nothing marks", r.Unmarked)
	fault(r.NotOne != 0, "%d messages without exactly one final", r.NotOne)
	fault(r.Unsaid != 0, "%d messages accepted while their final denies it", r.Unsaid)
	fault(r.Missing != 0, "%d deferred messages were not kept", r.Missing)
	fault(r.Denied != 0, "%d messages were called cancelled and are not", r.Denied)
	fault(r.Left != 0, "%d messages left in the queue", r.Left)
	fault(r.Marked > r.Bound, "%d duplicates, and the faults explain %d", r.Marked, r.Bound)
	fault(r.MostTaken > 1+unknownMost, "one submit_sm was accepted %d times, allowed are %d", r.MostTaken, 1+unknownMost)
	fault(r.Mute != 0, "%d faults were followed by more than %v of silence", r.Mute, silenceMost)
	fault(r.Panics != 0, "%d panics in the logs", r.Panics)
	fault(r.Forced != "", "did not end in order: %s", r.Forced)
	slices.SortFunc(r.complaints, cmp.Compare)
	const most = 50
	for i, c := range r.complaints {
		if i == most {
			faults = append(faults, fmt.Errorf("and %d more", len(r.complaints)-most))
			break
		}
		faults = append(faults, errors.New(c))
	}
	return errors.Join(faults...)
}
