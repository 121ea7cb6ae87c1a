package pdu

const (
	secondsPerMinute = 60
	secondsPerHour   = 60 * secondsPerMinute
	secondsPerDay    = 24 * secondsPerHour

	// A relative time counts months and years whose length the centre decides.
	// Taking the longest there are, the time announced is never longer than the
	// time asked for.
	daysPerMonth    = 31
	monthsPerYear   = 12
	daysPerYear     = 366
	maxRelativeTime = 100*daysPerYear*secondsPerDay - 1

	year2000 = 946684800  // 2000-01-01T00:00:00Z in Unix seconds
	year2100 = 4102444800 // 2100-01-01T00:00:00Z in Unix seconds
)

// Time is an SMPP time (SMPP 3.4 section 7.1.1).
type Time struct {
	Relative bool  // counted from the time of the centre
	Seconds  int64 // since 1970-01-01T00:00:00Z, or from now when Relative
}

// AppendRelativeTime writes a time of so many seconds from now behind dst, such
// as "000002000000000R" for two days, for validity_period and
// schedule_delivery_time (SMPP 3.4 section 7.1.1.2). The range is 1 s to 100
// years. Up to 31 days it is exact. Beyond, it uses months and years, which it
// counts as 31 and 366 days: the centre then reads up to three days less for
// each month, never more.
func AppendRelativeTime(dst []byte, seconds int64) ([]byte, error) {
	if seconds < 1 || seconds > maxRelativeTime {
		return dst, &TimeError{Seconds: seconds, Min: 1, Max: maxRelativeTime}
	}
	days, rest := seconds/secondsPerDay, seconds%secondsPerDay
	var years, months int64
	if days > daysPerMonth {
		years, days = days/daysPerYear, days%daysPerYear
		months, days = days/daysPerMonth, days%daysPerMonth
	}
	dst = appendTimeFields(dst, years, months, days, rest)
	return append(dst, "000R"...), nil
}

// AppendAbsoluteTime writes a time in Unix seconds behind dst, in UTC, such as
// "261130120000000+" (SMPP 3.4 section 7.1.1.1). The years are 2000 to 2099,
// because the format has two digits for them.
func AppendAbsoluteTime(dst []byte, unix int64) ([]byte, error) {
	if unix < year2000 || unix >= year2100 {
		return dst, &TimeError{Seconds: unix, Min: year2000, Max: year2100 - 1}
	}
	year, month, day := civil(unix / secondsPerDay)
	dst = appendTimeFields(dst, year-2000, month, day, unix%secondsPerDay)
	return append(dst, "000+"...), nil
}

// appendTimeFields writes YYMMDDhhmmss; of is the time of the day in seconds.
func appendTimeFields(dst []byte, years, months, days, of int64) []byte {
	for _, v := range [...]int64{years, months, days, of / secondsPerHour, of / secondsPerMinute % 60, of % 60} {
		dst = append(dst, byte('0'+v/10), byte('0'+v%10))
	}
	return dst
}

// ParseTime reads an SMPP time of 16 octets. ok is false when b is none, an empty
// b included. Tenths of a second are dropped. The quarter hours of an absolute
// time are the sender's offset from UTC: "+" when it is ahead, "-" when it is
// behind. In a relative time a month counts 31 days and a year 366, as in
// AppendRelativeTime.
func ParseTime(b []byte) (t Time, ok bool) {
	if len(b) != timeLen {
		return Time{}, false
	}
	var v [7]int64 // YY MM DD hh mm ss, then nn
	for i := range v {
		at := 2 * i
		if i == 6 {
			at = 13 // behind the tenths
		}
		hi, lo := b[at]-'0', b[at+1]-'0'
		if hi > 9 || lo > 9 {
			return Time{}, false
		}
		v[i] = int64(hi)*10 + int64(lo)
	}
	if b[12]-'0' > 9 || v[3] > 23 || v[4] > 59 || v[5] > 59 {
		return Time{}, false
	}
	of := v[3]*secondsPerHour + v[4]*secondsPerMinute + v[5]
	if b[15] == 'R' {
		days := v[0]*daysPerYear + v[1]*daysPerMonth + v[2]
		return Time{Relative: true, Seconds: days*secondsPerDay + of}, true
	}
	if v[1] < 1 || v[1] > monthsPerYear || v[2] < 1 || v[6] > 48 {
		return Time{}, false
	}
	day := dayNumber(2000+v[0], v[1], v[2])
	if _, month, _ := civil(day); month != v[1] { // the 30th of February, say
		return Time{}, false
	}
	offset := v[6] * 15 * secondsPerMinute
	switch b[15] {
	case '+':
		return Time{Seconds: day*secondsPerDay + of - offset}, true
	case '-':
		return Time{Seconds: day*secondsPerDay + of + offset}, true
	}
	return Time{}, false
}

// The two functions below convert between a date of the Gregorian calendar and
// the number of days since 1970-01-01, from year 1 on. The year is taken to start
// in March, so that the leap day is its last; 153 days are five months of 31, 30,
// 31, 30 and 31 days; 719468 days lie between 0000-03-01 and 1970-01-01.
const (
	daysPer400Years = 146097
	daysToEpoch     = 719468
)

func dayNumber(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += monthsPerYear
	}
	dayOfYear := (153*(month-3)+2)/5 + day - 1
	return 365*year + year/4 - year/100 + year/400 + dayOfYear - daysToEpoch
}

func civil(day int64) (year, month, dayOfMonth int64) {
	day += daysToEpoch
	era, dayOfEra := day/daysPer400Years, day%daysPer400Years
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/(daysPer400Years-1)) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	fromMarch := (5*dayOfYear + 2) / 153
	dayOfMonth = dayOfYear - (153*fromMarch+2)/5 + 1
	year, month = era*400+yearOfEra, fromMarch+3
	if month > monthsPerYear {
		month -= monthsPerYear
		year++
	}
	return year, month, dayOfMonth
}
