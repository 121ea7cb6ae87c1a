package grid

import (
	"time"

	"sluice/cmd/sluice/policy"
	"sluice/window"
)

// rival is a way to send, measured by the same cells.
type rival struct {
	name   string
	seeds  int
	policy func(cell, smsc) policy.Policy
}

func sluiceWith(name string, noiseMax float64, seeds int) rival {
	return rival{name: name, seeds: seeds, policy: func(cell, smsc) policy.Policy {
		return policy.NewSluice(window.Config{NoiseMax: noiseMax})
	}}
}

func named(title, name string) rival {
	return rival{name: title, seeds: 1, policy: func(cell, smsc) policy.Policy {
		p, err := policy.New(name, window.Config{})
		if err != nil {
			panic(err) // a name of this file
		}
		return p
	}}
}

// oracle knows the ceiling, and its share of it, and paces at 99 %; where the SMSC limits what is outstanding it keeps
// just that in flight.
type oracle struct {
	*policy.Fixed
	rate func(at float64) float64
	slot time.Time
}

func newOracle(c cell, model smsc) policy.Policy {
	if c.places > 0 {
		return policy.NewFixed(c.places, 0)
	}
	share := 0.99 / float64(max(1, len(c.senders)))
	return &oracle{rate: func(at float64) float64 { return share * model.capacity(at) }}
}

func (o *oracle) Next(time.Time, int) (time.Time, bool) { return o.slot, true }

func (o *oracle) Send(now time.Time, _ bool) policy.Sent {
	if o.slot.Before(now) {
		o.slot = now
	}
	o.slot = o.slot.Add(time.Duration(1e9 / o.rate(now.Sub(clock(0)).Seconds())))
	return policy.Sent{At: now}
}

func (o *oracle) Answer(time.Time, policy.Sent, window.Answer) {}
