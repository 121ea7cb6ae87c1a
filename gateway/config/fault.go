package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/gateway/printable"
)

// Fault is one thing wrong with a configuration.
type Fault struct {
	// Pos is file:line:column, as much of it as is known.
	Pos string
	// Path names the field, for example accounts.acme.rate.declared.
	Path string
	// Value is what was written; empty for what is missing or secret.
	Value string
	// Problem says what is wrong, Remedy what would be right.
	Problem, Remedy string

	at position
}

// Error is one line: position, path, value, problem and remedy.
func (f *Fault) Error() string {
	var b strings.Builder
	if f.Pos != "" {
		b.WriteString(printable.String(f.Pos) + ": ")
	}
	if f.Path != "" {
		b.WriteString(printable.String(f.Path) + ": ") // keys are as they were written
	}
	if f.Value != "" {
		fmt.Fprintf(&b, "%q ", f.Value)
	}
	b.WriteString(printable.String(f.Problem))
	if f.Remedy != "" {
		b.WriteString("; " + printable.String(f.Remedy))
	}
	return b.String()
}

// joined is all faults as one error, in the order of the file; what has no
// place in it comes first.
func joined(faults []error) error {
	place := func(err error) position {
		if f, ok := errors.AsType[*Fault](err); ok {
			return f.at
		}
		return position{}
	}
	slices.SortStableFunc(faults, func(a, b error) int {
		x, y := place(a), place(b)
		return cmp.Or(cmp.Compare(x.line, y.line), cmp.Compare(x.column, y.column))
	})
	return errors.Join(faults...)
}

// valueError is what a type says about a text that it cannot take.
type valueError struct{ problem, remedy string }

func (e *valueError) Error() string { return e.problem + "; " + e.remedy }

// origin remembers where a configuration was read from.
type origin struct {
	file string
	at   map[string]position // by path
	said map[string]bool     // paths that the decoder already reported
}

type position struct{ line, column int }

// place is where path stands, or the nearest part above it that the file has.
func (o *origin) place(path string) position {
	for p := path; p != ""; p = parent(p) {
		if at, ok := o.at[p]; ok {
			return at
		}
	}
	return position{}
}

func (o *origin) format(at position) string {
	if at.line == 0 {
		return o.file
	}
	if o.file == "" {
		return fmt.Sprintf("line %d, column %d", at.line, at.column)
	}
	return fmt.Sprintf("%s:%d:%d", o.file, at.line, at.column)
}

// reported says whether the decoder found fault with path or a part above it.
func (o *origin) reported(path string) bool {
	for p := path; p != ""; p = parent(p) {
		if o.said[p] {
			return true
		}
	}
	return false
}

func parent(path string) string {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return ""
	}
	return path[:i]
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
