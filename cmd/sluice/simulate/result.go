package simulate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/cmd/sluice/course"
	"sluice/cmd/sluice/policy"
	"sluice/window"
)

// Result is what a policy made of a scenario.
type Result struct {
	Scenario string  `json:"scenario"`
	Policy   string  `json:"policy"`
	Seed     uint64  `json:"seed"`
	Seconds  float64 `json:"seconds"` // of virtual time
	Submits  int     `json:"submits"`
	// Accepted, Throttled and Other count the answers: status 0, a throttle, any other. Those on their way when the
	// time was over are not among them.
	Accepted  int `json:"accepted"`
	Throttled int `json:"throttled"`
	Other     int `json:"other"`
	// ThrottledShare is of all submits, ThrottledLater of those after the first quarter; 0 to 1.
	ThrottledShare float64 `json:"throttled_share"`
	ThrottledLater float64 `json:"throttled_share_later"`
	// Ceiling is what the scenario takes, in messages per second, as the mean over the run; 0: no limit says it.
	Ceiling float64 `json:"ceiling"`
	// Share is what was accepted of what the ceiling allows, ShareLater that after the first quarter; 0 to 1.
	Share      float64 `json:"share_of_ceiling"`
	ShareLater float64 `json:"share_of_ceiling_later"`
	// Reached is the time to 90 % of the ceiling in seconds; absent: never, or unknown.
	Reached *float64 `json:"seconds_to_90_percent,omitempty"`
	// Changes are the steps of the ceiling, and how the policy followed.
	Changes []course.Change `json:"changes,omitempty"`
	// Decisions counts what Sluice's window decided, by reason.
	Decisions []Count `json:"decisions,omitempty"`
	// Notes are what the reader must know: parts of the scenario that were left out, an early end.
	Notes []string `json:"notes,omitempty"`

	course course.Course
}

// Count is how often something was decided.
type Count struct {
	Reason string `json:"reason"`
	Times  int    `json:"times"`
}

func (s *simulation) result(left []string) Result {
	whole := s.now.Truncate(course.Width)
	later := (whole / 4).Truncate(course.Width)
	r := Result{
		Scenario: s.Scenario.Name, Policy: s.Policy, Seed: s.Seed, Seconds: s.now.Seconds(),
		Submits: s.submits, Accepted: s.accepted, Throttled: s.throttled, Other: s.others,
		ThrottledShare: s.course.Throttled(0, s.now), ThrottledLater: s.course.Throttled(later, whole),
		Share: s.course.Share(0, whole), ShareLater: s.course.Share(later, whole), course: s.course,
	}
	for _, b := range s.course {
		r.Ceiling += b.Capacity / float64(len(s.course))
	}
	if at, ok := s.course.Reached(0); ok {
		seconds := at.Seconds()
		r.Reached = &seconds
	}
	r.Changes = s.course.Changes(s.Scenario)
	r.Decisions = s.decided.sorted()
	for _, part := range left {
		r.Notes = append(r.Notes, "not simulated: "+part)
	}
	if r.Ceiling == 0 {
		r.Notes = append(r.Notes, "no limit of the scenario says how much is taken")
	}
	if s.submits >= mostSubmits {
		r.Notes = append(r.Notes, fmt.Sprintf("ended after %s submits", thousands(mostSubmits)))
	}
	return r
}

// Table writes the figures for people.
func (r Result) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	known := func(v string) string {
		if r.Ceiling == 0 {
			return "unknown"
		}
		return v
	}
	reached := "never"
	if r.Reached != nil {
		reached = fmt.Sprintf("%.1f s", *r.Reached)
	}
	var reasons []string
	for _, d := range r.Decisions {
		reasons = append(reasons, fmt.Sprintf("%s %s", thousands(d.Times), d.Reason))
	}
	rows := [][2]string{
		{"scenario", r.Scenario},
		{"policy", fmt.Sprintf("%s, seed %d", r.Policy, r.Seed)},
		{"virtual time", fmt.Sprintf("%.1f s", r.Seconds)},
		{"submits", thousands(r.Submits)},
		{"accepted", thousands(r.Accepted)},
		{"throttled", fmt.Sprintf("%s (%.2f %%; after the first quarter %.2f %%)", thousands(r.Throttled), 100*r.ThrottledShare, 100*r.ThrottledLater)},
		{"other answers", thousands(r.Other)},
		{"ceiling", known(fmt.Sprintf("%.1f/s on average", r.Ceiling))},
		{"share of ceiling", known(fmt.Sprintf("%.1f %% (after the first quarter %.1f %%)", 100*r.Share, 100*r.ShareLater))},
		{"90 % after", known(reached)},
		{"decisions", cmp.Or(strings.Join(reasons, ", "), "none: the policy keeps no log")},
	}
	for _, c := range r.Changes {
		rows = append(rows, [2]string{"change", c.String()})
	}
	for _, row := range rows {
		if _, err := fmt.Fprintf(t, "%s\t%s\n", row[0], row[1]); err != nil {
			return err
		}
	}
	return t.Flush()
}

// decided counts what is new in the controller's log, which keeps the newest decisions alone.
type decided struct {
	seen   uint64
	counts map[window.Reason]int
}

func (d *decided) look(p policy.Policy) {
	s, ok := p.(*policy.Sluice)
	if !ok {
		return
	}
	for _, x := range s.Controller().Decisions() {
		if x.Seq > d.seen {
			d.seen = x.Seq
			if d.counts == nil {
				d.counts = map[window.Reason]int{}
			}
			d.counts[x.Reason]++
		}
	}
}

// sorted has the most frequent first.
func (d *decided) sorted() (all []Count) {
	for reason, times := range d.counts {
		all = append(all, Count{Reason: string(reason), Times: times})
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// thousands writes a count with commas.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// length is the time that the chart shows.
func (r Result) length() time.Duration { return time.Duration(len(r.course)) * course.Width }
