package receipt

import "testing"

func TestWorst(t *testing.T) {
	for name, tc := range map[string]struct {
		segments []State
		want     State
		final    bool
	}{
		"no segment":               {nil, NoState, false},
		"no receipt":               {[]State{NoState}, Enroute, false},
		"delivered":                {[]State{Delivered}, Delivered, true},
		"accepted":                 {[]State{Accepted}, Accepted, false},
		"one of two":               {[]State{Delivered, NoState}, Enroute, false},
		"one of two failed":        {[]State{NoState, Undeliverable}, Undeliverable, false},
		"both":                     {[]State{Delivered, Delivered}, Delivered, true},
		"one delivered, one not":   {[]State{Delivered, Undeliverable}, Undeliverable, true},
		"expired and refused":      {[]State{Rejected, Expired, Delivered}, Rejected, true},
		"unknown is not the end":   {[]State{Delivered, Unknown}, Unknown, false},
		"accepted and delivered":   {[]State{Accepted, Delivered}, Accepted, false},
		"skipped, deleted":         {[]State{Skipped, Deleted}, Deleted, true},
		"scheduled and on its way": {[]State{Scheduled, Enroute}, Enroute, false},
	} {
		if got, final := Worst(tc.segments); got != tc.want || final != tc.final {
			t.Errorf("%s: %s, final %t; want %s, final %t", name, got, final, tc.want, tc.final)
		}
	}
}

func TestEveryStateHasAGravityAndItsName(t *testing.T) {
	seen := map[int]State{}
	for s := NoState; s <= Skipped; s++ {
		if other, taken := seen[s.gravity()]; taken || s.gravity() < 0 {
			t.Errorf("%s and %s have the gravity %d", s, other, s.gravity())
		}
		seen[s.gravity()] = s
		if back, ok := StateNamed(s.String()); !ok || back != s {
			t.Errorf("%s: read back as %s, %t", s, back, ok)
		}
	}
	if _, ok := StateNamed("lost"); ok {
		t.Error("a state of any name is known")
	}
}
