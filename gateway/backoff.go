package gateway

import (
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"
)

// The waits between two tries to bind. Bursts of binds have earned bans of 300 s, so every wait is drawn from the
// upper half of a doubling range, and all binds of one system_id at one address share it.
const (
	backoffFirst = time.Second
	backoffMost  = time.Minute
	// backoffSoon is the most in the first minute of an outage of an account whose traffic goes to another meanwhile: from a
	// short outage it is to return soon.
	backoffSoon = 16 * time.Second

	// connectGap is the least time between two connects to a host with which nothing is wrong: an account of 100 binds
	// is bound within 10 s, and no burst of connects looks like an attack.
	connectGap = 100 * time.Millisecond

	// steadyAfter is how long a session must have lived before its end counts as news, not as one more failure.
	steadyAfter = 5 * time.Second

	// ghostLeast and ghostMost bound the wait after 0x05 (already bound): the SMSC must first notice that the old
	// session is gone.
	ghostLeast = 30 * time.Second
	ghostMost  = time.Minute

	// probeFirst and probeMost bound the slow probe of an account that the SMSC refuses: wrong credentials tried fast
	// lock accounts.
	probeFirst = 5 * time.Minute
	probeMost  = time.Hour
)

// spacing keeps the connects to one SMSC host apart, whichever account and port they are for. A place in it is taken when a
// connect is due, never ahead: who waits for longer holds up nobody.
type spacing struct {
	mu   sync.Mutex
	next time.Time
}

// reserve takes the next connect and says how long to wait for it.
func (s *spacing) reserve(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := now
	if s.next.After(now) {
		at = s.next
	}
	s.next = at.Add(connectGap)
	return at.Sub(now)
}

// target is one address dialled for one system_id: how its connects and sessions ended says when the next may begin. What
// another account suffers at the same host, or this one at another address, is none of its business.
type target struct {
	host *spacing

	mu        sync.Mutex
	failures  int
	since     time.Time // of the first of them
	backed    bool      // other accounts have the traffic meanwhile
	notBefore time.Time
	random    func() float64 // uniform in [0, 1)
}

// reserve takes the next connect and says how long to wait for it. Binds that wait together get connects that are
// spaced, never one burst.
func (h *target) reserve(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := now
	if h.notBefore.After(now) {
		at = h.notBefore
	}
	if h.failures > 0 {
		h.notBefore = at.Add(h.step(at))
	}
	return at.Sub(now)
}

// ended takes the end of a connect or session that lived that long; zero: it never came to be.
func (h *target) ended(now time.Time, lived time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if lived >= steadyAfter {
		h.failures = 0
	}
	h.fail(now)
	h.delay(now.Add(h.step(now)))
}

// ghost takes an 0x05: no bind of the system_id to this address is tried for 30 to 60 s.
func (h *target) ghost(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fail(now)
	h.delay(now.Add(ghostLeast + time.Duration(h.random()*float64(ghostMost-ghostLeast))))
}

// isBacked notes that other accounts have the traffic while this one is not bound.
func (h *target) isBacked() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.backed = true
}

func (h *target) fail(now time.Time) {
	if h.failures == 0 {
		h.since = now
	}
	h.failures++
}

// next is when a bind may be tried again at the earliest.
func (h *target) next() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.notBefore
}

func (h *target) delay(until time.Time) {
	if until.After(h.notBefore) {
		h.notBefore = until
	}
}

// step draws a wait from the upper half of the range that the failures so far have reached.
func (h *target) step(now time.Time) time.Duration {
	span := backoffMost
	if n := h.failures - 1; n < 6 {
		span = min(backoffFirst<<max(n, 0), backoffMost)
	}
	if h.backed && now.Sub(h.since) < time.Minute {
		span = min(span, backoffSoon)
	}
	return span/2 + time.Duration(h.random()*float64(span/2))
}

// hosts hands every bind of one system_id to one address the same back-off, and every connect to one host the same
// spacing, whatever the port: what counts connects there counts those of an address.
type hosts struct {
	random func() float64

	mu      sync.Mutex
	hosts   map[string]*spacing
	targets map[[2]string]*target
}

func newHosts() *hosts {
	return &hosts{random: rand.Float64, hosts: map[string]*spacing{}, targets: map[[2]string]*target{}}
}

func (h *hosts) of(address, systemID string) *target {
	address = strings.ToLower(address)
	host := address
	if name, port, err := net.SplitHostPort(address); err == nil {
		host = strings.TrimSuffix(name, ".")
		address = net.JoinHostPort(host, port)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.hosts[host]
	if s == nil {
		s = new(spacing)
		h.hosts[host] = s
	}
	t := h.targets[[2]string{address, systemID}]
	if t == nil {
		t = &target{host: s, random: h.random}
		h.targets[[2]string{address, systemID}] = t
	}
	return t
}

// slowProbe is the wait of an account in config state: 5 min, doubling to 60 min, until a bind and a submit pass.
type slowProbe struct{ wait time.Duration }

func (p *slowProbe) next() time.Duration {
	p.wait = min(max(probeFirst, 2*p.wait), probeMost)
	return p.wait
}

func (p *slowProbe) reset() { p.wait = 0 }
