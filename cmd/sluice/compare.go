package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/cmd/sluice/compare"
)

func compareCommand() *cli.Command {
	return &cli.Command{
		Name:  "compare",
		Usage: "the gateway and simple senders against the same fake SMSC, over TCP, one after the other",
		UsageText: "sluice compare\n" +
			"sluice compare --scenario queue-20 --scenario configs/scenarios/step.yaml --duration 60s --warmup 15s --output markdown\n" +
			"sluice compare --scenario outstanding-5 --policy sluice --window-max 5",
		OnUsageError: usageError,
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "duration", Value: 180 * time.Second, Usage: "`TIME` that each sends"},
			&cli.DurationFlag{Name: "warmup", Value: 45 * time.Second, Usage: "first part of it, which the shares leave out"},
			&cli.StringSliceFlag{
				Name: "scenario", Value: cli.NewStringSlice("bucket-10"),
				Usage: "`NAME` of " + compare.ScenarioNames() + ", or a scenario file; may be repeated",
			},
			&cli.StringSliceFlag{Name: "policy", Usage: "`POLICY` of " + strings.Join(compare.Policies(), ", ") + "; may be repeated; all by default"},
			&cli.IntFlag{Name: "window-max", Usage: "most messages that Sluice has in flight (window.max); 0 is no cap"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "table", Usage: "`FORMAT`: table, markdown or json"},
		},
		Action: runCompare,
	}
}

func runCompare(c *cli.Context) error {
	write, ok := map[string]func(compare.Result, io.Writer) error{
		"table": compare.Result.Table, "markdown": compare.Result.Markdown, "json": nil,
	}[c.String("output")]
	if !ok {
		return cli.Exit(fmt.Sprintf("--output %q: use table, markdown or json", c.String("output")), 2)
	}
	var results []compare.Result
	for i, name := range c.StringSlice("scenario") {
		sc, err := compare.Scenario(name)
		if err != nil {
			return fmt.Errorf("--scenario %s: %w; built in are %s", name, err, compare.ScenarioNames())
		}
		r, err := compare.Run(c.Context, compare.Options{
			Scenario: sc, Policies: c.StringSlice("policy"), Duration: c.Duration("duration"), WarmUp: c.Duration("warmup"),
			WindowMax: c.Int("window-max"), Progress: c.App.ErrWriter,
		})
		if err != nil {
			return err
		}
		results = append(results, r)
		if write == nil {
			continue
		}
		if i > 0 {
			if _, err := fmt.Fprintln(c.App.Writer); err != nil {
				return err
			}
		}
		if err := write(r, c.App.Writer); err != nil {
			return err
		}
	}
	if write == nil {
		return printJSON(c.App.Writer, results)
	}
	return nil
}
