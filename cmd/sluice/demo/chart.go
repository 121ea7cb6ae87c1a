package demo

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// The size of the chart: a column for each second, rows of one step of the scale.
const (
	rows   = 14
	margin = 6 // columns left of the chart
)

// chart is the story of one run in columns.
type chart struct {
	columns []moment // the newest of each second
	newest  moment
}

// add takes a moment into the column of its second.
func (c *chart) add(m moment) {
	c.newest = m
	second := int(m.since / time.Second)
	for len(c.columns) <= second {
		c.columns = append(c.columns, m) // a second that was not looked at is like the next one
	}
	c.columns[second] = m
}

// ink is what a cell shows, with the SGR code of its colour.
type ink struct {
	glyph  rune
	colour string
}

const (
	green  = "32"
	red    = "31"
	yellow = "33"
	cyan   = "36"
)

// The glyphs tell everything; the colours only help.
func blankInk() ink     { return ink{glyph: ' '} }
func acceptedInk() ink  { return ink{'█', green} }
func throttledInk() ink { return ink{'░', red} }
func ceilingInk() ink   { return ink{'─', yellow} }
func paceInk() ink      { return ink{'•', cyan} }

// eighth is a block of so many eighths of a cell, from 0 to 8.
func eighth(n int) rune { return []rune(" ▁▂▃▄▅▆▇█")[n] }

// render draws the chart within a width in columns; all lines fit into it.
func (c *chart) render(width int, colour bool) []string {
	shown, first := c.columns, 0
	if room := width - margin; len(shown) > room {
		first = len(shown) - room
		shown = shown[first:]
	}
	step := c.step()
	frame := make([]string, 0, rows+6)
	frame = append(frame, fit(width, c.newest.title()))
	for row := rows - 1; row >= 0; row-- {
		label := strings.Repeat(" ", margin-1)
		if row%2 == 0 {
			label = fmt.Sprintf("%4.0f ", float64(row)*step)
		}
		cells := make([]ink, len(shown))
		for i, m := range shown {
			cells[i] = m.cell(row, step)
		}
		frame = append(frame, label+"│"+paint(cells, colour))
	}
	frame = append(frame,
		"     └"+strings.Repeat("─", width-margin),
		seconds(first, width),
		"window"+c.windows(shown, colour),
		fit(width, legend()),
		fit(width, c.newest.numbers()),
	)
	return frame
}

// cell is what a column shows in one row, the lowest being 0. The pace lies over the ceiling, the ceiling over the
// answers.
func (m moment) cell(row int, step float64) ink {
	rowOf := func(v float64) int { return min(int(v/step), rows-1) }
	ceiling := rowOf(m.ceiling)
	switch {
	case m.pace > 0 && row == rowOf(m.pace):
		return paceInk()
	case row == ceiling:
		return ceilingInk()
	}
	filled := m.accepted / step
	if whole := int(math.Ceil(filled)); row < whole {
		if eighths := int(math.Round(8 * (filled - float64(row)))); eighths < 8 {
			return ink{eighth(eighths), green}
		}
		return acceptedInk()
	} else if m.refusedIn(row, whole, ceiling, step) {
		return throttledInk()
	}
	return blankInk()
}

// refusedIn reports whether throttled answers reach into a row above the accepted ones. Few of them fill a row too,
// so that they are seen, and the row of the ceiling is left free.
func (m moment) refusedIn(row, from, ceiling int, step float64) bool {
	if m.throttled < .5 {
		return false
	}
	height := max(1, int(math.Round(m.throttled/step)))
	if from <= ceiling && ceiling < from+height {
		height++
	}
	return row >= from && row < from+height
}

// step is what one row stands for: 1, 2 or 5 times a power of ten, so that everything fits. What goes a little beyond
// the ceiling may be cut off at the top, lest a probe change the scale.
func (c *chart) step() float64 {
	highest := 0.0
	for _, m := range c.columns {
		highest = max(highest, m.ceiling, (m.accepted+m.throttled)/1.3)
	}
	for scale := 1.0; ; scale *= 10 {
		for _, step := range []float64{1, 2, 5} {
			if step*scale*(rows-1) >= highest {
				return step * scale
			}
		}
	}
}

// seconds labels every tenth column.
func seconds(first, width int) string {
	line := []byte(strings.Repeat(" ", width))
	for at := (first + 9) / 10 * 10; ; at += 10 {
		label := fmt.Sprintf("%d s", at)
		column := margin + at - first
		if column+len(label) > width {
			return strings.TrimRight(string(line), " ")
		}
		copy(line[column:], label)
	}
}

// windows draws the window of each second as a block, the widest being a whole one.
func (c *chart) windows(shown []moment, colour bool) string {
	widest := 1
	for _, m := range c.columns {
		widest = max(widest, m.window)
	}
	cells := make([]ink, len(shown))
	for i, m := range shown {
		cells[i] = ink{eighth((8*m.window + widest - 1) / widest), cyan}
	}
	return paint(cells, colour)
}

func (m moment) title() string {
	return fmt.Sprintf("%-6s %3.0f s   %s, %d in flight", m.run, m.since.Seconds(), m.progress(), m.inFlight)
}

func legend() string {
	return fmt.Sprintf("%c accepted  %c throttled  %c ceiling  %c pace",
		acceptedInk().glyph, throttledInk().glyph, ceilingInk().glyph, paceInk().glyph)
}

func (m moment) numbers() string {
	return fmt.Sprintf("accepted %.0f/s  throttled %.0f/s  ceiling %.0f/s  pace %s  window %d",
		m.accepted, m.throttled, m.ceiling, strings.TrimSpace(m.paceText()), m.window)
}

// paint writes cells, with one escape sequence for each run of a colour.
func paint(cells []ink, colour bool) string {
	var b strings.Builder
	now := ""
	for _, c := range cells {
		if colour && c.colour != now {
			b.WriteString("\x1b[" + c.colour + "m") // without a code it ends the colour
			now = c.colour
		}
		b.WriteRune(c.glyph)
	}
	if now != "" {
		b.WriteString("\x1b[m")
	}
	return b.String()
}

// fit cuts a line to a width.
func fit(width int, line string) string {
	if runes := []rune(line); len(runes) > width {
		return string(runes[:width])
	}
	return line
}
