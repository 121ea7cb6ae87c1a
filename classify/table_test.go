package classify

import (
	"math"
	"slices"
	"strings"
	"testing"

	"sluice/smpp/pdu"
)

func TestOfAllocatesNothing(t *testing.T) {
	table := Default()
	var v Verdict
	for _, status := range []pdu.Status{0x00, 0x58, 0x22, 0x4A1, math.MaxUint32} {
		if n := testing.AllocsPerRun(100, func() { v = table.Of(Submit, status) }); n != 0 {
			t.Errorf("0x%X: %v allocations (%s)", uint32(status), n, v.Name)
		}
	}
}

func TestOfUnknownPhaseIsSubmit(t *testing.T) {
	if got := Default().Of(Nack+1, 0x58); got.Class != Throttle {
		t.Errorf("class %s, want throttle", got.Class)
	}
}

func TestRowsAreOrderedAndComplete(t *testing.T) {
	table, err := Default().With("hollatags", nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := table.Rows()
	if !slices.IsSortedFunc(rows, compareRows) {
		t.Error("rows are not in order")
	}
	perPhase := map[Phase]int{}
	for i, row := range rows {
		perPhase[row.Phase]++
		if i > 0 && row.Phase == rows[i-1].Phase && row.Low == rows[i-1].Low && row.High == rows[i-1].High {
			t.Errorf("%s 0x%X is listed twice", row.Phase, uint32(row.Low))
		}
		if row.Low == row.High && table.Of(row.Phase, row.Low) != row.Verdict {
			t.Errorf("%s 0x%X: the row is not what Of says", row.Phase, uint32(row.Low))
		}
	}
	// Hollatags gives 12 numbers of the vendor range a rule of their own, and changes two listed ones.
	if perPhase[Submit] != 83+12 || perPhase[Nack] != 83+12 || perPhase[Bind] != 83 {
		t.Errorf("rows by phase: %v", perPhase)
	}
}

func TestExplain(t *testing.T) {
	table, err := Default().With("infobip", map[string]Override{"0x58": {Class: Throttle, Hold: MaxHold}})
	if err != nil {
		t.Fatal(err)
	}
	rows := table.Explain(0xFF)
	if len(rows) != 3 || rows[0].Phase != Submit || rows[1].Phase != Bind || rows[2].Phase != Nack {
		t.Fatalf("phases of %+v", rows)
	}
	r := rows[0]
	if r.Verdict.Class != Config || r.Default != Unknown || r.Verdict.Origin != "profile infobip" ||
		r.Meaning != "Account balance too low" || !strings.HasPrefix(r.Source, "https://") {
		t.Errorf("0xFF: %+v", r)
	}
	if r = table.Explain(0x58)[0]; r.Verdict.Origin != "account override" || r.Verdict.Hold != MaxHold || r.Meaning == "" {
		t.Errorf("0x58: %+v", r)
	}
	if r = table.Explain(0x4B0)[0]; r.Low != 0x400 || r.High != 0x4FF || r.Verdict.Name != "(vendor specific)" {
		t.Errorf("0x4B0: %+v", r)
	}
}

// TestWhy pins one sentence of each kind, so that a change of wording is deliberate.
func TestWhy(t *testing.T) {
	own, err := Default().With("", map[string]Override{"0x02": {Class: Terminal}, "0x04": {Class: Retry}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		table  *Table
		phase  Phase
		status pdu.Status
		want   string
	}{
		{Default(), Submit, 0x00, "Request accepted; the message is with the SMSC."},
		{Default(), Bind, 0x00, "Request accepted; the session is bound."},
		{Default(), Submit, 0x58, "Too fast for the allowed rate; the message is fine and waits without using an attempt, and the account slows down."},
		{Default(), Bind, 0x58, "Too fast for the allowed rate; the next bind waits, longer each time."},
		{Default(), Submit, 0x45, "Submit failed, no reason given; a temporary fault: the message waits and one attempt is used."},
		{Default(), Submit, 0x0B, "Recipient address refused; the message fails as it is written."},
		{Default(), Nack, 0x02, "PDU length field does not fit the PDU; the message fails as it is written, and the bind is renewed."},
		{Default(), Nack, 0x00, "Not acknowledged, yet no error named; nothing is agreed about it: the message is tried again a few times, and the status is logged."},
		{Default(), Submit, 0x48, "Sender TON refused; the message fails as it is written; a run of such answers stops the account instead."},
		{Default(), Submit, 0x03, "Operation not known or not allowed here; the account stops and its messages stay queued until its settings are put right."},
		{Default(), Bind, 0x0E, "Wrong password; the account stays unbound and is probed slowly until its settings are put right."},
		{Default(), Submit, 0xFF, "Unspecified error; nothing is agreed about it: the message is tried again a few times, and the status is logged."},
		{own, Submit, 0x04, "Operation not valid in present session state; the session is at fault: the bind is renewed and the message sent again."},
	} {
		if got := tc.table.Of(tc.phase, tc.status).Why; got != tc.want {
			t.Errorf("%s 0x%X:\n got %s\nwant %s", tc.phase, uint32(tc.status), got, tc.want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range Classes() {
		text, _ := c.MarshalText()
		var back Class
		if err := back.UnmarshalText(text); err != nil || back != c {
			t.Errorf("%s: read back %s, %v", c, back, err)
		}
	}
	if _, err := ParseClass("throttled"); err == nil || !strings.Contains(err.Error(), `"throttled"`) || !strings.Contains(err.Error(), "throttle, retry") {
		t.Errorf("error of a wrong class: %v", err)
	}
	if s := Class(9).String() + Phase(9).String() + Scope(9).String(); s != "class(9)phase(9)scope(9)" {
		t.Error(s)
	}
	if s := Submit.String() + Bind.String() + Nack.String(); s != "submitbindnack" {
		t.Error(s)
	}
}

func BenchmarkOf(b *testing.B) {
	table := Default()
	for name, status := range map[string]pdu.Status{"ok": 0, "throttled": 0x58, "vendor": 0x4A1} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = table.Of(Submit, status)
			}
		})
	}
}
