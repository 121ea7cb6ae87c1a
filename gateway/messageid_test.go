package gateway

import (
	"strings"
	"testing"
)

func TestCleanMessageID(t *testing.T) {
	for _, id := range []string{"", "1", "74e02ee1-4e2f-4a6e-a78b-4b247d756a22", "0118Z/0122I+2309U", strings.Repeat("a", longestMessageID)} {
		if got := cleanMessageID(id); got != id {
			t.Errorf("%q became %q", id, got)
		}
	}
	seen := map[string]string{}
	for _, id := range []string{"a\x1b[2J", "two words", "caf\u00e9", strings.Repeat("a", 66), strings.Repeat("a", 60_000), "\xff"} {
		got := cleanMessageID(id)
		if !strings.HasPrefix(got, "sha256:") || len(got) != len("sha256:")+32 || got != cleanMessageID(id) {
			t.Errorf("an id of %d octets became %q", len(id), got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q became the same", id, other)
		}
		seen[got] = id
	}
}
