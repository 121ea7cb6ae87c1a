package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
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
		&cli.StringFlag{Name: "nkey", Usage: "`FILE` with an nkey seed"},
		&cli.StringFlag{Name: "user", Usage: "NATS user `NAME`, with --password-file"},
		&cli.StringFlag{
			Name: "password-file", Usage: "`FILE` with the password of --user; one trailing line break is dropped",
		},
		&cli.StringFlag{Name: "tls-ca", Usage: "PEM `FILE` with the authorities that may sign the server's certificate"},
		&cli.StringFlag{Name: "tls-cert", Usage: "PEM `FILE` with a client certificate, with --tls-key"},
		&cli.StringFlag{Name: "tls-key", Usage: "PEM `FILE` with its private key"},
		&cli.StringFlag{
			Name: "inbox-prefix", Usage: "`PREFIX` of the subjects that answers come on, as the user's permissions have it",
		},
		&cli.StringFlag{Name: "prefix", Value: "sms", Usage: "first `TOKEN` of every subject, as in streams.prefix"},
	}, more...)
}

// identity is how the flags say who connects, and how.
func identity(c *cli.Context) (cfg queue.ConnectConfig, err error) {
	cfg = queue.ConnectConfig{
		CredentialsFile: c.String("creds"), NKeyFile: c.String("nkey"), User: c.String("user"), InboxPrefix: c.String("inbox-prefix"),
	}
	ways := 0
	for _, set := range []bool{cfg.CredentialsFile != "", cfg.NKeyFile != "", cfg.User != ""} {
		if set {
			ways++
		}
	}
	file := c.String("password-file")
	switch {
	case ways > 1:
		return cfg, cli.Exit("--creds, --nkey and --user are several ways to authenticate: give one of them", 2)
	case (cfg.User == "") != (file == ""):
		return cfg, cli.Exit("--user and --password-file belong together: give both", 2)
	case (c.String("tls-cert") == "") != (c.String("tls-key") == ""):
		return cfg, cli.Exit("--tls-cert and --tls-key belong together: give both", 2)
	}
	if file != "" {
		password, err := os.ReadFile(file)
		if err != nil {
			return cfg, fmt.Errorf("--password-file: %w", err)
		}
		cfg.Password = strings.TrimSuffix(strings.TrimSuffix(string(password), "\n"), "\r")
	}
	if cfg.TLS, err = tlsFlags(c); err != nil {
		return cfg, err
	}
	return cfg, nil
}

// tlsFlags reads the files of TLS; nil leaves it to the URL and the server.
func tlsFlags(c *cli.Context) (*tls.Config, error) {
	ca, cert, key := c.String("tls-ca"), c.String("tls-cert"), c.String("tls-key")
	if ca == "" && cert == "" {
		return nil, nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		if t.RootCAs = x509.NewCertPool(); !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, cli.Exit(fmt.Sprintf("--tls-ca %q: holds no PEM certificate", ca), 2)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
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
	cfg, err := identity(c)
	if err != nil {
		return nil, err
	}
	cfg.URL, cfg.Prefix, cfg.Name = c.String("nats"), c.String("prefix"), "sluice "+c.Command.Name
	// A permission that is lacking is said beside the request, which then only has no answer.
	cfg.Logger = slog.New(slog.NewTextHandler(c.App.ErrWriter, &slog.HandlerOptions{Level: slog.LevelWarn}))
	client, err := queue.Connect(ctx, cfg)
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
