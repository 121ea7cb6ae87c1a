package queue

import (
	"fmt"
	"strconv"
	"time"
)

// Bounds of what the control bucket may say: those of the configuration and of the commands that write it.
const (
	LowestRate    = 0.01   // submits a second
	HighestRate   = 1e6    // submits a second
	HighestWindow = 10_000 // submits without an answer
	LongestHold   = 7 * 24 * time.Hour
	longestReason = 256     // octets
	highestShare  = 1 << 20 // of what a lease counts in whole numbers

	longestState int64 = 1e12 // milliseconds that a state in a lease may last: 31 years
)

// CheckRate says what is wrong with a rate of an account, in submits a second; 0, for a learned one, is right too.
func CheckRate(rate float64) error {
	if rate == 0 || rate >= LowestRate && rate <= HighestRate { // NaN is neither
		return nil
	}
	return fmt.Errorf("rate %s: want submits a second from %v to %d, or 0 to have it learned",
		strconv.FormatFloat(rate, 'g', -1, 64), LowestRate, int(HighestRate))
}

// CheckWindow says what is wrong with a cap on the submits without an answer; 0 is none.
func CheckWindow(most int) error {
	if most >= 0 && most <= HighestWindow {
		return nil
	}
	return fmt.Errorf("max_window %d: want 1 to %d, or 0 for no cap", most, HighestWindow)
}

// Check says what is wrong with a desired state, whoever wrote it: nobody follows a rate that no SMSC has.
func (d *Desired) Check() error {
	switch d.Mode {
	case ModeRun, ModePause, ModeDrain:
	default:
		return fmt.Errorf("mode %q: want pause, drain, or none to run", d.Mode)
	}
	if d.Rate != nil {
		if err := CheckRate(*d.Rate); err != nil {
			return err
		}
	}
	if d.MaxWindow != nil {
		return CheckWindow(*d.MaxWindow)
	}
	return nil
}

// check says what is wrong with a hold.
func (h *Hold) check() error {
	if h.For < 0 || h.For > LongestHold {
		return fmt.Errorf("for %v: want a wait of at most %v", h.For, LongestHold)
	}
	if len(h.Reason) > longestReason {
		return fmt.Errorf("reason: has %d octets, want at most %d", len(h.Reason), longestReason)
	}
	return nil
}

// check says what is wrong with a lease. One that counts below zero, or beyond all that instances have, would take the
// shares of the others with it.
func (l *Lease) check() error {
	for account, p := range l.Parts {
		if !validName(account) {
			return fmt.Errorf("parts: %q is not the name of an account", account)
		}
		for name, n := range map[string]int{"demand": p.Demand, "window": p.Window, "binds": p.Binds} {
			if n < 0 || n > highestShare {
				return fmt.Errorf("%s of account %s is %d: want 0 to %d", name, account, n, highestShare)
			}
		}
		for name, n := range map[string]int64{"failing_for_ms": p.FailingFor, "nothing_taken_for_ms": p.IdleFor} {
			if n < 0 || n > longestState {
				return fmt.Errorf("%s of account %s is %d: want 0 to %d", name, account, n, longestState)
			}
		}
		if !(p.Rate >= 0 && p.Rate <= 1) {
			return fmt.Errorf("rate of account %s is %v: want a share from 0 to 1", account, p.Rate)
		}
		if p.ClosedFor < 0 {
			return fmt.Errorf("closed_for_ms of account %s is %d: want 0 or more", account, p.ClosedFor)
		}
	}
	return nil
}
