// Package web serves small pages for operators: bounded in time and in connections, and for nobody who comes by way of
// somebody else's web page.
package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// The bounds of a server. Reading is for small requests, writing for a long ledger over a slow link.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = time.Minute
	idleTimeout   = 30 * time.Second
	mostHeader    = 16 << 10 // octets

	// MostConnections is how many connections a server holds. The next one takes the place of the one that has been idle
	// for longest; where all are at work it is closed.
	MostConnections = 64
)

// Serve serves handler on the listener until the server is shut down or closed, and then returns [http.ErrServerClosed].
func Serve(server *http.Server, listener net.Listener) error {
	limited := &limit{Listener: listener, most: MostConnections, since: map[net.Conn]time.Time{}}
	server.ConnState = limited.note
	return server.Serve(limited)
}

// NewServer is a server for a listener on the given address. Requests of other web pages are refused, and so are, on a
// loopback address, those under a name that is not this machine's: a name that its owner has pointed here.
func NewServer(handler http.Handler, address net.Addr) *http.Server {
	return &http.Server{
		Handler:           guard(handler, isLoopback(address.String())),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: mostHeader,
	}
}

// guard refuses what a browser sends on behalf of another site.
func guard(next http.Handler, loopback bool) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next) // Origin and Sec-Fetch-Site of all that may change something
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if loopback && !ours(r.Host) {
			http.Error(w, "the Host of the request is not this machine: ask for 127.0.0.1 or localhost, "+
				"have the proxy send that as Host, or listen on another address", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ours says whether a Host names this machine as only this machine's users can: by an address, as localhost, or by a name
// without a dot, which no public name server answers for.
func ours(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(host), "."), "["), "]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost")
}

func isLoopback(address string) bool {
	ip, err := netip.ParseAddrPort(address)
	return err == nil && ip.Addr().Unmap().IsLoopback()
}

// limit is a listener with a bound on the connections that are open.
type limit struct {
	net.Listener

	most int

	mu    sync.Mutex
	open  int
	since map[net.Conn]time.Time // of those that wait for a request
}

// Accept returns the next connection there is room for.
func (l *limit) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		idle, ok := l.admit()
		if idle != nil {
			_ = idle.Close() // its request did not come
		}
		if ok {
			return conn, nil
		}
		_ = conn.Close() // all are at work
	}
}

// admit makes room for one more: by the longest idle connection, which is to be closed, where it is needed.
func (l *limit) admit() (idle net.Conn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open < l.most {
		l.open++
		return nil, true
	}
	for conn, since := range l.since {
		if idle == nil || since.Before(l.since[idle]) {
			idle = conn
		}
	}
	if idle == nil {
		return nil, false
	}
	delete(l.since, idle)
	l.open++ // until the closed one is told of
	return idle, true
}

// note follows the state of every connection.
func (l *limit) note(conn net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateNew, http.StateIdle:
		l.since[conn] = time.Now()
	case http.StateActive:
		delete(l.since, conn)
	case http.StateClosed, http.StateHijacked:
		delete(l.since, conn)
		l.open--
	}
}
