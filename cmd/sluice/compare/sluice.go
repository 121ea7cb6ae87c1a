package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"sluice/gateway"
	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// configuration is all that the gateway is told of the SMSC.
const configuration = `
nats: {url: %q}
http: off
accounts:
  compare: {address: %q, system_id: %s, password: %s%s}
`

// The route of a configuration that has none.
const (
	route = "main"
	class = "normal"
)

const (
	backlog  = 2000 // messages that the queue has ready
	interval = 50 * time.Millisecond
	patience = 30 * time.Second // for the first submit
)

// supply keeps the gateway's queue filled.
type supply struct {
	client    *queue.Client
	published int
}

// runSluice lets the gateway send for the duration and reads in the journal what became of the messages.
func (o Options) runSluice(ctx context.Context, c *smsc) (f fate, err error) {
	dir, err := os.MkdirTemp(o.Dir, "sluice-compare-")
	if err != nil {
		return fate{}, fmt.Errorf("folder for NATS: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server, err := queue.StartEmbedded(queue.EmbeddedConfig{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		return fate{}, err
	}
	defer server.Shutdown()
	client, err := queue.Connect(ctx, queue.ConnectConfig{URL: server.URL(), Name: "sluice compare"})
	if err != nil {
		return fate{}, err
	}
	defer client.Close()
	most := ""
	if o.WindowMax > 0 {
		most = fmt.Sprintf(", window: {max: %d}", o.WindowMax)
	}
	cfg, err := config.Decode(fmt.Appendf(nil, configuration, server.URL(), c.address, systemID, password, most))
	if err != nil {
		return fate{}, err
	}
	g, err := gateway.New(ctx, cfg, gateway.Options{})
	if err != nil {
		return fate{}, err
	}
	s := &supply{client: client}
	life, stop := context.WithCancel(ctx)
	defer stop()
	var feeding sync.WaitGroup
	var fed error
	feeding.Go(func() {
		defer stop()
		fed = s.feed(life, c, o.Duration)
	})
	err = g.Run(life)
	stop()
	feeding.Wait()
	if err := errors.Join(err, fed, ctx.Err()); err != nil {
		return fate{}, err
	}
	return s.fate(ctx, c.Ledger())
}

// feed publishes ahead of what the SMSC takes, until the duration since the first submit is over.
func (s *supply) feed(ctx context.Context, c *smsc, duration time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	opened := time.Now()
	for {
		if err := s.publish(ctx, int(c.Stats().Accepted)+backlog); err != nil {
			return err
		}
		began := c.began()
		switch {
		case began.IsZero() && time.Since(opened) > patience:
			return fmt.Errorf("nothing was submitted within %v", patience)
		case !began.IsZero() && time.Since(began) >= duration:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// publish brings the number of messages published up to total.
func (s *supply) publish(ctx context.Context, total int) error {
	var first error // the others are like it
	err := s.client.PublishMany(ctx, func(yield func(queue.Outgoing) bool) {
		for s.published < total {
			s.published++
			id := fmt.Sprintf("9991%07d", s.published)
			m := &queue.Message{ID: id, From: "sluice", To: "+" + id, Text: "a message to compare with"}
			if !yield(queue.Outgoing{Route: route, Class: class, Message: m}) {
				return
			}
		}
	}, func(p queue.Published) {
		if first == nil {
			first = p.Err
		}
	})
	return errors.Join(err, first)
}

// fate joins the journal with the ledger and with what is still in the queue. A message is lost if it failed for a
// throttle, if the journal says that it was submitted and the SMSC does not know it, or if it is nowhere.
func (s *supply) fate(ctx context.Context, records []testserver.Record) (f fate, err error) {
	accepted := map[string]bool{}
	for _, r := range records {
		if r.Status == pdu.StatusOK {
			accepted[strings.TrimPrefix(r.Destination, "+")] = true
		}
	}
	ended := 0
	for e, err := range s.client.Events(ctx, queue.EventFilter{Route: route}) {
		switch {
		case err != nil:
			return fate{}, err
		case !e.Type.Final():
			continue
		case e.Type != queue.EventSubmitted:
			f.failed++
			if e.CommandStatus == nil || throttle(pdu.Status(*e.CommandStatus)) {
				f.lost++
			}
		case !accepted[e.ID]:
			f.lost++
		}
		ended++
	}
	lanes, err := s.client.LaneStats(ctx)
	if err != nil {
		return fate{}, err
	}
	for _, l := range lanes {
		ended += int(l.Pending + l.AckPending)
	}
	f.lost += max(0, s.published-ended)
	return f, nil
}

func throttle(s pdu.Status) bool { return s == pdu.StatusThrottled || s == pdu.StatusMsgQFull }
