package gateway

import (
	"testing"
	"time"
)

func TestRefusalsOfOneDestinationAreItsOwnAffair(t *testing.T) {
	var d destinations
	if d.ownAffair(at(0), "1555", at(-1)) {
		t.Error("a first refusal is laid to the destination")
	}
	if d.ownAffair(at(5), "1555", at(-1)) {
		t.Error("refused again with nothing accepted between: laid to the destination")
	}
	if !d.ownAffair(at(10), "1555", at(7)) {
		t.Error("refused again while others are accepted: not laid to the destination")
	}
	if d.ownAffair(at(10+ownAffairFor.Seconds()), "1555", at(69)) {
		t.Error("refused again after a minute: laid to the destination")
	}
	if d.ownAffair(at(71), "1666", at(70)) {
		t.Error("another destination's first refusal is laid to it")
	}
}

// All traffic may go to one number: what it accepts between keeps its refusals evidence of load.
func TestTheOnlyDestinationIsNotExcluded(t *testing.T) {
	var d destinations
	for i := range 10 {
		now := at(float64(i))
		if d.ownAffair(now, "1555", now.Add(-time.Millisecond)) {
			t.Errorf("refusal %d is laid to the destination", i+1)
		}
		d.accepted("1555")
	}
}

func TestDestinationsAreBounded(t *testing.T) {
	var d destinations
	for i := range mostRefused + 10 {
		d.ownAffair(at(0), at(float64(i)).String(), at(0))
	}
	if len(d.refused) > mostRefused {
		t.Errorf("%d destinations remembered, want at most %d", len(d.refused), mostRefused)
	}
}
