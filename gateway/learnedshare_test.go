package gateway

import (
	"math"
	"testing"
)

// A learned ceiling follows the share both ways: instances that come and go, and leases that lapse, wear nothing away.
func TestLearnedCeilingFollowsTheShareBothWays(t *testing.T) {
	const whole = 100.0
	type move struct{ share, ceiling float64 }
	for name, tc := range map[string]struct {
		total float64 // remembered
		learn float64 // where it begins, with a share of 1
		moves []move
	}{
		"another comes and goes": {0, whole, []move{{0.5, 50}, {1, 100}, {0.5, 50}, {1, 100}}},
		"two come and go":        {0, whole, []move{{0.5, 50}, {0.25, 25}, {0.5, 50}, {1, 100}}},
		"after a lapse":          {0, whole, []move{{0.25, 25}, {0.5, 50}, {1, 100}}},
		"remembered, and found lower": {
			2 * whole, whole, []move{{0.5, 50}, {1, 100}},
		},
		"a little more is not worth it": {0, whole, []move{{0.5, 50}, {0.52, 50}, {0.54, 50}, {0.56, 56}, {0.5, 50}, {1, 100}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := controlled{shown: 1, total: tc.total}
			learned := tc.learn
			for i, m := range tc.moves {
				learned = c.rescaled(learned, m.share)
				if math.Abs(learned-m.ceiling) > 1e-9 {
					t.Fatalf("move %d, to a share of %v: a ceiling of %v, want %v", i+1, m.share, learned, m.ceiling)
				}
			}
			if got := c.whole(learned); math.Abs(got-whole) > 1e-9 {
				t.Errorf("%v is remembered for the account, want %v", got, whole)
			}
		})
	}
}

// What an instance finds beyond its share, because the others leave theirs unused, is not taken for more than the whole;
// and what the SMSC takes back meanwhile is not believed again.
func TestLearnedCeilingIsNotRaisedBeyondTheWhole(t *testing.T) {
	c := controlled{shown: 1}
	if got := c.rescaled(100, 0.5); got != 50 {
		t.Fatalf("half of 100 is %v", got)
	}
	if got := c.rescaled(90, 1); got != 100 { // 90 was found with a half
		t.Errorf("with the whole share a ceiling of %v, want the 100 that were believed", got)
	}
	c = controlled{shown: 1}
	c.rescaled(100, 0.5)
	if got := c.rescaled(130, 1); got != 130 { // one alone has seen more
		t.Errorf("a ceiling of %v, want the 130 that were found", got)
	}
	c = controlled{shown: 1}
	c.rescaled(100, 0.5)
	if got := c.rescaled(20, 1); got != 40 { // the SMSC has gone down to 40
		t.Errorf("a ceiling of %v, want 40", got)
	}
	c = controlled{shown: 0.5} // nothing is known of the whole
	if got := c.rescaled(80, 1); got != 80 {
		t.Errorf("a ceiling of %v that nobody has seen, want 80", got)
	}
}
