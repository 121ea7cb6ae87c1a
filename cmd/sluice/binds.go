package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/gateway/admin"
)

func bindsCommand() *cli.Command {
	return &cli.Command{
		Name:         "binds",
		Usage:        "show every bind of every instance: state, window, pace, ceiling, throttles",
		UsageText:    "sluice binds --nats nats://127.0.0.1:4222",
		OnUsageError: usageError,
		Flags:        natsFlags(outputFlag()),
		Action: func(c *cli.Context) error {
			client, err := connect(c)
			if err != nil {
				return err
			}
			defer client.Close()
			binds, gathered, err := admin.Binds(c.Context, client)
			if err != nil {
				return err
			}
			if c.String("output") == "json" {
				return printJSON(c.App.Writer, binds)
			}
			return printBinds(c, binds, gathered)
		},
	}
}

func printBinds(c *cli.Context, binds []admin.Bind, g admin.Gathered) error {
	rows := make([][]string, 0, len(binds))
	for _, b := range binds {
		rows = append(rows, []string{
			fmt.Sprintf("%s/%d", b.Account, b.Number), b.Instance, b.State, ago(b.Since),
			strconv.Itoa(b.Window), strconv.Itoa(b.InFlight), rate(b.Pace), rate(b.Ceiling), declared(b.Declared), b.Mode,
			percent(b.Throttled1m), percent(b.Throttled15m), dash(b.LastStatus),
			(time.Duration(b.HeardAgo) * time.Millisecond).Round(100 * time.Millisecond).String(),
		})
	}
	header := []string{
		"BIND", "INSTANCE", "STATE", "SINCE", "WINDOW", "IN FLIGHT", "PACE", "CEILING", "DECLARED", "MODE",
		"THROTTLED 1M", "15M", "LAST STATUS", "HEARD AGO",
	}
	if err := printTable(c.App.Writer, header, rows); err != nil {
		return err
	}
	for _, b := range binds {
		if b.Reason == "" {
			continue
		}
		line := fmt.Sprintf("%s/%d on %s: %s", b.Account, b.Number, b.Instance, admin.Standing(b.State, b.Reason, b.Until))
		if err := printLine(c.App.Writer, line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.App.ErrWriter, "%d of %d instances answered\n", g.Answered, g.Expected)
	return err
}

func rate(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + "/s" }

func declared(v float64) string {
	if v == 0 {
		return "-"
	}
	return rate(v)
}

func percent(v float64) string { return strconv.FormatFloat(100*v, 'f', 2, 64) + "%" }
