package demo

import (
	"slices"
	"testing"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// midnight is when the ledgers of these tests begin.
func midnight() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// submit is one line of a ledger, so many seconds after midnight.
func submit(seconds float64, recipient string, status pdu.Status) testserver.Record {
	return testserver.Record{
		Time: midnight().Add(time.Duration(seconds * float64(time.Second))), Destination: recipient, Status: status,
	}
}

func TestScoreNaive(t *testing.T) {
	records := []testserver.Record{
		submit(0, "9991a", pdu.StatusOK),
		submit(1, "9991b", pdu.StatusThrottled),
		submit(2, "9990c", pdu.StatusInvDstAdr),
		submit(2.5, "9990d", pdu.StatusThrottled),
		submit(3.21, "9991e", pdu.StatusMsgQFull),
	}
	failed := map[string]pdu.Status{
		"9991b": pdu.StatusThrottled, "9990c": pdu.StatusInvDstAdr, "9990d": pdu.StatusThrottled, "9991e": pdu.StatusMsgQFull,
	}
	want := Score{Submits: 5, Throttled: 3, Failed: 4, Accepted: 1, Lost: 2, Seconds: 3.2}
	if got := scoreNaive(records, failed); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestScoreSluice(t *testing.T) {
	traffic := traffic{recipients: []string{"9991a", "9991b", "9990c", "9991d", "9991e"}, bad: 1}
	records := []testserver.Record{
		submit(0, "9991a", pdu.StatusOK),
		submit(1, "9991b", pdu.StatusThrottled),
		submit(9.9, "9991b", pdu.StatusOK),
		submit(10, "9990c", pdu.StatusInvDstAdr), // the warm-up has ended
		submit(11, "9991d", pdu.StatusThrottled),
		submit(12, "9991e", pdu.StatusOK), // the last fresh one
		submit(14, "9991d", pdu.StatusOK),
	}
	finals := map[string]queue.EventType{
		"main-9991a": queue.EventSubmitted, "main-9991b": queue.EventSubmitted, "main-9990c": queue.EventFailed,
		"main-9991d": queue.EventSubmitted, "main-9991e": queue.EventSubmitted,
	}
	twoASecond := func(from, to time.Time) float64 { return 2 * to.Sub(from).Seconds() }
	want := Paced{Score: Score{Submits: 7, Throttled: 2, Failed: 1, Accepted: 4, Lost: 0, Seconds: 14}, Goodput: .5}
	if got := scoreSluice(traffic, records, finals, 10*time.Second, twoASecond); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}

	t.Run("only the ledger says so", func(t *testing.T) {
		delete(finals, "main-9991e")
		if got := scoreSluice(traffic, records, finals, 0, twoASecond); got.Accepted != 3 || got.Lost != 1 {
			t.Errorf("accepted %d, lost %d, want 3 and 1", got.Accepted, got.Lost)
		}
	})
	t.Run("only the journal says so", func(t *testing.T) {
		finals["main-9991e"] = queue.EventSubmitted
		got := scoreSluice(traffic, records[:5], finals, 0, twoASecond)
		if got.Accepted != 2 || got.Lost != 2 {
			t.Errorf("accepted %d, lost %d, want 2 and 2", got.Accepted, got.Lost)
		}
	})
	t.Run("accepted twice", func(t *testing.T) {
		twice := append(slices.Clip(records), submit(15, "9991e", pdu.StatusOK))
		if got := scoreSluice(traffic, twice, finals, 0, twoASecond); got.Accepted != 4 || got.Lost != 0 {
			t.Errorf("accepted %d, lost %d, want 4 and 0", got.Accepted, got.Lost)
		}
	})
	t.Run("over before the warm-up", func(t *testing.T) {
		if got := scoreSluice(traffic, records, finals, time.Minute, twoASecond); got.Goodput != 0 {
			t.Errorf("goodput %v, want 0", got.Goodput)
		}
	})
}

func TestScoreOfNothing(t *testing.T) {
	if got := scoreNaive(nil, nil); got != (Score{}) {
		t.Errorf("got %+v", got)
	}
}

func TestTraffic(t *testing.T) {
	const messages = 7000
	drawn := newTraffic(messages, 1)
	bad, different := 0, map[string]bool{}
	for _, r := range drawn.recipients {
		different[r] = true
		if isBad(r) {
			bad++
		}
	}
	if bad != 140 || drawn.bad != 140 || len(different) != messages {
		t.Errorf("%d of %d recipients are bad, %d said, %d different ones; want 140 of 7000", bad, messages, drawn.bad, len(different))
	}
	n := 0
	for out := range drawn.messages("route") {
		if out.Route != "route" || out.Class != class || out.Message.Dest().Digits != drawn.recipients[n] {
			t.Fatalf("message %d: %+v", n, out)
		}
		n++
	}
	if n != messages {
		t.Errorf("%d messages, want %d", n, messages)
	}
}
