package queue

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// How a connection that carries nothing any more is noticed, by the client and by
// the embedded server: a write that lies in one must not arrive after the journal
// has forgotten which finals it has.
const (
	pingInterval    = 15 * time.Second
	pingsUnanswered = 2
)

// dialMost bounds one attempt to reach a server.
const dialMost = 5 * time.Second

// ConnectConfig says how to reach NATS.
type ConnectConfig struct {
	// URL is one address or several, separated by commas.
	URL string
	// Name is shown by the server for this connection.
	Name string
	// Prefix is the first part of every subject and stream name; "sms" by
	// default.
	Prefix string
	// CredentialsFile, User with Password, or NKeyFile identify the gateway.
	CredentialsFile string
	User, Password  string
	NKeyFile        string
	// InboxPrefix is the first part of the subjects that answers come on, "_INBOX"
	// by default. Who may subscribe to it reads the answers to all who share it.
	InboxPrefix string
	// TLS is used when it is not nil.
	TLS *tls.Config
	// Dial opens a connection to the server; nil dials URL over TCP. Tests hand
	// over pipes by it.
	Dial func() (net.Conn, error)
	// Logger gets the changes of the connection; nil discards them.
	Logger *slog.Logger
	// CanonicalID gives the form of a submit_sm_resp's message id that the receipt
	// index of an account is keyed by; nil means [CanonicalID].
	CanonicalID func(account, messageID string) string
}

// Client is one connection to NATS and what the package knows about it. It is
// safe for concurrent use.
type Client struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	logger *slog.Logger
	names  atomic.Pointer[names]

	closing atomic.Bool   // Close was called
	closed  chan struct{} // closed when the connection ended without that

	mu        sync.Mutex
	cause     error // why it ended
	forbidden error // the newest permission that the server did not give
	listeners map[int]func(connected bool)
	nextID    int
	receipts  *receiptCache
	cancels   cancels
	losses    atomic.Int64 // of the connection

	deferredSpace space
	inbound       inboundSpace

	canonicalID func(account, messageID string) string
}

// Connect opens the connection, trying each address once, or fails. Once the
// connection stands a lost server is redialled without limit. What cannot be
// mended by redialling, such as credentials that were withdrawn, ends the
// connection for good: see [Client.Closed].
func Connect(ctx context.Context, cfg ConnectConfig) (*Client, error) {
	n, err := newNames(cfg.Prefix)
	if err != nil {
		return nil, err
	}
	logger := cfg.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	c := &Client{
		logger: logger, closed: make(chan struct{}),
		listeners: make(map[int]func(bool)), receipts: newReceiptCache(),
		cancels:     cancels{noted: make(map[uint64]time.Time)},
		canonicalID: cfg.CanonicalID,
	}
	if c.canonicalID == nil {
		c.canonicalID = func(_, messageID string) string { return CanonicalID(messageID) }
	}
	c.names.Store(n)
	options, err := c.options(ctx, cfg)
	if err != nil {
		return nil, err
	}
	url := cfg.URL
	if url == "" {
		url = nats.DefaultURL
	}
	if c.nc, err = nats.Connect(url, options...); err != nil {
		return nil, fmt.Errorf("connecting to NATS: %w", err)
	}
	if c.js, err = jetstream.New(c.nc); err != nil {
		c.nc.Close()
		return nil, fmt.Errorf("JetStream client: %w", err)
	}
	return c, nil
}

// Conn is the connection, for what is not this package's business.
func (c *Client) Conn() *nats.Conn { return c.nc }

// Prefix is the first part of every subject and stream name.
func (c *Client) Prefix() string { return c.names.Load().prefix }

// Close closes the connection. Close the intakes and the journal first.
func (c *Client) Close() {
	c.closing.Store(true)
	c.nc.Close()
}

// Closed is closed when the connection has ended for good although [Client.Close]
// was not called: the server refused it in a way that redialling does not mend.
// Nothing works through the client any more.
func (c *Client) Closed() <-chan struct{} { return c.closed }

