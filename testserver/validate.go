package testserver

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/smpp/pdu"
)

// faults of a scenario are collected here, so that all are reported at once.
type findings []error

// wrong notes a field, its value, and what would be right.
func (f *findings) wrong(field string, value any, remedy string) {
	*f = append(*f, fmt.Errorf("%s: %v: %s", field, value, remedy))
}

func (f findings) err() error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("testserver: scenario: %w", errors.Join(f...))
}

// Validate reports everything that is wrong with the scenario, naming each field, its value and the remedy.
func (sc *Scenario) Validate() error {
	var f findings
	sc.Bind.check(&f)
	if l := sc.Link; l.Interval < 0 || l.Timeout < 0 || l.Idle < 0 {
		f.wrong("link", fmt.Sprintf("interval %v, timeout %v, idle %v", l.Interval, l.Timeout, l.Idle), "times are 0 or more")
	}
	for i := range sc.Limits {
		sc.Limits[i].check(&f, fmt.Sprintf("limits[%d]", i))
	}
	sc.Latency.check(&f, "latency")
	for i := range sc.Errors {
		field := fmt.Sprintf("errors[%d]", i)
		rule := &sc.Errors[i]
		rule.check(&f, field)
		if (rule.Status == 0) == (len(rule.Script) == 0) {
			f.wrong(field, fmt.Sprintf("status %#x, script of %d", uint32(rule.Status), len(rule.Script)),
				"give a status other than 0, or a script of statuses, and not both")
		}
	}
	for i := range sc.Faults {
		sc.Faults[i].check(&f, fmt.Sprintf("faults[%d]", i))
	}
	sc.MessageID.check(&f)
	sc.Receipts.check(&f)
	if len(sc.SystemID) > 15 {
		f.wrong("system_id", fmt.Sprintf("%d octets", len(sc.SystemID)), "at most 15 fit into a bind response")
	}
	return f.err()
}

func (b *BindRules) check(f *findings) {
	if b.Max < 0 {
		f.wrong("bind.max", b.Max, "give the number of sessions an account may have, or 0 for no limit")
	}
	if b.Ghost < 0 {
		f.wrong("bind.ghost", b.Ghost, "give a time such as 120s, or 0 for none")
	}
	if b.Ghost > 0 && b.Max == 0 {
		f.wrong("bind.ghost", b.Ghost, "a ghost needs a place to hold: set bind.max too")
	}
	if b.Lockout < 0 {
		f.wrong("bind.lockout", b.Lockout, "give a time such as 30s, or 0 for none")
	}
	if b.Refuse.Silent && b.Refuse.Drop {
		f.wrong("bind.refuse", "silent and drop", "choose one of them")
	}
	if b.Refuse.Times < 0 || b.Refuse.For < 0 {
		f.wrong("bind.refuse", fmt.Sprintf("times %d, for %v", b.Refuse.Times, b.Refuse.For), "both are 0 or more")
	}
}

func (s Span) check(f *findings, field string) {
	if s.Min < 0 || s.Max != 0 && s.Max < s.Min {
		f.wrong(field, fmt.Sprintf("%v-%v", s.Min, s.Max), "give a time such as 20ms, or a range such as 5ms-20ms")
	}
}

func (m *Match) check(f *findings, field string) {
	if m.Share < 0 || m.Share > 1 {
		f.wrong(field+".share", float64(m.Share), "give a share from 0 to 1, such as 1% or 0.01")
	}
	if m.Nth > 0 && m.Every > 0 {
		f.wrong(field, fmt.Sprintf("nth %d and every %d", m.Nth, m.Every), "choose one of them")
	}
	if m.To != "" && (m.Prefix != "" || m.Suffix != "") {
		f.wrong(field+".to", "set beside prefix or suffix", "to is the whole address: leave the others out")
	}
}

// oneOf notes a word that is not in the list; "" is always right.
func oneOf[T ~string](f *findings, field string, value T, words ...T) {
	if value == "" || slices.Contains(words, value) {
		return
	}
	var all []string
	for _, word := range words {
		all = append(all, string(word))
	}
	f.wrong(field, fmt.Sprintf("%q", string(value)), "write one of "+strings.Join(all, ", "))
}

// validate checks a limit by itself.
func (l *Limit) validate(field string) error {
	var f findings
	l.check(&f, field)
	return f.err()
}

func (x *Fault) check(f *findings, field string) {
	x.Match.check(f, field)
	x.By.check(f, field+".by")
	if x.Kind == "" {
		f.wrong(field+".kind", `""`, "write one of swallow, delay, duplicate, reorder, nack, congestion, disconnect, unbind, "+
			"stop_reading, drip, garbage, oversized")
	}
	oneOf(f, field+".kind", x.Kind, FaultSwallow, FaultDelay, FaultDuplicate, FaultReorder, FaultNack, FaultCongestion,
		FaultDisconnect, FaultUnbind, FaultStopReading, FaultDrip, FaultGarbage, FaultOversized)
	oneOf(f, field+".when", x.When, After, Before)
	oneOf(f, field+".how", x.How, FIN, RST)
	if x.Kind == FaultDelay && x.By.Max == 0 {
		f.wrong(field+".by", x.By.Max, "give the time to add, such as 2s")
	}
	if _, err := hex.DecodeString(x.Hex); err != nil {
		f.wrong(field+".hex", fmt.Sprintf("%q", x.Hex), "give octets as pairs of hex digits")
	}
	if x.Kind == FaultCongestion && (x.Value < 0 || x.Value > 99) {
		f.wrong(field+".value", x.Value, "congestion_state goes from 0 to 99")
	}
	if x.Kind == FaultOversized && x.Value != 0 && (x.Value < pdu.HeaderLen || x.Value > 16<<20) {
		f.wrong(field+".value", x.Value, "give the length of the PDU in octets, 16 to 16777216")
	}
	if x.Copies < 0 {
		f.wrong(field+".copies", x.Copies, "give a number of copies, 1 or more")
	}
}

func (m *MessageID) check(f *findings) {
	oneOf(f, "message_id.format", m.Format, Decimal, Hex, UUID)
	if m.Width < 0 || m.Width > 64 {
		f.wrong("message_id.width", m.Width, "give the number of digits, 0 to 64")
	}
}

func (r *Receipts) check(f *findings) {
	r.Receipt.check(f, "receipts")
	if r.Redeliver < 0 {
		f.wrong("receipts.redeliver", r.Redeliver, "give a time such as 5s, or 0 for none")
	}
	for i := range r.Rules {
		field := fmt.Sprintf("receipts.rules[%d]", i)
		r.Rules[i].Match.check(f, field)
		r.Rules[i].Receipt.check(f, field)
	}
}

func (r *Receipt) check(f *findings, field string) {
	oneOf(f, field+".state", r.State, Enroute, Delivered, Expired, Deleted, Undeliverable, Accepted, Unknown, Rejected)
	oneOf(f, field+".form", r.Form, TextForm, TLVForm, Both)
	oneOf(f, field+".id", r.ID, Decimal, Hex, UUID)
	r.Delay.check(f, field+".delay")
	if r.Width < 0 || r.Width > 64 {
		f.wrong(field+".width", r.Width, "give the number of digits, 0 to 64")
	}
	if r.Copies < 0 || r.Copies > 1000 {
		f.wrong(field+".copies", r.Copies, "give a number of further copies, 0 to 1000")
	}
}
