package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestNoWayOfPrintingShowsASecret(t *testing.T) {
	const secret = "geheim42"
	c := mustLoad(t, `
nats: {url: "nats://h:4222", credentials: {user: u, password: geheim42}}
accounts: {acme: {address: "h:1", system_id: s, password: geheim42}}
`)
	if c.Accounts["acme"].Password.Value() != secret {
		t.Fatal("the secret was lost")
	}
	effective, err := c.Effective()
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("config", "account", c.Accounts["acme"], "password", c.Accounts["acme"].Password)
	for _, out := range []string{
		string(effective), string(asJSON), log.String(), strings.Join(c.Warnings(), "\n"),
		fmt.Sprintf("%v %+v %#v %s", c, c, c, c.NATS.Credentials.Password),
		fmt.Sprintf("%v %+v %#v", *c.Accounts["acme"], *c.Accounts["acme"], *c.Accounts["acme"]),
	} {
		if strings.Contains(out, secret) {
			t.Errorf("a secret is shown:\n%s", out)
		}
	}
	if !strings.Contains(string(effective), "password: \"********\"") {
		t.Errorf("the password is not marked as set:\n%s", effective)
	}
	if c.Redacted().Accounts["acme"].Password.Value() == secret || c.Accounts["acme"].Password.Value() != secret {
		t.Error("Redacted kept the secret, or took it from the original")
	}
}

func TestFaultsShowNoSecret(t *testing.T) {
	for _, text := range []string{
		"accounts: {acme: {address: 'h:1', system_id: s, password: '" + strings.Repeat("geheim42", 200) + "'}}",
		"accounts: {acme: {address: 'h:1', system_id: s, password: [geheim42]}}",
		"accounts: {acme: {address: 'h:1', system_id: s, password: geheim42}} }",
		minimal + "nats: {url: 'nats://u:geheim42@h'}",
	} {
		if got := strings.Join(faults(t, text), "\n"); strings.Contains(got, "geheim42") {
			t.Errorf("a secret is shown:\n%s", got)
		}
	}
}

func TestLiteralPasswordEarnsAWarning(t *testing.T) {
	c := mustLoad(t, "accounts:\n  acme: {address: '[::1]:1', system_id: s, password: p}\n")
	want := "sluice.yaml:2:44: accounts.acme.password: is written into the file; use {env: NAME} or {file: PATH} so that the file can be shared"
	if w := c.Warnings(); len(w) != 1 || w[0] != want {
		t.Errorf("warnings: %q", w)
	}
}

func TestEffectiveReadsBack(t *testing.T) {
	c := mustLoad(t, `
nats: {embedded: {dir: /var/lib/sluice}}
streams: {sync: always, max_bytes: 300MB, duplicate_window: 90s}
http: off
accounts:
  acme:
    address: "h:1"
    system_id: s
    password: {env: PW}
    statuses: {"0x45": {class: throttle, hold: 1m}, "0x46": retry}
    noise: {max: 0.07%}
    rate: {declared: 12.5}
routes: {main: {accounts: acme, classes: {a: strict, b: 7}}}
`, "PW=x")
	first, err := c.Effective()
	if err != nil {
		t.Fatal(err)
	}
	again, err := load("effective.yaml", ".", first, []string{"PW=x"})
	if err != nil {
		t.Fatalf("%v\n%s", err, first)
	}
	second, err := again.Effective()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Errorf("printed:\n%s\nread back:\n%s", first, second)
	}
	for _, line := range []string{"declared: 12.5", "max: 0.07%", "max_bytes: 300MB", "sync: always", "b: 7", `http: "off"`, "attempts_per: \"off\"", "env: PW"} {
		if !strings.Contains(string(first), line) {
			t.Errorf("no %q in:\n%s", line, first)
		}
	}
}

// A mark is printed as it is written: a word, or a switch without quotes.
func TestG35MarkIsPrintedAsItIsWritten(t *testing.T) {
	for word, want := range map[string]Mark{"auto": MarkAuto, "true": MarkTrue, "false": MarkFalse, `"true"`: MarkTrue} {
		c := mustLoad(t, "accounts: {acme: {address: 'h:1', system_id: s, password: x, mark: "+word+"}}")
		if got := c.Accounts["acme"].Mark; got != want {
			t.Errorf("mark: %s is read as %q", word, got)
		}
		effective, err := c.Effective()
		if err != nil || !strings.Contains(string(effective), "mark: "+strings.Trim(word, `"`)+"\n") {
			t.Errorf("mark: %s is printed as\n%s (%v)", word, effective, err)
		}
	}
}
