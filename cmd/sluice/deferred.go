package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"sluice/gateway/printable"
	"sluice/queue"
)

// deferredMost is how many messages a command about deferred ones takes by default.
const deferredMost = 100

func deferredCommand() *cli.Command {
	choose := func(more ...cli.Flag) []cli.Flag {
		return natsFlags(slices.Concat(whichFlags(), []cli.Flag{
			&cli.StringFlag{Name: "route", Usage: "only messages of this `ROUTE`"},
			&cli.StringFlag{Name: "reason", Usage: "only messages with this `REASON`: " + oneOf(queue.DeferredReasons())},
			&cli.IntFlag{Name: "limit", Value: deferredMost, Usage: "at most this `NUMBER` of messages; 0: all"},
			outputFlag(),
		}, more)...)
	}
	all := &cli.BoolFlag{Name: "all", Usage: "every message, where nothing else chooses"}
	dry := &cli.BoolFlag{Name: "dry-run", Usage: "say what would be done, and do nothing"}
	return &cli.Command{
		Name:         "deferred",
		Usage:        "the messages that were set aside for a person",
		OnUsageError: usageError,
		Subcommands: []*cli.Command{{
			Name:         "list",
			Usage:        "list what is deferred, and why, oldest first",
			UsageText:    "sluice deferred list --reason outcome_unknown",
			OnUsageError: usageError,
			Flags:        choose(),
			Action:       listDeferred,
		}, {
			Name:         "show",
			Usage:        "show one deferred message; its payload, with text and numbers, only when asked",
			UsageText:    "sluice deferred show order-8812-ship\nsluice deferred show 4711 --payload",
			ArgsUsage:    "[MESSAGE]",
			OnUsageError: usageError,
			Flags: natsFlags(append(whichFlags(), outputFlag(),
				&cli.BoolFlag{Name: "payload", Usage: "show the message as it was published: it holds a text and numbers"})...),
			Action: showDeferred,
		}, {
			Name:  "replay",
			Usage: "send deferred messages again: each is published to where it came from, with its delivery id and deadline",
			UsageText: "sluice deferred replay order-8812-ship --expires-in 2h\n" +
				"sluice deferred replay --reason attempts --route main --dry-run",
			ArgsUsage:    "[MESSAGE]",
			OnUsageError: usageError,
			Flags: choose(all, dry,
				durationFlag("expires-in", "a new deadline this `DURATION` from now, at most 7d; without it each keeps its own"),
				&cli.BoolFlag{Name: "force", Usage: "also what is known as accepted, and then marked as a possible duplicate, or known to fail again"}),
			Action: replayDeferred,
		}, {
			Name:         "drop",
			Usage:        "delete deferred messages for good",
			UsageText:    "sluice deferred drop 4711\nsluice deferred drop --reason malformed --dry-run",
			ArgsUsage:    "[MESSAGE]",
			OnUsageError: usageError,
			Flags:        choose(all, dry),
			Action:       dropDeferred,
		}},
	}
}

// chosen says which copies the flags and the argument mean.
type chosen struct {
	which
	filter queue.DeferredFilter
	limit  int
}

func chooseDeferred(c *cli.Context) (s chosen, any bool, err error) {
	if s.which, any, err = named(c); err != nil {
		return s, any, err
	}
	s.filter = queue.DeferredFilter{Route: c.String("route"), Reason: c.String("reason")}
	if s.filter.Reason != "" && !slices.Contains(queue.DeferredReasons(), s.filter.Reason) {
		return s, any, cli.Exit(fmt.Sprintf("--reason %q: use one of %s", s.filter.Reason, oneOf(queue.DeferredReasons())), 2)
	}
	if s.filter.Route != "" {
		if err := queue.CheckName("route", s.filter.Route); err != nil {
			return s, any, cli.Exit(fmt.Sprintf("--route: %v", err), 2)
		}
	}
	if s.limit = c.Int("limit"); s.limit < 0 {
		return s, any, cli.Exit(fmt.Sprintf("--limit %d: use a number from 0", s.limit), 2)
	}
	return s, any || s.filter != (queue.DeferredFilter{}), nil
}

func (s *chosen) means(d *queue.Deferred) bool {
	return s.which == which{} || s.id != "" && d.ID == s.id || s.seq != 0 && d.Seq == s.seq
}

// each calls f for every copy that is meant, up to the limit. more says that the limit ended it.
func (s *chosen) each(c *cli.Context, client *queue.Client, f func(*queue.Deferred) error) (more bool, err error) {
	n := 0
	for d, err := range client.Deferred(c.Context, s.filter) {
		switch {
		case err != nil:
			return false, explain(err)
		case !s.means(d):
			continue
		case s.limit > 0 && n == s.limit:
			return true, nil
		}
		n++
		if err := f(d); err != nil {
			return false, err
		}
	}
	return false, nil
}

