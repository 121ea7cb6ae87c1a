//go:build unix

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whoever opens a pipe waits for somebody who writes to it: `sluice run -c` hung without a word.
func TestAPipeIsNoConfiguration(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(pipe); !errors.Is(err, errNotAFile) || !strings.Contains(err.Error(), pipe+": is a pipe or a socket, not a file") {
		t.Errorf("Load of a pipe: %v", err)
	}
	text := "accounts: {acme: {address: 'h:1', system_id: s, password: {file: " + pipe + "}, tls: {enabled: true, ca: " + pipe + "}}}\n" +
		"nats: {url: 'nats://h:4222', credentials: {file: " + pipe + "}}"
	got := strings.Join(faults(t, text), "\n")
	for _, key := range []string{"accounts.acme.password.file", "accounts.acme.tls.ca", "nats.credentials.file"} {
		if want := key + `: "` + pipe + `" cannot be read: is a pipe or a socket, not a file`; !strings.Contains(got, want) {
			t.Errorf("got:\n%s\nwant a line with: %s", got, want)
		}
	}
}

func TestSecretsThatOthersMayReadEarnAWarning(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask is
			t.Fatal(err)
		}
	}
	put("pw", "p\n", 0o644)
	put("gw.creds", "x", 0o604)
	warnings := func(password string, mode os.FileMode) string {
		t.Helper()
		put("sluice.yaml", "accounts: {acme: {address: '127.0.0.1:1', system_id: s, password: "+password+"}}\n"+
			"nats: {url: 'nats://127.0.0.1:4222', credentials: {file: gw.creds}}\n", mode)
		c, err := Load(filepath.Join(dir, "sluice.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(c.Warnings(), "\n")
	}
	got := warnings("{file: pw}", 0o644)
	for _, want := range []string{
		`accounts.acme.password.file: "` + dir + `/pw" may be read by every user of this machine; chmod o= `,
		`nats.credentials.file: "` + dir + `/gw.creds" may be read by every user`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got:\n%s\nwant: %s", got, want)
		}
	}
	if strings.Contains(got, "sluice.yaml: holds a password") {
		t.Errorf("a configuration without a password:\n%s", got)
	}
	put("pw", "p\n", 0o640)
	put("gw.creds", "x", 0o400)
	if got := warnings("{file: pw}", 0o644); got != "" {
		t.Errorf("files that others may not read:\n%s", got)
	}
	if got := warnings("p", 0o644); !strings.Contains(got, "sluice.yaml: holds a password and may be read by every user") {
		t.Errorf("a password in an open file:\n%s", got)
	}
	if got := warnings("p", 0o600); strings.Contains(got, "may be read") {
		t.Errorf("a password in a closed file:\n%s", got)
	}
}

func TestPasswordsInPlainTextEarnAWarning(t *testing.T) {
	for text, want := range map[string]string{
		"'smsc.example.net:2775'":                       "accounts.acme.tls: is off, so that the password and all texts travel to smsc.example.net:2775 in plain text",
		"['127.0.0.1:1', '10.0.0.7:2775']":              "travel to 10.0.0.7:2775",
		"'[2001:db8::1]:2775'":                          "travel to [2001:db8::1]:2775",
		"'smsc.example.net:3550', tls: {enabled: true}": "",
		"['127.0.0.1:1', '127.9.9.9:1', '[::1]:1']":     "",
		"'[::ffff:127.0.0.1]:1'":                        "",
		"'localhost:2775'":                              "",
	} {
		c := mustLoad(t, "accounts: {acme: {system_id: s, password: {env: PW}, address: "+text+"}}\n", "PW=p")
		if got := strings.Join(c.Warnings(), "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	const cred = ", credentials: {user: u, password: {env: PW}}"
	for text, warned := range map[string]bool{
		"url: 'nats://queue:4222'" + cred:                                    true,
		"url: 'nats://127.0.0.1:4222,nats://10.0.0.7:4222'" + cred:           true,
		"url: 'ws://queue:4222'" + cred:                                      true,
		"url: 'tls://queue:4222'" + cred:                                     false,
		"url: 'nats://localhost:4222'" + cred:                                false,
		"embedded: {listen: '0.0.0.0:4222', user: u, password: {env: PW}}":   true,
		"embedded: {listen: '127.0.0.1:4222', user: u, password: {env: PW}}": false,
		"url: 'nats://queue:4222'":                                           false,
	} {
		c := mustLoad(t, "accounts: {acme: {system_id: s, password: {env: PW}, address: 'localhost:1'}}\nnats: {"+text+"}\n", "PW=p")
		if got := strings.Join(c.Warnings(), "\n"); strings.Contains(got, "has no TLS, so that the password") != warned {
			t.Errorf("%s: %q, want a warning: %v", text, got, warned)
		}
	}
}
