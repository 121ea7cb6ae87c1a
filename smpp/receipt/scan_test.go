package receipt

import (
	"strings"
	"testing"
	"time"
)

func TestGrammar(t *testing.T) {
	own := map[string]State{"ABSENT-SUB": Undeliverable}
	for _, tc := range []struct {
		name, text string
		want       Receipt // Sub and Dlvrd are not compared
	}{
		{"empty", "", Receipt{}},
		{"blank after the colon", "id: 77 stat: DELIVRD err: 000 text: hi", Receipt{ID: "77", State: Delivered, RawState: "DELIVRD", Err: "000", Text: "hi"}},
		{"no blanks at all", "id:77sub:001dlvrd:001stat:DELIVRDerr:000text:hi", Receipt{ID: "77", State: Delivered, RawState: "DELIVRD", Err: "000", Text: "hi"}},
		{"upper case", "ID:77 STAT:delivrd ERR:1 TEXT:Hi", Receipt{ID: "77", State: Delivered, RawState: "delivrd", Err: "1", Text: "Hi"}},
		{"lines", "id:77\r\nstat:EXPIRED\r\nerr:5107\r\n", Receipt{ID: "77", State: Expired, RawState: "EXPIRED", Err: "5107"}},
		{"empty values", "id: stat: err: text:", Receipt{}},
		{"unknown word", "id:77 stat:PENDING", Receipt{ID: "77", State: Unknown, RawState: "PENDING"}},
		{"the route's word", "id:77 stat:absent-sub", Receipt{ID: "77", State: Undeliverable, RawState: "absent-sub"}},
		{"the route's bare word", "id:77 ABSENT-SUB", Receipt{ID: "77", State: Undeliverable, RawState: "ABSENT-SUB"}},
		{"words before", "Receipt for you: id:77 stat:DELIVRD", Receipt{ID: "77", State: Delivered, RawState: "DELIVRD"}},
		{"longer words", "uuid:5 id:77 context:x", Receipt{ID: "77"}},
		{"the text quotes a receipt", "id:77 stat:UNDELIV err:1 text:id:99 stat:DELIVRD", Receipt{ID: "77", State: Undeliverable, RawState: "UNDELIV", Err: "1", Text: "id:99 stat:DELIVRD"}},
		{"the text quotes one later", "id:77 stat:UNDELIV err:1 text:see id:99 stat:DELIVRD", Receipt{ID: "77", State: Undeliverable, RawState: "UNDELIV", Err: "1", Text: "see id:99 stat:DELIVRD"}},
		{"first of two", "id:77 id:99 stat:UNDELIV stat:DELIVRD", Receipt{ID: "77", State: Undeliverable, RawState: "UNDELIV"}},
		{"stat goes before a bare word", "id:77 DELIVRD stat:EXPIRED", Receipt{ID: "77", State: Expired, RawState: "EXPIRED"}},
		{"a bare word inside the text", "id:77 text:DELIVRD", Receipt{ID: "77", Text: "DELIVRD"}},
		{"underscores", "id:77 submit_date:2401010100 done_date:2401010101", Receipt{ID: "77"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Parse(Input{Text: []byte(tc.text)}, Options{States: own})
			if strings.Contains(tc.text, "_date") && (got.Submitted.IsZero() || got.Done.IsZero()) {
				t.Error("dates are unset")
			}
			got.Sub, got.Dlvrd, got.Submitted, got.Done = 0, 0, time.Time{}, time.Time{}
			if got != tc.want {
				t.Errorf("\n got %+v\nwant %+v", got, tc.want)
			}
		})
	}
}

