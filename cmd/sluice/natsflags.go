package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/queue"
)

const connectPatience = 5 * time.Second

// natsFlags are those of every command that talks to NATS.
func natsFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "nats", Value: "nats://127.0.0.1:4222", EnvVars: []string{"SLUICE_NATS"}, Usage: "NATS server `URL`"},
		&cli.StringFlag{Name: "creds", Usage: "NATS credentials `FILE`"},
		&cli.StringFlag{Name: "prefix", Value: "sms", Usage: "first `TOKEN` of every subject, as in streams.prefix"},
	}, more...)
}

// outputFlag chooses how a command prints.
func outputFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "output", Aliases: []string{"o"}, Value: "table", Usage: "`FORMAT`: table or json",
		Action: func(_ *cli.Context, v string) error {
			if v != "table" && v != "json" {
				return cli.Exit(fmt.Sprintf("--output %q: use table or json", v), 2)
			}
			return nil
		},
	}
}

// connect opens the connection that the flags name.
func connect(c *cli.Context) (*queue.Client, error) {
	ctx, cancel := context.WithTimeout(c.Context, connectPatience)
	defer cancel()
	client, err := queue.Connect(ctx, queue.ConnectConfig{
		URL: c.String("nats"), CredentialsFile: c.String("creds"), Prefix: c.String("prefix"), Name: "sluice " + c.Command.Name,
	})
	if err != nil {
		return nil, connectFault(err, c.String("nats"))
	}
	return client, nil
}

// connectFault says why there is no connection to the NATS servers of --nats, without the credentials that a URL may hold.
func connectFault(err error, urls string) error {
	var unread *url.Error // quotes the URL, or a piece of it
	if errors.As(err, &unread) && strings.Contains(urls, "@") {
		err = errors.New("connecting to NATS: not a URL: in a name or a password write @ as %40, / as %2F, % as %25")
	}
	shown := strings.Split(urls, ",")
	for i, s := range shown {
		host := strings.LastIndex(s, "@")
		if host < 0 {
			continue
		}
		scheme, _, ok := strings.Cut(s[:host], "://")
		if shown[i] = "***" + s[host:]; ok {
			shown[i] = scheme + "://" + shown[i]
		}
	}
	return fmt.Errorf("%w (--nats %s)", err, strings.Join(shown, ","))
}
