package classify

import (
	"bytes"
	_ "embed" // the default table is data
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"sluice/smpp/pdu"
)

//go:embed command_status.csv
var commandStatusCSV []byte

const (
	originDefault = "default table"

	// escalates is the phrase by which the rationale of a row marks a field-shape status.
	escalates = "escalate to config"
)

// Default returns the table of all statuses of SMPP 3.4 (section 5.1.3) and 5.0 (section 4.7.6), with the
// reserved and vendor ranges, so that every number has a verdict.
func Default() *Table {
	t, err := parseTable(commandStatusCSV)
	if err != nil {
		panic("classify: the embedded table is broken: " + err.Error()) // a fault of the build, not of any input
	}
	return t
}

// parseTable builds the three phases from the rows of the CSV.
func parseTable(data []byte) (*Table, error) {
	records, err := readRecords(data, 7)
	if err != nil {
		return nil, err
	}
	t := &Table{single: make(map[key]*Row, len(Phases())*len(records))}
	for _, rec := range records {
		base, err := parseRow(rec)
		if err != nil {
			return nil, err
		}
		for _, p := range Phases() {
			r := inPhase(base, p)
			r.Default = r.Verdict.Class
			r.Verdict.Why = why(&r)
			if r.Low == r.High {
				t.single[key{p, r.Low}] = &r
			} else {
				t.ranges[p] = append(t.ranges[p], &r)
			}
		}
	}
	return t, nil
}

// readRecords reads a CSV with a heading and a fixed number of columns, and returns what follows the heading.
func readRecords(data []byte, columns int) ([][]string, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = columns
	records, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) < 2 {
		return nil, fmt.Errorf("no rows")
	}
	return records[1:], nil
}

// parseRow reads code_hex, name, spec, meaning, default_class, scope, rationale.
func parseRow(rec []string) (Row, error) {
	low, high, err := parseCodes(rec[0])
	if err != nil {
		return Row{}, err
	}
	class, err := ParseClass(rec[4])
	if err != nil {
		return Row{}, fmt.Errorf("%s: %w", rec[0], err)
	}
	scope, err := parseScope(rec[5])
	if err != nil {
		return Row{}, fmt.Errorf("%s: %w", rec[0], err)
	}
	return Row{
		Low: low, High: high, Spec: rec[2], Meaning: rec[3], Rationale: rec[6],
		Verdict: Verdict{
			Class: class, Scope: scope, Name: rec[1], Origin: originDefault,
			Shape: strings.Contains(rec[6], escalates),
		},
	}, nil
}

// parseCodes reads "0x00000058" or "0x00000400-0x000004FF".
func parseCodes(s string) (low, high pdu.Status, err error) {
	first, last, isRange := strings.Cut(s, "-")
	if low, err = parseStatus(first); err != nil || !isRange {
		return low, low, err
	}
	high, err = parseStatus(last)
	return low, high, err
}

// parseStatus reads a command_status in hexadecimal with its 0x. A bare number is refused: 58 could be 0x58 or
// 0x3A, and the two mean opposite things.
func parseStatus(s string) (pdu.Status, error) {
	digits, ok := strings.CutPrefix(strings.ToLower(s), "0x")
	if !ok {
		return 0, fmt.Errorf("status %q is not hexadecimal: write it as 0x58", s)
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil {
		return 0, fmt.Errorf("status %q is not a number from 0x0 to 0xFFFFFFFF", s)
	}
	return pdu.Status(n), nil
}

// parseScope reads what Scope.String writes.
func parseScope(s string) (Scope, error) {
	for _, scope := range []Scope{ScopeMessage, ScopeRoute, ScopeBind} {
		if s == scope.String() {
			return scope, nil
		}
	}
	return 0, fmt.Errorf("scope %q is not message, route or bind", s)
}
