package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Result is what both senders made of the same messages.
type Result struct {
	// Offered counts the messages that each sender was given, Bad those among them to recipients that do not exist.
	Offered int   `json:"offered"`
	Bad     int   `json:"bad"`
	Naive   Score `json:"naive"`
	Sluice  Paced `json:"sluice"`
}

// Score is one sender's run.
type Score struct {
	// Submits counts every submit_sm that the SMSC read, Throttled those that it answered with a throttle.
	Submits   int `json:"submits"`
	Throttled int `json:"throttled"`
	// Failed counts the messages that the sender has written down as failed.
	Failed int `json:"failed"`
	// Accepted counts the messages that the SMSC has accepted, each once.
	Accepted int `json:"accepted"`
	// Lost counts the messages to good recipients that will never arrive.
	Lost int `json:"lost"`
	// Seconds is the time from the first submit to the last.
	Seconds float64 `json:"seconds"`
}

// Paced is the run of a sender that follows the ceiling.
type Paced struct {
	Score
	// Goodput is the share of the ceiling that was used, 0 to 1: answers without a throttle over the integral of the
	// ceiling, from the end of the warm-up to the last submit of a message that had not been submitted before.
	Goodput float64 `json:"goodput"`
}

// JSON is the result as one object on one line.
func (r Result) JSON() ([]byte, error) { return json.Marshal(r) }

// Table writes the result for people: a row for each sender and a sentence that says what they show.
func (r Result) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	rows := []string{
		"\tsubmits\tthrottled\tterminal failures\taccepted\tlost\t\n",
		r.Naive.row("naive"),
		r.Sluice.row("Sluice"),
	}
	for _, row := range rows {
		if _, err := io.WriteString(t, row); err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.sentence())
	return err
}

func (s Score) row(name string) string {
	cells := []string{name}
	for _, n := range []int{s.Submits, s.Throttled, s.Failed, s.Accepted, s.Lost} {
		cells = append(cells, thousands(n))
	}
	return strings.Join(cells, "\t") + "\t\n"
}

func (r Result) sentence() string {
	kept := "lost none"
	if r.Sluice.Lost > 0 {
		kept = "lost " + thousands(r.Sluice.Lost)
	}
	return fmt.Sprintf("Of %s good messages the naive sender lost %s, because it took \"slow down\" for \"failed\"; "+
		"Sluice %s and used %.0f %% of what the SMSC would take.",
		thousands(r.Offered-r.Bad), thousands(r.Naive.Lost), kept, 100*r.Sluice.Goodput)
}

// thousands writes a count with commas.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
