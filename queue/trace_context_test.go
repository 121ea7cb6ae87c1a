package queue

import (
	"strings"
	"testing"
)

func TestTraceOf(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	long := strings.Repeat("x", maxTraceState)
	for name, tc := range map[string]struct{ parent, state, wantParent, wantState string }{
		"both":              {parent, "vendor=1,other=2", parent, "vendor=1,other=2"},
		"parent alone":      {parent, "", parent, ""},
		"state alone":       {"", "vendor=1", "", ""},
		"none":              {"", "", "", ""},
		"a number":          {"+15550100", "vendor=1", "", ""},
		"too short":         {parent[:54], "vendor=1", "", ""},
		"too long":          {parent + "-", "vendor=1", "", ""},
		"upper case":        {strings.ToUpper(parent), "vendor=1", "", ""},
		"no hexadecimal":    {strings.Replace(parent, "4bf", "4bg", 1), "", "", ""},
		"dash out of place": {strings.Replace(parent, "4b", "-b", 1), "", "", ""},
		"no dash":           {strings.Replace(parent, "-", "0", 1), "", "", ""},
		"longest state":     {parent, long, parent, long},
		"state too long":    {parent, long + "x", parent, ""},
		"state in unicode":  {parent, "vendor=\u00fc", parent, ""},
		"state of lines":    {parent, "a=1\nb=2", parent, ""},
	} {
		header := map[string]string{headerTraceParent: tc.parent, headerTraceState: tc.state}
		gotParent, gotState := traceOf(func(key string) string { return header[key] })
		if gotParent != tc.wantParent || gotState != tc.wantState {
			t.Errorf("%s: %q and %q, want %q and %q", name, gotParent, gotState, tc.wantParent, tc.wantState)
		}
	}
}
