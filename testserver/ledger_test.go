package testserver

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/smpp/pdu"
)

func TestLedgerKeepsTheNewest(t *testing.T) {
	for _, records := range []int{-1, 1, 10, chunk, chunk + 5} {
		l := newLedger(LedgerConfig{Records: records})
		total := uint64(3*chunk + 7)
		for i := range total {
			if number := l.add(entry{sequence: uint32(i + 1)}); number != i+1 {
				t.Fatalf("number %d, want %d", number, i+1)
			}
			l.answered(i + 1)
		}
		for number := range total + 2 {
			kept := number > 0 && number <= total && records > 0 && number+uint64(records) > total
			e := l.at(number)
			if (e != nil) != kept || kept && (e.sequence != uint32(number) || !e.answered) {
				t.Fatalf("bound %d: entry %d is %+v, kept: %v", records, number, e, kept)
			}
		}
	}
}

func TestLedgerForgetsTheOldestKeys(t *testing.T) {
	l := newLedger(LedgerConfig{Keys: 3})
	for _, step := range []struct {
		key       uint64
		duplicate bool
	}{
		{1, false},
		{2, false},
		{1, true},
		{3, false},
		{4, false}, // 1 is forgotten
		{2, true},
		{1, false}, // 2 is forgotten
		{4, true},
	} {
		if got := l.accept(step.key); got != step.duplicate {
			t.Errorf("key %d: duplicate is %v", step.key, got)
		}
	}
	if l.unique != 5 || l.duplicated != 3 || len(l.seen) != 3 {
		t.Errorf("unique %d, duplicated %d, kept %d", l.unique, l.duplicated, len(l.seen))
	}
	none := newLedger(LedgerConfig{Keys: -1})
	for range 2 {
		if none.accept(1) {
			t.Error("a ledger without keys found a duplicate")
		}
	}
}

func TestDeliveryKeyTellsFieldsApart(t *testing.T) {
	mark := func(reference ...byte) pdu.TLVs {
		return pdu.TLVs{{Tag: pdu.TagUserMessageReference, Value: reference}}
	}
	payload := message("12", "")
	payload.TLVs = pdu.TLVs{{Tag: pdu.TagMessagePayload, Value: []byte("3")}}
	marked := message("12", "3")
	marked.TLVs = mark(0, 7)
	odd := message("12", "3")
	odd.TLVs = mark(7)
	messages := []*pdu.SubmitSM{message("12", "3"), message("1", "23"), message("123", ""), marked, odd}
	seen := map[uint64]int{}
	for i, sm := range messages {
		key, reference := deliveryKey(sm)
		if j, known := seen[key]; known {
			t.Errorf("messages %d and %d have one key", j, i)
		}
		seen[key] = i
		if want := map[bool]int32{true: 7, false: -1}[sm == marked]; reference != want {
			t.Errorf("message %d: reference %d, want %d", i, reference, want)
		}
	}
	plain, _ := deliveryKey(messages[0])
	if key, _ := deliveryKey(payload); key != plain {
		t.Error("the text has another key in message_payload")
	}
}

func TestPeakIsExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var p peak
	var times []int64
	now := int64(0)
	var want uint64
	for range 5000 {
		now += rnd.Int64N(int64(10 * time.Millisecond))
		p.add(now)
		times = append(times, now)
		inside := uint64(0)
		for i := len(times) - 1; i >= 0 && times[i] > now-int64(time.Second); i-- {
			inside++
		}
		want = max(want, inside)
	}
	if p.highest != want {
		t.Errorf("highest is %d, want %d", p.highest, want)
	}
	p.add(now - 5) // a clock that steps back changes nothing
	if p.highest < want {
		t.Error("lost the highest")
	}
}

func ExampleServer_Records() {
	s := New(Scenario{Name: "example"})
	// ... serve, submit ...
	for _, r := range s.Records(Query{Duplicate: true}) {
		fmt.Println(r.Destination, r.Key)
	}
	// Output:
}
