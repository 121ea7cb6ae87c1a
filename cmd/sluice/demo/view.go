package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// view shows a run. One goroutine at a time calls it.
type view interface {
	// say writes lines of text that stay.
	say(lines ...string)
	// show presents a moment, or leaves it out.
	show(m moment)
	// close puts the terminal back as it was, and returns the first error of writing.
	close() error
}

// narrowest is the width in columns below which a chart shows nothing.
const narrowest = 40

// newView chooses the chart or the lines.
func newView(o Options) view {
	out := &printer{w: o.Out}
	if o.Terminal && !o.JSON && o.Width >= narrowest {
		return &screen{out: out, width: o.Width, colour: os.Getenv("NO_COLOR") == ""}
	}
	return &lines{out: out}
}

// printer keeps the first error and writes nothing after it.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) print(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

func (p *printer) failure() error {
	if p.err != nil {
		return fmt.Errorf("demo: showing progress: %w", p.err)
	}
	return nil
}

// pause is the time between two lines.
const pause = 2 * time.Second

// lines is the view for logs and pipes: a line now and then.
type lines struct {
	out  *printer
	run  string
	next time.Duration
	over bool // the last line of the run is written
}

func (l *lines) say(text ...string) {
	for _, line := range text {
		l.out.print(line + "\n")
	}
}

func (l *lines) show(m moment) {
	if m.run != l.run {
		l.run, l.next, l.over = m.run, pause, false
	}
	over := m.done >= m.offered
	if l.over || m.since < l.next && !over {
		return
	}
	l.over = over
	l.next = m.since.Truncate(pause) + pause
	l.out.print(m.line() + "\n")
}

func (l *lines) close() error { return l.out.failure() }

// line is a moment in one line.
func (m moment) line() string {
	return fmt.Sprintf("%-6s %3.0f s  ceiling %3.0f/s  pace %s  window %2d  accepted %3.0f/s  throttled %3.0f/s  %s",
		m.run, m.since.Seconds(), m.ceiling, m.paceText(), m.window, m.accepted, m.throttled, m.progress())
}

func (m moment) paceText() string {
	if m.pace == 0 {
		return " none  "
	}
	return fmt.Sprintf("%5.1f/s", m.pace)
}

func (m moment) progress() string {
	return thousands(m.done) + " of " + thousands(m.offered) + " done"
}

// screen is the view for a terminal: a chart that is drawn anew in place.
type screen struct {
	out    *printer
	width  int
	colour bool
	hidden bool // the cursor is
	drawn  int  // lines of the chart above the cursor
	chart  chart
}

// The ANSI escape sequences that are used here (ECMA-48; the cursor's visibility is DECTCEM).
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	clearRight = "\x1b[K"
	clearBelow = "\x1b[J"
)

func (s *screen) say(text ...string) {
	s.drawn = 0 // what was drawn stays
	for _, line := range text {
		s.out.print(line + "\n")
	}
}

func (s *screen) show(m moment) {
	var b strings.Builder
	if !s.hidden {
		s.hidden = true
		b.WriteString(hideCursor)
	}
	if s.chart.newest.run != m.run {
		s.chart = chart{}
	}
	s.chart.add(m)
	b.WriteString(s.up())
	frame := s.chart.render(s.width, s.colour)
	for _, line := range frame {
		b.WriteString(line + clearRight + "\n")
	}
	s.drawn = len(frame)
	s.out.print(b.String())
}

// up moves the cursor to where the chart begins.
func (s *screen) up() string {
	if s.drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\r", s.drawn)
}

// close wipes a chart that is not finished and gives the cursor back.
func (s *screen) close() error {
	if s.drawn > 0 {
		s.out.print(s.up() + clearBelow)
		s.drawn = 0
	}
	if s.hidden {
		s.hidden = false
		s.out.print(showCursor)
	}
	return s.out.failure()
}
