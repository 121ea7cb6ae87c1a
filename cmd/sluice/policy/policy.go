// Package policy holds ways to decide when the next message may be submitted, as values without clock, lock or
// goroutine: Sluice's window, and what other senders do. So one and the same policy can be tried in virtual time and
// over TCP.
package policy

import (
	"fmt"
	"strings"
	"time"

	"sluice/window"
)

// Policy decides for one bind. It must see every submit and what became of it, once each.
type Policy interface {
	// Next says when the next message may be sent, at any time from at on, which may be past; not ok: not before another
	// answer is in.
	Next(now time.Time, inFlight int) (at time.Time, ok bool)
	// Send notes a message that is sent now. Waited says that there had been a message to send and that the policy was
	// what it waited for.
	Send(now time.Time, waited bool) Sent
	// Answer takes what became of a message.
	Answer(now time.Time, s Sent, a window.Answer)
	// Reconnect tells that the connection was lost and is back; the messages in flight will have no answer.
	Reconnect(now time.Time, inFlight []Sent)
	// Pace is the rate that it sends at, in messages per second; 0 for a policy without pacing.
	Pace() float64
}

// Sent goes with a message from Send to Answer.
type Sent struct {
	At     time.Time
	number int64 // of the message, counted from 1
	ticket window.Ticket
}

// The names of the policies.
const (
	NameSluice = "sluice"
	NameFixed  = "fixed"
	NameKannel = "kannel"
	NameHalve  = "halve"
	NameCubic  = "cubic"
)

// Names lists the policies, Sluice's first.
func Names() []string { return []string{NameSluice, NameFixed, NameKannel, NameHalve, NameCubic} }

// New makes a policy by its name. The configuration is for Sluice's window; the others know nothing to set.
func New(name string, cfg window.Config) (Policy, error) {
	switch name {
	case NameSluice:
		return NewSluice(cfg), nil
	case NameFixed:
		return NewFixed(usualWindow, 0), nil
	case NameKannel:
		return NewFixed(usualWindow, kannelPause), nil
	case NameHalve:
		return NewHalve(), nil
	case NameCubic:
		return NewCubic(), nil
	}
	return nil, fmt.Errorf("policy %q: write one of %s", name, strings.Join(Names(), ", "))
}

// Sluice is the window of this project on one bind.
type Sluice struct {
	controller *window.Controller
	bind       window.BindID
}

// NewSluice starts from what the operator knows.
func NewSluice(cfg window.Config) *Sluice {
	c := window.NewController(cfg)
	return &Sluice{controller: c, bind: c.AddBind()}
}

// Controller is what decides.
func (s *Sluice) Controller() *window.Controller { return s.controller }

// Next implements Policy.
func (s *Sluice) Next(now time.Time, _ int) (at time.Time, ok bool) {
	ok, at = s.controller.Next(now, s.bind)
	return at, ok
}

// Send implements Policy. The controller infers by itself what a message waited for.
func (s *Sluice) Send(now time.Time, _ bool) Sent {
	return Sent{At: now, ticket: s.controller.OnSend(now, s.bind)}
}

// Answer implements Policy.
func (s *Sluice) Answer(now time.Time, m Sent, a window.Answer) {
	s.controller.OnResult(now, m.ticket, window.Signal{Answer: a})
}

// Reconnect implements Policy.
func (s *Sluice) Reconnect(now time.Time, inFlight []Sent) {
	s.controller.RemoveBind(now, s.bind)
	for _, m := range inFlight {
		s.Answer(now, m, window.Lost)
	}
	s.bind = s.controller.AddBind()
}

// Pace implements Policy.
func (s *Sluice) Pace() float64 { return s.controller.Snapshot(time.Time{}).Pace }
