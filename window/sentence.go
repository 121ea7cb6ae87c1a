package window

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// String is a sentence for the operator, with the time of day at its start, for example "12:00:01 probe to 31.0/s
// refused after 182 accepted; ceiling stays 30.7/s; next probe in 500 messages".
func (d Decision) String() string {
	said := d.sentence()
	if d.Own {
		said = fmt.Sprintf("bind %d: %s", d.Bind, said)
	}
	if d.At.IsZero() {
		return said
	}
	return d.At.Format(time.TimeOnly) + " " + said
}

func (d Decision) sentence() string {
	switch d.Reason {
	case ReasonApart:
		return fmt.Sprintf("bind %d has %s of %s refusals and %.0f %% of the submits: it takes %s and has a ceiling of its own; that of the others is %s", d.Bind, count(d.Refused), count(d.Refused+d.Accepted), 100*d.Share, rate(d.Kept), rate(d.Ceiling))
	case ReasonTogether:
		return fmt.Sprintf("bind %d takes %s, as much as the others: it shares their ceiling of %s", d.Bind, rate(d.Kept), rate(d.Ceiling))
	case ReasonStart:
		return fmt.Sprintf("start at %s: nothing is known about the SMSC", rate(d.Pace))
	case ReasonDeclared:
		if d.Kept > 0 {
			return fmt.Sprintf("probe reached the declared rate of %s, which is the ceiling now", rate(d.Ceiling))
		}
		return fmt.Sprintf("start at %s, just below the declared rate of %s", rate(d.Pace), rate(d.Ceiling))
	case ReasonMemory:
		return fmt.Sprintf("start at %s: a ceiling of %s is remembered", rate(d.Pace), rate(d.Tried))
	case ReasonProbeUp:
		return fmt.Sprintf("probe to %s, ceiling %s", rate(d.Tried), rate(d.Ceiling))
	case ReasonProbeKept:
		return fmt.Sprintf("%s stood %s accepted; probe goes on to %s; %s", rate(d.Kept), count(d.Accepted), rate(d.Tried), d.ceiling())
	case ReasonProbeRefused:
		return fmt.Sprintf("probe to %s refused after %s accepted; %s; %s", rate(d.Tried), count(d.Accepted), d.ceiling(), d.next())
	case ReasonProbeUnused:
		return fmt.Sprintf("probe to %s ends unused, too few places to try it; %s; %s", rate(d.Tried), d.ceiling(), d.next())
	case ReasonProbeUnanswered:
		return fmt.Sprintf("probe to %s ends, %s of its messages are not answered; %s; %s", rate(d.Tried), count(d.Unanswered), d.ceiling(), d.next())
	case ReasonProbeIdle:
		return fmt.Sprintf("probe to %s ends, too few messages to try it; %s", rate(d.Tried), d.ceiling())
	case ReasonCutExcess:
		return fmt.Sprintf("%s of %s refused; %s; window %s; %s", count(d.Refused), count(d.Accepted+d.Refused), d.ceiling(), d.window(), d.next())
	case ReasonHold:
		if d.Unanswered > 0 {
			return fmt.Sprintf("%s sent and none answered for %s: silence but for tests", count(d.Unanswered), span(d.Held))
		}
		return fmt.Sprintf("%s refused and none accepted: silence, first test in %s", count(d.Refused), span(d.Wait))
	case ReasonHoldTest:
		what := "not answered"
		if d.Refused > 0 {
			what = "refused"
		}
		return fmt.Sprintf("test message %s, next one in %s", what, span(d.Wait))
	case ReasonResume:
		return fmt.Sprintf("test message accepted after %s of silence; %s; no probe for %s", span(d.Held), d.ceiling(), span(d.Wait))
	case ReasonCongestion:
		if d.WindowWas > 0 {
			return fmt.Sprintf("congestion %d reported; %s; window %s; %s", d.Congestion, d.ceiling(), d.window(), d.next())
		}
		return fmt.Sprintf("load %d reported: no probe for %s, ceiling stays %s", d.Congestion, span(d.Wait), rate(d.Ceiling))
	case ReasonNoiseTest, ReasonNoise, ReasonNoiseGone:
		return d.noiseSentence()
	case ReasonAlarm:
		return "alarm: " + d.Alarm.String()
	case ReasonAlarmOver:
		if all := d.Accepted + d.Refused; all > 0 {
			return fmt.Sprintf("alarm over: %s of the last %s refused", count(d.Refused), count(all))
		}
		return "alarm over: what to make of the refusals is decided"
	case ReasonOperator:
		return "operator: " + d.operatorSentence()
	case ReasonDisconnect:
		return fmt.Sprintf("bind %d is lost with %s unanswered; ceiling stays %s", d.Bind, count(d.Unanswered), rate(d.Ceiling))
	default:
		return "nothing decided"
	}
}

