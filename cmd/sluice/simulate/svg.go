package simulate

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// SVG draws the run as an SVG file.
func (r Result) SVG(w io.Writer) error {
	p, f := newPlot(r, pictureColumns), pictureFrame()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", f.width, f.height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", f.width, f.height)
	fmt.Fprintf(&b, `<text x="%d" y="20" font-size="14">`, f.left)
	if err := xml.EscapeText(&b, []byte(p.title)); err != nil {
		return err
	}
	b.WriteString("</text>\n")
	area(&b, p, f, throttledColour(), func(c column) float64 { return c.accepted + c.throttled })
	area(&b, p, f, acceptedColour(), func(c column) float64 { return c.accepted })
	for _, l := range []line{ceilingLine(), paceLine()} {
		l.draw(&b, p, f)
	}
	p.axes(&b, f)
	p.legend(&b, f)
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func hex(c [3]uint8) string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// area fills what is below a value, in steps.
func area(b *strings.Builder, p plot, f frame, colour [3]uint8, value func(column) float64) {
	fmt.Fprintf(b, `<path fill="%s" d="M%d %d`, hex(colour), f.left, f.bottom)
	for i, c := range p.columns {
		fmt.Fprintf(b, "V%.1fH%.1f", f.y(p, value(c)), f.x(p, i+1))
	}
	fmt.Fprintf(b, "V%dZ\"/>\n", f.bottom)
}

// draw leaves out the columns without a value.
func (l line) draw(b *strings.Builder, p plot, f frame) {
	var path strings.Builder
	command := "M"
	for i, c := range p.columns {
		if l.value(c) <= 0 {
			command = "M"
			continue
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", command, (f.x(p, i)+f.x(p, i+1))/2, f.y(p, l.value(c)))
		command = "L"
	}
	if path.Len() > 0 {
		fmt.Fprintf(b, `<path fill="none" stroke="%s" stroke-width="1.5" d="%s"/>`+"\n", hex(l.colour), path.String())
	}
}

// lines is how many lines of the scale a picture has.
const lines = 5

func (p plot) axes(b *strings.Builder, f frame) {
	for i := range lines + 1 {
		rate := p.top * float64(i) / lines
		fmt.Fprintf(b, `<path stroke="#888" stroke-opacity=".4" d="M%d %.1fH%d"/>`, f.left, f.y(p, rate), f.right)
		fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", f.left-6, f.y(p, rate)+4, number(rate))
	}
	for _, second := range p.seconds(10) {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%d s</text>`+"\n", f.at(p, second), f.bottom+18, second)
	}
}

func (p plot) legend(b *strings.Builder, f frame) {
	x := f.right - 380
	for _, e := range legend() {
		fmt.Fprintf(b, `<rect x="%d" y="11" width="10" height="10" fill="%s"/><text x="%d" y="20">%s</text>`+"\n", x, hex(e.colour), x+14, e.name)
		x += 90
	}
}

// legend names the colours.
func legend() []line {
	return []line{
		{name: "accepted", colour: acceptedColour()},
		{name: "throttled", colour: throttledColour()},
		ceilingLine(), paceLine(),
	}
}
