package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/cmd/sluice/policy"
	"sluice/cmd/sluice/simulate"
	"sluice/gateway/config"
	"sluice/testserver"
	"sluice/window"
)

// chartWidth is the width of a chart that is not on a terminal, in columns.
const chartWidth = 100

func simulateCommand() *cli.Command {
	return &cli.Command{
		Name:  "simulate",
		Usage: "try the window, or another sender's policy, against a scenario in virtual time",
		UsageText: "sluice simulate -f configs/scenarios/token-bucket.yaml\n" +
			"sluice simulate -f configs/scenarios/step.yaml --policy halve --duration 10m --svg halve.svg",
		OnUsageError: usageError,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Required: true, Usage: "scenario `FILE`, as for fakesmsc --scenario"},
			&cli.StringFlag{Name: "policy", Value: policy.NameSluice, Usage: "`POLICY`: " + strings.Join(policy.Names(), ", ")},
			&cli.DurationFlag{Name: "duration", Value: 5 * time.Minute, Usage: "virtual `TIME` to simulate"},
			&cli.IntFlag{Name: "messages", Usage: "`NUMBER` of messages; 0 has always one to send"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of every random choice"},
			&cli.Float64Flag{Name: "declared", Usage: "declared `RATE` in messages per second (rate.declared); 0 learns it"},
			&cli.IntFlag{Name: "window-max", Usage: "most messages in flight (window.max); 0 is no cap"},
			&cli.StringFlag{Name: "noise-max", Value: "6%", Usage: "largest `SHARE` of refusals that may be found to be no matter of pace (noise.max)"},
			&cli.PathFlag{Name: "svg", Usage: "draw the chart to this `FILE` instead"},
			&cli.PathFlag{Name: "png", Usage: "draw the chart to this `FILE` instead"},
			outputFlag(),
		},
		Action: runSimulate,
	}
}

func runSimulate(c *cli.Context) error {
	sc, err := testserver.Load(c.String("file"))
	if err != nil {
		return err
	}
	var noise config.Percent
	if err := noise.UnmarshalText([]byte(c.String("noise-max"))); err != nil {
		return cli.Exit(fmt.Sprintf("--noise-max %q: %v", c.String("noise-max"), err), 2)
	}
	if c.Float64("declared") < 0 || c.Int("window-max") < 0 {
		return cli.Exit("--declared and --window-max are 0 or more", 2)
	}
	r, err := simulate.Run(c.Context, simulate.Options{
		Scenario: sc, Policy: c.String("policy"), Duration: c.Duration("duration"), Messages: c.Int("messages"), Seed: c.Uint64("seed"),
		Window: window.Config{Declared: c.Float64("declared"), MaxWindow: c.Int("window-max"), NoiseMax: float64(noise)},
	})
	if err != nil {
		return err
	}
	for _, note := range r.Notes {
		if _, err := fmt.Fprintln(c.App.ErrWriter, "warning:", note); err != nil {
			return err
		}
	}
	if err := drawSimulated(c, r); err != nil {
		return err
	}
	if c.String("output") == "json" {
		return printJSON(c.App.Writer, r)
	}
	return r.Table(c.App.Writer)
}

// drawSimulated draws to the files that are named, else between the lines.
func drawSimulated(c *cli.Context, r simulate.Result) error {
	svg, png := c.Path("svg"), c.Path("png")
	if svg != "" {
		if err := writeFile(svg, r.SVG); err != nil {
			return err
		}
	}
	if png != "" {
		if err := writeFile(png, r.PNG); err != nil {
			return err
		}
	}
	if svg != "" || png != "" || c.String("output") == "json" {
		return nil
	}
	out := unwrapped(c.App.Writer) // the chart has colours
	is, width := terminal(out)
	if !is {
		width = chartWidth
	}
	if err := r.Chart(out, width, is); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.App.Writer)
	return err
}

// writeFile creates a file and lets it be written.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
