// Command chaos runs two gateways, a NATS server and a fake SMSC as processes, breaks them at random while messages
// flow, heals everything, and then joins what was published, the journal and the SMSC's ledger. Its last line of
// output is one JSON object; it ends with an error when a promise was broken.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
)

const description = `A run has a seed: the faults, their times and targets and the messages follow from it, and the schedule is printed
before it begins. How the processes come to stand when a fault strikes is not repeatable; what must hold is.

Examples:

  # 100,000 messages over 30 minutes of faults
  chaos --seed 7 --bin bin

  # the short form, as CI runs it
  chaos --seed 1 --bin bin --messages 4000 --length 2m --short

  # what a seed would do
  chaos --seed 7 --schedule`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newApp().RunContext(ctx, os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		stop()
		os.Exit(1)
	}
}

func newApp() *cli.App {
	return &cli.App{
		Name:            "chaos",
		Usage:           "break everything at random, and see whether the promises hold",
		Description:     description,
		HideHelpCommand: true,
		Flags: []cli.Flag{
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "start of all random choices"},
			&cli.IntFlag{Name: "messages", Value: 100_000, Usage: "how many messages are published"},
			&cli.DurationFlag{Name: "length", Value: 30 * time.Minute, Usage: "how long they are published and faults strike"},
			&cli.DurationFlag{Name: "patience", Value: 15 * time.Minute, Usage: "how long the queue may take to empty afterwards"},
			&cli.BoolFlag{Name: "short", Usage: "shorten the faults, so that each strikes in 2 minutes"},
			&cli.StringFlag{Name: "bin", Value: "bin", Usage: "`FOLDER` with sluice and fakesmsc"},
			&cli.StringFlag{Name: "dir", Usage: "`FOLDER` for a folder of the run's files (default: the system's for temporary files)"},
			&cli.BoolFlag{Name: "keep", Usage: "keep the run's files even when all promises held"},
			&cli.BoolFlag{Name: "schedule", Usage: "print the schedule and end"},
		},
		Action:   action,
		Commands: []*cli.Command{natsServerCommand()},
	}
}

func action(c *cli.Context) error {
	o := options{
		seed: c.Uint64("seed"), messages: c.Int("messages"), length: c.Duration("length"), patience: c.Duration("patience"),
		short: c.Bool("short"), keep: c.Bool("keep"),
	}
	switch {
	case c.Args().Present():
		return fmt.Errorf("argument %q: everything is given by flags, see --help", c.Args().First())
	case o.messages < 1:
		return fmt.Errorf("--messages %d: give 1 or more", o.messages)
	case o.length < 10*time.Second:
		return fmt.Errorf("--length %v: give 10s or more", o.length)
	}
	o.plan = draw(o.seed, o.length, o.short)
	for _, f := range o.plan {
		fmt.Fprintln(os.Stderr, "plan:", f)
	}
	if c.Bool("schedule") {
		return nil
	}
	for _, program := range []string{"sluice", "fakesmsc"} {
		path, err := filepath.Abs(filepath.Join(c.String("bin"), program))
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return fmt.Errorf("--bin %s: %w; build it first: make build", c.String("bin"), err)
		}
		o.bin = filepath.Dir(path)
	}
	dir, err := os.MkdirTemp(c.String("dir"), "sluice-chaos-")
	if err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	o.dir = dir
	result, err := run(c.Context, o)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err == nil {
		err = result.broken()
	}
	if err == nil && !c.Bool("keep") {
		return os.RemoveAll(dir)
	}
	return errors.Join(err, report(dir))
}

// report says where the files are, which is no error.
func report(dir string) error {
	_, err := fmt.Fprintln(os.Stderr, "chaos: the files of the run are in", dir)
	return err
}
