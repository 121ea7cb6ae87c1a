package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"sluice/gateway/admin"
	"sluice/queue"
	"sluice/testserver"
)

// control runs a control command against a daemon and returns its answer.
func (d *daemon) control(t *testing.T, args ...string) applied {
	t.Helper()
	out, errs, err := sluice(t, append(args, "-o", "json", "--nats", d.url())...)
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, errs)
	}
	var r applied
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v printed %s: %v", args, out, err)
	}
	if r.Applied != 1 || r.Expected != 1 || r.Account != "acme" || r.Revision == 0 {
		t.Errorf("%v: %+v, want it applied by the one instance", args, r)
	}
	return r
}

func (d *daemon) account(t *testing.T) admin.Account {
	t.Helper()
	out, errs, err := sluice(t, "accounts", "-o", "json", "--nats", d.url())
	var list []admin.Account
	if err != nil || json.Unmarshal([]byte(out), &list) != nil || len(list) != 1 {
		t.Fatalf("accounts: %v: %s%s", err, out, errs)
	}
	return list[0]
}

func TestOperatorControlsAnAccount(t *testing.T) {
	_, smsc := fakeSMSC(t, testserver.Scenario{})
	d := newDaemon(t, smsc, "window: {max: 40}", "")
	d.start(t)

	out, errs, err := sluice(t, "pause", "acme", "--nats", d.url())
	if err != nil || out != "acme: 1 of 1 applied\n" {
		t.Errorf("pause prints %q, %q (%v)", out, errs, err)
	}
	if a := d.account(t); a.State != "paused" || a.Mode != "pause" || !strings.Contains(a.Reason, "sluice resume") {
		t.Errorf("paused, the account is %+v", a)
	}
	d.kill() // what an operator wants outlives everything
	d.start(t)
	if a := d.account(t); a.State != "paused" {
		t.Errorf("after kill -9 the account is %+v, want it paused", a)
	}
	d.control(t, "rate", "acme", "80.5")
	d.control(t, "window", "acme", "--max", "20")
	if a := d.account(t); a.Declared != 80.5 || a.MaxWindow != 20 {
		t.Errorf("with rate and window set the account is %+v", a)
	}
	d.control(t, "rate", "acme", "learn")
	last := d.control(t, "window", "acme", "--max", "configured", "--forget")
	d.control(t, "drain", "acme")
	if a := d.account(t); a.State != "draining" || a.Declared != 0 || a.MaxWindow != 40 || a.Applied <= last.Revision {
		t.Errorf("drained, the account is %+v", a)
	}
	out, errs, err = sluice(t, "accounts", "--nats", d.url())
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "accounts", out+errs, "ACCOUNT", "acme", "draining", "1 of 1 instances answered")
	d.control(t, "resume", "acme")
	out, errs, err = sluice(t, "send", "--to", "+15550100", "--text", "hello", "--wait", "--nats", d.url())
	if err != nil {
		t.Errorf("after a resume a message ends with %v: %s%s", err, out, errs)
	}

	_, errs, err = sluice(t, "pause", "acmee", "--nats", d.url())
	if err == nil {
		t.Error("an account that does not exist is paused")
	}
	contains(t, "the error", errs, `"acmee"`, "acme")
}

// beside makes a second daemon on the NATS of the first, with a streams section.
func (d *daemon) beside(t *testing.T, smsc, streams string) *daemon {
	t.Helper()
	second := newDaemon(t, smsc, "", streams)
	yaml, err := os.ReadFile(second.config)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(yaml), "\n")
	for n, line := range lines {
		switch {
		case strings.HasPrefix(line, "instance:"):
			lines[n] = "instance: second"
		case strings.HasPrefix(line, "nats:"):
			lines[n] = fmt.Sprintf("nats: {url: %q}", d.url())
		}
	}
	if err := os.WriteFile(second.config, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return second
}

// Two gateways as processes on one NATS: a command waits for both.
func TestCommandsReachEveryInstance(t *testing.T) {
	_, smsc := fakeSMSC(t, testserver.Scenario{})
	first := newDaemon(t, smsc, "", "")
	first.start(t)
	second := first.beside(t, smsc, "")
	second.start(t)
	out, errs, err := sluice(t, "pause", "acme", "--nats", first.url())
	if err != nil || out != "acme: 2 of 2 applied\n" {
		t.Errorf("pause prints %q, %q (%v)", out, errs, err)
	}
	for _, d := range []*daemon{first, second} {
		if !strings.Contains(d.log.String(), "mode pause") {
			t.Errorf("%s does not log the pause", d.config)
		}
	}
}

