// Package simulate runs Sluice's controller, or another sender's policy, against a scenario of the fake SMSC in virtual
// time: minutes pass in a moment, and the same seed gives the same run.
package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/classify"
	"sluice/cmd/sluice/course"
	"sluice/cmd/sluice/policy"
	"sluice/smpp/pdu"
	"sluice/testserver"
	"sluice/testserver/limiter"
	"sluice/window"
)

// Options say what is simulated.
type Options struct {
	Scenario testserver.Scenario
	Policy   string // one of policy.Names
	Window   window.Config
	Duration time.Duration // of virtual time
	// Messages ends the run when so many were accepted or refused for good; 0: there is always one to send.
	Messages int
	Seed     uint64
}

const (
	// perSend is the time that a sender needs for a message, which bounds every policy where the SMSC does not.
	perSend = 20 * time.Microsecond
	// mostSubmits ends a run against an SMSC that takes everything.
	mostSubmits = 5_000_000
)

// start is a full second, so that calendar seconds begin with the run.
func start() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

// answer is one that is on its way.
type answer struct {
	due     time.Duration
	order   int // of the submits, among those due at once
	refused bool
	verdict classify.Class
	sent    policy.Sent
}

// simulation is a run under way.
type simulation struct {
	Options
	policy    policy.Policy
	limiter   limiter.Limiter
	table     *classify.Table
	now, busy time.Duration
	answers   answers
	lastDue   time.Duration
	course    course.Course
	decided   decided
	left      int // messages to send, where they are counted

	submits, accepted, throttled, others int
}

// Run simulates to the end of the duration or of the messages.
func Run(ctx context.Context, o Options) (Result, error) {
	switch {
	case o.Duration < time.Second || o.Duration > 24*time.Hour:
		return Result{}, fmt.Errorf("duration %v: give from 1s to 24h", o.Duration)
	case o.Messages < 0:
		return Result{}, fmt.Errorf("messages %d: give a number from 1, or 0 for as many as the time allows", o.Messages)
	}
	p, err := policy.New(o.Policy, o.Window)
	if err != nil {
		return Result{}, err
	}
	l, left := o.Scenario.Limiter("", rand.New(rand.NewPCG(o.Seed, 0)))
	s := &simulation{Options: o, policy: p, limiter: l, table: classify.Default(), left: o.Messages}
	if err := s.run(ctx); err != nil {
		return Result{}, err
	}
	s.decided.look(s.policy)
	return s.result(left), nil
}

func (s *simulation) run(ctx context.Context) error {
	for !s.over() {
		if s.submits%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		next, sends := s.next()
		s.look(min(next, s.Duration-1))
		if next >= s.Duration {
			s.now = s.Duration
			return nil
		}
		s.now = next
		if sends {
			s.submit()
		} else {
			s.answered(s.answers.pop())
		}
	}
	return nil
}

// over reports whether the run ends before its time.
func (s *simulation) over() bool {
	return s.submits >= mostSubmits || s.Messages > 0 && s.accepted+s.others >= s.Messages
}

// next is when something happens, and whether that is a submit; else it is an answer.
func (s *simulation) next() (at time.Duration, sends bool) {
	at = s.Duration
	if len(s.answers) > 0 {
		at = s.answers[0].due
	}
	if s.Messages > 0 && s.left == 0 {
		return at, false
	}
	due, ok := s.policy.Next(s.clock(), len(s.answers))
	if !ok {
		return at, false
	}
	if send := max(s.now, s.busy, due.Sub(start())); send < at {
		return send, true
	}
	return at, false
}

func (s *simulation) clock() time.Time { return start().Add(s.now) }

// look notes pace and ceiling of all bins up to a time, and what was decided before it.
func (s *simulation) look(until time.Duration) {
	if s.course.Has(until) {
		return
	}
	s.decided.look(s.policy)
	for at := time.Duration(len(s.course)) * course.Width; at <= until; at += course.Width {
		b := s.course.At(at)
		b.Pace, b.Capacity = s.policy.Pace(), s.limiter.Capacity(start().Add(at))
	}
}

func (s *simulation) submit() {
	s.left--
	s.submits++
	s.busy = s.now + perSend
	v := s.limiter.Arrive(s.clock())
	a := answer{due: s.now + v.Service, order: s.submits, refused: v.Refuse, verdict: classify.OK, sent: s.policy.Send(s.clock(), true)}
	if v.Refuse {
		a.verdict = s.table.Of(classify.Submit, pdu.Status(v.Status)).Class
	}
	if !s.Scenario.AnyOrder {
		a.due = max(a.due, s.lastDue)
		s.lastDue = a.due
	}
	b := s.course.At(s.now)
	switch a.verdict {
	case classify.OK:
		b.Accepted++
	case classify.Throttle:
		b.Throttled++
	default:
		b.Other++
	}
	s.answers.push(a)
}

func (s *simulation) answered(a answer) {
	if !a.refused {
		s.limiter.Done(s.clock())
	}
	what := window.Other
	switch a.verdict {
	case classify.OK:
		s.accepted++
		what = window.Accepted
	case classify.Throttle:
		s.throttled++
		s.left++ // back to the queue
		what = window.Refused
	default:
		s.others++
	}
	s.policy.Answer(s.clock(), a.sent, what)
}
