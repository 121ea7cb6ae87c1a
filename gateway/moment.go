package gateway

import (
	"sync"
	"time"
)

// moment is a time that many set and read. It keeps the monotonic clock: setting the machine's clock changes nothing. The
// zero moment is long ago.
type moment struct {
	mu sync.Mutex
	at time.Time
}

func (m *moment) set(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = now
}

func (m *moment) get() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}
