package simulate

import (
	"fmt"
	"math"
	"time"

	"sluice/cmd/sluice/course"
)

// column is a stretch of the run, in messages per second.
type column struct {
	accepted, throttled float64
	ceiling, pace       float64 // 0: unknown, none
}

// plot is a run as columns of equal width, whatever it is drawn with.
type plot struct {
	title   string
	columns []column
	length  time.Duration
	top     float64 // of the scale; what is above is cut off
}

// newPlot makes at most so many columns.
func newPlot(r Result, most int) plot {
	bins := len(r.course)
	n := max(1, min(most, bins))
	p := plot{title: fmt.Sprintf("%s: %s", r.Scenario, r.Policy), columns: make([]column, n), length: r.length()}
	for i := range n {
		p.columns[i] = columnOf(r.course[i*bins/n : max(i*bins/n, (i+1)*bins/n)])
	}
	highest := 0.0
	for _, c := range p.columns {
		if c.ceiling > 0 {
			highest = max(highest, 1.25*c.ceiling)
		} else {
			highest = max(highest, c.accepted)
		}
	}
	p.top = roundUp(highest)
	return p
}

func columnOf(bins course.Course) (c column) {
	width := float64(max(1, len(bins))) * course.Width.Seconds()
	for _, b := range bins {
		c.accepted += float64(b.Accepted) / width
		c.throttled += float64(b.Throttled) / width
		c.ceiling += b.Capacity / float64(len(bins))
		c.pace += b.Pace / float64(len(bins))
	}
	return c
}

// roundUp is the next 1, 1.5, 2, 3, 4, 5 or 8 times a power of ten.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, digit := range []float64{1, 1.5, 2, 3, 4, 5, 8} {
		if digit*power >= v {
			return digit * power
		}
	}
	return 10 * power
}

// seconds are round times for labels, about so many of them.
func (p plot) seconds(about int) (labels []int) {
	step := max(1, int(roundUp(p.length.Seconds()/float64(about))))
	for at := 0; float64(at) <= p.length.Seconds(); at += step {
		labels = append(labels, at)
	}
	return labels
}

// line is one of the lines of the picture.
type line struct {
	name   string
	colour [3]uint8
	value  func(column) float64
}

func ceilingLine() line {
	return line{"ceiling", [3]uint8{0xb8, 0x86, 0x0b}, func(c column) float64 { return c.ceiling }}
}

func paceLine() line {
	return line{"pace", [3]uint8{0x1f, 0x4e, 0x9c}, func(c column) float64 { return c.pace }}
}

func acceptedColour() [3]uint8  { return [3]uint8{0x9f, 0xd3, 0xa5} }
func throttledColour() [3]uint8 { return [3]uint8{0xd6, 0x45, 0x41} }

// frame is where a picture has its plot, in pixels.
type frame struct {
	width, height            int
	left, right, top, bottom int // edges of the plot
}

func pictureFrame() frame {
	return frame{width: 976, height: 400, left: 64, right: 944, top: 48, bottom: 364}
}

// pictureColumns is how many columns a picture has: one for two pixels.
const pictureColumns = 440

// x is the left edge of a column.
func (f frame) x(p plot, i int) float64 {
	return float64(f.left) + float64(i)*float64(f.right-f.left)/float64(len(p.columns))
}

// at is the place of a time.
func (f frame) at(p plot, second int) float64 {
	return float64(f.left) + float64(second)/p.length.Seconds()*float64(f.right-f.left)
}

// y is the place of a rate.
func (f frame) y(p plot, rate float64) float64 {
	return float64(f.bottom) - min(1, rate/p.top)*float64(f.bottom-f.top)
}
