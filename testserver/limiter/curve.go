package limiter

import (
	"math"
	"time"
)

// Curve is a rate in messages per second over the time since a limiter was first used.
type Curve func(since time.Duration) float64

// Constant is the same rate at all times.
func Constant(rate float64) Curve {
	return func(time.Duration) float64 { return rate }
}

// Step is one rate of Steps: it holds from At until the next step.
type Step struct {
	At   time.Duration
	Rate float64 // messages per second
}

// Steps changes the rate at given times, which must ascend. The first rate also holds before its time, the last one
// for ever; no steps at all are a rate of 0.
func Steps(steps []Step) Curve {
	return func(since time.Duration) float64 {
		rate := 0.0
		for i, s := range steps {
			if i > 0 && s.At > since {
				break
			}
			rate = s.Rate
		}
		return rate
	}
}

// Sine swings the rate around its mean: swing 0.5 goes from 50 % to 150 % of it and back within a period.
func Sine(mean, swing float64, period time.Duration) Curve {
	return func(since time.Duration) float64 {
		return mean * (1 + swing*math.Sin(2*math.Pi*since.Seconds()/period.Seconds()))
	}
}

// Ramp grows evenly from one rate to another, or falls, within over, and then stays: an account that is warmed up.
func Ramp(from, to float64, over time.Duration) Curve {
	return func(since time.Duration) float64 {
		return from + (to-from)*math.Min(1, since.Seconds()/over.Seconds())
	}
}

// Dips is rate, and for the last length of every period only low.
func Dips(rate, low float64, length, every time.Duration) Curve {
	return func(since time.Duration) float64 {
		if since%every >= every-length {
			return low
		}
		return rate
	}
}