// Two gateways with the same account on one NATS, told apart by streams.prefix: a command is for one of them alone.
func TestCommandsKeepToTheirPrefix(t *testing.T) {
	_, smsc := fakeSMSC(t, testserver.Scenario{})
	first := newDaemon(t, smsc, "", "")
	first.start(t)
	second := first.beside(t, smsc, "prefix: other")
	second.start(t)
	for _, side := range []struct {
		prefix, instance string
		args             []string
	}{{"sms", "crash-1", []string{"pause", "acme"}}, {"other", "second", []string{"rate", "acme", "80"}}} {
		out, errs, err := sluice(t, append(side.args, "--nats", first.url(), "--prefix", side.prefix)...)
		if err != nil || out != "acme: 1 of 1 applied\n" {
			t.Errorf("%v with prefix %s prints %q, %q (%v)", side.args, side.prefix, out, errs, err)
		}
	}
	for prefix, want := range map[string]admin.Account{
		"sms":   {Instance: "crash-1", Mode: "pause"},
		"other": {Instance: "second", Mode: "run", Declared: 80},
	} {
		accounts := callJSON[[]admin.Account](t, first.url(), 0, "accounts", "--prefix", prefix)
		if len(accounts) != 1 || accounts[0].Instance != want.Instance || accounts[0].Mode != want.Mode ||
			accounts[0].Declared != want.Declared {
			t.Errorf("accounts with prefix %s are %+v, want the one of %s alone: %+v", prefix, accounts, want.Instance, want)
		}
		binds := callJSON[[]admin.Bind](t, first.url(), 0, "binds", "--prefix", prefix)
		if len(binds) != 1 || binds[0].Instance != want.Instance {
			t.Errorf("binds with prefix %s are %+v, want the one of %s", prefix, binds, want.Instance)
		}
	}
	_, errs := call(t, first.url(), 1, "binds", "--prefix", "nobody")
	contains(t, "binds of a prefix that no gateway has", errs, "no gateway answered")
}

func TestControlRefusesWhatMakesNoSense(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"pause"}, []string{"account"}},
		{[]string{"pause", "a b"}, []string{`"a b"`}},
		{[]string{"rate", "acme"}, []string{"rate", "learn"}},
		{[]string{"rate", "acme", "-5"}, []string{"-5"}},
		{[]string{"rate", "acme", "fast"}, []string{`"fast"`, "learn", "configured"}},
		{[]string{"rate", "acme", "0"}, []string{`"0"`, "learn"}},
		{[]string{"rate", "acme", "0.009"}, []string{`"0.009"`, "from 0.01"}}, // as rate.declared
		{[]string{"window", "acme"}, []string{"--max", "--forget"}},
		{[]string{"window", "acme", "--max", "-1"}, []string{`"-1"`}},
		{[]string{"window", "acme", "--max", "20000"}, []string{"20000", "10000"}},
	} {
		_, errs, err := sluice(t, tc.args...)
		if err == nil {
			t.Errorf("%v is accepted", tc.args)
		}
		contains(t, strings.Join(tc.args, " "), errs, tc.want...)
	}
}

func TestTallyCountsWhoFollows(t *testing.T) {
	lives := func(names ...string) (list []queue.Instance) {
		for _, name := range names {
			list = append(list, queue.Instance{Name: name, Lease: queue.Lease{Parts: map[string]queue.Part{"acme": {}}}})
		}
		return list
	}
	follows := []admin.Account{
		{Instance: "gw-1", Account: "acme", Applied: 7},
		{Instance: "gw-2", Account: "acme", Applied: 6},
		{Instance: "gw-2", Account: "backup", Applied: 9},
	}
	for want, r := range map[string]applied{
		"acme: 1 of 3 applied; stored, and the others follow when they can: gw-2, gw-3": tally(lives("gw-1", "gw-2", "gw-3"), follows, "acme", 7),
		"acme: 1 of 2 applied; stored, and the others follow when they can: gw-9": tally(
			append(lives("gw-1"), queue.Instance{Name: "gw-9", Unreadable: io.ErrUnexpectedEOF}), follows[:1], "acme", 7),
		"acme: 2 of 2 applied": tally(lives("gw-1", "gw-2"), follows, "acme", 6),
		"acme: stored; no gateway runs, it takes effect at the next start": tally(nil, nil, "acme", 7),
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
