package demo

import (
	"math"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// tally is what the SMSC's ledger says about a run.
type tally struct {
	submits, throttled int
	accepted           map[string]bool // by recipient
	first, last, fresh time.Time       // submits; fresh is the last one of a recipient not seen before
}

func readLedger(records []testserver.Record) tally {
	t := tally{accepted: map[string]bool{}}
	seen := map[string]bool{}
	for _, r := range records {
		if t.submits == 0 {
			t.first = r.Time
		}
		t.submits++
		t.last = r.Time
		if !seen[r.Destination] {
			seen[r.Destination] = true
			t.fresh = r.Time
		}
		switch {
		case throttled(r.Status):
			t.throttled++
		case r.Status == pdu.StatusOK:
			t.accepted[r.Destination] = true
		}
	}
	return t
}

func throttled(s pdu.Status) bool { return s == pdu.StatusThrottled || s == pdu.StatusMsgQFull }

func (t tally) score() Score {
	return Score{
		Submits: t.submits, Throttled: t.throttled, Accepted: len(t.accepted),
		Seconds: round(t.last.Sub(t.first).Seconds(), 1),
	}
}

// scoreNaive joins the ledger with the status for which the naive sender has written each recipient down as failed.
func scoreNaive(records []testserver.Record, failed map[string]pdu.Status) Score {
	s := readLedger(records).score()
	s.Failed = len(failed)
	for recipient, status := range failed {
		if throttled(status) && !isBad(recipient) {
			s.Lost++
		}
	}
	return s
}

// scoreSluice joins the ledger with the journal: a message counts as accepted when the SMSC has accepted it and the
// journal says so too. Capacity is the integral of the ceiling between two moments.
func scoreSluice(t traffic, records []testserver.Record, finals map[string]queue.EventType, warmUp time.Duration,
	capacity func(from, to time.Time) float64,
) Paced {
	ledger := readLedger(records)
	s := Paced{Score: ledger.score()}
	s.Accepted = 0
	for _, recipient := range t.recipients {
		switch final := finals[id(routeSluice, recipient)]; {
		case final == queue.EventSubmitted && ledger.accepted[recipient]:
			s.Accepted++
		case final == queue.EventFailed:
			s.Failed++
		}
	}
	s.Lost = len(t.recipients) - t.bad - s.Accepted
	s.Goodput = round(goodput(records, ledger.first.Add(warmUp), ledger.fresh, capacity), 4)
	return s
}

// goodput is the share of the ceiling that was used between two moments; 0 when there is no time between them.
func goodput(records []testserver.Record, from, to time.Time, capacity func(from, to time.Time) float64) float64 {
	could := capacity(from, to)
	if could <= 0 {
		return 0
	}
	took := 0
	for _, r := range records {
		if !r.Time.Before(from) && !r.Time.After(to) && !throttled(r.Status) {
			took++
		}
	}
	return float64(took) / could
}

func round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}
