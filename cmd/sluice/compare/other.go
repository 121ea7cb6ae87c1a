package compare

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sluice/cmd/sluice/policy"
	"sluice/smpp"
	"sluice/smpp/pdu"
	"sluice/window"
)

const (
	mostInFlight = 1000
	closing      = 5 * time.Second // for what is in flight at the end
)

// other is a sender with a policy and nothing else: no queue, no store. It always has a message to send; what is
// throttled is sent again, but for a fixed window without pause, which stands for the many programs that know accepted
// and failed alone.
type other struct {
	session *smpp.Session
	fails   bool // takes a throttle for a failure

	mu       sync.Mutex
	policy   policy.Policy
	inFlight int
	fate     fate
	fault    error
	heard    chan struct{} // holds one token after an answer
}

// runOther sends for the duration.
func (o Options) runOther(ctx context.Context, c *smsc, name string) (f fate, err error) {
	p, err := policy.New(name, window.Config{})
	if err != nil {
		return fate{}, err
	}
	cfg := smpp.Config{Address: c.address, SystemID: systemID, Password: password, MaxInFlight: mostInFlight}
	conn, err := smpp.Dial(ctx, cfg)
	if err != nil {
		return fate{}, err
	}
	x := &other{policy: p, fails: name == policy.NameFixed, heard: make(chan struct{}, 1)}
	if x.session, err = smpp.Bind(ctx, conn, cfg); err != nil {
		return fate{}, err
	}
	defer func() {
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		err = errors.Join(err, x.session.Close(bound))
	}()
	life, cancel := context.WithTimeout(ctx, o.Duration)
	defer cancel()
	x.send(life)
	return x.fate, errors.Join(x.fault, ctx.Err())
}

// send lets go what the policy lets go until life ends, and waits for the answers.
func (x *other) send(life context.Context) {
	var flying sync.WaitGroup
	defer flying.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	messages := 0
	for life.Err() == nil {
		sent, wait, may := x.next()
		if may {
			messages++
			number := messages
			flying.Go(func() { x.submit(context.WithoutCancel(life), number, sent) })
			continue
		}
		timer.Reset(wait)
		select {
		case <-life.Done():
		case <-x.heard:
		case <-timer.C:
		}
	}
}

// next takes the policy's leave for one message, or says how long to wait at most.
func (x *other) next() (sent policy.Sent, wait time.Duration, may bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	at, ok := x.policy.Next(now, x.inFlight)
	switch {
	case !ok || x.fault != nil:
		return sent, time.Hour, false
	case at.After(now):
		return sent, at.Sub(now), false
	}
	x.inFlight++
	return x.policy.Send(now, true), 0, true
}

func (x *other) submit(ctx context.Context, n int, sent policy.Sent) {
	r, err := x.session.Submit(ctx, &pdu.SubmitSM{
		Source: pdu.Address{Addr: []byte("sluice")}, Dest: pdu.Address{TON: 1, NPI: 1, Addr: fmt.Appendf(nil, "9991%07d", n)},
		ShortMessage: []byte("a message to compare with"),
	}, nil)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.inFlight--
	what := window.Accepted
	switch {
	case err != nil:
		what = window.Lost
		x.fate.lost++
		x.fault = err
	case r.Status == pdu.StatusThrottled || r.Status == pdu.StatusMsgQFull:
		what = window.Refused
		if x.fails {
			x.fate.failed++
			x.fate.lost++
		}
	case r.Status != pdu.StatusOK:
		what = window.Other
		x.fate.failed++
	}
	x.policy.Answer(time.Now(), sent, what)
	select {
	case x.heard <- struct{}{}:
	default:
	}
}
