//go:build interop

package interop

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"sluice/smpp"
)

// keyLog is a file for the session keys of TLS, so that tshark can decrypt.
func keyLog(t *testing.T) (path string, w io.Writer) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "keys")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return path, file
}

// TestSessionOverTLS is our session with a client certificate against an SMSC of
// node-smpp that wants one.
func TestSessionOverTLS(t *testing.T) {
	a := newAuthority(t)
	p := nodeSMPP(t, "serve", a.folder(t, a.issue(t, "smsc")))
	c := startCapture(t, p.port)
	path, keys := keyLog(t)
	c.keys = path
	e := newESME(p)
	e.cfg.TLS = &tls.Config{
		RootCAs: a.pool, Certificates: []tls.Certificate{a.issue(t, "esme")}, KeyLogWriter: keys, MinVersion: tls.VersionTLS12,
	}
	e.converse(t)
	c.verify(t, e.taps, quirks{})
}

// Without a client certificate the SMSC of node-smpp takes no bind, and with
// another authority we do not trust it.
func TestSessionOverTLSNeedsCertificates(t *testing.T) {
	a := newAuthority(t)
	p := nodeSMPP(t, "serve", a.folder(t, a.issue(t, "smsc")))
	for name, cfg := range map[string]*tls.Config{
		"no certificate":  {RootCAs: a.pool},
		"wrong authority": {RootCAs: newAuthority(t).pool, Certificates: []tls.Certificate{a.issue(t, "esme")}},
	} {
		e := newESME(p)
		e.cfg.TLS = cfg
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		conn, err := smpp.Dial(ctx, e.cfg)
		if err == nil { // of TLS 1.3 the client learns later
			_, err = smpp.Bind(ctx, conn, e.cfg)
		}
		cancel()
		if err == nil {
			t.Errorf("%s: bound", name)
		}
		p.take(t, "error")
	}
}

// TestClientOverTLS is node-smpp with a client certificate against our fake SMSC
// that wants one.
func TestClientOverTLS(t *testing.T) {
	a := newAuthority(t)
	path, keys := keyLog(t)
	f := serve(t, standard(), func(l net.Listener) net.Listener {
		return tls.NewListener(l, &tls.Config{
			Certificates: []tls.Certificate{a.issue(t, "smsc")}, ClientCAs: a.pool, ClientAuth: tls.RequireAndVerifyClientCert,
			KeyLogWriter: keys, MinVersion: tls.VersionTLS12,
		})
	})
	capture := startCapture(t, f.port())
	capture.keys = path
	c := &client{nodeSMPP(t, "connect", strconv.Itoa(f.port()), a.folder(t, a.issue(t, "esme"))), f}
	c.converse(t)
	f.checkEnd(t, 3, 1, 1)
	capture.verify(t, f.all(), quirks{})
}
