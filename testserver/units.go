package testserver

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"sluice/testserver/limiter"
)

// Share is a part of the whole from 0 to 1; in YAML "1%" or 0.01.
type Share float64

// UnmarshalYAML reads "1%" or 0.01.
func (s *Share) UnmarshalYAML(node ast.Node) error {
	text, scale := scalar(node), 1.0
	if number, ok := strings.CutSuffix(text, "%"); ok {
		text, scale = number, 100
	}
	value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || value < 0 || value/scale > 1 || math.IsNaN(value) {
		return unreadable(node, "a share from 0 to 1, such as 1% or 0.01")
	}
	*s = Share(value / scale)
	return nil
}

// Span is a time between Min and Max, drawn evenly; in YAML "20ms", "5ms-20ms" or {min: 5ms, max: 20ms}.
type Span struct {
	Min time.Duration `yaml:"min"`
	Max time.Duration `yaml:"max"` // Min when it is less
}

// Exactly is the span of one duration.
func Exactly(d time.Duration) Span { return Span{Min: d, Max: d} }

// Between is the span from least to most.
func Between(least, most time.Duration) Span { return Span{Min: least, Max: most} }

// ParseSpan reads "20ms" or "5ms-20ms".
func ParseSpan(text string) (Span, error) {
	least, most, ranged := strings.Cut(text, "-")
	low, err := time.ParseDuration(strings.TrimSpace(least))
	if err != nil || low < 0 {
		return Span{}, fmt.Errorf("%q is not a time: write 20ms or a range such as 5ms-20ms", text)
	}
	if !ranged {
		return Exactly(low), nil
	}
	high, err := time.ParseDuration(strings.TrimSpace(most))
	if err != nil || high < low {
		return Span{}, fmt.Errorf("%q is not a range of times: write the shorter one first, such as 5ms-20ms", text)
	}
	return Between(low, high), nil
}

// UnmarshalYAML reads "20ms", "5ms-20ms" or {min: 5ms, max: 20ms}.
func (s *Span) UnmarshalYAML(node ast.Node) error {
	if _, isMap := node.(ast.MapNode); isMap {
		type plain Span
		return yaml.NodeToValue(node, (*plain)(s), yaml.Strict(), durations())
	}
	parsed, err := ParseSpan(scalar(node))
	if err != nil {
		return fmt.Errorf("%s: %w", path(node), err)
	}
	*s = parsed
	return nil
}

// draw picks a time; random is in [0, 1).
func (s Span) draw(random func() float64) time.Duration {
	if s.Max <= s.Min {
		return s.Min
	}
	return s.Min + time.Duration(random()*float64(s.Max-s.Min))
}

// or is s, or fallback when s is empty.
func (s Span) or(fallback time.Duration) Span {
	if s == (Span{}) {
		return Exactly(fallback)
	}
	return s
}

// Rate is a number of messages a second: constant, in steps, swinging, growing, or with dips. In YAML: 100, or a list of
// {at: 20s, rate: 40}, or {mean: 100, swing: 0.5, period: 60s}, or {from: 10, to: 200, over: 5m}, or
// {rate: 10, low: 1, for: 20s, every: 3m}.
type Rate struct {
	PerSecond float64        // constant, when nothing else is set; with Every the rate outside of the dips
	Steps     []limiter.Step // each holds from its time until the next
	Mean      float64
	Swing     float64 // 0.5 goes from 50 to 150 % of the mean
	Period    time.Duration
	From, To  float64       // at the start, and after Over
	Over      time.Duration // in which it grows, or falls, evenly
	Low       float64       // in the last For of every Every
	For       time.Duration
	Every     time.Duration
}

// PerSecond is a constant rate.
func PerSecond(rate float64) Rate { return Rate{PerSecond: rate} }

// Steps is a rate that changes at given times.
func Steps(steps ...limiter.Step) Rate { return Rate{Steps: steps} }

// UnmarshalYAML reads a number, a list of steps or a swing.
func (r *Rate) UnmarshalYAML(node ast.Node) error {
	switch node.(type) {
	case ast.ArrayNode:
		return yaml.NodeToValue(node, &r.Steps, yaml.Strict(), durations())
	case ast.MapNode:
		var curve struct {
			Mean   float64       `yaml:"mean"`
			Swing  float64       `yaml:"swing"`
			Period time.Duration `yaml:"period"`
			From   float64       `yaml:"from"`
			To     float64       `yaml:"to"`
			Over   time.Duration `yaml:"over"`
			Rate   float64       `yaml:"rate"`
			Low    float64       `yaml:"low"`
			For    time.Duration `yaml:"for"`
			Every  time.Duration `yaml:"every"`
		}
		if err := yaml.NodeToValue(node, &curve, yaml.Strict(), durations()); err != nil {
			return err
		}
		r.Mean, r.Swing, r.Period = curve.Mean, curve.Swing, curve.Period
		r.From, r.To, r.Over = curve.From, curve.To, curve.Over
		r.PerSecond, r.Low, r.For, r.Every = curve.Rate, curve.Low, curve.For, curve.Every
		return nil
	}
	value, err := strconv.ParseFloat(scalar(node), 64)
	if err != nil {
		return unreadable(node, rateForms)
	}
	r.PerSecond = value
	return nil
}

// rateForms is how a rate is written.
const rateForms = "a rate: 100, a list of {at: 20s, rate: 40}, {mean: 100, swing: 0.5, period: 60s}, " +
	"{from: 10, to: 200, over: 5m}, or {rate: 10, low: 1, for: 20s, every: 3m}"

func (r Rate) curve() limiter.Curve {
	switch {
	case r.Over > 0:
		return limiter.Ramp(r.From, r.To, r.Over)
	case r.Every > 0:
		return limiter.Dips(r.PerSecond, r.Low, r.For, r.Every)
	case r.Period > 0:
		return limiter.Sine(r.Mean, r.Swing, r.Period)
	case len(r.Steps) > 0:
		return limiter.Steps(r.Steps)
	default:
		return limiter.Constant(r.PerSecond)
	}
}

// durations names what is wrong with a duration; the decoder's own words name neither field nor remedy.
func durations() yaml.DecodeOption {
	return yaml.CustomUnmarshaler(func(d *time.Duration, text []byte) error {
		parsed, err := time.ParseDuration(strings.Trim(strings.TrimSpace(string(text)), `"'`))
		if err != nil {
			return &durationError{text: strings.TrimSpace(string(text))}
		}
		*d = parsed
		return nil
	})
}

type durationError struct {
	text string
}

func (e *durationError) Error() string {
	return fmt.Sprintf("%q is not a duration: write a number with a unit, such as 20ms, 5s or 2m", e.text)
}

func scalar(node ast.Node) string {
	if text, ok := node.(*ast.StringNode); ok {
		return text.Value
	}
	return strings.TrimSpace(node.String())
}

func path(node ast.Node) string { return strings.TrimPrefix(node.GetPath(), "$.") }

func unreadable(node ast.Node, want string) error {
	return fmt.Errorf("%s: %q is not %s", path(node), scalar(node), want)
}
