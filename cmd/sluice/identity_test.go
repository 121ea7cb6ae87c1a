package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/queue"
	"sluice/testserver"
)

func TestNATSFlagsNameWhatIsWrong(t *testing.T) {
	file := write(t, "pw", "secret\n")
	missing := filepath.Join(t.TempDir(), "missing")
	for _, tc := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--creds", file, "--nkey", file}, 2, "several ways to authenticate"},
		{[]string{"--nkey", file, "--user", "u", "--password-file", file}, 2, "several ways to authenticate"},
		{[]string{"--user", "u"}, 2, "--user and --password-file belong together"},
		{[]string{"--password-file", file}, 2, "--user and --password-file belong together"},
		{[]string{"--user", "u", "--password-file", missing}, 1, "--password-file: open " + missing},
		{[]string{"--tls-cert", file}, 2, "--tls-cert and --tls-key belong together"},
		{[]string{"--tls-ca", missing}, 1, "--tls-ca: open " + missing},
		{[]string{"--tls-ca", file}, 2, "holds no PEM certificate"},
		{[]string{"--tls-cert", file, "--tls-key", file}, 1, "--tls-cert and --tls-key: "},
		{[]string{"--nkey", file}, 1, "no NKey seed could be read"},
		{[]string{"--inbox-prefix", "a b"}, 1, "inbox"},
	} {
		out, errs, err := sluice(t, append([]string{"binds", "--nats", "nats://127.0.0.1:1"}, tc.args...)...)
		if exitStatus(err) != tc.status || !strings.Contains(errs, tc.want) || strings.Contains(out+errs, "secret") {
			t.Errorf("%v: %v %s%s; want status %d and %q", tc.args, err, out, errs, tc.status, tc.want)
		}
	}
}

// A gateway whose embedded server asks for a user: commands with it do their work, those without are refused.
func TestEmbeddedServerAsksForItsUser(t *testing.T) {
	t.Parallel()
	_, smsc := fakeSMSC(t, testserver.Scenario{})
	d := newDaemon(t, smsc, "", "")
	yaml, err := os.ReadFile(d.config)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(yaml), "embedded: {", "embedded: {user: sluice, password: s3cretpw, ", 1)
	if err := os.WriteFile(d.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	who := []string{"--nats", d.url(), "--user", "sluice", "--password-file", write(t, "pw", "s3cretpw\n")}
	if out, errs, err := sluice(t, append([]string{"send", "--to", "+15550100", "--text", "hello", "--wait"}, who...)...); err != nil {
		t.Errorf("with the user: %v: %s%s", err, out, errs)
	}
	if out, errs, err := sluice(t, append([]string{"pause", "acme"}, who...)...); err != nil || out != "acme: 1 of 1 applied\n" {
		t.Errorf("with the user pause prints %q, %q (%v)", out, errs, err)
	}
	_, errs := call(t, d.url(), 1, "binds")
	contains(t, "without the user", errs, "Authorization Violation")
	wrong := []string{"--nats", d.url(), "--user", "sluice", "--password-file", write(t, "wrong", "other")}
	if _, errs, err := sluice(t, append([]string{"binds"}, wrong...)...); err == nil || strings.Contains(errs, "s3cretpw") {
		t.Errorf("with a wrong password: %v: %s", err, errs)
	}
	if _, err := queue.Connect(t.Context(), queue.ConnectConfig{URL: d.url()}); err == nil {
		t.Error("a client without the user is let in")
	}
	if err := d.stop(); err != nil {
		t.Errorf("sluice run ended with %v", err)
	}
	if strings.Contains(d.log.String(), "s3cretpw") {
		t.Error("the password is in the log")
	}
}
