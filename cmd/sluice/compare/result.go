package compare

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"sluice/cmd/sluice/course"
)

// Result is what each sender made of the same SMSC.
type Result struct {
	Scenario string `json:"scenario"`
	// Seconds is how long each sent, WarmUp the part of it that the shares leave out.
	Seconds   float64 `json:"seconds"`
	WarmUp    float64 `json:"warm_up_seconds"`
	WindowMax int     `json:"window_max,omitempty"`
	Rows      []Row   `json:"senders"`
}

// Row is one sender's run.
type Row struct {
	Policy string `json:"policy"`
	// Submits counts every submit_sm that the SMSC read, Throttled those that it answered with 0x58 or 0x14, Accepted
	// those with status 0.
	Submits   int `json:"submits"`
	Throttled int `json:"throttled"`
	// Failed counts the messages that the sender has written down as failed, Lost those that will never arrive though
	// the SMSC would have taken them later.
	Failed   int `json:"failed"`
	Accepted int `json:"accepted"`
	Lost     int `json:"lost"`
	// Seconds is the time from the first submit to the last.
	Seconds float64 `json:"seconds"`
	// Share is what was accepted of what the ceiling allows, ThrottledShare is of the submits, both after the warm-up
	// and from 0 to 1. A share of 0 may also mean that the ceiling is unknown.
	Share          float64 `json:"share_of_ceiling"`
	ThrottledShare float64 `json:"throttled_share"`
	// Score is Share × (1 − 10 × ThrottledShare).
	Score float64 `json:"score"`
	// Changes are the steps of the ceiling, and how the sender followed.
	Changes []course.Change `json:"changes,omitempty"`
}

func header() []string {
	return []string{"sender", "submits", "throttled", "terminal failures", "accepted", "lost", "seconds", "share of ceiling", "throttled after warm-up", "score"}
}

func (r Row) cells() []string {
	cells := []string{r.Policy}
	for _, n := range []int{r.Submits, r.Throttled, r.Failed, r.Accepted, r.Lost} {
		cells = append(cells, strconv.Itoa(n))
	}
	return append(cells, fmt.Sprintf("%.1f", r.Seconds), fmt.Sprintf("%.1f %%", 100*r.Share),
		fmt.Sprintf("%.2f %%", 100*r.ThrottledShare), fmt.Sprintf("%.3f", r.Score))
}

// title says what was compared.
func (r Result) title() string {
	title := fmt.Sprintf("%s, %.0f s each, shares without the first %.0f s", r.Scenario, r.Seconds, r.WarmUp)
	if r.WindowMax > 0 {
		title += fmt.Sprintf(", window.max %d", r.WindowMax)
	}
	return title
}

// Table writes the result for people.
func (r Result) Table(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s\n\n", r.title()); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	rows := [][]string{header()}
	for _, row := range r.Rows {
		rows = append(rows, row.cells())
	}
	for _, cells := range rows {
		if _, err := fmt.Fprintln(t, strings.Join(cells, "\t")+"\t"); err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return r.writeChanges(w, "")
}

// Markdown writes the result for documents.
func (r Result) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n\n| %s |\n|---%s|\n", r.title(), strings.Join(header(), " | "), strings.Repeat("|---:", len(header())-1))
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row.cells(), " | "))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return r.writeChanges(w, "- ")
}

// writeChanges says how each sender followed the steps of the ceiling.
func (r Result) writeChanges(w io.Writer, bullet string) error {
	var b strings.Builder
	for _, row := range r.Rows {
		for _, change := range row.Changes {
			fmt.Fprintf(&b, "%s%s: %s\n", bullet, row.Policy, change)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(w, "\n"+b.String())
	return err
}
