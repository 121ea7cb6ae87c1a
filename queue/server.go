package queue

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// ErrStoreLocked reports that another process has the embedded server's store
// open. The server itself would open it a second time without complaint and
// damage it.
var ErrStoreLocked = errors.New("the store is in use by another process")

const (
	defaultListen    = "127.0.0.1:4222"
	defaultSync      = time.Second
	embeddedReady    = 10 * time.Second
	embeddedLockFile = ".sluice.lock"
)

// EmbeddedConfig describes the NATS server that runs inside the gateway when
// no external one is configured.
type EmbeddedConfig struct {
	// Dir is the folder of the store; it is created when missing.
	Dir string
	// Listen is host:port; port 0 or -1 picks a free one. The default is
	// 127.0.0.1:4222.
	Listen string
	// MaxStore bounds the store in octets; 0 leaves it to the disk.
	MaxStore int64
	// Sync is how often the store is flushed to the disk, 1 s by default. After
	// a power loss what was stored since the last flush may be forgotten.
	Sync time.Duration
	// SyncAlways flushes on every write instead: nothing is forgotten, at about
	// 1,500 events a second.
	SyncAlways bool
	// User and Password are asked of every client when User is set.
	User, Password string
}

// Embedded is a running NATS server with JetStream, reached over TCP like any
// other.
type Embedded struct {
	server *server.Server
	lock   *os.File
}

// StartEmbedded starts the server and returns when JetStream answers. It fails
// with [ErrStoreLocked] when another process holds the store.
func StartEmbedded(cfg EmbeddedConfig) (*Embedded, error) {
	host, port, err := splitListen(cfg.Listen)
	if err != nil {
		return nil, err
	}
	lock, err := lockStore(cfg.Dir)
	if err != nil {
		return nil, err
	}
	sync := cfg.Sync
	if sync <= 0 {
		sync = defaultSync
	}
	srv, err := server.NewServer(&server.Options{
		ServerName: "sluice-embedded",
		Host:       host, Port: port,
		Username: cfg.User, Password: cfg.Password,
		JetStream: true, StoreDir: cfg.Dir, JetStreamMaxStore: cfg.MaxStore,
		SyncInterval: sync, SyncAlways: cfg.SyncAlways,
		NoLog: true, NoSigs: true, DisableJetStreamBanner: true,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("embedded NATS server in %s: %w", cfg.Dir, err), lock.Close())
	}
	e := &Embedded{server: srv, lock: lock}
	srv.Start()
	if err := e.awaitJetStream(cfg); err != nil {
		e.Shutdown()
		return nil, fmt.Errorf("embedded NATS server in %s: %w", cfg.Dir, err)
	}
	return e, nil
}

// URL is the address for clients, with the port that was really taken.
func (e *Embedded) URL() string { return e.server.ClientURL() }

// Shutdown stops the server, waits until it has stopped and frees the store.
func (e *Embedded) Shutdown() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
	_ = e.lock.Close() // closing the file gives the lock back
}

func (e *Embedded) awaitJetStream(cfg EmbeddedConfig) error {
	if !e.server.ReadyForConnections(embeddedReady) {
		return fmt.Errorf("not listening on %q after %v (is the port taken?)", cfg.Listen, embeddedReady)
	}
	if !e.server.JetStreamEnabled() {
		return errors.New("JetStream did not start")
	}
	nc, err := nats.Connect(e.URL(), nats.Timeout(embeddedReady), nats.UserInfo(cfg.User, cfg.Password))
	if err != nil {
		return fmt.Errorf("connecting to it: %w", err)
	}
	defer nc.Close()
	if _, err := nc.Request("$JS.API.INFO", nil, embeddedReady); err != nil {
		return fmt.Errorf("JetStream does not answer: %w", err)
	}
	return nil
}

func splitListen(listen string) (host string, port int, err error) {
	if listen == "" {
		listen = defaultListen
	}
	host, text, err := net.SplitHostPort(listen)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < -1 || port > 65535 {
		return "", 0, fmt.Errorf("listen %q: want host:port, such as %s", listen, defaultListen)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// lockStore takes the store for this process alone; the lock ends with the
// process, however it ends.
func lockStore(dir string) (*os.File, error) {
	if dir == "" {
		return nil, errors.New("embedded NATS server: dir is empty; name a folder for its store")
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("embedded NATS server: creating its store: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, embeddedLockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("embedded NATS server: locking its store: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(fmt.Errorf("embedded NATS server in %s: %w", dir, ErrStoreLocked), file.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("embedded NATS server: locking %s: %w", dir, err), file.Close())
	}
	return file, nil
}