func TestDates(t *testing.T) {
	madrid := time.FixedZone("", 3600)
	now := utc(2024, 1, 1, 0, 0, 0)
	for _, tc := range []struct {
		name, text string
		o          Options
		want       time.Time
	}{
		{"none", "", Options{}, time.Time{}},
		{"10 digits in a zone", "2401020304", Options{Zone: madrid}, utc(2024, 1, 2, 2, 4, 0)},
		{"14 digits in a zone", "20240102030405", Options{Zone: madrid}, utc(2024, 1, 2, 2, 4, 5)},
		{"absolute ignores the zone", "240102030405000-", Options{Zone: madrid}, utc(2024, 1, 2, 3, 4, 5)},
		{"absolute behind UTC", "240102030405908-", Options{}, utc(2024, 1, 2, 5, 4, 5).Add(900 * time.Millisecond)},
		{"relative", "000000010000000R", Options{}, time.Time{}},
		{"absolute with 49 quarters", "240102030405049+", Options{}, time.Time{}},
		{"absolute of zeros", "000000000000000+", Options{}, time.Time{}},
		{"absolute with letters", "2401020304x5000+", Options{}, time.Time{}},
		{"11 digits", "24010203040", Options{}, time.Time{}},
		{"13 digits", "2401020304050", Options{}, time.Time{}},
		{"rubbish", "2024-01-02", Options{}, time.Time{}},
		{"zeros", "0000000000", Options{}, time.Time{}},
		{"hour 24", "2401022400", Options{}, time.Time{}},
		{"minute 60", "2401020060", Options{}, time.Time{}},
		{"second 60", "240102000060", Options{}, time.Time{}},
		{"30 February", "2402300000", Options{}, time.Time{}},
		{"29 February", "2402290000", Options{}, utc(2024, 2, 29, 0, 0, 0)},
		{"both readings, near 2020", "200101010030", Options{Received: now}, utc(2020, 1, 1, 1, 0, 30)},
		{"both readings, near 2001", "200101010030", Options{Received: utc(2001, 2, 1, 0, 0, 0)}, utc(2001, 1, 1, 0, 30, 0)},
		{"both readings, no time of receipt", "200101010030", Options{}, utc(2020, 1, 1, 1, 0, 30)},
		{"the route says long", "200101010030", Options{Received: now, Dates: DatesLongYear}, utc(2001, 1, 1, 0, 30, 0)},
		{"the route says short", "201012131415", Options{Received: utc(2010, 12, 13, 14, 15, 0), Dates: DatesShortYear}, utc(2020, 10, 12, 13, 14, 15)},
		{"the nearer of 2010 and 2020", "201012131415", Options{Received: utc(2011, 1, 1, 0, 0, 0)}, utc(2010, 12, 13, 14, 15, 0)},
		{"only the long reading", "201906190720", Options{Dates: DatesAuto}, utc(2019, 6, 19, 7, 20, 0)},
		{"long asked, only short there", "240102235959", Options{Dates: DatesLongYear}, utc(2024, 1, 2, 23, 59, 59)},
		{"neither reading", "991399999999", Options{}, time.Time{}},
	} {
		if got := parseDate(tc.text, tc.o); !got.Equal(tc.want) {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestCounts(t *testing.T) {
	for text, want := range map[string]int{"": -1, "000": 0, "001": 1, "999999999": 999999999, "1234567890": -1, "null": -1, "...": -1, "-1": -1} {
		if got := count(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestStates(t *testing.T) {
	for word, want := range map[string]State{
		"SCHEDULED": Scheduled, "ENROUTE": Enroute, "BUFFRED": Enroute, "BUFFERED": Enroute, "DELIVRD": Delivered, "DELIVERED": Delivered,
		"EXPIRED": Expired, "DELETED": Deleted, "UNDELIV": Undeliverable, "UNDELIVERABLE": Undeliverable, "FAILED": Undeliverable,
		"ACCEPTD": Accepted, "ACCEPTED": Accepted, "UNKNOWN": Unknown, "REJECTD": Rejected, "REJECTED": Rejected,
		"DND_REJECTED": Rejected, "SKIPPED": Skipped,
	} {
		for _, spelled := range []string{word, strings.ToLower(word)} {
			if got, known := stateOf(spelled, nil); got != want || !known {
				t.Errorf("%s: %s", spelled, got)
			}
		}
	}
	if got, known := stateOf("MEMEXEC", nil); got != Unknown || known {
		t.Errorf("MEMEXEC: %s, %t", got, known)
	}
	words := []string{"scheduled", "enroute", "delivered", "expired", "deleted", "undeliverable", "accepted", "unknown", "rejected", "skipped"}
	final := []bool{false, false, true, true, true, true, false, false, true, true}
	for n, word := range words {
		s := FromMessageState(byte(n))
		back, ok := s.MessageState()
		if s.String() != word || s.Final() != final[n] || !ok || int(back) != n {
			t.Errorf("%d: %s, final %t, back %d", n, s, s.Final(), back)
		}
	}
	if _, ok := NoState.MessageState(); ok || NoState.Final() || NoState.String() != "none" || State(99).String() != "state(99)" {
		t.Error("no state has a number, or is final")
	}
	if Delivered.Then(Enroute) != Delivered || Enroute.Then(NoState) != Enroute || Unknown.Then(Delivered) != Delivered {
		t.Error("a final state was replaced, or another stayed")
	}
}
