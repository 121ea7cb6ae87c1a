package smpp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"sluice/smpp/pdu"
)

// authority signs the certificates of a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key, a.cert = a.sign(template, template)
	return a
}

func (a *authority) sign(template, parent *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, cert
}

func (a *authority) issue(name string, usage x509.ExtKeyUsage) tls.Certificate {
	a.t.Helper()
	key, cert := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}, a.cert)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

const smscName = "smsc.example.net"

func TestTLS(t *testing.T) {
	ca := newAuthority(t)
	serverCert := ca.issue(smscName, x509.ExtKeyUsageServerAuth)
	clientCert := ca.issue("sluice", x509.ExtKeyUsageClientAuth)
	serve := func(t *testing.T, cfg *tls.Config) (addr string, sni *atomic.Value) {
		t.Helper()
		sni = new(atomic.Value)
		cfg.Certificates = []tls.Certificate{serverCert}
		cfg.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			sni.Store(h.ServerName)
			return nil, nil
		}
		return listen(t, func(c *net.TCPConn) { serveFast(tls.Server(c, cfg), 0) }), sni
	}

	t.Run("SNI, CA and client certificate", func(t *testing.T) {
		addr, sni := serve(t, &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool()})
		cfg := testConfig()
		cfg.Address = addr
		cfg.TLS = &tls.Config{ServerName: smscName, RootCAs: ca.pool(), Certificates: []tls.Certificate{clientCert}}
		s := dialAndBind(t, cfg)
		if r, err := s.Submit(t.Context(), message(), nil); err != nil || r.Status != pdu.StatusOK {
			t.Errorf("Submit returned %+v, %v", r, err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := sni.Load(); got != smscName {
			t.Errorf("SNI %v, want %s", got, smscName)
		}
		if cfg.TLS.MinVersion != 0 {
			t.Error("Dial changed the caller's tls.Config")
		}
	})
	t.Run("client certificate missing", func(t *testing.T) {
		addr, _ := serve(t, &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.pool()})
		cfg := testConfig()
		cfg.Address = addr
		cfg.TLS = &tls.Config{ServerName: smscName, RootCAs: ca.pool()}
		// With TLS 1.3 the server's refusal follows the handshake.
		conn, err := Dial(t.Context(), cfg)
		if err == nil {
			_, err = Bind(t.Context(), conn, cfg)
		}
		if err == nil {
			t.Error("the bind succeeded without a client certificate")
		}
	})
	t.Run("unknown CA", func(t *testing.T) {
		addr, _ := serve(t, &tls.Config{})
		_, err := Dial(t.Context(), Config{Address: addr, TLS: &tls.Config{ServerName: smscName, RootCAs: x509.NewCertPool()}})
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); !ok {
			t.Errorf("Dial returned %v, want an unknown authority", err)
		}
	})
	t.Run("another host's certificate", func(t *testing.T) {
		addr, _ := serve(t, &tls.Config{})
		_, err := Dial(t.Context(), Config{Address: addr, TLS: &tls.Config{RootCAs: ca.pool()}})
		if _, ok := errors.AsType[x509.HostnameError](err); !ok {
			t.Errorf("Dial returned %v, want a certificate that does not fit the host of Address", err)
		}
	})
	t.Run("TLS 1.1 is too old", func(t *testing.T) {
		addr, _ := serve(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
		cfg := Config{Address: addr, TLS: &tls.Config{ServerName: smscName, RootCAs: ca.pool(), MinVersion: tls.VersionTLS10}}
		if _, err := Dial(t.Context(), cfg); err == nil {
			t.Error("Dial took TLS 1.1")
		}
	})
	t.Run("plain client to a TLS port", func(t *testing.T) {
		addr, _ := serve(t, &tls.Config{})
		cfg := testConfig()
		cfg.Address = addr
		conn, err := Dial(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		// Some servers answer with an alert (TestF44), others just hang up.
		if _, err = Bind(t.Context(), conn, cfg); !errors.Is(err, ErrHungUp) {
			t.Errorf("Bind returned %v, want ErrHungUp", err)
		}
	})
	t.Run("TLS client to a plain port", func(t *testing.T) {
		addr := listen(t, func(c *net.TCPConn) {
			_, _ = c.Read(make([]byte, 16))
			_, _ = c.Write(pdu.Header{Length: 16, ID: pdu.IDGenericNack, Status: pdu.StatusInvCmdLen}.Append(nil))
			_, _ = c.Read(make([]byte, 4096))
		})
		_, err := Dial(t.Context(), Config{Address: addr, TLS: &tls.Config{}})
		if !errors.Is(err, ErrNotTLS) {
			t.Errorf("Dial returned %v, want ErrNotTLS", err)
		}
	})
}
