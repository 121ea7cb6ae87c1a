package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Load reads the configuration in the file at path: it decodes strictly,
// applies overrides from the environment (SLUICE_ACCOUNTS_ACME_PASSWORD is
// accounts.acme.password), fills in defaults, looks up secrets and validates.
// The error joins every fault, one [*Fault] each.
func Load(path string) (*Config, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("find the directory of the configuration: %w", err)
	}
	return load(path, dir, data, os.Environ())
}

func load(path, dir string, data []byte, environ []string) (*Config, error) {
	env := variables(environ)
	c, faults := decode(path, data)
	c.noteOpen("", path)
	faults = append(faults, c.override(env)...)
	c.complete()
	faults = append(faults, c.resolve(dir, env)...)
	faults = append(faults, c.validate()...)
	if err := joined(faults); err != nil {
		return nil, err
	}
	return c, nil
}

func variables(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return env
}

// resolve looks up the secrets and makes the paths of files relative to the
// directory of the configuration.
func (c *Config) resolve(dir string, env map[string]string) []error {
	r := resolver{c: c, dir: dir, env: env}
	r.secret("nats.credentials.password", &c.NATS.Credentials.Password)
	r.secret("nats.embedded.password", &c.NATS.Embedded.Password)
	r.file("nats.credentials.file", &c.NATS.Credentials.File)
	r.file("nats.credentials.nkey", &c.NATS.Credentials.NKey)
	nats := &c.NATS.Credentials.TLS
	r.certificates("nats.credentials.tls", &nats.CA, &nats.Cert, &nats.Key)
	r.absolute(&c.NATS.Embedded.Dir)
	c.noteOpen("nats.credentials.file", c.NATS.Credentials.File)
	c.noteOpen("nats.credentials.nkey", c.NATS.Credentials.NKey)
	c.noteOpen("nats.credentials.tls.key", nats.Key)
	for name, a := range sorted(c.Accounts) {
		at := "accounts." + name
		r.secret(at+".password", &a.Password)
		r.certificates(at+".tls", &a.TLS.CA, &a.TLS.Cert, &a.TLS.Key)
		c.noteOpen(at+".tls.key", a.TLS.Key)
	}
	return r.faults
}

type resolver struct {
	c      *Config
	dir    string
	env    map[string]string
	faults []error
}

func (r *resolver) fault(path, value, problem, remedy string) {
	r.faults = append(r.faults, r.c.fault(path, value, problem, remedy))
	r.c.origin.said[path] = true
}

func (r *resolver) absolute(path *string) {
	if *path != "" && !filepath.IsAbs(*path) {
		*path = filepath.Join(r.dir, *path)
	}
}

// file reads a named file, to find out now that it cannot be read; nil where none is named or it cannot.
func (r *resolver) file(at string, path *string) []byte {
	if *path == "" {
		return nil
	}
	r.absolute(path)
	data, err := readFile(*path)
	if err != nil {
		r.fault(at, *path, "cannot be read: "+cause(err), "name a readable file")
		return nil
	}
	return data
}

// certificates checks that PEM files hold what TLS will look for in them.
func (r *resolver) certificates(at string, ca, cert, key *string) {
	authorities := r.file(at+".ca", ca)
	if authorities != nil && !x509.NewCertPool().AppendCertsFromPEM(authorities) {
		r.fault(at+".ca", *ca, "holds no certificate", "name a PEM file with a CERTIFICATE block")
	}
	certPEM, keyPEM := r.file(at+".cert", cert), r.file(at+".key", key)
	if certPEM == nil || keyPEM == nil {
		return
	}
	if _, err := tls.X509KeyPair(certPEM, keyPEM); err != nil {
		r.fault(at+".cert", *cert, "does not go with key: "+strings.TrimPrefix(err.Error(), "tls: "), "name the PEM files of one certificate and its private key")
	}
}

func (r *resolver) secret(at string, s *Secret) {
	switch {
	case s.Env != "" && s.File != "":
		r.fault(at, "", "names both env and file", "keep one")
	case s.Env != "":
		value, ok := r.env[s.Env]
		if !ok || value == "" {
			r.fault(at+".env", s.Env, "is not set in the environment", "set it, or use {file: PATH}")
			r.c.origin.said[at] = true
			return
		}
		s.value = value
	case s.File != "":
		path := s.File
		r.absolute(&path)
		data, err := readFile(path)
		if err != nil {
			r.fault(at+".file", path, "cannot be read: "+cause(err), "name a readable file that holds the secret")
			r.c.origin.said[at] = true
			return
		}
		r.c.noteOpen(at+".file", path)
		if s.value = strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"); s.value == "" {
			r.fault(at+".file", path, "is empty", "write the secret into it")
			r.c.origin.said[at] = true
		}
	}
}

// cause is the reason without the path, which the fault already names.
func cause(err error) string {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
