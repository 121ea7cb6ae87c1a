package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/queue"
)

func queueCommand() *cli.Command {
	return &cli.Command{
		Name:         "queue",
		Usage:        "show for each route and class what is queued, in flight, waiting and deferred",
		UsageText:    "sluice queue\nsluice queue --output json",
		OnUsageError: usageError,
		Flags:        natsFlags(outputFlag()),
		Action: func(c *cli.Context) error {
			client, err := connect(c)
			if err != nil {
				return err
			}
			defer client.Close()
			lanes, err := client.Backlogs(c.Context)
			if err != nil {
				return explain(err)
			}
			if c.String("output") == "json" {
				return printJSON(c.App.Writer, lanes)
			}
			return printQueue(c, lanes)
		},
	}
}

func printQueue(c *cli.Context, lanes []queue.Backlog) error {
	count := func(n uint64) string { return strconv.FormatUint(n, 10) }
	rows := make([][]string, 0, len(lanes))
	for i := range lanes {
		b := &lanes[i]
		oldest := "-"
		if b.OldestMillis > 0 {
			oldest = (time.Duration(b.OldestMillis) * time.Millisecond).Round(100 * time.Millisecond).String()
		}
		rows = append(rows, []string{
			dash(b.Route), dash(b.Class), count(b.Queued), count(b.InFlight), count(b.Waiting), count(b.Deferred), oldest, count(b.Redelivered),
		})
	}
	header := []string{"ROUTE", "CLASS", "QUEUED", "IN FLIGHT", "WAITING", "DEFERRED", "OLDEST", "REDELIVERED"}
	if err := printTable(c.App.Writer, header, rows); err != nil {
		return err
	}
	for i := range lanes {
		if b := &lanes[i]; !b.PausedUntil.IsZero() {
			line := fmt.Sprintf("%s: somebody has paused its consumer until %s; `nats consumer resume` ends that", laneOf(b.Route, b.Class), stamp(b.PausedUntil))
			if err := printLine(c.App.Writer, line); err != nil {
				return err
			}
		}
		if b := &lanes[i]; b.Orphan {
			if err := printLine(c.App.Writer, laneOf(b.Route, b.Class)+": no gateway takes messages from it"); err != nil {
				return err
			}
		}
	}
	return nil
}
