package queue

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// loggedClient connects to a server of its own and returns what it logs.
func loggedClient(t *testing.T) (*Client, *bytes.Buffer) {
	t.Helper()
	e, err := StartEmbedded(EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Shutdown)
	log := new(bytes.Buffer)
	c, err := Connect(t.Context(), ConnectConfig{URL: e.URL(), Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, log
}

// closedHandled returns a channel that is closed after the client has handled
// the end of its connection.
func closedHandled(c *Client) <-chan struct{} {
	done := make(chan struct{})
	handler := c.nc.ClosedHandler()
	c.nc.SetClosedHandler(func(nc *nats.Conn) {
		handler(nc)
		close(done)
	})
	return done
}

func await(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
	}
}

func TestConnectionClosedForGood(t *testing.T) {
	t.Parallel()
	c, log := loggedClient(t)
	handled := closedHandled(c)
	if err := c.CloseCause(); err != nil {
		t.Errorf("CloseCause of an open connection: %v", err)
	}
	if err := c.nc.Publish(strings.Repeat("x", 5000), nil); err != nil {
		t.Fatal(err)
	}
	await(t, c.Closed(), "the end of the connection")
	if err := c.CloseCause(); err == nil || !strings.Contains(strings.ToLower(err.Error()), "maximum control line") {
		t.Errorf("CloseCause: %v, want the server's reason", err)
	}
	await(t, handled, "the handler's end")
	if !strings.Contains(log.String(), "closed for good") {
		t.Errorf("log: %s", log)
	}
}

func TestCloseWarnsOfNothing(t *testing.T) {
	t.Parallel()
	c, log := loggedClient(t)
	handled := closedHandled(c)
	c.Close()
	await(t, handled, "the handler's end")
	if log.Len() > 0 {
		t.Errorf("a clean stop logged %s", log)
	}
	select {
	case <-c.Closed():
		t.Error("Closed although Close was called")
	default:
	}
	if err := c.CloseCause(); err != nil {
		t.Errorf("CloseCause: %v", err)
	}
}
