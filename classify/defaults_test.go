package classify

import (
	"math"
	"slices"
	"testing"

	"sluice/smpp/pdu"
)

// defaultRows is the table as it was agreed: each of the 83 rows by its numbers, with class and scope.
var defaultRows = []struct {
	low, high pdu.Status
	class     Class
	scope     Scope
}{
	{0x00, 0x00, OK, ScopeMessage},
	{0x01, 0x01, Terminal, ScopeMessage},
	{0x02, 0x02, Terminal, ScopeMessage},
	{0x03, 0x03, Config, ScopeRoute},
	{0x04, 0x04, Retry, ScopeBind},
	{0x05, 0x05, Retry, ScopeBind},
	{0x06, 0x06, Terminal, ScopeMessage},
	{0x07, 0x07, Terminal, ScopeMessage},
	{0x08, 0x08, Retry, ScopeRoute},
	{0x09, 0x09, Unknown, ScopeMessage},
	{0x0A, 0x0A, Terminal, ScopeMessage},
	{0x0B, 0x0B, Terminal, ScopeMessage},
	{0x0C, 0x0C, Unknown, ScopeMessage},
	{0x0D, 0x0D, Config, ScopeBind},
	{0x0E, 0x0E, Config, ScopeBind},
	{0x0F, 0x0F, Config, ScopeBind},
	{0x10, 0x10, Unknown, ScopeMessage},
	{0x11, 0x11, Unknown, ScopeMessage},
	{0x12, 0x12, Unknown, ScopeMessage},
	{0x13, 0x13, Unknown, ScopeMessage},
	{0x14, 0x14, Throttle, ScopeRoute},
	{0x15, 0x15, Config, ScopeRoute},
	{0x16, 0x32, Unknown, ScopeMessage},
	{0x33, 0x33, Terminal, ScopeMessage},
	{0x34, 0x34, Terminal, ScopeMessage},
	{0x35, 0x3F, Unknown, ScopeMessage},
	{0x40, 0x40, Terminal, ScopeMessage},
	{0x41, 0x41, Unknown, ScopeMessage},
	{0x42, 0x42, Terminal, ScopeMessage},
	{0x43, 0x43, Terminal, ScopeMessage},
	{0x44, 0x44, Terminal, ScopeMessage},
	{0x45, 0x45, Retry, ScopeMessage},
	{0x46, 0x47, Unknown, ScopeMessage},
	{0x48, 0x48, Terminal, ScopeMessage},
	{0x49, 0x49, Terminal, ScopeMessage},
	{0x4A, 0x4F, Unknown, ScopeMessage},
	{0x50, 0x50, Terminal, ScopeMessage},
	{0x51, 0x51, Terminal, ScopeMessage},
	{0x52, 0x52, Unknown, ScopeMessage},
	{0x53, 0x53, Config, ScopeBind},
	{0x54, 0x54, Terminal, ScopeMessage},
	{0x55, 0x55, Terminal, ScopeMessage},
	{0x56, 0x57, Unknown, ScopeMessage},
	{0x58, 0x58, Throttle, ScopeRoute},
	{0x59, 0x60, Unknown, ScopeMessage},
	{0x61, 0x61, Terminal, ScopeMessage},
	{0x62, 0x62, Terminal, ScopeMessage},
	{0x63, 0x63, Terminal, ScopeMessage},
	{0x64, 0x64, Retry, ScopeMessage},
	{0x65, 0x65, Terminal, ScopeMessage},
	{0x66, 0x66, Terminal, ScopeMessage},
	{0x67, 0x67, Unknown, ScopeMessage},
	{0x68, 0xBF, Unknown, ScopeMessage},
	{0xC0, 0xC0, Terminal, ScopeMessage},
	{0xC1, 0xC1, Terminal, ScopeMessage},
	{0xC2, 0xC2, Terminal, ScopeMessage},
	{0xC3, 0xC3, Terminal, ScopeMessage},
	{0xC4, 0xC4, Terminal, ScopeMessage},
	{0xC5, 0xFD, Unknown, ScopeMessage},
	{0xFE, 0xFE, Retry, ScopeMessage},
	{0xFF, 0xFF, Unknown, ScopeMessage},
	{0x100, 0x100, Config, ScopeRoute},
	{0x101, 0x101, Config, ScopeRoute},
	{0x102, 0x102, Retry, ScopeRoute},
	{0x103, 0x103, Config, ScopeRoute},
	{0x104, 0x104, Terminal, ScopeMessage},
	{0x105, 0x105, Terminal, ScopeMessage},
	{0x106, 0x106, Terminal, ScopeMessage},
	{0x107, 0x107, Unknown, ScopeMessage},
	{0x108, 0x108, Unknown, ScopeMessage},
	{0x109, 0x109, Unknown, ScopeMessage},
	{0x10A, 0x10A, Unknown, ScopeMessage},
	{0x10B, 0x10B, Unknown, ScopeMessage},
	{0x10C, 0x10C, Unknown, ScopeMessage},
	{0x10D, 0x10D, Unknown, ScopeMessage},
	{0x10E, 0x10E, Unknown, ScopeMessage},
	{0x10F, 0x10F, Unknown, ScopeMessage},
	{0x110, 0x110, Unknown, ScopeMessage},
	{0x111, 0x111, Unknown, ScopeMessage},
	{0x112, 0x112, Unknown, ScopeMessage},
	{0x113, 0x3FF, Unknown, ScopeMessage},
	{0x400, 0x4FF, Unknown, ScopeMessage},
	{0x500, math.MaxUint32, Unknown, ScopeMessage},
}

