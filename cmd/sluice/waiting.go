package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/classify"
	"sluice/queue"
	"sluice/smpp/pdu"
)

func waitingCommand() *cli.Command {
	return &cli.Command{
		Name:         "waiting",
		Usage:        "list the messages that wait for their next attempt: why, and until when",
		UsageText:    "sluice waiting\nsluice waiting --account acme --status 0x58",
		OnUsageError: usageError,
		Flags: natsFlags(
			&cli.StringFlag{Name: "account", Usage: "only messages that wait for this `ACCOUNT`"},
			&cli.StringFlag{Name: "route", Usage: "only messages of this `ROUTE`"},
			&cli.StringFlag{Name: "status", Usage: "only messages whose last answer was this `STATUS`, such as 0x58 or ESME_RTHROTTLED"},
			&cli.IntFlag{Name: "limit", Value: deferredMost, Usage: "at most this `NUMBER` of messages, those that come back first; 0: all"},
			outputFlag(),
		),
		Action: waiting,
	}
}

func waiting(c *cli.Context) error {
	status, any, err := statusFlag(c)
	if err != nil {
		return err
	}
	limit := c.Int("limit")
	if limit < 0 {
		return cli.Exit(fmt.Sprintf("--limit %d: use a number from 0", limit), 2)
	}
	client, err := connect(c)
	if err != nil {
		return err
	}
	defer client.Close()
	list := []queue.Waiting{}
	for w, err := range client.Waiting(c.Context) {
		if err != nil {
			return explain(err)
		}
		if route := c.String("route"); route != "" && w.Route != route {
			continue
		}
		if account := c.String("account"); account != "" && w.Account != account {
			continue
		}
		if any && (w.State.LastStatus != status || w.State.Attempts+w.State.Throttles == 0) {
			continue
		}
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b queue.Waiting) int {
		if n := a.State.NextAttemptAt.Compare(b.State.NextAttemptAt); n != 0 {
			return n
		}
		return int(int64(a.Seq) - int64(b.Seq))
	})
	if list, err = withoutDeleted(c.Context, client, list); err != nil {
		return explain(err)
	}
	if limit > 0 && len(list) > limit {
		if _, err := fmt.Fprintf(c.App.ErrWriter, "%d of %d are shown: --limit\n", limit, len(list)); err != nil {
			return err
		}
		list = list[:limit]
	}
	if c.String("output") == "json" {
		return printJSON(c.App.Writer, list)
	}
	rows := make([][]string, 0, len(list))
	for i := range list {
		rows = append(rows, waitingRow(&list[i]))
	}
	return printTable(c.App.Writer, []string{
		"SEQ", "DELIVERY ID", "ROUTE/CLASS", "ACCOUNT", "WHY", "STATUS", "NEXT", "ATTEMPTS", "THROTTLES", "UNKNOWN", "DEADLINE", "SINCE",
	}, rows)
}

const (
	overdueFor  = 10 * time.Second // a message that is there is taken up sooner, unless its account is stopped
	mostOverdue = 1000             // are looked up, a request each
)

// withoutDeleted leaves out the records of messages that somebody deleted from the stream: they are long due, and gone.
// The list begins with those that are due first.
func withoutDeleted(ctx context.Context, client *queue.Client, list []queue.Waiting) ([]queue.Waiting, error) {
	due := time.Now().Add(-overdueFor)
	var there []queue.Waiting
	for n, w := range list {
		if n == mostOverdue || w.State.NextAttemptAt.After(due) {
			return append(there, list[n:]...), nil
		}
		in, err := client.InStream(ctx, w.Seq)
		if err != nil {
			return nil, err
		}
		if in {
			there = append(there, w)
		}
	}
	return there, nil
}

func waitingRow(w *queue.Waiting) []string {
	return []string{
		strconv.FormatUint(w.Seq, 10), dash(w.ID), laneOf(w.Route, w.Class), dash(w.Account), dash(w.Reason), lastStatus(&w.State),
		in(w.State.NextAttemptAt), strconv.Itoa(w.State.Attempts), strconv.Itoa(w.State.Throttles), strconv.Itoa(w.State.Unknowns),
		in(w.Deadline), ago(w.At),
	}
}

// lastStatus names the last answer to a message; there is none before the first.
func lastStatus(s *queue.State) string {
	if s.LastStatus == 0 {
		return "-"
	}
	return pdu.Status(s.LastStatus).String()
}

// statusFlag reads --status: a number, or a name of the table.
func statusFlag(c *cli.Context) (status uint32, given bool, err error) {
	text := c.String("status")
	if text == "" {
		return 0, false, nil
	}
	if n, err := strconv.ParseUint(text, 0, 32); err == nil {
		return uint32(n), true, nil
	}
	for _, r := range classify.Default().Rows() {
		if r.Low == r.High && strings.EqualFold(r.Verdict.Name, text) {
			return uint32(r.Low), true, nil
		}
	}
	return 0, false, cli.Exit(fmt.Sprintf("--status %q: use a number such as 0x58 or a name that `sluice codes` lists", text), 2)
}
