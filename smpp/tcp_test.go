package smpp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/smpp/pdu"
)

// The tests of this file use real sockets, so nothing in them may depend on how
// long something takes: timeouts are either far away or the event waited for.

// listen serves every connection with f, in a goroutine of its own, and joins
// them all at the end of the test, which then must have leaked no goroutine.
func listen(t *testing.T, f func(c *net.TCPConn)) (addr string) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer func() { _ = c.Close() }()
				f(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		conns.Wait()
		goleak.VerifyNone(t, before)
	})
	return ln.Addr().String()
}

// acceptBind reads the bind and accepts it.
func acceptBind(c net.Conn) error {
	b := make([]byte, 1024)
	n, err := c.Read(b)
	if err != nil {
		return err
	}
	h, err := pdu.ParseHeader(b[:n])
	if err != nil {
		return err
	}
	_, err = c.Write(pdu.Header{Length: pdu.HeaderLen, ID: h.ID.Response(), Sequence: h.Sequence}.Append(nil))
	return err
}

// dialAndBind returns a session with a server, which the test has to close.
func dialAndBind(t *testing.T, cfg Config) *Session {
	t.Helper()
	conn, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Bind(t.Context(), conn, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTCPSessionSubmitsAndCloses(t *testing.T) {
	addr := listen(t, func(c *net.TCPConn) { serveFast(c, 0) })
	cfg := testConfig()
	cfg.Address = addr
	s := dialAndBind(t, cfg)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 100 {
				if r, err := s.Submit(t.Context(), message(), nil); err != nil || r.MessageID != "00000000deadbeef" {
					t.Errorf("Submit returned %+v, %v", r, err)
				}
			}
		})
	}
	wg.Wait()
	if st := s.Stats(); st.Submitted != 5000 || st.Answered != 5000 || st.Unmatched != 0 {
		t.Errorf("stats %+v, want 5000 submitted and answered", st)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTCPPeerThatStopsReading(t *testing.T) {
	release := make(chan struct{})
	addr := listen(t, func(c *net.TCPConn) {
		_ = c.SetReadBuffer(4 << 10)
		if acceptBind(c) == nil {
			<-release
		}
	})
	defer close(release)
	cfg := testConfig()
	cfg.Address = addr
	cfg.WriteTimeout = 100 * time.Millisecond
	s := dialAndBind(t, cfg)
	// More than the buffers of both kernels hold.
	big := message()
	big.ShortMessage = nil
	big.TLVs = pdu.TLVs{{Tag: pdu.TagMessagePayload, Value: bytes.Repeat([]byte("x"), 60_000)}}
	var wg sync.WaitGroup
	for range 500 {
		wg.Go(func() {
			_, err := s.Submit(t.Context(), big, nil)
			if errors.Is(err, ErrNotSent) == errors.Is(err, ErrNoResponse) {
				t.Errorf("Submit returned %v, want one of the two verdicts", err)
			}
		})
	}
	wg.Wait()
	if err := s.Close(t.Context()); !errors.Is(err, ErrNotReading) {
		t.Errorf("Close returned %v, want ErrNotReading", err)
	}
}

func TestTCPReset(t *testing.T) {
	addr := listen(t, func(c *net.TCPConn) {
		if acceptBind(c) != nil {
			return
		}
		_, _ = c.Read(make([]byte, 16))
		_ = c.SetLinger(0)
	})
	cfg := testConfig()
	cfg.Address = addr
	s := dialAndBind(t, cfg)
	if _, err := s.Submit(t.Context(), message(), nil); !errors.Is(err, ErrNoResponse) {
		t.Errorf("Submit returned %v, want ErrNoResponse", err)
	}
	<-s.Done()
	if err := s.Close(t.Context()); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the session ended with %v, want a reset", err)
	}
}

func TestTCPAnswersBeforeTheEndCount(t *testing.T) {
	addr := listen(t, func(c *net.TCPConn) {
		if acceptBind(c) != nil {
			return
		}
		b := make([]byte, 4096)
		n, _ := c.Read(b)
		_, _ = c.Write(encode(t, 0, sequenceOf(b[:n]), &pdu.SubmitSMResp{MessageID: []byte("last words")}))
	})
	cfg := testConfig()
	cfg.Address = addr
	s := dialAndBind(t, cfg)
	r, err := s.Submit(t.Context(), message(), nil)
	if err != nil || r.MessageID != "last words" {
		t.Errorf("Submit returned %+v, %v", r, err)
	}
	if err := s.Close(t.Context()); !errors.Is(err, ErrHungUp) && !errors.Is(err, ErrClosed) && err != nil {
		t.Errorf("Close returned %v", err)
	}
}

func TestDialNamesABadAddress(t *testing.T) {
	for _, addr := range []string{"", "smsc.example.net", "[::1"} {
		if _, err := Dial(t.Context(), Config{Address: addr}); err == nil {
			t.Errorf("Dial took the address %q", addr)
		}
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := fmt.Errorf("the account was paused")
	cancel(reason)
	if _, err := Dial(ctx, Config{Address: "127.0.0.1:1"}); !errors.Is(err, reason) {
		t.Errorf("Dial returned %v, want the cause of its context", err)
	}
}
