package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/queue"
)

func eventsCommand() *cli.Command {
	return &cli.Command{
		Name:         "events",
		Usage:        "read the journal: every answer and every outcome, oldest first",
		UsageText:    "sluice events --since 1h --type failed --type expired\nsluice events --follow --output json",
		OnUsageError: usageError,
		Flags: natsFlags(
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on with what comes, until interrupted"},
			&cli.StringSliceFlag{Name: "type", Usage: "only events of this `TYPE`; may be repeated"},
			&cli.StringFlag{Name: "route", Usage: "only events of this `ROUTE`"},
			&cli.StringFlag{Name: "id", Usage: "only events of this delivery `ID`"},
			&cli.Uint64Flag{Name: "seq", Usage: "only events of the message with this stream `SEQUENCE`"},
			durationFlag("since", "only events of the last `DURATION`, for example 1h or 7d"),
			outputFlag(),
		),
		Action: events,
	}
}

func events(c *cli.Context) error {
	filter := queue.EventFilter{Route: c.String("route"), ID: c.String("id"), Seq: c.Uint64("seq"), Follow: c.Bool("follow")}
	if d := duration(c, "since"); d > 0 {
		filter.Since = time.Now().Add(-d)
	}
	for _, name := range c.StringSlice("type") {
		t := queue.EventType(name)
		if !slices.Contains(queue.EventTypes(), t) {
			return cli.Exit(fmt.Sprintf("--type %q: use one of %s", name, oneOf(queue.EventTypes())), 2)
		}
		filter.Types = append(filter.Types, t)
	}
	client, err := connect(c)
	if err != nil {
		return err
	}
	defer client.Close()
	print := eventJSON
	if c.String("output") == "table" {
		print = eventLine
		if _, err := fmt.Fprintln(c.App.Writer, eventHeader()); err != nil {
			return err
		}
	}
	for e, err := range client.Events(c.Context, filter) {
		if filter.Follow && errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return explain(err)
		}
		line, err := print(&e)
		if err != nil {
			return err
		}
		if err := printLine(c.App.Writer, line); err != nil {
			return err
		}
	}
	return nil
}

func eventJSON(e *queue.Event) (string, error) {
	data, err := json.Marshal(e)
	return string(data), err
}

// The columns of an event are padded, not aligned to the longest: lines appear as events come.
const eventColumns = "%-24s  %-16s  %-10s  %-28s  %-18s  %-12s  %-22s  %s"

func eventHeader() string {
	return fmt.Sprintf(eventColumns, "TIME", "TYPE", "SEQ", "DELIVERY ID", "ROUTE/CLASS", "ACCOUNT", "STATUS", "DETAIL")
}

func eventLine(e *queue.Event) (string, error) {
	status := e.StatusName
	if e.CommandStatus != nil && *e.CommandStatus == 0 {
		status = ""
	}
	var detail []string
	add := func(name, value string) {
		if value != "" {
			detail = append(detail, name+value)
		}
	}
	add("", e.Reason)
	add("", e.Detail)
	if e.Receipt != nil {
		add("receipt ", e.Receipt.State)
		if !e.Receipt.Final { // what the SMSC says in its own words
			add("stat ", e.Receipt.Stat)
		}
		add("message_id ", e.Receipt.MessageID)
		add("other_message_id ", e.Receipt.OtherMessageID)
	}
	if len(e.MessageIDs) > 0 {
		add("message_id ", strings.Join(e.MessageIDs, " "))
	}
	if e.Attempt > 0 {
		add("attempt ", strconv.Itoa(e.Attempt))
	}
	if e.Throttles > 0 {
		add("throttles ", strconv.Itoa(e.Throttles))
	}
	if !e.NextAttemptAt.IsZero() {
		add("next ", e.NextAttemptAt.UTC().Format("15:04:05.000"))
	}
	if e.MissedByMillis > 0 {
		add("late by ", (time.Duration(e.MissedByMillis) * time.Millisecond).String())
	}
	if e.PossibleDuplicate {
		add("", "possible_duplicate")
	}
	return strings.TrimRight(fmt.Sprintf(eventColumns, e.At.UTC().Format("2006-01-02T15:04:05.000Z"), e.Type,
		strconv.FormatUint(e.Seq, 10), dash(e.ID), dash(e.Route)+"/"+dash(e.Class), dash(e.Account), dash(status),
		strings.Join(detail, ", ")), " "), nil
}
