package gateway

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"sluice/queue"
)

// longHold is the longest wait for the SMSC that an account sits out as if nothing were: beyond it the account is
// throttled.
const longHold = 5 * time.Minute

// flow is what may stop an account beside the state of its binds: the operator, a wait that the SMSC has asked for, and
// the share of this instance. While it is closed nothing is pulled or submitted.
type flow struct {
	changed func() // called after every change, without the lock

	mu    sync.Mutex
	mode  queue.Mode
	since time.Time // of the mode
	held  hold
	timer *time.Timer // for the end of the hold
	// starved says why the share of this instance lets nothing through; empty: it does.
	starved string
	// confirmed is until when the share is known to be ours.
	confirmed time.Time
	// tests are the causes for which only probes may go out.
	tests  [testCauses]testState
	binds  int           // how many of the account's binds this instance may have
	news   chan struct{} // closed with every change
	probes chan struct{} // closed when the operator asks for a probe
}

// testCause is why only probes may go out.
type testCause uint8

const (
	forErrors  testCause = iota // the SMSC answers nothing but temporary errors
	forSilence                  // it answers nothing
	testCauses
)

// testState is one cause for which only probes go out, and what it makes of the state of the account, if anything.
type testState struct {
	on    bool
	shown standing
}

// hold is a wait that the SMSC has asked for.
type hold struct {
	until  time.Time // with the monotonic clock: setting the clock changes nothing
	length time.Duration
	since  time.Time
	reason string
}

func newFlow(binds int, changed func()) *flow {
	return &flow{
		changed: changed, binds: binds, starved: "its share is not known yet", news: make(chan struct{}), probes: make(chan struct{}),
	}
}

// update changes the flow and tells all who wait for it.
func (f *flow) update(change func()) {
	f.updateIf(func() bool { change(); return true })
}

// updateIf decides and changes under one lock: two that set the flow at once must not each decide by what the other has
// yet to set. It tells all who wait when there was a change, and whether there was.
func (f *flow) updateIf(change func() bool) (changed bool) {
	f.mu.Lock()
	if changed = change(); changed {
		close(f.news)
		f.news = make(chan struct{})
	}
	f.mu.Unlock()
	if changed {
		f.changed()
	}
	return changed
}

func (f *flow) setMode(now time.Time, m queue.Mode) {
	f.update(func() {
		if m != f.mode {
			f.mode, f.since = m, now
		}
	})
}

// extend takes a wait that the SMSC asked for. A wait is never shortened.
func (f *flow) extend(now time.Time, left, length time.Duration, reason string) (longer bool) {
	if left <= 0 {
		return false
	}
	return f.updateIf(func() bool {
		until := now.Add(left)
		if !until.After(f.held.until) {
			return false
		}
		if !now.Before(f.held.until) {
			f.held.since = now
		}
		f.held.until, f.held.length, f.held.reason = until, length, reason
		if f.timer != nil {
			f.timer.Stop()
		}
		f.timer = time.AfterFunc(left, func() { f.update(func() {}) })
		return true
	})
}

// share takes what this instance has of the account: why nothing, until when that is sure, and how many binds.
func (f *flow) share(starved string, confirmed time.Time, binds int) {
	f.updateIf(func() bool {
		lapsed := !time.Now().Before(f.confirmed)
		same := f.starved == starved && f.binds == binds && !lapsed
		f.confirmed, f.starved, f.binds = confirmed, starved, binds
		return !same
	})
}

// probe ends the wait of binds that the SMSC refuses.
func (f *flow) probe() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.probes)
	f.probes = make(chan struct{})
}

// probed is closed when the operator asks for a probe from now on.
func (f *flow) probed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.probes
}

// open reports whether messages may be pulled and submitted, and is closed with the next change.
func (f *flow) open(now time.Time) (open bool, change <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lets(now) && !f.testing(), f.news
}

// mayProbe reports whether the probes of an account that is failing may be submitted.
func (f *flow) mayProbe(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lets(now)
}

// lets reports, under the lock, that nothing but the state failing is in the way.
func (f *flow) lets(now time.Time) bool {
	return f.mode == queue.ModeRun && !now.Before(f.held.until) && f.starved == "" && now.Before(f.confirmed)
}

// testing reports, under the lock, that only probes go out.
func (f *flow) testing() bool {
	return slices.ContainsFunc(f.tests[:], func(t testState) bool { return t.on })
}

// probeOnly lets only probes through, or this cause no longer. why, when set, says that the account is failing.
func (f *flow) probeOnly(now time.Time, cause testCause, only bool, why string) {
	f.update(func() {
		f.tests[cause] = testState{on: only}
		if only && why != "" {
			f.tests[cause].shown = standing{state: Failing, since: now, reason: why}
		}
	})
}

func (f *flow) isClosed(now time.Time) bool {
	open, _ := f.open(now)
	return !open
}

// mayBind reports whether the bind of that number, from 1, is wanted; if not, why. The channel is closed with the next
// change.
func (f *flow) mayBind(number int) (why string, change <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.mode == queue.ModeDrain:
		return drained, f.news
	case number > f.binds:
		return "max_binds leaves it to other instances", f.news
	}
	return "", f.news
}

const drained = "the operator has drained the account; `sluice resume` ends that"

// over lays what stops the account over where a bind, or the account as a whole, stands.
func (f *flow) over(now time.Time, at standing) standing {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case at.state == ShuttingDown:
	case f.mode == queue.ModeDrain:
		reason := drained
		if at.state == Bound {
			reason = "what is in flight is being finished, then it unbinds"
		}
		return standing{state: Draining, since: f.since, reason: reason}
	case f.mode == queue.ModePause:
		reason := "the operator has paused the account; `sluice resume` ends that"
		if at.state != Bound {
			reason += "; " + string(at.state) + ": " + at.reason
		}
		return standing{state: Paused, since: f.since, reason: reason}
	case at.state != Bound:
	case now.Before(f.held.until) && f.held.length > longHold:
		return standing{state: Throttled, since: f.held.since, reason: f.held.sentence(), until: f.held.until}
	case now.Before(f.held.until):
		at.reason, at.until = f.held.sentence(), f.held.until
	case f.starved != "":
		at.reason = f.starved
	default:
		for _, t := range f.tests {
			if t.shown.state != "" {
				return t.shown
			}
		}
	}
	return at
}

func (h *hold) sentence() string {
	return fmt.Sprintf("throttled until %s: the SMSC asked for %s with %s",
		h.until.UTC().Format(time.RFC3339), h.length.Round(time.Second), h.reason)
}

// heldUntil is the wait that the SMSC asked for, zero without one.
func (f *flow) heldUntil(now time.Time) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !now.Before(f.held.until) {
		return time.Time{}
	}
	return f.held.until
}

func (f *flow) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil {
		f.timer.Stop()
	}
}
