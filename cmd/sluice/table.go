package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/gateway/printable"
)

// printTable aligns rows under a header, if there is one. What cannot be shown in a cell is escaped.
func printTable(w io.Writer, header []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if header != nil {
		rows = append([][]string{header}, rows...)
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = printable.String(cell)
		}
		if _, err := fmt.Fprintln(t, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

// printLine prints one line.
func printLine(w io.Writer, text string) error {
	_, err := fmt.Fprintln(w, printable.String(text))
	return err
}

// unwrapped is the file or buffer behind a writer of the app.
func unwrapped(w io.Writer) io.Writer {
	if p, ok := w.(*printable.Writer); ok {
		return p.To
	}
	return w
}

// printJSON prints v indented.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// ago is an age to the second.
func ago(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return time.Since(t).Round(time.Second).String()
}

// dash gives an empty cell a dash.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// oneOf lists the values that a flag takes.
func oneOf[S ~string](values []S) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return strings.Join(names, ", ")
}
