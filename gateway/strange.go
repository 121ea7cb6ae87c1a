package gateway

import (
	"log/slog"
	"sync"
	"time"

	"sluice/smpp/pdu"
)

// strangeStatuses logs each status that nobody has classified, once an hour.
type strangeStatuses struct {
	mu   sync.Mutex
	seen map[pdu.Status]time.Time
}

// mostStrange bounds the memory that a peer with ever new numbers can take.
const mostStrange = 1000

func (s *strangeStatuses) warn(now time.Time, log *slog.Logger, status pdu.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.seen[status]; ok && now.Sub(at) < time.Hour {
		return
	}
	if s.seen == nil || len(s.seen) >= mostStrange {
		s.seen = map[pdu.Status]time.Time{}
	}
	s.seen[status] = now
	log.Warn("the SMSC answers with a status that has no class: give it one under statuses", "code", status.String())
}
