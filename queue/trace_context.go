package queue

// Headers of the W3C Trace Context recommendation.
const (
	headerTraceParent = "traceparent"
	headerTraceState  = "tracestate"
)

// maxTraceState is what the recommendation asks everybody to pass on (section
// 3.3.1.5).
const maxTraceState = 512

// traceOf reads the trace that a message belongs to. It is echoed in events, so
// what does not have the form is dropped: it could be anything.
func traceOf(header func(key string) string) (parent, state string) {
	parent, state = header(headerTraceParent), header(headerTraceState)
	if !validTraceParent(parent) {
		return "", ""
	}
	if len(state) > maxTraceState || !printableASCII(state) {
		state = ""
	}
	return parent, state
}

// validTraceParent checks for version, trace id, parent id and flags: 2, 32, 16
// and 2 lower-case hexadecimal digits (section 3.2).
func validTraceParent(s string) bool {
	const form = "00-00000000000000000000000000000000-0000000000000000-00"
	if len(s) != len(form) {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case form[i] == '-' && c == '-':
		case form[i] == '0' && (isDigit(c) || 'a' <= c && c <= 'f'):
		default:
			return false
		}
	}
	return true
}

func printableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
