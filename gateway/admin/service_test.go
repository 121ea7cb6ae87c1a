package admin

import "testing"

func TestSemanticVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "0.1.0": "0.1.0", "v0.1.0-3-gabc1234-dirty": "0.1.0", "212faab": "0.0.0", "(devel)": "0.0.0", "": "0.0.0",
	} {
		if got := semantic(version); got != want {
			t.Errorf("%q became %q, want %q", version, got, want)
		}
	}
}
