// Command fakesmsc is a fake SMSC: an SMPP server for tests and experiments whose limits, errors and faults come from
// a scenario file or a few flags. It ends on SIGINT or SIGTERM and prints what it has seen as JSON.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version and commit are set by the linker in releases; see the Makefile.
var version, commit string //nolint:gochecknoglobals // the linker sets them

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newApp(os.Stdout).RunContext(ctx, os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "fakesmsc:", err)
		stop()
		os.Exit(1)
	}
}
