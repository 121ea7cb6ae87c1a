package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"sluice/queue"
	"sluice/smpp"
	"sluice/smpp/pdu"
)

// naiveWindow is how many messages the naive sender has in flight at all times.
const naiveWindow = 10

// naive is the sender that most programs have: a fixed window, no pacing, and two outcomes. What the SMSC does not
// accept has failed, whatever the reason.
type naive struct {
	session *smpp.Session
	intake  *queue.Intake

	mu     sync.Mutex
	done   int                   // messages with an outcome
	failed map[string]pdu.Status // why each recipient's message was written down as failed
}

// runNaive sends the messages of the naive route and scores what became of them.
func (s *stage) runNaive(ctx context.Context, show view) (score Score, err error) {
	c, err := s.openSMSC(ctx)
	if err != nil {
		return Score{}, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := s.publish(ctx, routeNaive); err != nil {
		return Score{}, err
	}
	n, err := s.newNaive(ctx, c.address)
	if err != nil {
		return Score{}, err
	}
	stop := watch(show, c, run{name: "naive", plan: s.plan, offered: len(s.traffic.recipients), look: n.look})
	err = n.send(ctx, s.plan, len(s.traffic.recipients))
	stop()
	if err = errors.Join(err, n.close()); err != nil {
		return Score{}, err
	}
	return scoreNaive(c.Ledger(), n.failed), nil
}

func (s *stage) newNaive(ctx context.Context, address string) (*naive, error) {
	cfg := smpp.Config{Address: address, SystemID: systemID, Password: password}
	conn, err := smpp.Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	n := &naive{failed: map[string]pdu.Status{}}
	if n.session, err = smpp.Bind(ctx, conn, cfg); err != nil {
		return nil, err
	}
	n.intake, err = s.client.OpenIntake(ctx, s.journal, queue.IntakeConfig{
		Lanes: []queue.IntakeLane{{Lane: queue.Lane{Route: routeNaive, Class: class}}},
	})
	if err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *naive) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	var err error
	if n.intake != nil {
		err = n.intake.Close(ctx)
	}
	return errors.Join(err, n.session.Close(ctx))
}

// send works until every message has its outcome.
func (n *naive) send(ctx context.Context, p plan, messages int) error {
	work, end := p.bound(ctx)
	defer end(nil)
	var workers sync.WaitGroup
	for range naiveWindow {
		workers.Go(func() { end(n.work(work, messages)) })
	}
	workers.Wait()
	return ended(work)
}

// work takes one message after the other until all have their outcome or ctx ends.
func (n *naive) work(ctx context.Context, messages int) error {
	for {
		job, err := n.intake.Next(ctx)
		if err != nil {
			return err
		}
		message, err := job.Message()
		if err != nil {
			return fmt.Errorf("message %d: %w", job.Seq(), err)
		}
		response, err := n.session.Submit(ctx, submitOf(message), nil)
		if err != nil {
			return err
		}
		if err := job.Settle(ctx, outcomeOf(response)); err != nil {
			return err
		}
		if n.note(message.Dest().Digits, response.Status) == messages {
			return errAllDone
		}
	}
}

// submitOf needs no more than the demo's own messages do.
func submitOf(m *queue.Message) *pdu.SubmitSM {
	address := func(a queue.Address) pdu.Address {
		return pdu.Address{TON: a.TON, NPI: a.NPI, Addr: []byte(a.Digits)}
	}
	return &pdu.SubmitSM{Source: address(m.Source()), Dest: address(m.Dest()), ShortMessage: []byte(m.Text)}
}

// outcomeOf is the mistake that this demo is about: every status but 0 ends the message.
func outcomeOf(r smpp.Response) queue.Outcome {
	status := uint32(r.Status)
	event := queue.Event{Type: queue.EventFailed, Attempt: 1, CommandStatus: &status, StatusName: r.Status.String()}
	if r.Status == pdu.StatusOK {
		event.Type, event.MessageIDs = queue.EventSubmitted, []string{r.MessageID}
	}
	return queue.Outcome{Event: event, Final: true}
}

// note remembers an outcome and returns how many there are.
func (n *naive) note(recipient string, status pdu.Status) (done int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if status != pdu.StatusOK {
		n.failed[recipient] = status
	}
	n.done++
	return n.done
}

func (n *naive) look() look {
	n.mu.Lock()
	defer n.mu.Unlock()
	return look{window: naiveWindow, inFlight: n.session.Stats().InFlight, done: n.done}
}
