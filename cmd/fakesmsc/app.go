package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"sluice/gateway/web"
	"sluice/testserver"
)

const description = `An SMPP server whose behaviour is described by a scenario file, or by flags for the common case;
flags replace what the scenario says. It prints one line when it listens and its statistics as JSON when it ends.

Examples:

  # 100 messages a second, 10 at once, answered after 5 to 20 ms
  fakesmsc --rate 100 --burst 10 --latency 5ms-20ms

  # one account, a ceiling that moves, any free ports
  fakesmsc --scenario configs/scenarios/demo.yaml --system-id sluice --password secret --listen :0 --http :0

  # what happened so far; a new limit; a message from a phone; a connection reset
  curl -s http://127.0.0.1:8090/stats
  curl -s 'http://127.0.0.1:8090/ledger?duplicate=true'
  curl -s -X POST http://127.0.0.1:8090/limit -d '[{"kind": "token_bucket", "rate": 40, "burst": 4}]'
  curl -s -X POST http://127.0.0.1:8090/mo -d '{"from": "41791234567", "to": "info", "text": "hello"}'
  curl -s -X POST http://127.0.0.1:8090/mo -d '{"from": "41791234567", "to": "info", "hex": "050003070201C3", "esm_class": 64}'
  curl -s -X POST 'http://127.0.0.1:8090/disconnect?how=rst'

  # another scenario while it runs: a temporary error to everything; all well again; one from a file. It replaces the one
  # before as a whole, what the flags said included, and keeps sessions, ledger and counts
  curl -s -X POST http://127.0.0.1:8090/scenario -d '{"errors": [{"status": 8}]}'
  curl -s -X POST http://127.0.0.1:8090/scenario -d '{}'
  curl -s -X POST http://127.0.0.1:8090/scenario --data-binary @configs/scenarios/penalty.yaml`

// newApp is the command; it prints to out.
func newApp(out io.Writer) *cli.App {
	return &cli.App{
		Name:            "fakesmsc",
		Usage:           "a fake SMSC with limits, errors, faults and a ledger",
		Version:         versionText(),
		Description:     description,
		HideHelpCommand: true,
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			return fmt.Errorf("%w: see --help", err)
		},
		Writer: out,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Aliases: []string{"l"}, Value: "127.0.0.1:2775", Usage: "SMPP address; port 0 takes a free one"},
			&cli.StringFlag{Name: "http", Value: "127.0.0.1:8090", Usage: "control address, for anyone who reaches it; \"off\" for none"},
			&cli.StringFlag{Name: "scenario", Aliases: []string{"f"}, Usage: "scenario `FILE` in YAML"},
			&cli.Uint64Flag{Name: "seed", Usage: "start of all random choices"},
			&cli.Float64Flag{Name: "rate", Aliases: []string{"r"}, Usage: "messages a second that an account may submit", DefaultText: "no limit"},
			&cli.Float64Flag{Name: "burst", Aliases: []string{"b"}, Usage: "messages at once above --rate", DefaultText: "a tenth of it"},
			&cli.StringFlag{Name: "latency", Usage: "time before each response, such as 20ms or 5ms-20ms"},
			&cli.StringFlag{Name: "system-id", Usage: "the only account that may bind", DefaultText: "anyone may"},
			&cli.StringFlag{Name: "password", Usage: "its password"},
			&cli.StringFlag{Name: "ledger", Usage: "`FILE` to append each submit to as a line of JSON, before its answer; it outlives kill -9"},
		},
		Action: func(c *cli.Context) error {
			sc, err := scenario(c)
			if err != nil {
				return err
			}
			return run(c, sc)
		},
	}
}

// versionText is the linker's version, else what Go put into the binary.
func versionText() string {
	switch info, ok := debug.ReadBuildInfo(); {
	case version != "" && commit != "":
		return version + " (" + commit + ")"
	case version != "":
		return version
	case ok:
		return info.Main.Version
	}
	return "unknown"
}

// scenario is the file with what the flags replace.
func scenario(c *cli.Context) (sc testserver.Scenario, err error) {
	if c.Args().Present() {
		return sc, fmt.Errorf("argument %q: everything is given by flags, see --help", c.Args().First())
	}
	if file := c.String("scenario"); file != "" {
		if sc, err = testserver.Load(file); err != nil {
			return sc, err
		}
	}
	if c.IsSet("seed") {
		sc.Seed = c.Uint64("seed")
	}
	switch rate, burst := c.Float64("rate"), c.Float64("burst"); {
	case c.IsSet("rate") && !(rate > 0 && rate <= math.MaxInt32):
		return sc, fmt.Errorf("--rate %v: give messages per second above 0", rate)
	case c.IsSet("burst") && !c.IsSet("rate"):
		return sc, fmt.Errorf("--burst %v: it needs --rate", burst)
	case c.IsSet("burst") && !(burst >= 1):
		return sc, fmt.Errorf("--burst %v: give 1 or more, or leave it out for a tenth of the rate", burst)
	case c.IsSet("rate"):
		sc.Limits = []testserver.Limit{{Kind: testserver.TokenBucket, Rate: testserver.PerSecond(rate), Burst: burst}}
	}
	if c.IsSet("latency") {
		if sc.Latency, err = testserver.ParseSpan(c.String("latency")); err != nil {
			return sc, fmt.Errorf("--latency: %w", err)
		}
	}
	switch id := c.String("system-id"); {
	case id != "":
		sc.Bind.Accounts = map[string]string{id: c.String("password")}
	case c.IsSet("password"):
		return sc, errors.New("--password: it needs --system-id, whose password it is")
	}
	return sc, nil
}

// run serves until the context ends, then prints the statistics.
func run(c *cli.Context, sc testserver.Scenario) (err error) {
	ctx, out := c.Context, c.App.Writer
	server := testserver.New(sc)
	if file := c.String("ledger"); file != "" {
		ledger, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("--ledger: %w", err)
		}
		defer func() {
			if fault := server.RecordError(); fault != nil {
				err = errors.Join(err, fmt.Errorf("--ledger %s: not all submits are in it: %w", file, fault))
			}
			err = errors.Join(err, ledger.Close())
		}()
		server.RecordTo(ledger)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.String("listen"))
	if err != nil {
		return fmt.Errorf("--listen %s: %w", c.String("listen"), err)
	}
	defer func() { _ = listener.Close() }() // Serve closes it too
	line := "smpp on " + listener.Addr().String()
	if address := c.String("http"); address != "off" && address != "" {
		listening, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("--http %s: %w", address, err)
		}
		control := web.NewServer(server.Handler(), listening.Addr())
		served := make(chan error, 1)
		go func() { served <- web.Serve(control, listening) }()
		defer func() {
			err = errors.Join(err, control.Close())
			if end := <-served; !errors.Is(end, http.ErrServerClosed) {
				err = errors.Join(err, end)
			}
		}()
		line += ", http on " + listening.Addr().String()
	}
	if _, err := fmt.Fprintln(out, "fakesmsc: "+line); err != nil {
		return err
	}
	if err := server.Serve(ctx, listener); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(server.Stats())
}
