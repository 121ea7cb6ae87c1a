package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/gateway/config"
)

// checkPorts opens and closes the addresses that the gateway will listen on. An error names the key, the address and the
// remedy of each that cannot be had, before anything is started; the embedded server would only be silent for 10 s.
func checkPorts(ctx context.Context, cfg *config.Config) error {
	var faults []error
	check := func(key, addr, remedy string) {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
		if err == nil {
			err = listener.Close()
		}
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			faults = append(faults, fmt.Errorf("%s: %s is in use by another process; stop that one, or %s", key, addr, remedy))
		case err != nil:
			faults = append(faults, fmt.Errorf("%s: cannot listen on %s: %w; %s", key, addr, cause(err), remedy))
		}
	}
	if cfg.NATS.URL == "" {
		check("nats.embedded.listen", cfg.NATS.Embedded.Listen, "set another port, or nats.url where that one is the NATS server to use")
	}
	if cfg.HTTP != "" {
		check("http", string(cfg.HTTP), "set another port, or off")
	}
	return errors.Join(faults...)
}

// cause is the reason without the address.
func cause(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	return err
}

// storageFull is the server's code for a stream that reserves more than there is. The client names no constant for it.
const storageFull jetstream.ErrorCode = 10047

// explainStore adds to an error of a start what to set when the store is too small for the streams.
func explainStore(err error, cfg *config.Config) error {
	e, ok := errors.AsType[*jetstream.APIError](err)
	if !ok || e.ErrorCode != storageFull {
		return err
	}
	where := "the NATS server of nats.url"
	if cfg.NATS.URL == "" {
		where = "the disk of nats.embedded.dir, " + cfg.NATS.Embedded.Dir + ","
	}
	limits := cfg.Limits()
	return fmt.Errorf("%w: %s has too little room; streams.max_bytes is %s, streams.journal_bytes is %s, and all streams together reserve %s: lower streams.max_bytes and streams.journal_bytes, or make room",
		err, where, limits.Queue, limits.Journal, limits.Sum())
}
