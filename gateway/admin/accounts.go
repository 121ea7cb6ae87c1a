package admin

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Account is one account on one instance, as `sluice accounts` shows it.
type Account struct {
	Account  string `json:"account"`
	Instance string `json:"instance"`
	// State is one of the states of [Bind].
	State  string    `json:"state"`
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	// HoldUntil is the end of a wait that the SMSC has asked for, zero without one.
	HoldUntil time.Time `json:"hold_until,omitzero"`

	// Mode is what the operator wants: run, pause or drain.
	Mode string `json:"mode"`
	// Applied is the revision of the desired state that the instance follows; 0: nothing was ever changed.
	Applied uint64 `json:"applied"`
	// Declared and MaxWindow are those of all instances together; 0: learned, and no cap.
	Declared  float64 `json:"declared"`
	MaxWindow int     `json:"max_window"`
	// Share is what the instance has of the account's rate, 0 to 1.
	Share float64 `json:"share"`
	// Binds are the sessions of the instance; Pace and Ceiling are its own, in submits per second.
	Binds    int     `json:"binds"`
	InFlight int     `json:"in_flight"`
	Pace     float64 `json:"pace"`
	Ceiling  float64 `json:"ceiling"`
}

// Accounts asks every instance for its accounts. They are sorted by account and instance.
func Accounts(ctx context.Context, p Peer) ([]Account, Gathered, error) {
	all, g, err := ask[Account](ctx, p, "accounts")
	slices.SortFunc(all, func(a, b Account) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Instance, b.Instance))
	})
	return all, g, err
}
