// Package compare lets the real gateway and simple senders loose on the same fake SMSC, one after the other: the
// gateway over an embedded NATS server with JetStream, all of them over real TCP on the loopback interface.
package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"sluice/cmd/sluice/course"
	"sluice/cmd/sluice/policy"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// Options say what is compared.
type Options struct {
	Scenario testserver.Scenario
	// Policies run in this order; all of Policies by default.
	Policies []string
	// Duration is how long each sends, counted from its first submit; the shares leave out the WarmUp.
	Duration, WarmUp time.Duration
	// WindowMax is Sluice's window.max; 0: no cap.
	WindowMax int
	// Progress gets a line when a sender begins. Default: nothing is shown.
	Progress io.Writer
	// Dir is where the temporary folder of the NATS server is made; the system's default when empty.
	Dir string
}

// Policies are the senders that can be compared.
func Policies() []string {
	return []string{policy.NameSluice, policy.NameFixed, policy.NameKannel, policy.NameHalve}
}

func (o Options) check() error {
	var faults []error
	if o.Duration < time.Second || o.Duration > time.Hour {
		faults = append(faults, fmt.Errorf("duration %v: give from 1s to 1h", o.Duration))
	}
	if o.WarmUp < 0 || o.WarmUp > o.Duration-time.Second {
		faults = append(faults, fmt.Errorf("warm-up %v: leave at least a second of the duration of %v", o.WarmUp, o.Duration))
	}
	if o.WindowMax < 0 {
		faults = append(faults, fmt.Errorf("window.max %d: give 1 or more, or 0 for no cap", o.WindowMax))
	}
	for _, name := range o.Policies {
		if !slices.Contains(Policies(), name) {
			faults = append(faults, fmt.Errorf("policy %q: write one of %s", name, strings.Join(Policies(), ", ")))
		}
	}
	return errors.Join(faults...)
}

// Run compares; it takes the duration and a few seconds for each policy. When ctx ends everything is stopped and
// removed, and the error says so.
func Run(ctx context.Context, o Options) (Result, error) {
	if o.Policies == nil {
		o.Policies = Policies()
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if err := o.check(); err != nil {
		return Result{}, err
	}
	o.Scenario.Bind.Accounts = nil // all senders bind as themselves
	r := Result{Scenario: o.Scenario.Name, Seconds: o.Duration.Seconds(), WarmUp: o.WarmUp.Seconds(), WindowMax: o.WindowMax}
	for _, name := range o.Policies {
		if _, err := fmt.Fprintf(o.Progress, "%s: %s sends for %v\n", o.Scenario.Name, name, o.Duration); err != nil {
			return Result{}, err
		}
		row, err := o.measure(ctx, name)
		if err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return Result{}, fmt.Errorf("compare: %s: %w", name, err)
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

// fate is what a sender did to messages for good.
type fate struct {
	failed int // written down as failed
	lost   int // of these, or vanished, though the SMSC would have taken them later
}

// measure lets one policy send to a fresh SMSC.
func (o Options) measure(ctx context.Context, name string) (row Row, err error) {
	smsc, err := openSMSC(ctx, o.Scenario)
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, smsc.close()) }()
	var f fate
	if name == policy.NameSluice {
		f, err = o.runSluice(ctx, smsc)
	} else {
		f, err = o.runOther(ctx, smsc, name)
	}
	if err != nil {
		return Row{}, err
	}
	row = o.score(smsc.Ledger())
	row.Policy, row.Failed, row.Lost = name, f.failed, f.lost
	return row, nil
}

// score reads the SMSC's ledger.
func (o Options) score(records []testserver.Record) (row Row) {
	if len(records) == 0 {
		return row
	}
	first := records[0].Time
	ceiling, _ := o.Scenario.Limiter(systemID, rand.New(rand.NewPCG(o.Scenario.Seed, 0)))
	var c course.Course
	for at := time.Duration(0); at < o.Duration; at += course.Width {
		c.At(at).Capacity = ceiling.Capacity(first.Add(at))
	}
	for _, r := range records {
		b := c.At(r.Time.Sub(first))
		row.Submits++
		switch r.Status {
		case pdu.StatusOK:
			row.Accepted++
			b.Accepted++
		case pdu.StatusThrottled, pdu.StatusMsgQFull:
			row.Throttled++
			b.Throttled++
		default:
			b.Other++
		}
	}
	row.Seconds = records[len(records)-1].Time.Sub(first).Seconds()
	row.ThrottledShare = c.Throttled(o.WarmUp, o.Duration)
	row.Share = c.Share(o.WarmUp, o.Duration)
	row.Score = row.Share * max(0.01, 1-10*row.ThrottledShare)
	row.Changes = c.Changes(o.Scenario)
	return row
}
