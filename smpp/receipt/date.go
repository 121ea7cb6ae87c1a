package receipt

import "time"

// Dates is how a route writes dates of 12 digits, which have two readings.
type Dates uint8

// The readings. DatesAuto takes the one that is a date; of two it takes the nearer to the time of receipt, or
// YYMMDDhhmmss when that time is not given.
const (
	DatesAuto      Dates = iota
	DatesShortYear       // YYMMDDhhmmss
	DatesLongYear        // YYYYMMDDhhmm
)

// parseDate reads a date as SMSCs write it, and returns the zero time for what is no date: 10 digits YYMMDDhhmm,
// 12 digits of either reading, 14 digits YYYYMMDDhhmmss, or the absolute form of SMPP 3.4 section 7.1.1 with tenths of
// a second and the distance to UTC.
func parseDate(s string, o Options) time.Time {
	zone := o.Zone
	if zone == nil {
		zone = time.UTC
	}
	if len(s) == 16 {
		return parseAbsolute(s)
	}
	if !isDigits(s) {
		return time.Time{}
	}
	switch len(s) {
	case 10:
		return civil(number(s[:2])+2000, s[2:]+"00", zone)
	case 12:
		return parseTwelve(s, o, zone)
	case 14:
		return civil(number(s[:4]), s[4:], zone)
	}
	return time.Time{}
}

// parseTwelve chooses between the readings of 12 digits.
func parseTwelve(s string, o Options, zone *time.Location) time.Time {
	short := civil(number(s[:2])+2000, s[2:], zone)
	long := civil(number(s[:4]), s[4:]+"00", zone)
	switch {
	case o.Dates == DatesShortYear, long.IsZero():
		return short
	case o.Dates == DatesLongYear, short.IsZero():
		return long
	case o.Received.IsZero() || short.Sub(o.Received).Abs() <= long.Sub(o.Received).Abs():
		return short
	}
	return long
}

// parseAbsolute reads YYMMDDhhmmsstnnp: tenths of a second, then quarters of an hour ahead of UTC (p is +) or behind
// it (p is -).
func parseAbsolute(s string) time.Time {
	sign, digits := s[15], s[:15]
	if !isDigits(digits) || sign != '+' && sign != '-' {
		return time.Time{}
	}
	quarters := number(s[13:15])
	if quarters > 48 {
		return time.Time{}
	}
	offset := quarters * 15 * 60
	if sign == '-' {
		offset = -offset
	}
	t := civil(number(s[:2])+2000, s[2:12], time.FixedZone("", offset))
	if t.IsZero() {
		return t
	}
	return t.Add(time.Duration(s[12]-'0') * 100 * time.Millisecond)
}

// civil returns the time of a year and MMDDhhmmss, or the zero time when there is no such day or hour. A date of
// zeros has no month 0.
func civil(year int, s string, zone *time.Location) time.Time {
	month, day := time.Month(number(s[:2])), number(s[2:4])
	hour, minute, second := number(s[4:6]), number(s[6:8]), number(s[8:10])
	if hour > 23 || minute > 59 || second > 59 {
		return time.Time{}
	}
	if y, m, d := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Date(); y != year || m != month || d != day {
		return time.Time{}
	}
	return time.Date(year, month, day, hour, minute, second, 0, zone)
}
