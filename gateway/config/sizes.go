package config

import (
	"fmt"
	"time"
)

// What one message of one segment takes, measured with ids of 36 characters.
const (
	octetsOfEvents  = 1000 // in the journal: its outcome, and its receipt
	octetsOfMessage = 500  // in the queue
	octetsOfInbound = 600  // in SMS_IN: a receipt, until the minute's purge
)

// assumedRate stands for accounts without rate.declared.
const assumedRate = 100

// Sizes says, in a few lines, how the store is divided and what that is enough for at the declared rates.
func (c *Config) Sizes() []string {
	l := c.Limits()
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if l.Store > 0 {
		line("store: %s of the disk of %s", about(l.Store), c.NATS.Embedded.Dir)
	}
	line("limits: queue %s, journal %s, inbound %s, mo %s, deferred %s, buckets %s: %s in all",
		about(l.Queue), about(l.Journal), about(l.Inbound), about(l.MO), about(l.Deferred), about(l.Buckets), about(l.Sum()))
	rate, which := 0.0, "the declared rate of all accounts"
	for _, a := range c.Accounts {
		rate += a.Rate.Declared
	}
	if rate == 0 {
		rate, which = assumedRate, "a rate"
	}
	kept := min(c.Streams.JournalAge, seconds(float64(l.Journal)/octetsOfEvents/rate))
	line("at %s of %g/s the journal keeps events for about %s; journal_age %s needs journal_bytes of about %s",
		which, rate, roughly(kept), formatDuration(c.Streams.JournalAge), about(Size(c.Streams.JournalAge.Seconds()*rate*octetsOfEvents)))
	line("at that rate an SMSC that is away fills the queue in about %s, and receipts that nobody reads fill what one account may have of inbound in about %s",
		roughly(seconds(float64(l.Queue)/octetsOfMessage/rate)), roughly(seconds(float64(l.Inbound)/2/octetsOfInbound/rate)))
	return lines
}

func seconds(s float64) time.Duration {
	const most = 365 * 24 * time.Hour
	return time.Duration(min(s, most.Seconds()) * float64(time.Second))
}

// roughly is a duration that people read: two units at most.
func roughly(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.0f hours", d.Hours())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	}
	return fmt.Sprintf("%.0f seconds", d.Seconds())
}

// about is a size that people read.
func about(s Size) string {
	for _, u := range []unit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if int64(s) >= u.scale {
			return fmt.Sprintf("%.3g %s", float64(s)/float64(u.scale), u.name)
		}
	}
	return fmt.Sprintf("%d B", int64(s))
}
