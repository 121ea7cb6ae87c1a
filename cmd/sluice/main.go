// Command sluice is the SMPP gateway and its operator's tool.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/urfave/cli/v2"
)

// version and commit are set by the linker in releases; see the Makefile.
var version, commit string //nolint:gochecknoglobals // the linker sets them

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	a := app(os.Stdout, os.Stderr)
	if err := a.RunContext(ctx, flagsFirst(a.Commands, os.Args)); err != nil {
		fmt.Fprintln(os.Stderr, "sluice:", err)
		stop()
		os.Exit(exitCode(err))
	}
}

// exitCode is 2 for a call that cannot be understood, 130 after an interrupt, else 1.
func exitCode(err error) int {
	var coder cli.ExitCoder
	switch {
	case errors.As(err, &coder):
		return coder.ExitCode()
	case errors.Is(err, context.Canceled):
		return 130
	}
	return 1
}

func app(out, errs io.Writer) *cli.App {
	return &cli.App{
		Name:                 "sluice",
		Usage:                "an SMPP gateway that never mistakes \"slow down\" for \"failed\"",
		Version:              versionText(),
		EnableBashCompletion: true,
		Writer:               out,
		ErrWriter:            errs,
		ExitErrHandler:       func(*cli.Context, error) {}, // main prints it
		OnUsageError:         usageError,
		Commands: strict("", append([]*cli.Command{
			runCommand(), demoCommand(), simulateCommand(), compareCommand(), checkCommand(), sendCommand(), bindsCommand(), bindCommand(), accountsCommand(), eventsCommand(), codesCommand(),
			messageCommand(), queueCommand(), waitingCommand(), deferredCommand(), cancelCommand(),
		}, controlCommands()...)),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return cli.Exit(fmt.Sprintf("no command %q: see `sluice --help`", c.Args().First()), 2)
			}
			return cli.ShowAppHelp(c)
		},
	}
}

func usageError(_ *cli.Context, err error, _ bool) error {
	return cli.Exit(err.Error()+": see --help", 2)
}

func versionText() string {
	v, rev := buildVersion()
	if rev != "" {
		return v + " (" + rev + ")"
	}
	return v
}

// buildVersion is the linker's, else what Go put into the binary.
func buildVersion() (v, rev string) {
	v, rev = version, commit
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v, rev
	}
	if v == "" {
		v = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && rev == "" {
			rev = s.Value[:min(len(s.Value), 12)]
		}
	}
	return v, rev
}
