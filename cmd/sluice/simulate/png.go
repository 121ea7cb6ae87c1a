package simulate

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"strconv"
)

// PNG draws the run as a PNG file.
func (r Result) PNG(w io.Writer) error {
	p, f := newPlot(r, pictureColumns), pictureFrame()
	c := canvas{image.NewRGBA(image.Rect(0, 0, f.width, f.height))}
	c.fill(c.Bounds(), [3]uint8{0xff, 0xff, 0xff})
	c.text(f.left, 10, p.title, black())
	for i, col := range p.columns {
		from, to := int(f.x(p, i)), int(f.x(p, i+1))
		accepted, all := int(f.y(p, col.accepted)), int(f.y(p, col.accepted+col.throttled))
		c.fill(image.Rect(from, all, to, f.bottom), throttledColour())
		c.fill(image.Rect(from, accepted, to, f.bottom), acceptedColour())
	}
	for i := range lines + 1 {
		rate := p.top * float64(i) / lines
		y := int(f.y(p, rate))
		c.fill(image.Rect(f.left, y, f.right, y+1), [3]uint8{0xcc, 0xcc, 0xcc})
		label := number(rate)
		c.text(f.left-6-textWidth(label), y-glyphHeight, label, black())
	}
	for _, l := range []line{ceilingLine(), paceLine()} {
		c.trace(p, f, l)
	}
	for _, second := range p.seconds(10) {
		label := strconv.Itoa(second) + " s"
		c.text(int(f.at(p, second))-textWidth(label)/2, f.bottom+8, label, black())
	}
	x := f.right - 400
	for _, e := range legend() {
		c.fill(image.Rect(x, 10, x+10, 20), e.colour)
		c.text(x+14, 10, e.name, black())
		x += 104
	}
	return png.Encode(w, c)
}

func black() [3]uint8 { return [3]uint8{} }

// canvas draws on an image.
type canvas struct {
	*image.RGBA
}

func rgb(c [3]uint8) color.RGBA { return color.RGBA{c[0], c[1], c[2], 0xff} }

func (c canvas) fill(r image.Rectangle, colour [3]uint8) {
	draw.Draw(c, r, image.NewUniform(rgb(colour)), image.Point{}, draw.Src)
}

// trace draws a line from the middle of each column to the next, two pixels thick.
func (c canvas) trace(p plot, f frame, l line) {
	last := math.NaN()
	for i, col := range p.columns {
		v := l.value(col)
		if v <= 0 {
			last = math.NaN()
			continue
		}
		x, y := int(f.x(p, i)), f.y(p, v)
		from := y
		if !math.IsNaN(last) {
			from = last
		}
		c.fill(image.Rect(x, int(min(from, y)), x+2, int(max(from, y))+2), l.colour)
		last = y
	}
}
