package longtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMarked is the test that TestShortLeavesOut runs with and without -short, in a process of its own.
func TestMarked(t *testing.T) {
	if os.Getenv("SLUICE_MARKED") == "" {
		return
	}
	t.Logf("whole: %v", Whole(t, "one seed"))
	Only(t, "a minute of waiting")
	t.Log("the long part")
}

func TestShortLeavesOut(t *testing.T) {
	for _, c := range []struct {
		short string
		want  []string
		never string
	}{
		{"-test.short=true", []string{
			"short: one seed; make test-long does the rest", "whole: false",
			"long: a minute of waiting; make test-long runs it", "--- SKIP: TestMarked",
		}, "the long part"},
		{"-test.short=false", []string{"whole: true", "the long part", "--- PASS: TestMarked"}, "make test-long"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMarked$", "-test.v", c.short)
		cmd.Env = append(os.Environ(), "SLUICE_MARKED=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.short, err, out)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: %q is missing in\n%s", c.short, want, out)
			}
		}
		if strings.Contains(string(out), c.never) {
			t.Errorf("%s: %q is in\n%s", c.short, c.never, out)
		}
	}
}
