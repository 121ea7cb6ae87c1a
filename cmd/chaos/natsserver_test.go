package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// programVariable has the test binary be the program, with these words as its arguments.
const programVariable = "CHAOS_TEST_ARGUMENTS"

func TestMain(m *testing.M) {
	if words := os.Getenv(programVariable); words != "" {
		if err := newApp().Run(append([]string{"chaos"}, strings.Split(words, " ")...)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// The quota leaves the server without room, as a full disk does, and can be lifted.
func TestQuotaFillsTheDiskOfTheServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	p := &process{name: "nats", log: t.TempDir() + "/log", args: func() []string { return []string{os.Args[0]} }}
	t.Setenv(programVariable, "nats-server --store "+t.TempDir()+" --port "+port)
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	nc, err := nats.Connect("nats://127.0.0.1:"+port, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	publish := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := js.Publish(ctx, "x", []byte("message"))
		return err
	}
	eventually := func(what string, ok func() bool) {
		t.Helper()
		for range 600 {
			if ok() {
				return
			}
			pause(t.Context(), 50*time.Millisecond)
		}
		log, _ := exec.Command("tail", p.log).Output()
		t.Fatalf("%s: not within 30 s\n%s", what, log)
	}
	eventually("a stream", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"x"}})
		return err == nil
	})
	eventually("a message", func() bool { return publish() == nil })
	p.signal(syscall.SIGUSR1, false)
	eventually("a refusal", func() bool { return publish() != nil })
	p.signal(syscall.SIGUSR2, false)
	p.stop()
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	eventually("room again", func() bool { return publish() == nil })
}
