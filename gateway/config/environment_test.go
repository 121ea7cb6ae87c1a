package config

import (
	"strings"
	"testing"
	"time"
)

func TestEnvironmentOverrides(t *testing.T) {
	c := mustLoad(t, `
accounts: {my-smsc: {address: "h:1", system_id: s, password: p}}
routes: {main: {accounts: my-smsc}}
`,
		"SLUICE_INSTANCE=gw-7",
		"SLUICE_NATS_URL=nats://queue:4222",
		"SLUICE_STREAMS_MAX_BYTES=2GiB",
		"SLUICE_ACCOUNTS_MY_SMSC_PASSWORD=secret",
		"SLUICE_ACCOUNTS_MY_SMSC_ADDRESS=other:2775",
		"SLUICE_ACCOUNTS_MY_SMSC_RATE_DECLARED=80",
		"SLUICE_ACCOUNTS_MY_SMSC_MARK=false",
		"SLUICE_ROUTES_MAIN_ATTEMPTS_PER=2/1m",
		"SLUICE_PORT_9464_TCP=tcp://10.0.0.1:9464", // from a container platform
	)
	a := c.Accounts["my-smsc"]
	if a.Password.Value() != "secret" || a.Address[0] != "other:2775" || a.Rate.Declared != 80 || a.Mark != MarkFalse {
		t.Errorf("account is %+v", a)
	}
	if c.Instance != "gw-7" || c.NATS.URL != "nats://queue:4222" || c.Streams.MaxBytes != 2<<30 {
		t.Errorf("configuration is %+v", c)
	}
	if c.Routes["main"].AttemptsPer != (Allowance{2, time.Minute}) {
		t.Errorf("attempts_per is %s", c.Routes["main"].AttemptsPer)
	}
	if w := strings.Join(c.Warnings(), "\n"); strings.Contains(w, "password: ") {
		t.Errorf("a password from the environment earns the warnings %s", w)
	}
}

func TestEnvironmentFaults(t *testing.T) {
	two := `
accounts: {a-b: {address: "h:1", system_id: s, password: p}, a_b: {address: "h:1", system_id: s, password: p}}
routes: {x: {accounts: a-b}, y: {accounts: a_b}}
`
	tests := []struct{ name, text, variable, want string }{
		{"misspelt", minimal, "SLUICE_ACCOUNTS_ACME_PASSWROD=geheim", "did you mean SLUICE_ACCOUNTS_ACME_PASSWORD?"},
		{"no such account", minimal, "SLUICE_ACCOUNTS_SOMEBODY_ELSE_MARK=false", "fits no key"},
		{"wrong form", minimal, "SLUICE_ACCOUNTS_ACME_RATE_DECLARED=geheim-fast", `"geheim-fast" is not a number`},
		{"two meanings", two, "SLUICE_ACCOUNTS_A_B_MARK=false", "could mean accounts.a-b.mark or accounts.a_b.mark"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := faults(t, tt.text, "ACME_PASSWORD=x", tt.variable)
			if len(got) != 1 || !strings.Contains(got[0], tt.want) || !strings.Contains(got[0], "SLUICE_") {
				t.Errorf("got %q", got)
			}
		})
	}
}
