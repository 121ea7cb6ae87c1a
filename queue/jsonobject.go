package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// errNotObject reports a payload that is no JSON object.
var errNotObject = errors.New("want one JSON object")

// eachMember calls f for every member of a JSON object, in order, with the
// value as it is written. The library decides first whether b is JSON at all,
// so what follows walks over correct syntax only.
func eachMember(b []byte, f func(key string, value []byte) error) error {
	if !json.Valid(b) {
		return errNotObject
	}
	b = bytes.TrimSpace(b)
	if b[0] != '{' {
		return errNotObject
	}
	return eachPart(b, func(key, value []byte) error {
		if name, ok := contractNames[string(key[1:len(key)-1])]; ok { // no copy
			return f(name, value)
		}
		name, err := unquote(key)
		if err != nil {
			return err
		}
		return f(name, value)
	})
}

// contractNames are the names that a message may have.
//
//nolint:gochecknoglobals // never written to
var contractNames = func() map[string]string {
	names := map[string]string{}
	for _, n := range []string{
		"v", "id", "from", "from_ton", "from_npi", "to", "to_ton", "to_npi", "text", "data", "data_coding", "encoding", "udh",
		"receipt", "expires_in", "expires_at", "if_unknown", "service_type", "protocol_id", "priority_flag",
		"replace_if_present", "tlvs", "tenant", "meta",
	} {
		names[n] = n
	}
	return names
}()

// eachElement calls f for every element of a JSON array that is known to be
// valid.
func eachElement(b []byte, f func(value []byte) error) error {
	return eachPart(b, func(_, value []byte) error { return f(value) })
}

// eachPart walks over a valid object or array; an array has no keys.
func eachPart(b []byte, f func(key, value []byte) error) error {
	object := b[0] == '{'
	at := skipSpace(b, 1)
	for b[at] != '}' && b[at] != ']' {
		var key []byte
		if object {
			end := skipString(b, at)
			key = b[at:end]
			at = skipSpace(b, skipSpace(b, end)+1) // over the colon
		}
		end := skipValue(b, at)
		if err := f(key, b[at:end]); err != nil {
			return err
		}
		at = skipSpace(b, end)
		if b[at] == ',' {
			at = skipSpace(b, at+1)
		}
	}
	return nil
}

func skipSpace(b []byte, at int) int {
	for b[at] == ' ' || b[at] == '\t' || b[at] == '\n' || b[at] == '\r' {
		at++
	}
	return at
}

// skipString returns the place after the string that starts at at.
func skipString(b []byte, at int) int {
	for at++; b[at] != '"'; at++ {
		if b[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// skipValue returns the place after the value that starts at at.
func skipValue(b []byte, at int) int {
	depth := 0
	for ; at < len(b); at++ {
		switch b[at] {
		case '"':
			at = skipString(b, at) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at
			}
			depth--
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return at
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return at + 1
		}
	}
	return at
}

var errNotUTF8 = errors.New("want UTF-8")

// unquote decodes a JSON string; one without escapes costs a copy only. The
// library would turn octets that are not UTF-8, and escapes that are half a
// character, into U+FFFD: they are refused.
func unquote(quoted []byte) (string, error) {
	inner := quoted[1 : len(quoted)-1]
	if !utf8.Valid(inner) {
		return "", errNotUTF8
	}
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	if hasLoneSurrogate(inner) {
		return "", errNotUTF8
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return s, err
}

// hasLoneSurrogate reports whether the \u escapes of a valid string hold one half
// of a pair without the other: a text was cut in the middle of a character.
func hasLoneSurrogate(inner []byte) bool {
	high := false // the escape just before was a first half
	for at := 0; at < len(inner); {
		n, low := 1, false
		next := false
		if inner[at] == '\\' {
			n = 2
			if inner[at+1] == 'u' {
				n = 6
				unit, err := strconv.ParseUint(string(inner[at+2:at+6]), 16, 16)
				next, low = err == nil && unit>>10 == 0xD800>>10, err == nil && unit>>10 == 0xDC00>>10
			}
		}
		if low != high {
			return true
		}
		high = next
		at += n
	}
	return high
}
