// Command sluice is the SMPP gateway and its operator's tool.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/urfave/cli/v2"

	"sluice/gateway/printable"
)

// version and commit are set by the linker in releases; see the Makefile.
var version, commit string //nolint:gochecknoglobals // the linker sets them

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	a := app(os.Stdout, os.Stderr)
	if err := a.RunContext(ctx, flagsFirst(a.Commands, os.Args)); err != nil {
		fmt.Fprintln(os.Stderr, "sluice:", printable.Error(err))
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

const description = `run is the gateway. The commands that look into it or publish reach it through its NATS server, from any machine that may
connect there. Two flags say where that is; write them behind the command:

  --nats URL      the server: nats.url, or nats.embedded.listen; default nats://127.0.0.1:4222, or $SLUICE_NATS
  --prefix TOKEN  which gateway on it, where the configuration has another streams.prefix than sms

  sluice binds --nats nats://nats.example.net:4222 --prefix sms2

A server that asks for credentials or TLS: see ` + "`sluice binds --help`" + `.`

func app(out, errs io.Writer) *cli.App {
	return &cli.App{
		Name:                 "sluice",
		Usage:                "an SMPP gateway that never mistakes \"slow down\" for \"failed\"",
		Version:              versionText(),
		Description:          description,
		EnableBashCompletion: true,
		Writer:               &printable.Writer{To: out},
		ErrWriter:            &printable.Writer{To: errs},
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

func usageError(c *cli.Context, err error, _ bool) error {
	if text := misplaced(c, err.Error()); text != "" {
		return cli.Exit(text, 2)
	}
	return cli.Exit(sayWhatIsWanted(c, err.Error())+": see --help", 2)
}

// unread is how the library says that it could not read the value of a flag; it does not say what would be right.
var unread = regexp.MustCompile(`^(invalid (?:boolean )?value .* for (?:flag )?-(\S+)): (?:parse error|value out of range)$`)

// undefined is how the library says that it does not know a flag.
var undefined = regexp.MustCompile(`^flag provided but not defined: -(\S+)$`)

// misplaced says of a flag in front of the command that it belongs behind it; else it is empty.
func misplaced(c *cli.Context, text string) string {
	m := undefined.FindStringSubmatch(text)
	if m == nil || len(c.Lineage()) > 2 { // a command has at least its own context, the app's and an empty one
		return ""
	}
	for _, command := range c.App.Commands {
		for _, f := range command.Flags {
			if slices.Contains(f.Names(), m[1]) {
				return fmt.Sprintf("--%s is a flag of the commands: write it behind the command, as in `sluice %s --%[1]s ...`", m[1], command.Name)
			}
		}
	}
	return ""
}

// sayWhatIsWanted replaces the library's words for a value that it could not read by those for one that it could.
func sayWhatIsWanted(c *cli.Context, text string) string {
	m := unread.FindStringSubmatch(text)
	if m == nil || c.Command == nil {
		return text
	}
	for _, f := range c.Command.Flags {
		if !slices.Contains(f.Names(), m[2]) {
			continue
		}
		switch f.(type) {
		case *cli.IntFlag, *cli.Uint64Flag:
			return m[1] + ": want a whole number from 0"
		case *cli.Float64Flag:
			return m[1] + ": want a number"
		case *cli.DurationFlag:
			return m[1] + ": want a duration such as 90s or 5m"
		case *cli.BoolFlag:
			return m[1] + ": want true or false"
		}
	}
	return text
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
