package classify

import (
	"slices"

	"sluice/smpp/pdu"
)

// Row is one rule of a table: one status, or a range of statuses with one meaning, in one phase.
type Row struct {
	Phase     Phase
	Low, High pdu.Status // equal for a single status
	Spec      string     // "both", "5.0", "reserved" or "vendor-range"
	Meaning   string     // what the specification, the vendor or the table's source says
	Rationale string     // why the default table has this class
	Source    string     // where a vendor documents its meaning; empty outside profiles
	Default   Class      // what the default table says in this phase, whatever was laid over it
	Verdict   Verdict
}

// key names a single status in one phase.
type key struct {
	phase  Phase
	status pdu.Status
}

// Table gives every status of every phase a verdict. It is immutable, and safe for concurrent use.
type Table struct {
	single map[key]*Row
	ranges [Nack + 1][]*Row // ascending; together with the singles of a phase they cover all numbers
}

// Of returns the verdict on a status. It allocates nothing and knows every number; a phase that does not exist
// is taken as Submit.
func (t *Table) Of(phase Phase, status pdu.Status) Verdict { return t.row(phase, status).Verdict }

// row returns the rule for a status. A single rule goes before the range around it.
func (t *Table) row(phase Phase, status pdu.Status) *Row {
	if phase > Nack {
		phase = Submit
	}
	if r, ok := t.single[key{phase, status}]; ok {
		return r
	}
	ranges := t.ranges[phase]
	i, _ := slices.BinarySearchFunc(ranges, status, func(r *Row, s pdu.Status) int {
		switch {
		case r.High < s:
			return -1
		case r.Low > s:
			return 1
		}
		return 0
	})
	return ranges[min(i, len(ranges)-1)]
}

// Rows returns every rule, by phase and then by number; a single rule inside a range follows the range and goes
// before it in effect.
func (t *Table) Rows() []Row {
	rows := make([]Row, 0, len(t.single)+len(t.ranges)*len(t.ranges[Submit]))
	for _, r := range t.single {
		rows = append(rows, *r)
	}
	for _, ranges := range t.ranges {
		for _, r := range ranges {
			rows = append(rows, *r)
		}
	}
	slices.SortFunc(rows, compareRows)
	return rows
}

// compareRows orders rows by phase, then lowest number, then the wider first.
func compareRows(a, b Row) int {
	switch {
	case a.Phase != b.Phase:
		return int(a.Phase) - int(b.Phase)
	case a.Low != b.Low && a.Low < b.Low:
		return -1
	case a.Low != b.Low:
		return 1
	case a.High > b.High:
		return -1
	case a.High < b.High:
		return 1
	}
	return 0
}

// Explain returns the rule in effect for one status in each phase: submit, bind, nack.
func (t *Table) Explain(status pdu.Status) []Row {
	rows := make([]Row, 0, len(t.ranges))
	for _, p := range Phases() {
		rows = append(rows, *t.row(p, status))
	}
	return rows
}
