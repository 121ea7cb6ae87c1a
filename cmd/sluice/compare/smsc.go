package compare

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"sluice/testserver"
)

// All senders bind with these.
const (
	systemID = "compare"
	password = "secret"
)

// smsc is a fake SMSC that listens on a free port.
type smsc struct {
	*testserver.Server
	address string
	cancel  context.CancelFunc
	serving sync.WaitGroup
	ended   error
}

// openSMSC starts a fresh one. It serves until close, whatever becomes of ctx, so that a sender can still unbind.
func openSMSC(ctx context.Context, sc testserver.Scenario) (*smsc, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fake SMSC: %w", err)
	}
	c := &smsc{Server: testserver.New(sc), address: listener.Addr().String()}
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
