package policy

import (
	"strings"
	"testing"
	"time"

	"sluice/window"
)

func start() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

func TestEveryNameIsAPolicy(t *testing.T) {
	for _, name := range Names() {
		p, err := New(name, window.Config{})
		if err != nil {
			t.Fatal(err)
		}
		at, ok := p.Next(start(), 0)
		if !ok || at.After(start()) {
			t.Errorf("%s lets no first message go", name)
		}
	}
	if _, err := New("tcp", window.Config{}); err == nil || !strings.Contains(err.Error(), "sluice, fixed, kannel, halve, cubic") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestFixedKeepsItsWindowAndPauses(t *testing.T) {
	for _, tt := range []struct {
		pause time.Duration
		want  time.Time
	}{{0, start()}, {time.Second, start().Add(time.Second)}} {
		f := NewFixed(10, tt.pause)
		if _, ok := f.Next(start(), 9); !ok {
			t.Error("the tenth message may not go")
		}
		if _, ok := f.Next(start(), 10); ok {
			t.Error("an eleventh message may go")
		}
		f.Answer(start(), f.Send(start(), true), window.Refused)
		if at, _ := f.Next(start(), 9); !at.Equal(tt.want) {
			t.Errorf("pause %v: next at %v, want %v", tt.pause, at, tt.want)
		}
	}
}

func TestHalveHalvesAndCreeps(t *testing.T) {
	h := NewHalve()
	s := h.Send(start(), true)
	if at, _ := h.Next(start(), 1); !at.Equal(start().Add(100 * time.Millisecond)) {
		t.Errorf("next at %v, want 100 ms later", at)
	}
	h.Answer(start().Add(time.Second), s, window.Accepted)
	if h.Pace() != 10.5 {
		t.Errorf("pace %v after a good second, want 10.5", h.Pace())
	}
	h.Answer(start().Add(1500*time.Millisecond), s, window.Lost)
	h.Answer(start().Add(2*time.Second), s, window.Refused)
	if h.Pace() != 5.25 {
		t.Errorf("pace %v after a bad second, want 5.25", h.Pace())
	}
}

func TestCubicCutsOnceForAFlight(t *testing.T) {
	c := NewCubic()
	now := start()
	for range 40 { // a slow start
		s := c.Send(now, true)
		now = now.Add(20 * time.Millisecond)
		c.Answer(now, s, window.Accepted)
	}
	before := c.Pace()
	if before < 20 {
		t.Fatalf("pace %v after 40 accepted, want at least 20", before)
	}
	one, two := c.Send(now, true), c.Send(now, true)
	c.Answer(now.Add(20*time.Millisecond), one, window.Refused)
	cut := c.Pace()
	if cut >= before || cut < 0.35*before {
		t.Errorf("pace %v after a refusal at %v", cut, before)
	}
	c.Answer(now.Add(20*time.Millisecond), two, window.Refused)
	if c.Pace() != cut {
		t.Errorf("the same flight cut twice: %v and %v", cut, c.Pace())
	}
}

func TestSluiceAnswersWhatWasInFlightWhenTheConnectionBroke(t *testing.T) {
	s := NewSluice(window.Config{})
	sent := []Sent{s.Send(start(), true), s.Send(start(), true)}
	s.Reconnect(start().Add(5*time.Second), sent)
	snapshot := s.Controller().Snapshot(start())
	if snapshot.Unanswered != 0 || len(snapshot.Binds) != 1 {
		t.Errorf("%d unanswered on %d binds, want 0 on 1", snapshot.Unanswered, len(snapshot.Binds))
	}
}
