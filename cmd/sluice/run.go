package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/urfave/cli/v2"

	"sluice/gateway"
	"sluice/gateway/config"
)

func configFlag() cli.Flag {
	return &cli.StringFlag{Name: "config", Aliases: []string{"c"}, Required: true, Usage: "configuration `FILE`"}
}

func runCommand() *cli.Command {
	return &cli.Command{
		Name:         "run",
		Usage:        "run the gateway until SIGINT or SIGTERM",
		UsageText:    "sluice run -c configs/minimal.yaml",
		OnUsageError: usageError,
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringFlag{Name: "log-format", Value: "text", Usage: "`FORMAT` of the log on standard error: text or json"},
			&cli.StringFlag{Name: "log-level", Value: "info", Usage: "lowest `LEVEL` logged: debug, info, warn or error"},
		},
		Action: run,
	}
}

func run(c *cli.Context) error {
	cfg, err := config.Load(c.String("config"))
	if err != nil {
		return err
	}
	log, err := logger(c.App.ErrWriter, c.String("log-format"), c.String("log-level"))
	if err != nil {
		return err
	}
	defer ignoreHangup(log)()
	for _, w := range cfg.Warnings() {
		log.Warn("configuration", "warning", w)
	}
	if err := checkPorts(c.Context, cfg); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	v, rev := buildVersion()
	g, err := gateway.New(c.Context, cfg, gateway.Options{Logger: log, Registry: registry, Version: v, Commit: rev})
	if err != nil {
		return explainStore(err, cfg)
	}
	log.Info("sluice runs", "instance", cfg.Instance, "version", v, "nats", g.NATSURL(), "http", g.HTTPAddr())
	if err := g.Run(c.Context); err != nil {
		return err
	}
	log.Info("sluice stopped")
	return nil
}

// ignoreHangup keeps SIGHUP from ending the process, with the queue inside it, until the returned function is called: a
// terminal that closes sends it, and so does whoever expects the configuration to be read anew.
func ignoreHangup(log *slog.Logger) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() { // until it is closed
		for range hangup {
			log.Warn("SIGHUP is ignored: the configuration is read at the start only; restart to apply a change")
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(hangup)
	}
}

func logger(w io.Writer, format, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, cli.Exit(fmt.Sprintf("--log-level %q: use debug, info, warn or error", level), 2)
	}
	o := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, cli.Exit(fmt.Sprintf("--log-format %q: use text or json", format), 2)
}

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:         "check",
		Usage:        "validate a configuration and print what is in effect, without secrets, and what the store is enough for",
		UsageText:    "sluice check -c configs/sluice.yaml",
		OnUsageError: usageError,
		Flags:        []cli.Flag{configFlag()},
		Action: func(c *cli.Context) error {
			cfg, err := config.Load(c.String("config"))
			if err != nil {
				return err
			}
			for _, w := range cfg.Warnings() {
				if err := printLine(c.App.ErrWriter, "warning: "+w); err != nil {
					return err
				}
			}
			effective, err := cfg.Effective()
			if err != nil {
				return err
			}
			if _, err = c.App.Writer.Write(effective); err != nil {
				return err
			}
			for _, line := range cfg.Sizes() {
				if err := printLine(c.App.Writer, "# "+line); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
