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

// strangeWidths logs each TLV that messages bring with another width than the specification has, once an hour. It is
// sent as the message says: the SMSC may have asked for it.
type strangeWidths struct {
	mu   sync.Mutex
	seen map[pdu.Tag]time.Time // its size is bounded by the tags that are integers
}

func (s *strangeWidths) warn(now time.Time, log *slog.Logger, tag pdu.Tag, octets int) {
	width := tag.Kind().Width()
	if width == 0 || width == octets {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.seen[tag]; ok && now.Sub(at) < time.Hour {
		return
	}
	if s.seen == nil {
		s.seen = map[pdu.Tag]time.Time{}
	}
	s.seen[tag] = now
	log.Warn("messages bring a TLV with another width than the specification has: it is sent as they say", "tag", tag.String(),
		"octets", octets, "specified", width)
}
