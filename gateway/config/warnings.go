package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"runtime"
	"strings"
)

// openFile is a file with a secret that users other than its owner and group may read.
type openFile struct {
	path string // of the key; empty for the configuration itself
	file string
}

// forOthers are the permissions of users that are neither the owner nor of the group.
const forOthers = 0o007

// noteOpen remembers a file that others may read. What cannot be looked at is somebody else's fault to report.
func (c *Config) noteOpen(path, file string) {
	if file == "" || runtime.GOOS == "windows" { // which has no such permissions
		return
	}
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&forOthers != 0 {
		c.open = append(c.open, openFile{path, file})
	}
}

// Warnings says what is accepted but deserves a look.
func (c *Config) Warnings() []string {
	var out []string
	warn := func(path, what string) {
		out = append(out, fmt.Sprintf("%s: %s: %s", c.origin.format(c.origin.place(path)), path, what))
	}
	const literal = "is written into the file; use {env: NAME} or {file: PATH} so that the file can be shared"
	plain := false
	for path, s := range sorted(map[string]Secret{
		"nats.credentials.password": c.NATS.Credentials.Password, "nats.embedded.password": c.NATS.Embedded.Password,
	}) {
		if s.plain {
			warn(path, literal)
			plain = true
		}
	}
	for name, a := range sorted(c.Accounts) {
		if a.Password.plain {
			warn("accounts."+name+".password", literal)
			plain = true
		}
		for _, field := range a.bindFields() {
			if len(field.value) > field.limit {
				warn("accounts."+name+"."+field.key, fmt.Sprintf(
					"has %d octets, beyond the %d of the specification (SMPP 3.4 section 4.1); it is sent as it is, and some SMSCs refuse or cut it",
					len(field.value), field.limit))
			}
		}
	}
	for _, f := range c.open {
		switch {
		case f.path != "":
			warn(f.path, fmt.Sprintf("%q may be read by every user of this machine; chmod o= %s", f.file, f.file))
		case plain:
			out = append(out, fmt.Sprintf("%s: holds a password and may be read by every user of this machine; chmod o= %s", f.file, f.file))
		}
	}
	c.inPlainText(warn)
	c.overDisk(warn)
	return out
}

// inPlainText warns of passwords that travel over a network as they are.
func (c *Config) inPlainText(warn func(path, what string)) {
	for name, a := range sorted(c.Accounts) {
		if a.TLS.Enabled {
			continue
		}
		for _, addr := range a.Address {
			host, _, err := net.SplitHostPort(addr)
			if err == nil && !isLoopback(host) {
				warn("accounts."+name+".tls", fmt.Sprintf("is off, so that the password and all texts travel to %s in plain text; enable it, or use a tunnel", addr))
				break
			}
		}
	}
	if host, _, err := net.SplitHostPort(c.NATS.Embedded.Listen); err == nil && c.NATS.Embedded.User != "" && !isLoopback(host) {
		warn("nats.embedded.listen", "is open to other hosts and has no TLS, so that the password and all texts travel to it in plain text; "+
			"run a NATS server with TLS and set nats.url, or use a tunnel")
	}
	cred := &c.NATS.Credentials
	if c.NATS.URL == "" || cred.User == "" || cred.TLS != (CertFiles{}) {
		return
	}
	for part := range strings.SplitSeq(c.NATS.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err == nil && u.Scheme != "tls" && u.Scheme != "wss" && !isLoopback(u.Hostname()) {
			warn("nats.url", fmt.Sprintf("has no TLS, so that the password and all texts may travel to %s in plain text; use tls://, a credentials file or an nkey", u.Host))
			return
		}
	}
}

// isLoopback says whether a host is this machine: its name, or an address that leads nowhere else.
func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