func TestDefaultSubmitRows(t *testing.T) {
	table := Default()
	if len(defaultRows) != 83 {
		t.Fatalf("the test lists %d rows, want 83", len(defaultRows))
	}
	next := uint64(0)
	for _, want := range defaultRows {
		if uint64(want.low) != next {
			t.Fatalf("rows leave a gap or overlap at 0x%X", next)
		}
		next = uint64(want.high) + 1
		for _, status := range []pdu.Status{want.low, want.low + (want.high-want.low)/2, want.high} {
			got := table.Of(Submit, status)
			if got.Class != want.class || got.Scope != want.scope {
				t.Errorf("0x%X: %s/%s, want %s/%s", uint32(status), got.Class, got.Scope, want.class, want.scope)
			}
			if got.Name == "" || got.Why == "" || got.Origin != "default table" || got.Hold != 0 {
				t.Errorf("0x%X: incomplete verdict %+v", uint32(status), got)
			}
		}
	}
	if next != 1<<32 {
		t.Errorf("rows end at 0x%X, want every number", next)
	}
}

func TestDefaultNamesAgreeWithCodec(t *testing.T) {
	for _, row := range Default().Rows() {
		if row.Low != row.High || row.Verdict.Name == "(reserved)" {
			continue
		}
		if got := row.Low.String(); got != row.Verdict.Name {
			t.Errorf("0x%X: the codec says %s, the table %s", uint32(row.Low), got, row.Verdict.Name)
		}
	}
}

func TestFieldShape(t *testing.T) {
	shape := []pdu.Status{0x01, 0x06, 0x07, 0x43, 0x48, 0x49, 0x50, 0x51, 0x54, 0xC0, 0xC1, 0xC2, 0xC3, 0xC4, 0x104}
	table := Default()
	for status := range pdu.Status(0x600) {
		want := slices.Contains(shape, status)
		if got := table.Of(Submit, status); got.Shape != want || got.Shape && got.Class != Terminal {
			t.Errorf("submit 0x%X: shape %t of class %s, want %t and terminal", uint32(status), got.Shape, got.Class, want)
		}
		if got := table.Of(Nack, status).Shape; got != want {
			t.Errorf("nack 0x%X: shape %t, want %t", uint32(status), got, want)
		}
		if table.Of(Bind, status).Shape {
			t.Errorf("bind 0x%X: shape, but no message is concerned", uint32(status))
		}
	}
}

func TestBindPhase(t *testing.T) {
	config := []pdu.Status{0x03, 0x0D, 0x0E, 0x0F, 0x15, 0x53, 0x100, 0x101, 0x103}
	table := Default()
	numbers := []pdu.Status{0x500, 0xDEADBEEF, math.MaxUint32}
	for status := range pdu.Status(0x500) {
		numbers = append(numbers, status)
	}
	for _, status := range numbers {
		want := Retry // listed or not: with back-off
		switch {
		case status == pdu.StatusOK:
			want = OK
		case slices.Contains(config, status):
			want = Config
		}
		got := table.Of(Bind, status)
		if got.Class != want || got.Scope != ScopeBind {
			t.Errorf("0x%X: %s/%s, want %s/bind", uint32(status), got.Class, got.Scope, want)
		}
	}
}

func TestNackPhase(t *testing.T) {
	for _, tc := range []struct {
		status pdu.Status
		class  Class
		scope  Scope
	}{
		{0x00, Unknown, ScopeMessage}, // never accepted
		{0x01, Terminal, ScopeMessage},
		{0x02, Terminal, ScopeBind}, // recycle the bind as well
		{0x03, Config, ScopeRoute},
		{0x04, Retry, ScopeBind},
		{0x08, Retry, ScopeRoute},
		{0x14, Throttle, ScopeRoute},
		{0x58, Throttle, ScopeRoute},
		{0xFF, Unknown, ScopeMessage},
		{0x4A1, Unknown, ScopeMessage},
	} {
		got := Default().Of(Nack, tc.status)
		if got.Class != tc.class || got.Scope != tc.scope {
			t.Errorf("0x%X: %s/%s, want %s/%s", uint32(tc.status), got.Class, got.Scope, tc.class, tc.scope)
		}
	}
}

func TestBrokenTableIsAnError(t *testing.T) {
	const head = "code_hex,name,spec,meaning,default_class,scope,rationale\n"
	for name, data := range map[string]string{
		"no rows":     head,
		"columns":     head + "0x00,A,both\n",
		"class":       head + "0x00,A,both,m,fine,message,r\n",
		"scope":       head + "0x00,A,both,m,ok,planet,r\n",
		"number":      head + "zero,A,both,m,ok,message,r\n",
		"range":       head + "0x00-end,A,both,m,ok,message,r\n",
		"large":       head + "0x100000000,A,both,m,ok,message,r\n",
		"quote":       head + "\"0x00,A,both,m,ok,message,r\n",
		"only number": head + "0x,A,both,m,ok,message,r\n",
	} {
		if _, err := parseTable([]byte(data)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
