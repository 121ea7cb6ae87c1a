//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain builds the binary under test once.
func TestMain(m *testing.M) {
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sluice-interop-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("SLUICE_INTEROP_BIN", filepath.Join(dir, "sluice"))
	cmd := exec.Command("go", "build", "-o", dir, "sluice/cmd/sluice")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build sluice:", err)
		return 1
	}
	return m.Run()
}

// gateway is a running `sluice run` with its embedded NATS server.
type gateway struct {
	nats string
	http string
	log  string // file
}

// startGateway runs sluice with a minimal configuration until the test ends,
// and returns once it is ready. A stop that fails, fails the test.
func startGateway(t *testing.T, s *smsc) *gateway {
	t.Helper()
	dir := t.TempDir()
	g := &gateway{
		nats: "nats://" + freeAddress(t),
		http: freeAddress(t),
		log:  filepath.Join(dir, "sluice.log"),
	}
	config := fmt.Sprintf(`
nats: {embedded: {dir: data, listen: %q}}
http: %q
accounts:
  foreign: {address: %q, system_id: %s, password: %s}
`, strings.TrimPrefix(g.nats, "nats://"), g.http, s.addr, smscSystemID, smscPassword)
	path := filepath.Join(dir, "sluice.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(g.log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary(), "run", "-c", path)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("sluice run ended with %v", err)
			}
		case <-time.After(30 * time.Second):
			_ = cmd.Process.Kill()
			t.Error("sluice run did not stop within 30 s of SIGTERM")
		}
		_ = log.Close()
		if t.Failed() {
			g.showLog(t)
		}
	})
	g.waitReady(t, ended)
	return g
}

func binary() string { return os.Getenv("SLUICE_INTEROP_BIN") }

// freeAddress is a loopback address that nobody listened on a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// waitReady polls /status: the process has no other way to say so to a
// stranger.
func (g *gateway) waitReady(t *testing.T, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last := "no answer"
	for {
		if status, body, err := get(ctx, "http://"+g.http+"/status?account=foreign"); err == nil {
			if status == http.StatusOK {
				return
			}
			last = body
		}
		select {
		case err := <-ended:
			g.showLog(t)
			t.Fatalf("sluice run ended before it was ready: %v", err)
		case <-ctx.Done():
			g.showLog(t)
			t.Fatalf("not ready after 30 s: %s", last)
		case <-tick.C:
		}
	}
}

func get(ctx context.Context, url string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func (g *gateway) showLog(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(g.log)
	if err != nil {
		t.Log(err)
		return
	}
	const most = 8 << 10
	t.Logf("the end of the gateway's log:\n%s", data[max(0, len(data)-most):])
}

// run runs a command to its end and returns its output.
func run(t *testing.T, limit time.Duration, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", filepath.Base(name), args[0], err, errs.String())
	}
	return out.String(), err
}

// mustRun is run for commands that must succeed.
func mustRun(t *testing.T, limit time.Duration, name string, args ...string) string {
	t.Helper()
	out, err := run(t, limit, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// event is what the tests read of an event.
type event struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// events reads the journal with `sluice events`.
func (g *gateway) events(t *testing.T) []event {
	t.Helper()
	out := mustRun(t, time.Minute, binary(), "events", "--nats", g.nats, "--output", "json")
	var all []event
	for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
		var e event
		if err := dec.Decode(&e); err != nil {
			t.Fatalf("read events: %v", err)
		}
		all = append(all, e)
	}
	return all
}
