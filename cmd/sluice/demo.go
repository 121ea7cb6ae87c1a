package main

import (
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"sluice/cmd/sluice/demo"
)

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:         "demo",
		Usage:        "the same traffic through a naive sender and through Sluice, against an SMSC whose ceiling moves",
		UsageText:    "sluice demo\nsluice demo --json",
		OnUsageError: usageError,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "end with one JSON object on standard output; progress goes to standard error"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the SMSC's latencies"},
			&cli.IntFlag{Name: "messages", Usage: "`NUMBER` of messages; 0 takes the demo's own"},
		},
		Action: func(c *cli.Context) error {
			o := demo.Options{JSON: c.Bool("json"), Seed: c.Uint64("seed"), Messages: c.Int("messages"), Out: unwrapped(c.App.Writer)}
			if o.JSON {
				o.Out = unwrapped(c.App.ErrWriter)
			}
			o.Terminal, o.Width = terminal(o.Out)
			result, err := demo.Run(c.Context, o)
			if err != nil {
				return err
			}
			if o.JSON {
				data, err := result.JSON()
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(c.App.Writer, "%s\n", data)
				return err
			}
			return result.Table(c.App.Writer)
		},
	}
}

// terminal says whether w is one, and how wide.
func terminal(w io.Writer) (is bool, width int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false, 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return true, 80
	}
	return true, width
}
