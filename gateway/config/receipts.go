package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a container may have no zones of its own
)

// ReceiptState is the state of a message at the SMSC (SMPP 3.4 section 5.2.28).
type ReceiptState string

func (ReceiptState) words() []string {
	return []string{
		"scheduled", "enroute", "delivered", "expired", "deleted", "undeliverable", "accepted", "unknown", "rejected", "skipped",
	}
}

// UnmarshalText accepts one of the states.
func (s *ReceiptState) UnmarshalText(text []byte) error { return unmarshalChoice(s, text) }

// ReceiptPer is what one receipt speaks for.
type ReceiptPer string

// What a receipt may speak for.
const (
	PerSegment ReceiptPer = "segment"
	PerMessage ReceiptPer = "message"
)

func (ReceiptPer) words() []string { return []string{string(PerSegment), string(PerMessage)} }

// UnmarshalText accepts one of them.
func (p *ReceiptPer) UnmarshalText(text []byte) error { return unmarshalChoice(p, text) }

// Zone is a time zone by its name, or an offset to UTC.
type Zone string

// UnmarshalText accepts a zone, or nothing for none.
func (z *Zone) UnmarshalText(text []byte) error {
	if _, err := parseZone(string(text)); err != nil && len(text) > 0 {
		return &valueError{problem: "is no time zone", remedy: "use a name as Europe/Moscow, an offset as +03:00, or UTC"}
	}
	*z = Zone(text)
	return nil
}

// Location is the zone, nil when there is none.
func (z Zone) Location() *time.Location {
	if z == "" {
		return nil
	}
	location, err := parseZone(string(z))
	if err != nil {
		return nil // UnmarshalText has refused it
	}
	return location
}

func parseZone(s string) (*time.Location, error) {
	if s == "" || s == "Local" {
		return nil, fmt.Errorf("%q depends on the machine", s)
	}
	if s[0] != '+' && s[0] != '-' {
		return time.LoadLocation(s)
	}
	for _, form := range []string{"-07:00", "-0700", "-07"} {
		if at, err := time.Parse(form, s); err == nil {
			_, offset := at.Zone()
			return time.FixedZone(s, offset), nil
		}
	}
	return nil, fmt.Errorf("%q is no offset", s)
}

// longestStateWord bounds the words of receipts.states.
const longestStateWord = 32

// receiptStates reports words that no receipt can have, and two that are one.
func (v *validator) receiptStates(at string, states map[string]ReceiptState) {
	seen := map[string]string{}
	for _, word := range slices.Sorted(maps.Keys(states)) {
		upper := strings.ToUpper(word)
		strange := strings.IndexFunc(word, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0
		switch {
		case word == "" || strange || len(word) > longestStateWord:
			v.add(at+"."+word, "", "is no word that stands after stat:", fmt.Sprintf("use 1 to %d printable characters without a blank", longestStateWord))
		case seen[upper] != "":
			v.add(at+"."+word, string(states[word]), "names the same word as "+seen[upper], "keep one, case does not matter")
		}
		seen[upper] = word
	}
}
