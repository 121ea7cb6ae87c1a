package gateway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"sluice/gateway/admin"
	"sluice/testserver"
)

// presenting listens with a certificate of its own making, for the given name.
func presenting(t *testing.T, name string) (addr string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() { // until the listener is closed
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func(conn net.Conn) {
				_, _ = conn.Read(make([]byte, 1)) // it makes the handshake
				_ = conn.Close()
			}(conn)
		}
	}()
	return listener.Addr().String()
}

// Whoever answers at the SMSC's address chooses the names in the certificate, which the refusal quotes before anything is
// trusted: they reach a terminal escaped.
func TestNamesOfACertificateAreEscaped(t *testing.T) {
	t.Parallel()
	addr := presenting(t, "smsc\x1b[2J\r\nready\x07.example.net")
	r := startGateway(t, t.TempDir(), smsc{addr: addr}, "tls: {enabled: true, server_name: smsc.example.net}", "")
	accounts := r.awaitAccount(t, "the refusal", func(a admin.Account) bool {
		return strings.Contains(a.Reason, "certificate is valid for")
	})
	shown := map[string]string{"accounts": admin.Standing(accounts[0].State, accounts[0].Reason, accounts[0].Until)}
	if want := `smsc\u001b[2J\u000d\u000aready\u0007.example.net`; !strings.Contains(shown["accounts"], want) {
		t.Errorf("accounts says %q, want it to show %s", shown["accounts"], want)
	}
	for _, path := range []string{"/readyz", "/status"} {
		_, shown[path] = r.get(t, path)
	}
	for where, text := range shown {
		if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }) || strings.Contains(text, "\nready") {
			t.Errorf("%s says %q", where, text)
		}
	}
}

// The pages of a gateway on loopback are for this machine: a web page that has its own name point here reads nothing.
func TestForeignHostsReadNothing(t *testing.T) {
	t.Parallel()
	r := startGateway(t, t.TempDir(), startSMSC(t, testserver.Scenario{}), "", "")
	for host, want := range map[string]int{"evil.example.com": http.StatusMisdirectedRequest, "localhost:9464": http.StatusOK, "": http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.HTTPAddr()+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != want || strings.Contains(string(body), "sluice_") != (want == http.StatusOK) {
			t.Errorf("host %q: %d, %v; want %d", host, resp.StatusCode, err, want)
		}
	}
}
