package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// The ways in which nothing passes.
const (
	stallBoth  = "both ways"
	stallThere = "to the server"
	stallBack  = "to the gateway"
	cutSilent  = "silently"
	cutRefused = "by refusing"
)

// link is a TCP proxy between a gateway and a server, on which connections can be reset and stalled.
type link struct {
	name     string
	target   string
	listener net.Listener

	mu          sync.Mutex
	conns       map[*conn]struct{}
	there, back gate
	refuse      bool
	taken       int // connections so far
	stalls      int
}

// conn is one connection through the link.
type conn struct{ client, server net.Conn }

// gate lets octets pass while it is open.
type gate struct{ closed chan struct{} } // nil while open; closed when it opens

const linkBuffer = 32 << 10

// newLink listens on a free port of loopback.
func newLink(ctx context.Context, name, target string) (*link, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("link %s: %w", name, err)
	}
	l := &link{name: name, target: target, listener: listener, conns: map[*conn]struct{}{}}
	go l.serve(ctx)
	return l, nil
}

func (l *link) address() string { return l.listener.Addr().String() }

func (l *link) serve(ctx context.Context) {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return // it was closed
		}
		go l.connect(ctx, client)
	}
}

// connect joins a client to the server. While nothing passes there it is left without one, as on a network that loses
// everything.
func (l *link) connect(ctx context.Context, client net.Conn) {
	l.mu.Lock()
	refuse := l.refuse
	l.mu.Unlock()
	if refuse {
		reset(client)
		return
	}
	if !l.pass(ctx, &l.there) {
		reset(client)
		return
	}
	server, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", l.target)
	if err != nil {
		reset(client)
		return
	}
	c := &conn{client, server}
	l.mu.Lock()
	l.conns[c] = struct{}{}
	l.taken++
	l.mu.Unlock()
	var pumps sync.WaitGroup
	pumps.Go(func() { l.pump(ctx, client, server, &l.there) })
	pumps.Go(func() { l.pump(ctx, server, client, &l.back) })
	pumps.Wait()
	l.mu.Lock()
	delete(l.conns, c)
	l.mu.Unlock()
	_ = client.Close()
	_ = server.Close()
}

// pump copies one direction. What was read while the link stalls goes on when it opens, as retransmission would have
// it, even when its sender is gone by then.
func (l *link) pump(ctx context.Context, from, to net.Conn, g *gate) {
	buffer := make([]byte, linkBuffer)
	for {
		n, err := from.Read(buffer)
		if !l.pass(ctx, g) {
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				reset(from)
				return
			}
		}
		if errors.Is(err, io.EOF) {
			if half, ok := to.(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
			return
		}
		if err != nil {
			reset(to)
			return
		}
	}
}

// pass waits until the gate is open; false when ctx ends.
func (l *link) pass(ctx context.Context, g *gate) bool {
	for {
		l.mu.Lock()
		closed := g.closed
		l.mu.Unlock()
		if closed == nil {
			return true
		}
		select {
		case <-closed:
		case <-ctx.Done():
			return false
		}
	}
}

// stall lets nothing pass, in the given direction or both, until open.
func (l *link) stall(how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stalls++
	if how != stallBack && l.there.closed == nil {
		l.there.closed = make(chan struct{})
	}
	if how != stallThere && l.back.closed == nil {
		l.back.closed = make(chan struct{})
	}
}

// cut separates the two: silently, or with every connection reset and new ones refused.
func (l *link) cut(how string) {
	if how == cutSilent {
		l.stall(stallBoth)
		return
	}
	l.mu.Lock()
	l.refuse = true
	l.mu.Unlock()
	l.reset()
}

// open lets everything pass again.
func (l *link) open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = false
	for _, g := range []*gate{&l.there, &l.back} {
		if g.closed != nil {
			close(g.closed)
			g.closed = nil
		}
	}
}

// reset ends every connection with RST on both sides.
func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		reset(c.client)
		reset(c.server)
	}
}

// reset closes a connection with RST.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// disconnects is how many connections have ended.
func (l *link) disconnects() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken - len(l.conns)
}

func (l *link) close() {
	_ = l.listener.Close()
	l.open()
	l.reset()
}
