package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sluice/gateway"
	"sluice/gateway/config"
	"sluice/queue"
)

// configuration is the gateway's: what it needs to know of the SMSC and nothing about its ceiling. The budget for
// probes is above the default of 0.2 %, as is right where ceilings move every 20 s: Sluice finds them sooner, and a few
// more submits are throttled.
const configuration = `
nats: {url: %q}
http: off
accounts:
  demo: {address: %q, system_id: %s, password: %s, rate: {probe_budget: 0.5%%}}
routes:
  %s: {accounts: demo, classes: {%s: 1}}
`

// finals are the outcomes of all messages of a route, read from the journal as they come.
type finals struct {
	mu sync.Mutex
	of map[string]queue.EventType // by delivery id
}

// runSluice sends the messages of Sluice's route and scores what became of them.
func (s *stage) runSluice(ctx context.Context, show view) (score Paced, err error) {
	c, err := s.openSMSC(ctx)
	if err != nil {
		return Paced{}, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := s.publish(ctx, routeSluice); err != nil {
		return Paced{}, err
	}
	g, err := s.newGateway(ctx, c.address)
	if err != nil {
		return Paced{}, err
	}
	outcomes := finals{of: map[string]queue.EventType{}}
	stop := watch(show, c, run{
		name: "sluice", plan: s.plan, offered: len(s.traffic.recipients),
		look: func() look { return lookAt(g, &outcomes) },
	})
	if err := s.serve(ctx, g, &outcomes, stop); err != nil {
		return Paced{}, err
	}
	capacity := func(from, to time.Time) float64 { return c.Capacity(systemID, from, to) }
	return scoreSluice(s.traffic, c.Ledger(), outcomes.of, s.plan.warmUp, capacity), nil
}

func (s *stage) newGateway(ctx context.Context, address string) (*gateway.Gateway, error) {
	cfg, err := config.Decode(fmt.Appendf(nil, configuration, s.url, address, systemID, password, routeSluice, class))
	if err != nil {
		return nil, err
	}
	return gateway.New(ctx, cfg, gateway.Options{})
}

// serve runs the gateway until the journal has every message's outcome, and stops it in order. Settled is called once,
// in between: a gateway that stops is nothing to look at.
func (s *stage) serve(ctx context.Context, g *gateway.Gateway, outcomes *finals, settled func()) error {
	life, end := s.plan.bound(ctx)
	defer end(nil)
	var reading sync.WaitGroup
	reading.Go(func() {
		why := outcomes.read(life, s.client, len(s.traffic.recipients))
		settled()
		end(why)
	})
	stopped := g.Run(life)
	end(errors.New("the gateway ended by itself"))
	reading.Wait()
	return errors.Join(ended(life), stopped)
}

// read follows the journal until all messages have their outcome.
func (f *finals) read(ctx context.Context, client *queue.Client, messages int) error {
	filter := queue.EventFilter{Route: routeSluice, Follow: true}
	for _, t := range queue.EventTypes() {
		if t.Final() {
			filter.Types = append(filter.Types, t)
		}
	}
	for event, err := range client.Events(ctx, filter) {
		if err != nil {
			return err
		}
		if f.add(event) == messages {
			return errAllDone
		}
	}
	return errors.Join(ctx.Err(), errors.New("the journal's events ended"))
}

func (f *finals) add(e queue.Event) (count int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of[e.ID] = e.Type
	return len(f.of)
}

// lookAt is what the admin plane says about the gateway's only bind.
func lookAt(g *gateway.Gateway, f *finals) look {
	f.mu.Lock()
	l := look{done: len(f.of)}
	f.mu.Unlock()
	for _, b := range g.Binds() {
		l.pace, l.window, l.inFlight = b.Pace, b.Window, b.InFlight
	}
	return l
}
