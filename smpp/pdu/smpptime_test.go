package pdu_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/smpp/pdu"
)

const day = 24 * 60 * 60

func TestRelativeTime(t *testing.T) {
	for _, tt := range []struct {
		seconds int64
		want    string
	}{
		{1, "000000000001000R"},
		{60, "000000000100000R"},
		{3600, "000000010000000R"},
		{day - 1, "000000235959000R"},
		{2 * day, "000002000000000R"}, // as Net::SMPP, jsmpp and node-smpp write it
		{7*day + 3661, "000007010101000R"},
		{31 * day, "000031000000000R"},
		{32*day - 1, "000031235959000R"},
		{32 * day, "000101000000000R"},
		{63 * 7 * day, "010213000000000R"},
		{100*366*day - 1, "991124235959000R"},
	} {
		b, err := pdu.AppendRelativeTime([]byte("x"), tt.seconds)
		if err != nil || string(b) != "x"+tt.want {
			t.Errorf("%d s: %q, %v; want %q", tt.seconds, b, err, tt.want)
		}
		if got, ok := pdu.ParseTime(b[1:]); !ok || !got.Relative || got.Seconds != tt.seconds {
			t.Errorf("%s is %+v, %v; want %d s", tt.want, got, ok, tt.seconds)
		}
	}
}

func TestAbsoluteTime(t *testing.T) {
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), "000101000000000+"},
		{time.Date(2000, 2, 29, 23, 59, 59, 0, time.UTC), "000229235959000+"},
		{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), "261130120000000+"},
		{time.Date(2099, 12, 31, 23, 59, 59, 0, time.UTC), "991231235959000+"},
	} {
		b, err := pdu.AppendAbsoluteTime(nil, tt.at.Unix())
		if err != nil || string(b) != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.at, b, err, tt.want)
		}
	}
}

func TestTimesOutOfRange(t *testing.T) {
	for _, tt := range []struct {
		name    string
		write   func([]byte, int64) ([]byte, error)
		seconds int64
		want    string
	}{
		{"relative", pdu.AppendRelativeTime, 0, "pdu: a time of 0 s is not between 1 and 3162239999 s"},
		{"relative", pdu.AppendRelativeTime, -1, "pdu: a time of -1 s is not between 1 and 3162239999 s"},
		{"relative", pdu.AppendRelativeTime, 100 * 366 * day, "pdu: a time of 3162240000 s is not between 1 and 3162239999 s"},
		{"absolute", pdu.AppendAbsoluteTime, 946684799, "pdu: a time of 946684799 s is not between 946684800 and 4102444799 s"},
		{"absolute", pdu.AppendAbsoluteTime, 4102444800, "pdu: a time of 4102444800 s is not between 946684800 and 4102444799 s"},
	} {
		b, err := tt.write([]byte("x"), tt.seconds)
		var timeErr *pdu.TimeError
		if !errors.As(err, &timeErr) || err.Error() != tt.want || string(b) != "x" {
			t.Errorf("%s: %q, %v; want %s", tt.name, b, err, tt.want)
		}
	}
}

func TestParseTime(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).Unix()
	for _, tt := range []struct {
		text string
		want pdu.Time
		ok   bool
	}{
		{"261130120000000+", pdu.Time{Seconds: noon}, true},
		{"261130120000900+", pdu.Time{Seconds: noon}, true},
		{"261130140000008+", pdu.Time{Seconds: noon}, true}, // two hours ahead of UTC
		{"261130070000020-", pdu.Time{Seconds: noon}, true}, // five hours behind
		{"000000000000000R", pdu.Time{Relative: true}, true},
		{"", pdu.Time{}, false},
		{"2611301200", pdu.Time{}, false},
		{"261130120000000Z", pdu.Time{}, false},
		{"261130120000049+", pdu.Time{}, false},
		{"261130240000000+", pdu.Time{}, false},
		{"261130126000000+", pdu.Time{}, false},
		{"261130120060000+", pdu.Time{}, false},
		{"261330120000000+", pdu.Time{}, false},
		{"260030120000000+", pdu.Time{}, false},
		{"261100120000000+", pdu.Time{}, false},
		{"260229120000000+", pdu.Time{}, false},
		{"28022912000000 +", pdu.Time{}, false},
		{"26113012 000000+", pdu.Time{}, false},
		{"261130120000x00+", pdu.Time{}, false},
	} {
		if got, ok := pdu.ParseTime([]byte(tt.text)); ok != tt.ok || got != tt.want {
			t.Errorf("%q is %+v, %v; want %+v, %v", tt.text, got, ok, tt.want, tt.ok)
		}
	}
}

// TestRelativeTimeIsNeverLonger adds what was written to a date as a centre would,
// by the calendar: the result is not after the time asked for, and not more than
// three days per month before it.
func TestRelativeTimeIsNeverLonger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(1, 3*366*day).Draw(t, "seconds")
		from := time.Unix(rapid.Int64Range(946684800, 4102444799).Draw(t, "from"), 0).UTC()
		b, err := pdu.AppendRelativeTime(nil, seconds)
		if err != nil {
			t.Fatal(err)
		}
		at := func(i int) int { return int(b[i]-'0')*10 + int(b[i+1]-'0') }
		// The first of the month, because AddDate turns January 31 plus a month into March.
		from = from.AddDate(0, 0, 1-from.Day())
		until := from.AddDate(at(0), at(2), at(4)).Add(time.Duration(at(6))*time.Hour + time.Duration(at(8))*time.Minute + time.Duration(at(10))*time.Second)
		asked := from.Add(time.Duration(seconds) * time.Second)
		months := 12*at(0) + at(2)
		if until.After(asked) || asked.Sub(until) > time.Duration(3*months)*24*time.Hour {
			t.Fatalf("%d s from %s written as %s ends %s, asked for %s", seconds, from, b, until, asked)
		}
	})
}

func TestAbsoluteTimeAgreesWithTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unix := rapid.Int64Range(946684800, 4102444799).Draw(t, "unix")
		b, err := pdu.AppendAbsoluteTime(nil, unix)
		if want := time.Unix(unix, 0).UTC().Format("060102150405") + "000+"; err != nil || string(b) != want {
			t.Fatalf("%d is %s, %v; want %s", unix, b, err, want)
		}
		if got, ok := pdu.ParseTime(b); !ok || got != (pdu.Time{Seconds: unix}) {
			t.Fatalf("%s is %+v, %v", b, got, ok)
		}
	})
}
