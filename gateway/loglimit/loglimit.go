// Package loglimit keeps a log readable while a peer or a publisher causes the same line again and again: the first
// lines of a kind are written, the rest are counted, and the count is written.
package loglimit

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// Burst is how many lines of one kind are written in every Interval.
	Burst = 10
	// Interval is the time that is counted over.
	Interval = time.Minute
	// mostKinds bounds the kinds that are told apart at one time.
	mostKinds = 4096
	// SuppressedKey is the attribute with the number of lines that were left out.
	SuppressedKey = "suppressed"
)

// Handler writes at most [Burst] lines of one kind an [Interval] to the handler behind it. Lines are of one kind when
// they have the level, the message, the attributes of the logger and those of a record that name an account, a bind, a
// route, a consumer or a stream in common. When lines were left out, one more with their number, the attribute
// "suppressed", follows at the end of the interval. Lines below INFO pass: who turns them on wants each.
//
// It is safe for concurrent use, and so are the handlers that WithAttrs and WithGroup return, which share its counts.
type Handler struct {
	next   slog.Handler
	prefix string // of every kind: the logger's own attributes
	shared *shared
}

// New returns a handler in front of next. Call Flush before the program ends.
func New(next slog.Handler) *Handler {
	return &Handler{next: next, shared: &shared{kinds: make(map[string]*kind)}}
}

type shared struct {
	mu    sync.Mutex
	kinds map[string]*kind
}

// kind is what was seen of one kind in the present interval.
type kind struct {
	began      time.Time
	lines      int
	suppressed int
	level      slog.Level
	message    string
	attrs      []slog.Attr // those that tell the kind
	next       slog.Handler
	end        *time.Timer // once a line was left out
}

// Enabled asks the handler behind.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs returns a handler whose lines are of kinds of their own.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var name strings.Builder
	name.WriteString(h.prefix)
	for _, a := range attrs {
		writeAttr(&name, a)
	}
	return &Handler{next: h.next.WithAttrs(attrs), prefix: name.String(), shared: h.shared}
}

// WithGroup returns a handler whose lines are of kinds of their own.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{next: h.next.WithGroup(name), prefix: h.prefix + name + "\x00", shared: h.shared}
}

// Handle writes the line, or counts it.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo && h.shared.suppress(h, &r) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// Flush writes the numbers of the lines that were left out and not told yet.
func (h *Handler) Flush() {
	h.shared.mu.Lock()
	var all []*kind
	for name, k := range h.shared.kinds {
		if k.end != nil {
			k.end.Stop()
		}
		all = append(all, k)
		delete(h.shared.kinds, name)
	}
	h.shared.mu.Unlock()
	for _, k := range all {
		k.tell()
	}
}

// suppress counts a line and says whether it is left out.
func (s *shared) suppress(h *Handler, r *slog.Record) bool {
	name, attrs := h.kindOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[name]
	if k == nil || r.Time.Sub(k.began) >= Interval && k.suppressed == 0 {
		if k == nil && len(s.kinds) >= mostKinds && !s.room(r.Time) {
			return false // so many kinds are no flood of one
		}
		k = &kind{began: r.Time, level: r.Level, message: r.Message, attrs: attrs, next: h.next}
		s.kinds[name] = k
	}
	if k.lines < Burst {
		k.lines++
		return false
	}
	k.suppressed++
	if k.end == nil {
		k.end = time.AfterFunc(max(Interval-r.Time.Sub(k.began), 0), func() { s.ended(name, k) })
	}
	return true
}

// ended tells what was left out in an interval that is over.
func (s *shared) ended(name string, k *kind) {
	s.mu.Lock()
	if s.kinds[name] != k {
		s.mu.Unlock()
		return // Flush has told it
	}
	delete(s.kinds, name)
	s.mu.Unlock()
	k.tell()
}

// room forgets the kinds whose interval is over and says whether that made room.
func (s *shared) room(now time.Time) bool {
	for name, k := range s.kinds {
		if k.suppressed == 0 && now.Sub(k.began) >= Interval {
			delete(s.kinds, name)
		}
	}
	return len(s.kinds) < mostKinds
}

// tell writes the number of lines that were left out. Nobody counts in k any more.
func (k *kind) tell() {
	if k.suppressed == 0 {
		return
	}
	r := slog.NewRecord(time.Now(), k.level, k.message, 0)
	r.AddAttrs(k.attrs...)
	r.AddAttrs(slog.Int(SuppressedKey, k.suppressed), slog.Duration("since", time.Since(k.began).Round(time.Second)))
	_ = k.next.Handle(context.Background(), r) // as slog does: a log that cannot be written is nobody's error
}

// kindOf names the kind of a line, and returns the attributes that tell it.
func (h *Handler) kindOf(r *slog.Record) (name string, attrs []slog.Attr) {
	var b strings.Builder
	b.WriteString(h.prefix)
	b.WriteString(r.Level.String())
	b.WriteByte(0)
	b.WriteString(r.Message)
	b.WriteByte(0)
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key { // values of these are the operator's names, and few
		case "account", "bind", "route", "consumer", "stream":
			writeAttr(&b, a)
			attrs = append(attrs, a)
		}
		return true
	})
	return b.String(), attrs
}

func writeAttr(b *strings.Builder, a slog.Attr) {
	b.WriteString(a.Key)
	b.WriteByte('=')
	b.WriteString(a.Value.String())
	b.WriteByte(0)
}
