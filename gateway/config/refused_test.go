package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	account := "accounts: {acme: {address: '%s', system_id: s, password: p}}"
	for addr, want := range map[string]string{
		":2775":                           "has no host; write the SMSC as host:port",
		"a b:1":                           `has the host "a b"`,
		" h:1":                            `has the host " h"`,
		"a..b:1":                          `has the host "a..b"`,
		"smpp//h:1":                       `has the host "smpp//h"`,
		"é.example:1":                     "has the host",
		"127.0.0.1:+1":                    `has the port "+1"; use 1 to 65535`,
		"127.0.0.1:-1":                    `has the port "-1"`,
		"127.0.0.1: 1":                    `has the port " 1"`,
		"127.0.0.1:65536":                 `has the port "65536"`,
		strings.Repeat("a", 64) + ".b:1":  "has the host",
		strings.Repeat("a.", 127) + "b:1": "has the host",
		"smsc.example.net:2775":           "",
		"smsc_1.example.net.:2775":        "",
		"[::1]:2775":                      "",
		"[fe80::1%eth0]:2775":             "",
		"10.0.0.1:1":                      "",
	} {
		_, err := load("f", ".", []byte(fmt.Sprintf(account, addr)), nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", addr, err, want)
		}
	}
	for http, good := range map[string]bool{":9464": true, "0.0.0.0:9464": true, "localhost:0": true, "a b:1": false, ":+1": false} {
		if _, err := load("f", ".", []byte(minimal+"http: '"+http+"'"), []string{"ACME_PASSWORD=x"}); (err == nil) != good {
			t.Errorf("http %q: %v", http, err)
		}
	}
}

func TestThrottlesAreNeverSuccess(t *testing.T) {
	for _, key := range []string{"0x58", "0x058", "0x14", "submit:0x58", "nack:0x14"} {
		for class, good := range map[string]bool{"ok": false, "throttle": true, "retry": true, "terminal": true, "config": true, "unknown": true} {
			text := fmt.Sprintf("accounts: {acme: {address: 'h:1', system_id: s, password: p, statuses: {%q: %s}}}", key, class)
			_, err := load("f", ".", []byte(text), nil)
			if (err == nil) != good {
				t.Errorf("%s: %s: %v", key, class, err)
			}
			if err != nil && !strings.Contains(err.Error(), "accounts.acme.statuses."+key+`: "ok" would report messages as submitted`) {
				t.Errorf("%s: %s: %v", key, class, err)
			}
		}
	}
}

func TestCertificateFilesHoldCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, key := keyPair(t)
	_, otherKey := keyPair(t)
	for name, data := range map[string][]byte{"cert.pem": cert, "key.pem": key, "other.pem": otherKey, "empty.pem": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for files, want := range map[string]string{
		"ca: cert.pem": "",
		"ca: cert.pem, cert: cert.pem, key: key.pem": "",
		"ca: key.pem":                      "tls.ca: \"" + filepath.Join(dir, "key.pem") + `" holds no certificate; name a PEM file with a CERTIFICATE block`,
		"ca: empty.pem":                    "holds no certificate",
		"ca: .":                            "cannot be read: is a directory",
		"cert: cert.pem, key: other.pem":   "does not go with key: private key does not match public key",
		"cert: empty.pem, key: key.pem":    "does not go with key: failed to find any PEM data",
		"cert: cert.pem, key: nowhere.pem": "cannot be read: no such file",
	} {
		for _, text := range []string{
			"accounts: {acme: {address: 'h:1', system_id: s, password: p, tls: {enabled: true, " + files + "}}}",
			"accounts: {acme: {address: 'h:1', system_id: s, password: p}}\nnats: {url: 'tls://h', credentials: {tls: {" + files + "}}}",
		} {
			_, err := load("f", dir, []byte(text), nil)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v, want %q", files, err, want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v: want one fault", files, err)
			}
		}
	}
}

// keyPair is a certificate that signed itself, and its key.
func keyPair(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}
