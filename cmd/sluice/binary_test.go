package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/queue"
	"sluice/testserver"
)

// patience bounds every wait of these tests; nothing is asserted about how long anything takes.
const patience = 3 * time.Minute

// buildOnce builds the real binary for all tests of this package.
var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sluice-bin-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "sluice")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := buildOnce(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// sluice runs the binary to its end.
func sluice(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return runBinary(t.Context(), binary(t), args...)
}

func runBinary(ctx context.Context, path string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// fakeSMSC serves a scenario on loopback TCP.
func fakeSMSC(t *testing.T, sc testserver.Scenario) (*testserver.Server, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := testserver.New(sc)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(ctx, listener) // ends with ctx
	}()
	t.Cleanup(func() { cancel(); <-served })
	return s, listener.Addr().String()
}

// daemon is `sluice run` as a process, which can be killed and started again on the same store.
type daemon struct {
	nats, http string
	config     string
	arguments  []string // more of them
	cmd        *exec.Cmd
	ended      chan error
	log        *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// newDaemon writes a configuration; account is YAML under the account, streams under streams.
func newDaemon(t *testing.T, smsc, account, streams string) *daemon {
	t.Helper()
	dir := t.TempDir()
	d := &daemon{nats: freeAddress(t), http: freeAddress(t), config: filepath.Join(dir, "sluice.yaml"), log: &lockedBuffer{}}
	yaml := fmt.Sprintf(`
instance: crash-1
nats: {embedded: {dir: data, listen: %q}}
streams: {%s}
http: %q
accounts:
  acme: {address: %q, system_id: sluice, password: secret, %s}
`, d.nats, streams, d.http, smsc, account)
	if err := os.WriteFile(d.config, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.kill()
		if t.Failed() {
			log := d.log.String()
			t.Logf("the end of the log:\n%s", log[max(0, len(log)-8<<10):])
		}
	})
	return d
}

// start runs the process and waits until its HTTP listener answers.
func (d *daemon) start(t *testing.T) {
	t.Helper()
	d.cmd = exec.Command(binary(t), append([]string{"run", "-c", d.config}, d.arguments...)...)
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan<- error) { ended <- cmd.Wait() }(d.cmd, d.ended)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.http+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			return
		}
		select {
		case err := <-d.ended:
			d.ended = nil
			t.Fatalf("sluice run ended with %v:\n%s", err, d.log)
		case <-ctx.Done():
			t.Fatalf("sluice run does not answer:\n%s", d.log)
		case <-tick.C:
		}
	}
}

// kill ends the process as kill -9 does and waits for its end.
func (d *daemon) kill() {
	if d.cmd == nil || d.cmd.Process == nil || d.ended == nil {
		return
	}
	_ = d.cmd.Process.Kill()
	<-d.ended
	d.ended = nil
}

// stop ends the process with SIGTERM and returns its exit error.
func (d *daemon) stop() error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	err := <-d.ended
	d.ended = nil
	return err
}

func (d *daemon) url() string { return "nats://" + d.nats }

// events follows the journal until n messages have a final event, then returns all events of the journal.
func (d *daemon) events(t *testing.T, n int) []queue.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client, err := queue.Connect(ctx, queue.ConnectConfig{URL: d.url(), Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	finals := map[uint64]bool{}
	for e, err := range client.Events(ctx, queue.EventFilter{Follow: true}) {
		if err != nil {
			t.Fatalf("%d of %d messages have a final event: %v", len(finals), n, err)
		}
		if e.Type.Final() {
			finals[e.Seq] = true
		}
		if len(finals) == n {
			break
		}
	}
	var all []queue.Event
	for e, err := range client.Events(ctx, queue.EventFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// messagesFile writes n messages, each to its own number.
func messagesFile(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	for i := range n {
		if err := enc.Encode(&queue.Message{ID: number(i), From: "1000", To: "+" + number(i), Text: "message"}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "messages.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func number(i int) string { return fmt.Sprintf("1555%06d", i) }