func listDeferred(c *cli.Context) error {
	s, _, err := chooseDeferred(c)
	if err != nil {
		return err
	}
	client, err := connect(c)
	if err != nil {
		return err
	}
	defer client.Close()
	list := []*queue.Deferred{}
	more, err := s.each(c, client, func(d *queue.Deferred) error {
		list = append(list, d)
		return nil
	})
	if err != nil {
		return err
	}
	if err := sayMore(c, more); err != nil || c.String("output") == "json" {
		return errors.Join(err, ifJSON(c, list))
	}
	rows := make([][]string, 0, len(list))
	for _, d := range list {
		rows = append(rows, []string{
			strconv.FormatUint(d.Seq, 10), dash(d.ID), laneOf(d.Route, d.Class), d.Reason, ago(d.At), in(d.Deadline),
			dash(d.Final.StatusName), yes(d.Final.PossibleDuplicate), dash(d.Final.Detail),
		})
	}
	return printTable(c.App.Writer,
		[]string{"SEQ", "DELIVERY ID", "ROUTE/CLASS", "REASON", "SINCE", "DEADLINE", "STATUS", "MAYBE ACCEPTED", "DETAIL"}, rows)
}

// ifJSON prints v when JSON is asked for.
func ifJSON(c *cli.Context, v any) error {
	if c.String("output") != "json" {
		return nil
	}
	return printJSON(c.App.Writer, v)
}

// sayMore tells that a limit left messages out.
func sayMore(c *cli.Context, more bool) error {
	if !more {
		return nil
	}
	_, err := fmt.Fprintf(c.App.ErrWriter, "there are more: --limit %d\n", c.Int("limit"))
	return err
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "-"
}

// oneDeferred finds the copy of one message.
func oneDeferred(c *cli.Context, client *queue.Client, s *chosen) (*queue.Deferred, error) {
	var found []*queue.Deferred
	_, err := s.each(c, client, func(d *queue.Deferred) error {
		found = append(found, d)
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fmt.Errorf("%s: %w", s.which, queue.ErrNoDeferred)
	case len(found) > 1:
		list := make([]string, 0, len(found))
		for _, d := range found {
			list = append(list, fmt.Sprintf("%d (%s, %s)", d.Seq, laneOf(d.Route, d.Class), d.Reason))
		}
		return nil, severalMeant(s.which, "deferred messages", list)
	}
	return found[0], nil
}

func showDeferred(c *cli.Context) error {
	w, err := needMessage(c)
	if err != nil {
		return err
	}
	client, err := connect(c)
	if err != nil {
		return err
	}
	defer client.Close()
	d, err := oneDeferred(c, client, &chosen{which: w})
	if err != nil {
		return err
	}
	if c.String("output") == "json" {
		shown := struct {
			*queue.Deferred
			Payload       json.RawMessage `json:"payload,omitempty"`
			PayloadBase64 []byte          `json:"payload_base64,omitempty"`
		}{Deferred: d}
		switch {
		case !c.Bool("payload"):
		case json.Valid(d.Payload()):
			shown.Payload = d.Payload()
		default:
			shown.PayloadBase64 = d.Payload()
		}
		return printJSON(c.App.Writer, shown)
	}
	return printDeferred(c, d)
}

func printDeferred(c *cli.Context, d *queue.Deferred) error {
	rows := [][]string{
		{"seq", strconv.FormatUint(d.Seq, 10)},
		{"delivery id", dash(d.ID)},
		{"route/class", laneOf(d.Route, d.Class)},
		{"reason", d.Reason},
		{"published", stamp(d.Published)},
		{"deferred", stamp(d.At) + ", " + ago(d.At) + " ago"},
		{"deadline", stamp(d.Deadline) + ", " + in(d.Deadline)},
		{"account", dash(d.Final.Account)},
		{"last answer", dash(d.Final.StatusName)},
		{"attempts", strconv.Itoa(d.Final.Attempt)},
		{"throttles", strconv.Itoa(d.Final.Throttles)},
		{"may have been accepted", yes(d.Final.PossibleDuplicate)},
		{"detail", dash(d.Final.Detail)},
		{"octets", strconv.Itoa(d.Octets)},
	}
	if d.ReplayOf != 0 {
		rows = append(rows, []string{"replay of", strconv.FormatUint(d.ReplayOf, 10)})
	}
	if err := printTable(c.App.Writer, nil, rows); err != nil || !c.Bool("payload") {
		return err
	}
	payload := fmt.Sprintf("%q", d.Payload())
	var line bytes.Buffer
	if utf8.Valid(d.Payload()) && json.Compact(&line, d.Payload()) == nil {
		payload = printable.String(line.String())
	}
	_, err := fmt.Fprintf(c.App.Writer, "\n%s\n", payload)
	return err
}

// stamp is a time in UTC.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}