func (d Decision) noiseSentence() string {
	all := d.Accepted + d.Refused
	seen := fmt.Sprintf("%s of %s refused", count(d.Refused+d.SlowRefused), count(all+d.SlowAnswers))
	if all > 0 && d.SlowAnswers > 0 {
		seen += fmt.Sprintf(": %s at full pace, %s at %.0f %% less", ratio(d.Refused, all), ratio(d.SlowRefused, d.SlowAnswers), 100*d.Slower)
	}
	if all+d.SlowAnswers == 0 {
		seen = percent(d.Noise) + " is ignored"
	}
	switch d.Reason {
	case ReasonNoiseTest:
		return fmt.Sprintf("%s; test whether that follows the pace: %s for %s answers", seen, rate(d.Pace), count(d.Owed))
	case ReasonNoise:
		return fmt.Sprintf("%s: not about our pace; %s is ignored, next test in %s messages", seen, percent(d.Noise), count(d.Owed))
	default:
		if d.Noise > 0 {
			return fmt.Sprintf("%s: no more than the %s to ignore", seen, percent(d.Noise))
		}
		return seen + ": none is ignored any more"
	}
}

func (d Decision) operatorSentence() string {
	if d.Forgot {
		return fmt.Sprintf("the learned ceiling of %s is forgotten", rate(d.Ceiling))
	}
	declared, most := "no declared rate", "no window cap"
	if d.Declared > 0 {
		declared = "declared rate " + rate(d.Declared)
	}
	if d.MaxWindow > 0 {
		most = "window cap " + count(d.MaxWindow)
	}
	return fmt.Sprintf("%s, %s; %s", declared, most, d.ceiling())
}

func (d Decision) ceiling() string {
	now := rate(d.Ceiling)
	if was := rate(d.Was); was != now {
		return "ceiling goes from " + was + " to " + now
	}
	return "ceiling stays " + now
}

func (d Decision) window() string {
	if d.Window == d.WindowWas {
		return "stays " + count(d.Window)
	}
	return "goes from " + count(d.WindowWas) + " to " + count(d.Window)
}

func (d Decision) next() string {
	if d.Owed > 0 {
		return "next probe in " + count(d.Owed) + " messages"
	}
	return "next probe in " + span(d.Wait)
}

// rate prints messages per second with three or four digits.
func rate(r float64) string {
	switch {
	case r < 9.995:
		return strconv.FormatFloat(r, 'f', 2, 64) + "/s"
	case r < 999.95:
		return strconv.FormatFloat(r, 'f', 1, 64) + "/s"
	default:
		return count(int(math.Round(r))) + "/s"
	}
}

// count prints an integer with commas between thousands.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func ratio(n, of int) string { return percent(float64(n) / float64(of)) }

func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }

// span prints a duration with as many digits as help; "5m" rather than "5m0s".
func span(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		d = d.Round(time.Millisecond)
	default:
		d = d.Round(time.Second)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	return s
}

func roundUp(x float64) int { return int(math.Ceil(x)) }
