package queue

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
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
	// Logger gets the server's own warnings and errors; nil discards them.
	Logger *slog.Logger
}

// Embedded is a NATS server with JetStream, reached over TCP like any other. It
// is safe for concurrent use.
type Embedded struct {
	cfg  EmbeddedConfig
	host string
	url  string
	lock *os.File

	mu      sync.Mutex // held while the server starts and stops
	port    int
	server  *server.Server
	stopped bool // Shutdown was called
}

// errStopped reports a Restart after the Shutdown.
var errStopped = errors.New("it was shut down")

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
	e := &Embedded{cfg: cfg, host: host, port: port, lock: lock}
	if err := e.start(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	e.url = e.server.ClientURL()
	return e, nil
}

// URL is the address for clients, with the port that was really taken. A
// restart does not change it.
func (e *Embedded) URL() string { return e.url }

// Restart shuts the server down and starts it anew with the same store, lock and
// port; clients reconnect by themselves. It helps a server whose disk was full:
// it goes on to refuse writes after there is room again. When it fails no server
// runs, and it can be called again.
func (e *Embedded) Restart() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return fmt.Errorf("restarting the embedded NATS server: %w", errStopped)
	}
	e.stop()
	return e.start()
}

// Shutdown stops the server, waits until it has stopped and frees the store.
func (e *Embedded) Shutdown() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = true
	e.stop()
	_ = e.lock.Close() // closing the file gives the lock back
}

// start runs a new server, under the lock, and keeps the port it took.
func (e *Embedded) start() error {
	if err := e.startWithin(e.cfg.MaxStore); err != nil || e.cfg.MaxStore == 0 {
		return err
	}
	// Streams of an earlier start may have reserved more than there is now. The
	// server has them all, but lets none be changed until they fit.
	info, err := e.server.Jsz(nil)
	if err != nil || info.ReservedStore <= uint64(e.cfg.MaxStore) {
		return nil //nolint:nilerr // then it stays as it is
	}
	e.stop()
	return e.startWithin(e.cfg.MaxStore + int64(info.ReservedStore))
}

func (e *Embedded) startWithin(store int64) error {
	interval := e.cfg.Sync
	if interval <= 0 {
		interval = defaultSync
	}
	srv, err := server.NewServer(&server.Options{
		ServerName: "sluice-embedded",
		Host:       e.host, Port: e.port,
		Username: e.cfg.User, Password: e.cfg.Password,
		JetStream: true, StoreDir: e.cfg.Dir, JetStreamMaxStore: store,
		SyncInterval: interval, SyncAlways: e.cfg.SyncAlways,
		PingInterval: pingInterval, MaxPingsOut: pingsUnanswered,
		NoLog: true, NoSigs: true, DisableJetStreamBanner: true,
	})
	if err != nil {
		return fmt.Errorf("embedded NATS server in %s: %w", e.cfg.Dir, err)
	}
	if e.cfg.Logger != nil {
		srv.SetLoggerV2(serverLog{e.cfg.Logger}, false, false, false)
	}
	srv.Start()
	e.server = srv
	if err := e.awaitJetStream(); err != nil {
		e.stop()
		return fmt.Errorf("embedded NATS server in %s: %w", e.cfg.Dir, err)
	}
	if taken, ok := srv.Addr().(*net.TCPAddr); ok {
		e.port = taken.Port
	}
	return nil
}

// serverLog writes what the embedded server warns of, each line at most ten times a minute: a full disk has it say the
// same for every write.
type serverLog struct{ log *slog.Logger }

func (s serverLog) Warnf(format string, v ...any) {
	s.log.Warn("embedded NATS server", "warning", fmt.Sprintf(format, v...))
}

func (s serverLog) Errorf(format string, v ...any) {
	s.log.Error("embedded NATS server", "error", fmt.Sprintf(format, v...))
}

func (s serverLog) Fatalf(format string, v ...any) { s.Errorf(format, v...) }
func (serverLog) Noticef(string, ...any)           {}
func (serverLog) Debugf(string, ...any)            {}
func (serverLog) Tracef(string, ...any)            {}

// stop ends the server that runs, if any.
func (e *Embedded) stop() {
	if e.server == nil {
		return
	}
	e.server.Shutdown()
	e.server.WaitForShutdown()
	e.server = nil
}

func (e *Embedded) awaitJetStream() error {
	if !e.server.ReadyForConnections(embeddedReady) {
		return fmt.Errorf("not listening on %q after %v (is the port taken?)", e.cfg.Listen, embeddedReady)
	}
	if !e.server.JetStreamEnabled() {
		return errors.New("JetStream did not start")
	}
	nc, err := nats.Connect(e.server.ClientURL(), nats.Timeout(embeddedReady), nats.UserInfo(e.cfg.User, e.cfg.Password))
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
