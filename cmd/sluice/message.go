package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/queue"
)

func messageCommand() *cli.Command {
	return &cli.Command{
		Name:  "message",
		Usage: "show all that is known of a delivery: where it is, and every event of it",
		UsageText: "sluice message order-8812-ship\nsluice message 4711\n" +
			"sluice message order-8812-ship --since 2h --output json",
		ArgsUsage:    "[MESSAGE]",
		OnUsageError: usageError,
		Flags: natsFlags(append(whichFlags(),
			durationFlag("since", "look only at the last `DURATION` of the journal, for example 1h or 7d"), outputFlag())...),
		Action: message,
	}
}

func message(c *cli.Context) error {
	w, err := needMessage(c)
	if err != nil {
		return err
	}
	client, err := connect(c)
	if err != nil {
		return err
	}
	defer client.Close()
	var since time.Time
	if d := duration(c, "since"); d > 0 {
		since = time.Now().Add(-d)
	}
	trails, err := w.trails(c, client, since)
	if err != nil {
		return err
	}
	if len(trails) == 0 {
		return fmt.Errorf("%s: %w; events are kept for streams.journal_age", w, queue.ErrUnknownMessage)
	}
	if c.String("output") == "json" {
		return printJSON(c.App.Writer, trails)
	}
	for i := range trails {
		if i > 0 {
			if _, err := fmt.Fprintln(c.App.Writer); err != nil {
				return err
			}
		}
		if err := printTrail(c, &trails[i]); err != nil {
			return err
		}
	}
	return nil
}

func printTrail(c *cli.Context, t *queue.Trail) error {
	rows := [][]string{
		{"message", strconv.FormatUint(t.Seq, 10)},
		{"delivery id", dash(t.ID)},
		{"route/class", laneOf(t.Route, t.Class)},
		{"tenant", dash(t.Tenant)},
		{"published", stamp(t.Published) + ", " + ago(t.Published) + " ago"},
		{"now", standing(t)},
	}
	if t.ReplayOf != 0 {
		rows = append(rows, []string{"replay of", strconv.FormatUint(t.ReplayOf, 10)})
	}
	if err := printTable(c.App.Writer, nil, rows); err != nil || len(t.Events) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(c.App.Writer, eventHeader()); err != nil {
		return err
	}
	for i := range t.Events {
		line, err := eventLine(&t.Events[i])
		if err != nil {
			return err
		}
		if err := printLine(c.App.Writer, line); err != nil {
			return err
		}
	}
	return nil
}

// removedByOthers is said of a message that has no final and is not in the stream.
const removedByOthers = "removed from the stream by somebody else"

// standing says in words where a message is.
func standing(t *queue.Trail) string {
	switch t.Place {
	case queue.PlaceWaiting:
		w := t.Waiting
		return fmt.Sprintf("waiting for its next attempt %s: %s, last answer %s, %d attempts, %d throttles",
			in(w.State.NextAttemptAt), dash(w.Reason), lastStatus(&w.State), w.State.Attempts, w.State.Throttles)
	case queue.PlaceDeferred:
		return fmt.Sprintf("deferred for a person: %s; `sluice deferred show --seq %d`", t.Deferred.Reason, t.Seq)
	case queue.PlaceQueued:
		return "queued, never handed out"
	case queue.PlaceInFlight:
		return "in flight: a gateway has it, or died with it"
	case queue.PlaceRemoved:
		return removedByOthers
	case queue.PlaceDone:
	}
	for i := len(t.Events) - 1; i >= 0; i-- {
		if e := &t.Events[i]; e.Type.Final() {
			return "ended " + string(e.Type)
		}
	}
	return "not in the queue; what became of it is older than the journal"
}
