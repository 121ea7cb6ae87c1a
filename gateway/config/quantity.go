package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of octets, written as 512MiB, 1GiB or 500MB.
type Size int64

// sizeUnits, largest first, so that printing picks the largest that divides.
func sizeUnits() []unit {
	return []unit{
		{"TiB", 1 << 40},
		{"GiB", 1 << 30},
		{"MiB", 1 << 20},
		{"KiB", 1 << 10},
		{"TB", 1e12},
		{"GB", 1e9},
		{"MB", 1e6},
		{"kB", 1e3},
		{"B", 1},
	}
}

type unit struct {
	name  string
	scale int64
}

// UnmarshalText accepts a number with one of the units; a bare number is
// octets.
func (s *Size) UnmarshalText(text []byte) error {
	t := strings.TrimSpace(string(text))
	scale := int64(1)
	for _, u := range sizeUnits() {
		if rest, ok := strings.CutSuffix(t, u.name); ok {
			t, scale = strings.TrimSpace(rest), u.scale
			break
		}
	}
	n, err := strconv.ParseFloat(t, 64)
	if err != nil || !(n >= 0) || n*float64(scale) >= math.MaxInt64 {
		return &valueError{problem: "is not a size", remedy: "write a number with a unit, for example 512MiB or 1GiB"}
	}
	*s = Size(n * float64(scale))
	return nil
}

// MarshalText writes the size with the largest unit that divides it.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String is the size with the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits() {
		if s != 0 && int64(s)%u.scale == 0 {
			return fmt.Sprintf("%d%s", int64(s)/u.scale, u.name)
		}
	}
	return "0B"
}

// Percent is a share: 0.06 for 6%.
type Percent float64

// UnmarshalText accepts a number with a percent sign, or 0.
func (p *Percent) UnmarshalText(text []byte) error {
	t := strings.TrimSpace(string(text))
	digits, ok := strings.CutSuffix(t, "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || !(n >= 0 && n <= 100) || (!ok && n != 0) {
		return &valueError{problem: "is not a share", remedy: "write a number from 0 to 100 with a percent sign, for example 6% or 0.2%"}
	}
	*p = Percent(n / 100)
	return nil
}

// MarshalText writes the share with a percent sign.
func (p Percent) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// String is the share with a percent sign.
func (p Percent) String() string {
	return strconv.FormatFloat(float64(p)*100, 'g', 12, 64) + "%"
}

// Allowance is a count within any span of the given length, written 3/10m. The zero value is none, written off.
type Allowance struct {
	Count int
	Per   time.Duration
}

// UnmarshalText accepts count/duration and off.
func (a *Allowance) UnmarshalText(text []byte) error {
	if string(text) == "off" {
		*a = Allowance{}
		return nil
	}
	wrong := &valueError{problem: "is not a count per time", remedy: "write count/duration, for example 3/10m"}
	count, per, ok := strings.Cut(string(text), "/")
	if !ok {
		return wrong
	}
	n, err := strconv.Atoi(strings.TrimSpace(count))
	if err != nil || n < 1 {
		return wrong
	}
	d, err := ParseDuration(strings.TrimSpace(per))
	if err != nil || d <= 0 {
		return wrong
	}
	*a = Allowance{Count: n, Per: d}
	return nil
}

// MarshalText writes count/duration.
func (a Allowance) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// String is count/duration.
func (a Allowance) String() string {
	if a == (Allowance{}) {
		return "off"
	}
	return fmt.Sprintf("%d/%s", a.Count, formatDuration(a.Per))
}

// Sync is how often the embedded server syncs its store; SyncAlways means
// before every acknowledgement.
type Sync time.Duration

// SyncAlways syncs before every acknowledgement.
const SyncAlways Sync = 0

// UnmarshalText accepts a duration or always.
func (s *Sync) UnmarshalText(text []byte) error {
	if string(text) == "always" {
		*s = SyncAlways
		return nil
	}
	d, err := ParseDuration(string(text))
	if err != nil || d <= 0 {
		return &valueError{problem: "is not an interval", remedy: "write always or a duration above 0, for example 1s"}
	}
	*s = Sync(d)
	return nil
}

// MarshalText writes the interval or always.
func (s Sync) MarshalText() ([]byte, error) {
	if s == SyncAlways {
		return []byte("always"), nil
	}
	return []byte(formatDuration(time.Duration(s))), nil
}

// ParseDuration reads what time.ParseDuration reads, and a leading number of
// days as in 7d or 1d12h. The error says what is wrong and what would be right.
func ParseDuration(text string) (time.Duration, error) {
	wrong := &valueError{problem: "is not a duration", remedy: "write a number with a unit, for example 500ms, 30s, 10m, 24h or 7d"}
	days, rest, ok := strings.Cut(text, "d")
	if !ok {
		days, rest = "", text
	}
	var total time.Duration
	if ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 36500 {
			return 0, wrong
		}
		total = time.Duration(n) * 24 * time.Hour
		if rest == "" {
			return total, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || (ok && d < 0) {
		return 0, wrong
	}
	return total + d, nil
}

// formatDuration drops the zero parts that time.Duration prints: 10m, not
// 10m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
