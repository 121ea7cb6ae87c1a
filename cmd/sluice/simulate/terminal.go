package simulate

import (
	"fmt"
	"io"
	"math"
	"strings"
)

const (
	chartRows   = 15
	chartMargin = 8  // columns left of the chart
	narrowest   = 40 // columns of a terminal

	// seen is the share of throttled answers, to accepted ones, from which on they fill a row.
	seen = 0.02
)

// ink is what a cell shows, with the SGR code of its colour. The glyphs tell everything; the colours only help.
type ink struct {
	glyph  rune
	colour string
}

func blankInk() ink     { return ink{glyph: ' '} }
func acceptedInk() ink  { return ink{'█', "32"} }
func throttledInk() ink { return ink{'░', "31"} }
func ceilingInk() ink   { return ink{'─', "33"} }
func paceInk() ink      { return ink{'•', "36"} }

// Chart draws the run with characters, within a width in columns.
func (r Result) Chart(w io.Writer, width int, colour bool) error {
	p := newPlot(r, max(width, narrowest)-chartMargin)
	var b strings.Builder
	for row := chartRows - 1; row >= 0; row-- {
		label := ""
		if row%3 == 0 {
			label = number(p.top * float64(row) / chartRows)
		}
		cells := make([]ink, len(p.columns))
		for i, c := range p.columns {
			cells[i] = c.cell(row, p.top/chartRows)
		}
		fmt.Fprintf(&b, "%*s │%s\n", chartMargin-2, label, paint(cells, colour))
	}
	fmt.Fprintf(&b, "%*s └%s\n%s\n", chartMargin-2, "", strings.Repeat("─", len(p.columns)), p.times())
	fmt.Fprintf(&b, "%*s %c accepted  %c throttled  %c ceiling  %c pace, messages per second\n", chartMargin-1, "",
		acceptedInk().glyph, throttledInk().glyph, ceilingInk().glyph, paceInk().glyph)
	_, err := io.WriteString(w, b.String())
	return err
}

// cell is what a column shows in one row, the lowest being 0. The pace lies over the ceiling, the ceiling over the
// answers.
func (c column) cell(row int, step float64) ink {
	in := func(rate float64) bool { return rate > 0 && row == min(chartRows-1, int(rate/step)) }
	switch filled := c.accepted/step - float64(row); {
	case in(c.pace):
		return paceInk()
	case in(c.ceiling):
		return ceilingInk()
	case filled >= 1:
		return acceptedInk()
	case filled > 1.0/16:
		return ink{[]rune("▁▂▃▄▅▆▇█")[max(0, int(math.Round(8*filled))-1)], acceptedInk().colour}
	case c.throttled > seen*c.accepted && float64(row) <= math.Ceil(c.accepted/step)+c.throttled/step:
		return throttledInk()
	}
	return blankInk()
}

// times labels the columns with seconds.
func (p plot) times() string {
	text := []byte(strings.Repeat(" ", chartMargin+len(p.columns)))
	end := 0
	for _, second := range p.seconds(len(p.columns) / 10) {
		at := chartMargin + int(float64(second)/p.length.Seconds()*float64(len(p.columns)))
		label := fmt.Sprintf("%d s", second)
		if at >= end && at+len(label) <= len(text) {
			copy(text[at:], label)
			end = at + len(label) + 1
		}
	}
	return strings.TrimRight(string(text), " ")
}

// number is a rate with as many digits as help.
func number(v float64) string {
	switch {
	case v == math.Trunc(v) && v < 10:
		return fmt.Sprintf("%.0f", v)
	case v < 10:
		return fmt.Sprintf("%.1f", v)
	case v < 100_000:
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprintf("%.0fk", v/1000)
	}
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
