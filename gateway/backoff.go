package gateway

import (
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"
)

// The waits between two tries to bind. Bursts of binds have earned bans of 300 s, so every wait is drawn from the
// upper half of a doubling range, and all binds to one host share it.
const (
	backoffFirst = time.Second
	backoffMost  = time.Minute

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

// hostBackoff spaces the connects to one SMSC host, whichever account they are for.
type hostBackoff struct {
	mu        sync.Mutex
	failures  int
	notBefore time.Time
	random    func() float64 // uniform in [0, 1)
}

// reserve takes the next connect and says how long to wait for it. Binds that wait together get connects that are
// spaced, never one burst.
func (h *hostBackoff) reserve(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := now
	if h.notBefore.After(now) {
		at = h.notBefore
	}
	gap := connectGap
	if h.failures > 0 {
		gap = h.step()
	}
	h.notBefore = at.Add(gap)
	return at.Sub(now)
}

// ended takes the end of a connect or session that lived that long; zero: it never came to be.
func (h *hostBackoff) ended(now time.Time, lived time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if lived >= steadyAfter {
		h.failures = 0
	}
	h.failures++
	h.delay(now.Add(h.step()))
}

// ghost takes an 0x05: no bind to this host is tried for 30 to 60 s.
func (h *hostBackoff) ghost(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures++
	h.delay(now.Add(ghostLeast + time.Duration(h.random()*float64(ghostMost-ghostLeast))))
}

// next is when a bind to the host may be tried again at the earliest.
func (h *hostBackoff) next() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.notBefore
}

func (h *hostBackoff) delay(until time.Time) {
	if until.After(h.notBefore) {
		h.notBefore = until
	}
}

// step draws a wait from the upper half of the range that the failures so far have reached.
func (h *hostBackoff) step() time.Duration {
	span := backoffMost
	if n := h.failures - 1; n < 6 {
		span = min(backoffFirst<<max(n, 0), backoffMost)
	}
	return span/2 + time.Duration(h.random()*float64(span/2))
}

// hosts hands every bind to one host the same back-off, whatever the port: what counts connects there counts those of
// an address.
type hosts struct {
	mu   sync.Mutex
	byID map[string]*hostBackoff
}

func newHosts() *hosts { return &hosts{byID: map[string]*hostBackoff{}} }

func (h *hosts) of(address string) *hostBackoff {
	id := strings.ToLower(address)
	if host, _, err := net.SplitHostPort(id); err == nil {
		id = strings.TrimSuffix(host, ".")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.byID[id]
	if b == nil {
		b = &hostBackoff{random: rand.Float64}
		h.byID[id] = b
	}
	return b
}

// slowProbe is the wait of an account in config state: 5 min, doubling to 60 min, until a bind and a submit pass.
type slowProbe struct{ wait time.Duration }

func (p *slowProbe) next() time.Duration {
	p.wait = min(max(probeFirst, 2*p.wait), probeMost)
	return p.wait
}

func (p *slowProbe) reset() { p.wait = 0 }
