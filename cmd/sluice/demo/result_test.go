package demo

import (
	"errors"
	"strings"
	"testing"
)

func typical() Result {
	return Result{
		Offered: 7000, Bad: 140,
		Naive:  Score{Submits: 7000, Throttled: 6082, Failed: 6100, Accepted: 900, Lost: 5960, Seconds: 9.1},
		Sluice: Paced{Score: Score{Submits: 7061, Throttled: 61, Failed: 140, Accepted: 6860, Lost: 0, Seconds: 78.4}, Goodput: .9512},
	}
}

func TestJSON(t *testing.T) {
	got, err := typical().JSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"offered":7000,"bad":140,` +
		`"naive":{"submits":7000,"throttled":6082,"failed":6100,"accepted":900,"lost":5960,"seconds":9.1},` +
		`"sluice":{"submits":7061,"throttled":61,"failed":140,"accepted":6860,"lost":0,"seconds":78.4,"goodput":0.9512}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	if err := typical().Table(&b); err != nil {
		t.Fatal(err)
	}
	want := `          submits  throttled  terminal failures  accepted   lost
   naive    7,000      6,082              6,100       900  5,960
  Sluice    7,061         61                140     6,860      0

Of 6,860 good messages the naive sender lost 5,960, because it took "slow down" for "failed"; Sluice lost none and used 95 % of what the SMSC would take.
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestTableOwnsUpToALoss(t *testing.T) {
	r := typical()
	r.Sluice.Lost = 1234
	var b strings.Builder
	if err := r.Table(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "Sluice lost 1,234 and used") {
		t.Errorf("got\n%s", b.String())
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -999: "-999", -1000: "-1,000"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

// deaf is a writer whose reader has gone.
type deaf struct{ writes int }

var errGone = errors.New("the reader has gone")

func (d *deaf) Write([]byte) (int, error) {
	d.writes++
	return 0, errGone
}

func TestTableReportsAWriteError(t *testing.T) {
	if err := typical().Table(new(deaf)); !errors.Is(err, errGone) {
		t.Errorf("error %v", err)
	}
}