// CloseCause is why [Client.Closed] is closed, and nil while it is not.
func (c *Client) CloseCause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// Forbidden is the last permission that the server has denied, with its subject, and nil where it has denied none. The
// server says so beside the request, which then has no answer.
func (c *Client) Forbidden() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.forbidden
}

func (c *Client) options(ctx context.Context, cfg ConnectConfig) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name(cfg.Name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		// A server that is gone without a word is noticed within 45 s.
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(pingsUnanswered),
		// What cannot be written now is not kept by the connection: the journal
		// decides what is written again.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { c.connectionChanged(false, err) }),
		nats.ReconnectHandler(func(*nats.Conn) { c.connectionChanged(true, nil) }),
		nats.ClosedHandler(func(nc *nats.Conn) { c.connectionClosed(nc.LastError()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.logger.Warn("nats error", "error", err)
			if errors.Is(err, nats.ErrPermissionViolation) {
				c.mu.Lock()
				c.forbidden = err
				c.mu.Unlock()
			}
		}),
	}
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		if left <= 0 {
			return nil, fmt.Errorf("connecting to NATS: %w", context.DeadlineExceeded)
		}
		// The same time is given to each dial after a lost connection.
		options = append(options, nats.Timeout(min(left, dialMost)))
	}
	if cfg.Dial != nil {
		options = append(options, nats.SetCustomDialer(dialer(cfg.Dial)))
	}
	if cfg.CredentialsFile != "" {
		options = append(options, nats.UserCredentials(cfg.CredentialsFile))
	}
	if cfg.User != "" {
		options = append(options, nats.UserInfo(cfg.User, cfg.Password))
	}
	if cfg.NKeyFile != "" {
		nkey, err := nats.NkeyOptionFromSeed(cfg.NKeyFile)
		if err != nil {
			return nil, errors.New("nkey_file: no NKey seed could be read from it")
		}
		options = append(options, nkey)
	}
	if cfg.InboxPrefix != "" {
		for token := range strings.SplitSeq(cfg.InboxPrefix, ".") {
			if err := CheckName("inbox prefix", token); err != nil {
				return nil, err
			}
		}
		options = append(options, nats.CustomInboxPrefix(cfg.InboxPrefix))
	}
	if cfg.TLS != nil {
		options = append(options, nats.Secure(cfg.TLS))
	}
	return options, nil
}

// dialer opens connections for the client, whatever the address.
type dialer func() (net.Conn, error)

// Dial implements [nats.CustomDialer].
func (d dialer) Dial(string, string) (net.Conn, error) { return d() }

// OnConnection calls f whenever the connection is lost or stands again, until
// the returned function is called. It must not block.
func (c *Client) OnConnection(f func(connected bool)) (remove func()) { return c.onConnection(f) }

// onConnection calls f whenever the connection is lost or stands again, until
// the returned function is called.
func (c *Client) onConnection(f func(connected bool)) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.nextID
	c.nextID++
	c.listeners[id] = f
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, id)
	}
}

func (c *Client) connectionChanged(connected bool, err error) {
	switch {
	case connected:
		c.logger.Info("nats connection stands again")
	case !c.closing.Load():
		c.logger.Warn("nats connection lost", "error", err)
	}
	if !connected {
		c.losses.Add(1)
	}
	c.mu.Lock()
	called := make([]func(bool), 0, len(c.listeners))
	for _, f := range c.listeners {
		called = append(called, f)
	}
	c.mu.Unlock()
	for _, f := range called {
		f(connected)
	}
}

// connectionClosed is called once, when the connection is not redialled.
func (c *Client) connectionClosed(cause error) {
	if c.closing.Load() {
		return
	}
	if cause == nil {
		cause = nats.ErrConnectionClosed
	}
	c.logger.Error("nats connection closed for good", "error", cause)
	c.mu.Lock()
	c.cause = fmt.Errorf("the NATS connection was closed for good: %w", cause)
	c.mu.Unlock()
	close(c.closed)
}
