package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// echo is a server that sends every line back.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, l *link) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", l.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, bufio.NewReader(c)
}

func say(t *testing.T, c net.Conn, r *bufio.Reader, line string) {
	t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := r.ReadString('\n'); err != nil || got != line+"\n" {
		t.Fatalf("came back %q, %v; want %q", got, err, line)
	}
}

// A link passes everything, holds it back while it stalls and hands it on afterwards, resets, and refuses.
func TestLink(t *testing.T) {
	l, err := newLink(t.Context(), "test", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	c, r := dial(t, l)
	say(t, c, r, "one")

	for _, how := range []string{stallBoth, stallThere, stallBack} {
		l.stall(how)
		if _, err := io.WriteString(c, how+"\n"); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if got, err := r.ReadString('\n'); err == nil {
			t.Errorf("%q passed a link that stalls %s", got, how)
		}
		_ = c.SetReadDeadline(time.Time{})
		l.open()
		if got, err := r.ReadString('\n'); err != nil || got != how+"\n" {
			t.Errorf("after the stall %s came %q, %v", how, got, err)
		}
	}

	l.reset()
	if _, err := r.ReadString('\n'); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a reset link ends with %v", err)
	}
	l.cut(cutRefused)
	refused, err := net.Dial("tcp", l.address())
	if err == nil {
		_, err = refused.Read(make([]byte, 1))
		_ = refused.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a link that refuses ends with %v", err)
	}
	l.open()
	c, r = dial(t, l)
	say(t, c, r, "again")
	for range 1000 { // the end of a connection is noticed a little later
		if l.disconnects() == 1 {
			return
		}
		pause(t.Context(), 10*time.Millisecond)
	}
	t.Errorf("%d disconnects counted, want 1", l.disconnects())
}
