package receipt

// Worst returns the state of a message by those of its segments: the worst of them, as far as they are known, and
// whether all have a final one. A segment without a receipt is on its way.
func Worst(segments []State) (state State, final bool) {
	worst, final := NoState, len(segments) > 0
	for _, s := range segments {
		final = final && s.Final()
		if s == NoState {
			s = Enroute
		}
		if worst == NoState || s.gravity() > worst.gravity() {
			worst = s
		}
	}
	return worst, final
}

// gravity orders the states from delivery to refusal.
func (s State) gravity() int {
	for i, at := range [...]State{Delivered, Accepted, NoState, Scheduled, Enroute, Unknown, Skipped, Deleted, Expired, Undeliverable, Rejected} {
		if s == at {
			return i
		}
	}
	return -1
}

// StateNamed returns the state that [State.String] writes so, and whether there is one.
func StateNamed(word string) (State, bool) {
	for s := NoState; s <= Skipped; s++ {
		if s.String() == word {
			return s, true
		}
	}
	return NoState, false
}
