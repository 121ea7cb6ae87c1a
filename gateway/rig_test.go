package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/testserver"
)

// patience bounds every wait of these tests; nothing is asserted about how long anything takes.
const patience = 3 * time.Minute

// smsc is a fake SMSC on loopback TCP.
type smsc struct {
	*testserver.Server
	addr string
}

func startSMSC(t *testing.T, sc testserver.Scenario) smsc {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := smsc{testserver.New(sc), listener.Addr().String()}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(ctx, listener) // ends with ctx
	}()
	t.Cleanup(func() { cancel(); <-served })
	return s
}

// rig is a running gateway with an embedded NATS server, and a client beside it.
type rig struct {
	*Gateway
	client   *queue.Client
	registry *prometheus.Registry
	stop     func() // stops the gateway and waits for its end
	began    time.Time
}

// startGateway runs a gateway for one account on the store in dir. extra is YAML under the account; top is YAML at the
// top level.
func startGateway(t *testing.T, dir string, s smsc, extra, top string) *rig {
	t.Helper()
	return runGateway(t, testConfig(t, dir, s, extra, top), Options{})
}

// runGateway runs a gateway with the given configuration.
func runGateway(t *testing.T, cfg *config.Config, opts Options) *rig {
	t.Helper()
	registry := prometheus.NewRegistry()
	opts.Registry, opts.Version = registry, "1.2.3"
	g, err := New(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	r := &rig{Gateway: g, registry: registry, began: time.Now()}
	connect, done := context.WithTimeout(t.Context(), patience)
	defer done()
	if r.client, err = queue.Connect(connect, queue.ConnectConfig{URL: g.NATSURL(), Name: "test"}); err != nil {
		t.Fatal(err)
	}
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		r.client.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the gateway stopped with %v", err)
		}
	}
	t.Cleanup(r.stop)
	return r
}

func testConfig(t *testing.T, dir string, s smsc, extra, top string) *config.Config {
	t.Helper()
	cfg, err := config.Decode([]byte(fmt.Sprintf(`
instance: test-1
nats: {embedded: {dir: %q, listen: "127.0.0.1:0"}}
http: "127.0.0.1:0"
accounts:
  acme:
    address: %q
    system_id: sluice
    password: secret
%s
%s
`, dir, s.addr, indent(extra), top)))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func indent(yaml string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(yaml), "\n", "\n    ")
}

func (r *rig) publish(t *testing.T, messages ...*queue.Message) {
	t.Helper()
	for _, m := range messages {
		if _, _, err := r.client.Publish(t.Context(), "main", "normal", m); err != nil {
			t.Fatal(err)
		}
	}
}

// await follows the journal until enough events have come that pass the test, and returns them.
func (r *rig) await(t *testing.T, n int, wanted func(queue.Event) bool) []queue.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var found []queue.Event
	if n == 0 {
		return nil
	}
	for e, err := range r.client.Events(ctx, queue.EventFilter{Follow: true}) {
		if err != nil {
			t.Fatalf("%d of %d events came: %v", len(found), n, err)
		}
		if wanted(e) {
			if found = append(found, e); len(found) == n {
				return found
			}
		}
	}
	lanes, err := r.client.LaneStats(t.Context())
	t.Fatalf("the journal ended after %d of %d events; lanes %+v (%v), accounts %+v, binds %+v", len(found), n, lanes, err,
		r.Accounts(), r.Binds())
	return nil
}

// journal reads all events there are.
func (r *rig) events(t *testing.T) []queue.Event {
	t.Helper()
	var all []queue.Event
	for e, err := range r.client.Events(t.Context(), queue.EventFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// awaitEmpty waits until the queue holds no message, so that none can be sent any more.
func (r *rig) awaitEmpty(t *testing.T) {
	t.Helper()
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		stream, err := js.Stream(ctx, "SMS_MT")
		if err != nil {
			t.Fatalf("the queue does not empty: %v", err)
		}
		if stream.CachedInfo().State.Msgs == 0 {
			return
		}
	}
}

// awaitGone waits until the message has left the queue: what is written behind its final event is written then.
func (r *rig) awaitGone(t *testing.T, seq uint64) {
	t.Helper()
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "SMS_MT")
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the acknowledgement", func() bool {
		_, err := stream.GetMsg(t.Context(), seq)
		return errors.Is(err, jetstream.ErrMsgNotFound)
	})
}

// await polls until something has come about that has no other way to tell.
func await(t *testing.T, what string, come func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !come() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func isFinal(e queue.Event) bool { return e.Type.Final() }

// messages makes n messages to numbers that begin with prefix.
func messages(n int, prefix string) []*queue.Message {
	list := make([]*queue.Message, n)
	for i := range list {
		list[i] = &queue.Message{
			ID: fmt.Sprintf("%s-%d", strings.Trim(prefix, "+"), i), From: "1000", To: fmt.Sprintf("%s%04d", prefix, i),
			Text: fmt.Sprintf("message %d", i),
		}
	}
	return list
}

// openFlow lets an account that no gateway looks after submit.
func (a *account) openFlow(binds int) {
	a.moved = func() {}
	a.flow = newFlow(binds, a.refresh)
	a.flow.share("", time.Now().Add(time.Hour), binds)
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
