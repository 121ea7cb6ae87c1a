package smpp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
)

// Dial connects to cfg.Address, with TLS when cfg.TLS is set, within
// ConnectTimeout. A peer that answers the ClientHello with something else is
// reported as ErrNotTLS.
func Dial(ctx context.Context, cfg Config) (net.Conn, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("smpp: Address %q is not host:port, such as smsc.example.net:2775: %w", cfg.Address, err)
	}
	cfg = cfg.withDefaults()
	limit := fmt.Errorf("no connection within %v: %w", cfg.ConnectTimeout, os.ErrDeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.ConnectTimeout, limit)
	defer cancel()

	var dialer net.Dialer
	if cfg.LocalAddress != "" {
		ip := netip.MustParseAddr(cfg.LocalAddress) // Validate has seen it
		dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0))
	}
	conn, err := dialer.DialContext(ctx, "tcp", cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("smpp: connect: %w", because(ctx, err))
	}
	if cfg.TLS == nil {
		return conn, nil
	}
	return handshake(ctx, conn, cfg.TLS, host)
}

// handshake speaks TLS on a connection, which it closes on an error. ctx bounds
// it.
func handshake(ctx context.Context, conn net.Conn, base *tls.Config, host string) (net.Conn, error) {
	c := base.Clone()
	c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
	c.ServerName = or(c.ServerName, host)
	secured := tls.Client(conn, c)
	err := secured.HandshakeContext(ctx)
	if err == nil {
		return secured, nil
	}
	_ = conn.Close()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("smpp: TLS handshake: %w: the port may speak plain SMPP", because(ctx, err))
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return nil, fmt.Errorf("%w: %w", ErrNotTLS, err)
	}
	return nil, fmt.Errorf("smpp: TLS handshake: %w", err)
}

// because prefers the reason a context ended to the error that its end caused.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
