package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/urfave/cli/v2"
)

// natsServerCommand is the NATS server as a process of its own, so that nothing needs to be installed.
func natsServerCommand() *cli.Command {
	return &cli.Command{
		Name:   "nats-server",
		Usage:  "run a NATS server with JetStream until SIGTERM",
		Hidden: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "store", Required: true, Usage: "`FOLDER` of the store"},
			&cli.IntFlag{Name: "port", Required: true, Usage: "`PORT` on 127.0.0.1"},
		},
		Action: func(c *cli.Context) error { return serveNATS(c.String("store"), c.Int("port")) },
	}
}

const (
	natsReady = 30 * time.Second
	storeSize = 1 << 40 // what streams may reserve; the disk is the limit
)

// serveNATS runs the server. SIGUSR1 takes every octet that a file could still grow by, as a quota would, and SIGUSR2
// gives them back.
func serveNATS(store string, port int) error {
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the quota is to fail, not to kill
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	s, err := server.NewServer(&server.Options{
		ServerName: "chaos", Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: store,
		JetStreamMaxStore: storeSize, JetStreamMaxMemory: storeSize, SyncInterval: time.Second, NoSigs: true,
	})
	if err != nil {
		return fmt.Errorf("nats-server: %w", err)
	}
	s.ConfigureLogger()
	s.Start()
	if !s.ReadyForConnections(natsReady) {
		return errors.New("nats-server: not ready")
	}
	for sig := range signals {
		switch sig {
		case syscall.SIGUSR1:
			err = limitFiles(0)
		case syscall.SIGUSR2:
			err = limitFiles(^uint64(0))
		default:
			s.Shutdown()
			s.WaitForShutdown()
			return nil
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "nats-server: file-size quota:", err)
		}
	}
	return nil
}

// limitFiles bounds the size that a file of this process can grow to.
func limitFiles(most uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = min(most, limit.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}
