package worlds

import "testing"

// TestDrawn checks what draw makes: every fault is of an instance and a link that its world has.
func TestDrawn(t *testing.T) {
	for seed := uint64(1); seed <= 2000; seed++ {
		w := draw(seed)
		for _, f := range w.faults {
			if f.instance >= w.instances {
				t.Errorf("world %d: %v, and there are %d instances", seed, f, w.instances)
			}
		}
		for _, o := range w.orders {
			if o.account != w.accounts[0] && o.account != w.accounts[len(w.accounts)-1] {
				t.Errorf("world %d: %v, and the accounts are %v", seed, o, w.accounts)
			}
		}
		for i := range w.phones {
			if a := w.phones[i].account; a != w.accounts[0] && a != w.accounts[len(w.accounts)-1] {
				t.Errorf("world %d: a phone writes to %s, and the accounts are %v", seed, a, w.accounts)
			}
		}
	}
}
