package demo

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sluice/testserver"
)

func at(since time.Duration, m moment) moment {
	m.since = since
	return m
}

func TestLines(t *testing.T) {
	naive := moment{
		run: "naive", ceiling: 100, accepted: 99.6, throttled: 698.2, offered: 7000,
		look: look{window: 10, inFlight: 10, done: 1622},
	}
	paced := moment{
		run: "sluice", ceiling: 40, accepted: 38.9, throttled: .4, offered: 7000,
		look: look{pace: 39.24, window: 3, inFlight: 2, done: 2413},
	}
	var b strings.Builder
	l := newView(Options{Out: &b, Width: 80})
	l.say("before")
	for since := time.Duration(0); since <= 5*time.Second; since += interval {
		l.show(at(since, naive))
	}
	naive.done = naive.offered
	l.show(at(5100*time.Millisecond, naive))
	l.show(at(6100*time.Millisecond, naive)) // is over already
	l.say("between")
	for since := 30 * time.Second; since <= 33*time.Second; since += interval {
		l.show(at(since, paced))
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	want := `before
naive    2 s  ceiling 100/s  pace  none    window 10  accepted 100/s  throttled 698/s  1,622 of 7,000 done
naive    4 s  ceiling 100/s  pace  none    window 10  accepted 100/s  throttled 698/s  1,622 of 7,000 done
naive    5 s  ceiling 100/s  pace  none    window 10  accepted 100/s  throttled 698/s  7,000 of 7,000 done
between
sluice  30 s  ceiling  40/s  pace  39.2/s  window  3  accepted  39/s  throttled   0/s  2,413 of 7,000 done
sluice  32 s  ceiling  40/s  pace  39.2/s  window  3  accepted  39/s  throttled   0/s  2,413 of 7,000 done
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// story is a run of 12 s: a climb, a fall of the ceiling with some throttles, and a new level.
func story() *chart {
	var c chart
	for s, m := range []moment{
		{accepted: 12, look: look{pace: 20, window: 4}},
		{accepted: 45, look: look{pace: 80, window: 6}},
		{accepted: 96, look: look{pace: 98, window: 7}},
		{accepted: 98, look: look{pace: 98, window: 7}},
		{accepted: 98, throttled: 2, look: look{pace: 104, window: 8}},
		{accepted: 98, look: look{pace: 98, window: 7}},
		{ceiling: 40, accepted: 52, throttled: 31, look: look{pace: 70, window: 5}},
		{ceiling: 40, accepted: 40, throttled: 4, look: look{pace: 44, window: 3}},
		{ceiling: 40, accepted: 38, look: look{pace: 39, window: 3}},
		{ceiling: 40, accepted: 39, look: look{pace: 39, window: 3}},
		{ceiling: 40, accepted: 39, look: look{pace: 39, window: 3}},
		{ceiling: 40, accepted: 39, look: look{pace: 39.2, window: 3, inFlight: 2, done: 823}},
	} {
		m.run, m.offered = "sluice", 7000
		if m.ceiling == 0 {
			m.ceiling = 100
		}
		c.add(at(time.Duration(s)*time.Second+200*time.Millisecond, m))
	}
	return &c
}

func TestChart(t *testing.T) {
	want := `sluice  11 s   823 of 7,000 done, 2 in flight
     │            
 120 │            
     │    ░       
 100 │────•─      
     │  ••▆•      
  80 │ •████░     
     │  ████•     
  60 │  ████░     
     │  ████▂░    
  40 │ ▄████─•────
     │ ███████••••
  20 │•███████████
     │▂███████████
   0 │████████████
     └──────────────────────────────────────────
      0 s       10 s      20 s      30 s
window▄▆▇▇█▇▅▃▃▃▃▃
█ accepted  ░ throttled  ─ ceiling  • pace
accepted 39/s  throttled 0/s  ceiling 40/s  pace
`
	got := strings.Join(story().render(48, false), "\n") + "\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestChartFitsEveryWidth(t *testing.T) {
	c := story()
	for s := range 100 { // it scrolls
		c.add(moment{run: "sluice", since: time.Duration(20+s) * time.Second, ceiling: 120, accepted: 1e3, throttled: 1e3, offered: 1e6})
	}
	for width := narrowest; width <= 200; width += 7 {
		for _, colour := range []bool{false, true} {
			frame := c.render(width, colour)
			if len(frame) != len(story().render(80, false)) {
				t.Fatalf("width %d: %d lines", width, len(frame))
			}
			for _, line := range frame {
				if n := utf8.RuneCountInString(plain(line)); n > width {
					t.Errorf("width %d: line of %d columns: %q", width, n, line)
				}
			}
		}
	}
}

// plain is text without its escape sequences.
func plain(text string) string {
	for {
		before, rest, found := strings.Cut(text, "\x1b[")
		if !found {
			return text
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' && r <= '~' })
		text = before + rest[end+1:]
	}
}

func TestChartColoursChangeNothingElse(t *testing.T) {
	coloured := plain(strings.Join(story().render(60, true), "\n"))
	if bare := strings.Join(story().render(60, false), "\n"); coloured != bare {
		t.Errorf("got\n%s\nwant\n%s", coloured, bare)
	}
}

func TestScreenRedrawsInPlaceAndRestoresTheCursor(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	var b strings.Builder
	s := newView(Options{Out: &b, Terminal: true, Width: 60})
	s.show(moment{run: "naive", ceiling: 100})
	height := strings.Count(b.String(), "\n")
	if !strings.HasPrefix(b.String(), hideCursor) {
		t.Errorf("the cursor is not hidden: %q", b.String())
	}
	b.Reset()
	s.show(moment{run: "naive", ceiling: 100})
	if up := "\x1b[20A\r"; height != 20 || !strings.HasPrefix(b.String(), up) {
		t.Errorf("a chart of %d lines is drawn again as %q", height, b.String())
	}
	b.Reset()
	s.say("between")
	s.show(moment{run: "sluice", ceiling: 100})
	if !strings.HasPrefix(b.String(), "between\nsluice") {
		t.Errorf("the second chart does not begin under the text: %q", b.String())
	}
	b.Reset()
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[20A\r" + clearBelow + showCursor; b.String() != want {
		t.Errorf("closed with %q, want %q", b.String(), want)
	}
	b.Reset()
	if err := s.close(); err != nil || b.Len() > 0 {
		t.Errorf("closed again: %v, %q", err, b.String())
	}
}

func TestScreenKeepsAFinishedChart(t *testing.T) {
	var b strings.Builder
	s := newView(Options{Out: &b, Terminal: true, Width: 60})
	s.show(moment{run: "naive", ceiling: 100})
	s.say("")
	b.Reset()
	if err := s.close(); err != nil || b.String() != showCursor {
		t.Errorf("closed with %v and %q", err, b.String())
	}
}

func TestNewViewChoosesLinesWhereAChartIsOfNoUse(t *testing.T) {
	for name, o := range map[string]Options{
		"no terminal": {Width: 80},
		"JSON":        {Width: 80, Terminal: true, JSON: true},
		"narrow":      {Width: narrowest - 1, Terminal: true},
	} {
		if _, ok := newView(o).(*lines); !ok {
			t.Errorf("%s: not lines", name)
		}
	}
}

func TestViewsReportAWriteErrorOnce(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		gone := new(deaf)
		v := newView(Options{Out: gone, Terminal: terminal, Width: 80})
		v.say("one", "two")
		v.show(moment{since: time.Minute, offered: 1})
		if err := v.close(); !errors.Is(err, errGone) || gone.writes != 1 {
			t.Errorf("terminal %v: %v after %d writes", terminal, err, gone.writes)
		}
	}
}

func TestMeter(t *testing.T) {
	var m meter
	m.begin(midnight())
	m.begin(midnight().Add(time.Hour))
	counts := testserver.Counts{}
	for i := 1; i <= 12; i++ {
		counts.Accepted += 25
		counts.Throttled += 5
		accepted, throttled := m.rates(midnight().Add(time.Duration(i)*interval), counts)
		if accepted != 100 || throttled != 20 {
			t.Errorf("after %v: %v accepted, %v throttled a second, want 100 and 20", time.Duration(i)*interval, accepted, throttled)
		}
	}
	if len(m.readings) > 5 {
		t.Errorf("%d readings are kept", len(m.readings))
	}
	accepted, _ := m.rates(midnight().Add(5*time.Second), counts)
	if accepted != 0 {
		t.Errorf("%v a second after a pause, want 0", accepted)
	}
}

func TestPlan(t *testing.T) {
	p := fullPlan()
	for since, want := range map[time.Duration]float64{
		0: 100, 19 * time.Second: 100, 20 * time.Second: 40, 39 * time.Second: 40, 40 * time.Second: 120, time.Hour: 120,
	} {
		if got := p.at(since); got != want {
			t.Errorf("after %v the ceiling is %v, want %v", since, got, want)
		}
	}
	sc := p.scenario(1)
	if err := sc.Validate(); err != nil {
		t.Error(err)
	}
}
