package pdu

import "fmt"

// FieldError reports a field whose value is refused, by Append in most cases. It
// carries lengths only: contents are message texts, phone numbers and passwords.
type FieldError struct {
	Field  string // name in the specification, such as "source_addr"
	Length int    // octets (or elements, for lists) in the value given
	Limit  int    // the most the field can hold, a terminating NUL not counted
	Reason string // why the value is refused when its length is not the cause, or ""
}

// Error names the field, the length of its value and the limit.
func (e *FieldError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("%s (length %d, limit %d) %s", e.Field, e.Length, e.Limit, e.Reason)
	}
	return fmt.Sprintf("%s has length %d, the limit is %d", e.Field, e.Length, e.Limit)
}

// TruncatedError reports that the octets end before or inside a mandatory
// field.
type TruncatedError struct {
	Field string // name of the first field that is not complete
}

// Error names the field.
func (e *TruncatedError) Error() string { return "the octets end inside " + e.Field }

// UnknownCommandError reports a command id that this package cannot parse. The
// stream is intact: answer with generic_nack and StatusInvCmdID and go on.
type UnknownCommandError struct {
	ID CommandID
}

// Error names the command id.
func (e *UnknownCommandError) Error() string { return "pdu: unknown command " + e.ID.String() }

// TimeError reports a number of seconds that an SMPP time cannot express.
type TimeError struct {
	Seconds  int64 // the value given
	Min, Max int64 // the range, in seconds
}

// Error names the value and the range.
func (e *TimeError) Error() string {
	return fmt.Sprintf("pdu: a time of %d s is not between %d and %d s", e.Seconds, e.Min, e.Max)
}
