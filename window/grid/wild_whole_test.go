//go:build grid

package grid

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestWild plays the whole second set. SLUICE_SEEDS is how many seeds a case has (5), SLUICE_KIND the number of the
// one kind to play, or guard (all).
func TestWild(t *testing.T) {
	seeds := 5
	if text := os.Getenv("SLUICE_SEEDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("SLUICE_SEEDS=%q: write a number, 1 or more", text)
		}
		seeds = n
	}
	var cases []wildCase
	for _, c := range append(wildCases(), wildGuards()...) {
		if number, _, _ := strings.Cut(c.kind, " "); os.Getenv("SLUICE_KIND") == "" || os.Getenv("SLUICE_KIND") == number {
			cases = append(cases, c)
		}
	}
	if len(cases) == 0 {
		t.Fatalf("SLUICE_KIND=%q: there is no such kind; write 1, 2, 3, 3b or another, or guard", os.Getenv("SLUICE_KIND"))
	}
	writeWild(&report, measureWild(cases, seeds))
}
