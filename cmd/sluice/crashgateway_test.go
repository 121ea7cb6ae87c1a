package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"sluice/queue"
)

// crashVariable is crashpoint.Variable, which only a program with the tag has.
const crashVariable = "SLUICE_CRASH_AT"

// buildWithCrashPoints builds the binary that dies where it is told to.
func buildWithCrashPoints(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "crashpoints", "-o", path, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build -tags crashpoints: %v\n%s", err, out)
	}
	return path
}

// crashGateway is `sluice run` with an embedded server on any free port. Unlike daemon it may be used beside the test's
// goroutine: it returns its errors.
type crashGateway struct {
	program, config string
	log             *lockedBuffer
	command         *exec.Cmd
	ended           chan struct{} // closed when it has ended, nil while none runs
	exit            error         // how it ended
	url             string
}

// runsLine is the line that tells where the embedded server is.
var runsLine = regexp.MustCompile(`msg="sluice runs".* nats=(nats://[0-9.:]+)`)

// start runs the process, which is to die at the given place, and waits until its queue can be used.
func (g *crashGateway) start(ctx context.Context, crashAt string) error {
	before := len(g.log.String())
	g.command = exec.CommandContext(ctx, g.program, "run", "-c", g.config)
	g.command.Env = append(os.Environ(), crashVariable+"="+crashAt)
	g.command.Stdout, g.command.Stderr = g.log, g.log
	if err := g.command.Start(); err != nil {
		return err
	}
	g.ended = make(chan struct{})
	go func() {
		defer close(g.ended)
		g.exit = g.command.Wait()
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if line := runsLine.FindSubmatch([]byte(g.log.String()[before:])); line != nil {
			g.url = string(bytes.TrimSpace(line[1]))
			return nil
		}
		select {
		case <-g.ended:
			return fmt.Errorf("sluice run ended with %w", g.exit)
		case <-ctx.Done():
			return fmt.Errorf("sluice run does not say that it runs: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// with connects to the gateway's queue for as long as f runs, which is to end when the gateway does.
func (g *crashGateway) with(ctx context.Context, f func(context.Context, *queue.Client) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-g.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	client, err := queue.Connect(ctx, queue.ConnectConfig{URL: g.url, Name: "test"})
	if err != nil {
		return err
	}
	defer client.Close()
	return f(ctx, client)
}

func (g *crashGateway) kill() {
	if g.ended != nil {
		_ = g.command.Process.Kill() // it may have ended
		<-g.ended
	}
}

// stop ends the process in order.
func (g *crashGateway) stop() error {
	_ = g.command.Process.Signal(syscall.SIGTERM) // it may have ended
	<-g.ended
	return g.exit
}
