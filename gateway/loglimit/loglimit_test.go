package loglimit

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestFloodOfOneKindIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out syncBuffer
		log := slog.New(New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
		for i := range 40_000 {
			log.With("account", "acme").Error("it could not be stored", "seq", i)
			time.Sleep(time.Millisecond)
		}
		log.With("account", "other").Error("it could not be stored", "seq", 1)
		log.With("account", "acme").Warn("something else")
		time.Sleep(Interval) // and the flood is over
		lines := out.lines()
		if got := len(lines); got != Burst+1+2 {
			t.Errorf("%d lines, want %d, their number and the two of other kinds:\n%s", got, Burst, strings.Join(lines, "\n"))
		}
		last := lines[len(lines)-1]
		if !strings.Contains(last, "it could not be stored") || !strings.Contains(last, "account=acme") ||
			!strings.Contains(last, "suppressed=39990") || !strings.Contains(last, "since=1m0s") {
			t.Errorf("the last line is %q, want the message with suppressed=39990 of the last minute", last)
		}
	})
}

// A flood that goes on has its first lines and its count in every interval.
func TestFloodThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out syncBuffer
		log := slog.New(New(slog.NewTextHandler(&out, nil)))
		for range 300 {
			log.Warn("again", "bind", "acme/1")
			time.Sleep(time.Second)
		}
		time.Sleep(Interval)
		told, sum := 0, 0
		for _, line := range out.lines() {
			var n int
			if _, rest, ok := strings.Cut(line, "suppressed="); ok {
				if _, err := fmt.Sscan(rest, &n); err != nil {
					t.Fatal(err)
				}
				told, sum = told+1, sum+n
			} else {
				sum++
			}
		}
		if told != 5 || sum != 300 || len(out.lines()) != 5*(Burst+1) {
			t.Errorf("%d lines, %d with a count, together %d; want %d, 5 and 300", len(out.lines()), told, sum, 5*(Burst+1))
		}
	})
}

func TestKinds(t *testing.T) {
	var out syncBuffer
	h := New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	log := slog.New(h)
	for i := range 100 {
		log.Warn("of accounts", "account", fmt.Sprint("a", i)) // 100 kinds
		log.Debug("debug passes")
		log.WithGroup("g").Info("in a group", "seq", i)
	}
	h.Flush()
	h.Flush()
	text := out.String()
	for what, want := range map[string]int{"of accounts": 100, "debug passes": 100, "in a group": Burst + 1, "suppressed=90": 1} {
		if got := strings.Count(text, what); got != want {
			t.Errorf("%q is there %d times, want %d", what, got, want)
		}
	}
}

// More kinds than can be told apart are written, and take no more memory.
func TestTooManyKinds(t *testing.T) {
	var out syncBuffer
	h := New(slog.NewTextHandler(&out, nil))
	log := slog.New(h)
	for i := range mostKinds + 100 {
		log.Warn("line", "bind", i)
	}
	if got := len(h.shared.kinds); got != mostKinds {
		t.Errorf("%d kinds are held, want at most %d", got, mostKinds)
	}
	if got := len(out.lines()); got != mostKinds+100 {
		t.Errorf("%d lines, want %d", got, mostKinds+100)
	}
}

func TestConcurrentFlood(t *testing.T) {
	var out syncBuffer
	h := New(slog.NewTextHandler(&out, nil))
	log := slog.New(h)
	var flood sync.WaitGroup
	for range 8 {
		flood.Go(func() {
			for range 1000 {
				log.Error("one kind")
			}
		})
	}
	flood.Wait()
	h.Flush()
	if lines := out.lines(); len(lines) != Burst+1 || !strings.Contains(lines[Burst], "suppressed=7990") {
		t.Errorf("%d lines, the last %q; want %d and suppressed=7990", len(lines), lines[len(lines)-1], Burst+1)
	}
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *syncBuffer) lines() []string {
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}
