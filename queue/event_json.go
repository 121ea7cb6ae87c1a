package queue

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
)

// AppendJSON appends the event as encoding/json would write it. The fields of every event are written by hand, which
// costs a tenth; what few events have is left to the library.
func (e *Event) AppendJSON(b []byte) ([]byte, error) {
	w := objectWriter{b: append(b, '{')}
	w.number("v", int64(e.V), true)
	w.unsigned("seq", e.Seq, false)
	w.text("id", e.ID, false)
	w.text("event_id", e.EventID, true)
	w.text("type", string(e.Type), true)
	w.time("at", e.At, true)
	w.number("delivery", int64(e.Delivery), false)
	w.text("route", e.Route, false)
	w.text("class", e.Class, false)
	w.text("tenant", e.Tenant, false)
	w.text("account", e.Account, false)
	w.text("bind", e.Bind, false)
	w.number("attempt", int64(e.Attempt), false)
	w.yes("provisional", e.Provisional)
	w.number("throttles", int64(e.Throttles), false)
	w.number("segments", int64(e.Segments), false)
	w.number("segments_accepted", int64(e.SegmentsAccepted), false)
	if e.CommandStatus != nil {
		w.unsigned("command_status", uint64(*e.CommandStatus), true)
	}
	w.text("status_name", e.StatusName, false)
	w.text("verdict", e.Verdict, false)
	w.text("reason", e.Reason, false)
	if len(e.Answers) > 0 {
		w.other("answers", e.Answers)
	}
	w.text("detail", e.Detail, false)
	w.text("copy", e.Copy, false)
	w.number("delay_ms", e.DelayMillis, false)
	w.time("next_attempt_at", e.NextAttemptAt, false)
	w.number("queue_age_ms", e.QueueAgeMillis, false)
	w.time("deadline", e.Deadline, false)
	w.number("missed_by_ms", e.MissedByMillis, false)
	if len(e.MessageIDs) > 0 {
		w.name("message_ids")
		for i, id := range e.MessageIDs {
			w.b = append(w.b, "[,"[min(i, 1)])
			w.quoted(id)
		}
		w.b = append(w.b, ']')
	}
	w.yes("possible_duplicate", e.PossibleDuplicate)
	w.unsigned("replay_of", e.ReplayOf, false)
	w.unsigned("replayed_as", e.ReplayedAs, false)
	if e.Receipt != nil {
		w.other("receipt", e.Receipt)
	}
	if len(e.Meta) > 0 {
		w.name("meta")
		for i, key := range slices.Sorted(maps.Keys(e.Meta)) {
			w.b = append(w.b, "{,"[min(i, 1)])
			w.quoted(key)
			w.b = append(w.b, ':')
			w.quoted(e.Meta[key])
		}
		w.b = append(w.b, '}')
	}
	w.text("traceparent", e.TraceParent, false)
	w.text("tracestate", e.TraceState, false)
	if e.State != nil {
		w.other("state", e.State)
	}
	return append(w.b, '}'), w.err
}

// objectWriter writes the members of a JSON object. Without must, a member with the zero value is left out.
type objectWriter struct {
	b   []byte
	err error
}

func (w *objectWriter) name(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, `":`...)
}

func (w *objectWriter) number(name string, n int64, must bool) {
	if n != 0 || must {
		w.name(name)
		w.b = strconv.AppendInt(w.b, n, 10)
	}
}

func (w *objectWriter) unsigned(name string, n uint64, must bool) {
	if n != 0 || must {
		w.name(name)
		w.b = strconv.AppendUint(w.b, n, 10)
	}
}

func (w *objectWriter) text(name, s string, must bool) {
	if s != "" || must {
		w.name(name)
		w.quoted(s)
	}
}

func (w *objectWriter) yes(name string, is bool) {
	if is {
		w.name(name)
		w.b = append(w.b, "true"...)
	}
}

func (w *objectWriter) time(name string, t time.Time, must bool) {
	if t.IsZero() && !must {
		return
	}
	if y := t.Year(); y < 0 || y > 9999 {
		w.other(name, t) // for the library's error
		return
	}
	w.name(name)
	w.b = append(w.b, '"')
	w.b = t.AppendFormat(w.b, time.RFC3339Nano)
	w.b = append(w.b, '"')
}

// quoted writes a string; one with anything that needs an escape is left to the library.
func (w *objectWriter) quoted(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7F || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			w.value(s)
			return
		}
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, s...)
	w.b = append(w.b, '"')
}

func (w *objectWriter) other(name string, v any) {
	w.name(name)
	w.value(v)
}

func (w *objectWriter) value(v any) {
	b, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.b = append(w.b, b...)
}
