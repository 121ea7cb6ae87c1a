package gateway

import (
	"sync"
	"time"

	"sluice/window"
)

const (
	// passedOverFor is how long a refused message that is passed over waits: longer than it takes to pass over the others.
	passedOverFor = 10 * time.Second
	// mostPassedOver is how many are passed over for one test, so that a test goes out in any case.
	mostPassedOver = 200
)

// holdTests picks the messages that a hold tests with. The queue hands out what comes back before what is new, so that
// a few recipients that are refused at any pace would be all that is tested, and the silence would never end. After a
// test with a message that was refused before, the next one is with a new one where there is any.
type holdTests struct {
	mu      sync.Mutex
	refused bool // the last message that went through in a hold had been refused before
	passed  int  // since
}

// passOver says whether a message is to wait so that a new one is the next test.
func (h *holdTests) passOver(refusedBefore bool, unseen func() bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if refusedBefore && h.refused && h.passed < mostPassedOver && unseen() {
		h.passed++
		return true
	}
	h.refused, h.passed = refusedBefore, 0
	return false
}

// passOver says whether the message must leave the next test of a hold to a new one.
func (d *delivery) passOver() bool {
	a := d.account
	if mode, _, _ := a.gate.Size(); mode != window.Hold {
		return false
	}
	return a.holdTests.passOver(d.letter.state.Throttles > 0, a.intake.Unseen)
}
