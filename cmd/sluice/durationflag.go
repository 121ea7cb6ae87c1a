package main

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/gateway/config"
)

// durationFlag is a flag for a duration above 0 in the form of the configuration, which knows days.
func durationFlag(name, usage string) cli.Flag {
	return &cli.GenericFlag{Name: name, Usage: usage, Value: new(span)}
}

// duration is the value of a durationFlag; 0 when it is not given.
func duration(c *cli.Context, name string) time.Duration {
	if s, ok := c.Generic(name).(*span); ok {
		return time.Duration(*s)
	}
	return 0
}

// span is the value of a durationFlag.
type span time.Duration

// Set implements cli.Generic.
func (s *span) Set(text string) error {
	d, err := config.ParseDuration(text)
	if err == nil && d <= 0 {
		err = errors.New("is not above 0")
	}
	*s = span(d)
	return err
}

// String implements cli.Generic.
func (s *span) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}
