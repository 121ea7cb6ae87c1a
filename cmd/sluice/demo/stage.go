package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"sluice/queue"
	"sluice/testserver"
)

// The routes of the two senders, each with one class.
const (
	routeNaive  = "naive"
	routeSluice = "main"
	class       = "normal"
)

// closing bounds what has to be flushed at the end.
const closing = 5 * time.Second

// stage is what both senders play on: a queue in a temporary folder and the messages for it.
type stage struct {
	options Options
	plan    plan
	traffic traffic
	url     string
	client  *queue.Client
	journal *queue.Journal
	undo    []func() error // last one first
}

// setStage starts NATS and creates both routes. After an error nothing is left of it.
func setStage(ctx context.Context, o Options) (*stage, error) {
	s := &stage{options: o, plan: *o.plan, traffic: newTraffic(o.Messages, o.Seed)}
	for _, step := range []func(context.Context) error{s.startNATS, s.connect, s.createRoutes} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *stage) startNATS(context.Context) error {
	dir, err := os.MkdirTemp(s.options.Dir, "sluice-demo-")
	if err != nil {
		return fmt.Errorf("folder for NATS: %w", err)
	}
	s.undo = append(s.undo, func() error { return os.RemoveAll(dir) })
	server, err := queue.StartEmbedded(queue.EmbeddedConfig{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	s.undo = append(s.undo, func() error { server.Shutdown(); return nil })
	s.url = server.URL()
	return nil
}

func (s *stage) connect(ctx context.Context) (err error) {
	if s.client, err = queue.Connect(ctx, queue.ConnectConfig{URL: s.url, Name: "sluice demo"}); err != nil {
		return err
	}
	s.undo = append(s.undo, func() error { s.client.Close(); return nil })
	return nil
}

func (s *stage) createRoutes(ctx context.Context) error {
	_, err := s.client.Ensure(ctx, queue.Topology{
		Lanes: []queue.Lane{{Route: routeNaive, Class: class}, {Route: routeSluice, Class: class}},
	})
	if err != nil {
		return err
	}
	if s.journal, err = s.client.OpenJournal(queue.JournalConfig{}); err != nil {
		return err
	}
	s.undo = append(s.undo, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closing)
		defer cancel()
		return s.journal.Close(ctx)
	})
	return nil
}

// close ends what is running and removes what was created, even after an interrupt.
func (s *stage) close() error {
	var faults []error
	for _, undo := range slices.Backward(s.undo) {
		faults = append(faults, undo())
	}
	s.undo = nil
	return errors.Join(faults...)
}

// smsc is a fake SMSC that listens on a free port.
type smsc struct {
	*testserver.Server
	address string
	cancel  context.CancelFunc
	serving sync.WaitGroup
	ended   error
}

// openSMSC starts a fresh one. It serves until close, whatever becomes of ctx, so that a sender can still unbind.
func (s *stage) openSMSC(ctx context.Context) (*smsc, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fake SMSC: %w", err)
	}
	c := &smsc{Server: testserver.New(s.plan.scenario(s.options.Seed)), address: listener.Addr().String()}
	serve, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	c.serving.Go(func() { c.ended = c.Serve(serve, listener) })
	return c, nil
}

func (c *smsc) close() error {
	c.cancel()
	c.serving.Wait()
	return c.ended
}

// began is the time of the first submit; zero before it.
func (c *smsc) began() time.Time {
	for _, r := range c.Records(testserver.Query{Limit: 1}) {
		return r.Time
	}
	return time.Time{}
}
