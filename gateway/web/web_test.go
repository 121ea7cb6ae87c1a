package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	for _, tc := range []struct {
		listen, method, host, origin, site string
		want                               int
	}{
		{"127.0.0.1:9464", "GET", "127.0.0.1:9464", "", "", 200},
		{"127.0.0.1:9464", "GET", "localhost:9464", "", "", 200},
		{"127.0.0.1:9464", "GET", "gateway:9464", "", "", 200},
		{"127.0.0.1:9464", "GET", "sluice.localhost", "", "", 200},
		{"[::1]:9464", "GET", "[::1]:9464", "", "", 200},
		{"127.0.0.1:9464", "GET", "", "", "", 200}, // HTTP/1.0
		{"127.0.0.1:9464", "GET", "evil.example.com:9464", "", "", 421},
		{"127.0.0.1:9464", "GET", "evil.example.com.", "", "", 421},
		{"127.0.0.1:9464", "GET", "127.0.0.1.evil.example.com", "", "", 421},
		{"[::1]:9464", "POST", "evil.example.com", "http://evil.example.com", "same-origin", 421},
		{"0.0.0.0:9464", "GET", "gw1.example.net:9464", "", "", 200}, // open to the network by the operator's choice
		{"127.0.0.1:9464", "POST", "127.0.0.1:9464", "", "", 200},    // curl
		{"127.0.0.1:9464", "POST", "127.0.0.1:9464", "http://127.0.0.1:9464", "same-origin", 200},
		{"127.0.0.1:9464", "POST", "127.0.0.1:9464", "http://evil.example.com", "", 403},
		{"127.0.0.1:9464", "POST", "127.0.0.1:9464", "null", "", 403},
		{"127.0.0.1:9464", "POST", "127.0.0.1:9464", "http://evil.example.com", "cross-site", 403},
		{"127.0.0.1:9464", "POST", "localhost:9464", "http://localhost:8000", "same-site", 403},
		{"0.0.0.0:9464", "POST", "gw1.example.net:9464", "http://evil.example.com", "", 403},
	} {
		address, err := net.ResolveTCPAddr("tcp", tc.listen)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), tc.method, "/page", strings.NewReader(""))
		r.Host = tc.host
		for name, value := range map[string]string{"Origin": tc.origin, "Sec-Fetch-Site": tc.site} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		NewServer(page, address).Handler.ServeHTTP(w, r)
		if w.Code != tc.want || (w.Body.String() == "page") != (tc.want == 200) {
			t.Errorf("%s of %q on %s from %q (%s): %d %q, want %d", tc.method, tc.host, tc.listen, tc.origin, tc.site, w.Code, w.Body, tc.want)
		}
	}
}

// pipes is a listener whose connections are pipes, so that the server runs in virtual time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9464} }

func (p *pipes) dial() net.Conn {
	near, far := net.Pipe()
	p.conns <- far
	synctest.Wait()
	return near
}

// serving runs a server in a bubble. What is asked for as /slow takes 20 s.
func serving(t *testing.T, test func(t *testing.T, p *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				time.Sleep(20 * time.Second)
			}
			_, _ = io.WriteString(w, "page")
		}), p.Addr())
		ended := make(chan error, 1)
		go func() { ended <- Serve(server, p) }()
		test(t, p)
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		_ = server.Shutdown(ctx)
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
	})
}

func get(conn net.Conn, path string) (int, error) {
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, errors.Join(err, resp.Body.Close())
}

// 400 idle connections took the last descriptor: they take each other's place, and a request is answered all the same.
func TestIdleConnectionsGiveWay(t *testing.T) {
	serving(t, func(t *testing.T, p *pipes) {
		var conns []net.Conn
		for range 400 {
			conns = append(conns, p.dial())
		}
		alive := 0
		for _, c := range conns {
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			var late net.Error
			if _, err := c.Read(make([]byte, 1)); errors.As(err, &late) && late.Timeout() {
				alive++
			}
		}
		if alive != MostConnections {
			t.Errorf("%d connections are open, want %d", alive, MostConnections)
		}
		c := p.dial()
		if code, err := get(c, "/healthz"); code != 200 || err != nil {
			t.Errorf("behind 400 idle connections: %d, %v", code, err)
		}
		for _, c := range append(conns, c) {
			_ = c.Close()
		}
	})
}

// Where all connections are at work the next is closed; when one is done there is room again.
func TestConnectionsAtWorkAreBounded(t *testing.T) {
	serving(t, func(t *testing.T, p *pipes) {
		answers := make(chan int, MostConnections)
		var conns []net.Conn
		for range MostConnections {
			c := p.dial()
			conns = append(conns, c)
			go func() {
				code, _ := get(c, "/slow")
				answers <- code
			}()
			synctest.Wait()
		}
		refused := p.dial()
		if _, err := refused.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("one more than there is room for: %v, want it closed", err)
		}
		for range MostConnections {
			if code := <-answers; code != 200 {
				t.Errorf("a slow request is answered with %d", code)
			}
		}
		synctest.Wait()
		c := p.dial()
		if code, err := get(c, "/"); code != 200 || err != nil {
			t.Errorf("afterwards: %d, %v", code, err)
		}
		for _, c := range append(conns, c) {
			_ = c.Close()
		}
	})
}

// Nobody keeps a connection by being slow: in the header, in the body, between two requests, or in reading the answer.
func TestSlowPeersAreDropped(t *testing.T) {
	for name, tc := range map[string]struct {
		sends string
		after time.Duration
	}{
		"nothing":           {"", headerTimeout},
		"half a header":     {"GET / HTTP/1.1\r\nHost: loc", headerTimeout},
		"half a body":       {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf", readTimeout},
		"no second request": {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", idleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			serving(t, func(t *testing.T, p *pipes) {
				c := p.dial()
				began := time.Now()
				go func() { _, _ = io.WriteString(c, tc.sends) }()
				_, _ = io.Copy(io.Discard, c) // until the server closes it
				if took := time.Since(began); took < tc.after || took > tc.after+time.Second {
					t.Errorf("dropped after %v, want %v", took, tc.after)
				}
			})
		})
	}
	t.Run("the answer is not read", func(t *testing.T) {
		serving(t, func(t *testing.T, p *pipes) {
			c := p.dial()
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
			time.Sleep(writeTimeout + time.Second)
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("the connection is kept: %v", err)
			}
		})
	})
}
