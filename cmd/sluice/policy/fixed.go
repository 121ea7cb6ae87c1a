package policy

import (
	"time"

	"sluice/window"
)

const (
	usualWindow = 10          // messages in flight that most senders come configured with
	kannelPause = time.Second // of Kannel after a throttle
)

// Fixed keeps a number of messages in flight and paces nothing.
type Fixed struct {
	window int
	pause  time.Duration
	until  time.Time // nothing is sent before
}

// NewFixed makes a fixed window that is silent for pause after each refusal; with a pause of 0 it goes on.
func NewFixed(window int, pause time.Duration) *Fixed { return &Fixed{window: window, pause: pause} }

// Next implements Policy.
func (f *Fixed) Next(_ time.Time, inFlight int) (at time.Time, ok bool) {
	return f.until, inFlight < f.window
}

// Send implements Policy.
func (f *Fixed) Send(now time.Time, _ bool) Sent { return Sent{At: now} }

// Answer implements Policy.
func (f *Fixed) Answer(now time.Time, _ Sent, a window.Answer) {
	if a == window.Refused {
		f.until = now.Add(f.pause)
	}
}

// Reconnect implements Policy.
func (f *Fixed) Reconnect(time.Time, []Sent) {}

// Pace implements Policy.
func (f *Fixed) Pace() float64 { return 0 }

// Halve is the rule that most who write one come to: each second the rate is halved if more than 1 % was refused, and
// else creeps up by 5 %.
type Halve struct {
	rate              float64 // messages per second
	slot              time.Time
	since             time.Time // when the second began
	accepted, refused float64   // in it
}

const (
	halveStart    = 10   // messages per second
	halveSlowest  = 0.2  // messages per second
	halveShare    = 0.01 // of refusals that halves
	halveCreep    = 0.05 // of the rate
	halveLeast    = 0.5  // messages per second that it creeps at least
	halveInFlight = 1000
)

// NewHalve starts at 10 messages per second.
func NewHalve() *Halve { return &Halve{rate: halveStart} }

// Next implements Policy.
func (h *Halve) Next(_ time.Time, inFlight int) (at time.Time, ok bool) {
	return h.slot, inFlight < halveInFlight
}

// Send implements Policy.
func (h *Halve) Send(now time.Time, _ bool) Sent {
	if h.since.IsZero() {
		h.since = now
	}
	h.slot = following(h.slot, now, h.rate)
	return Sent{At: now}
}

// Answer implements Policy.
func (h *Halve) Answer(now time.Time, _ Sent, a window.Answer) {
	switch a {
	case window.Lost:
		return
	case window.Refused:
		h.refused++
	default:
		h.accepted++
	}
	if now.Sub(h.since) < time.Second {
		return
	}
	if h.refused > halveShare*(h.accepted+h.refused) {
		h.rate = max(halveSlowest, h.rate/2)
	} else {
		h.rate += max(halveLeast, halveCreep*h.rate)
	}
	h.since, h.accepted, h.refused = now, 0, 0
}

// Reconnect implements Policy.
func (h *Halve) Reconnect(time.Time, []Sent) {}

// Pace implements Policy.
func (h *Halve) Pace() float64 { return h.rate }

// following is the slot after the one of a message that is sent now.
func following(slot, now time.Time, rate float64) time.Time {
	if slot.Before(now) {
		slot = now
	}
	return slot.Add(time.Duration(float64(time.Second) / rate))
}
