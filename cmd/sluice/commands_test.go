package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/gateway/admin"
	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func contains(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s lacks %q:\n%s", what, w, text)
		}
	}
}

// The help of the program leads to what every other command needs on a system that is not the default one.
func TestHelpLeadsToNATSAndPrefix(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"help"}, {}} {
		out, _, err := sluice(t, args...)
		if err != nil {
			t.Fatal(err)
		}
		contains(t, "the help", out, "--nats URL", "SLUICE_NATS", "nats://127.0.0.1:4222", "--prefix TOKEN", "streams.prefix")
	}
	// The example in it is a call that can be understood: it fails at the server only.
	_, errs, err := sluice(t, "binds", "--nats", "nats://127.0.0.1:1", "--prefix", "sms2")
	if err == nil {
		t.Fatal("there is a server at port 1")
	}
	contains(t, "the error", errs, "nats://127.0.0.1:1")
}

func TestCheckPrintsAllFiveFaults(t *testing.T) {
	path := write(t, "bad.yaml", `
http: nowhere
accounts:
  acme:
    address: smsc.example.net
    system_id: sluice
    binds: 0
    password: secret99
    window: {max: -1}
    response_timeout: 0s
`)
	for _, command := range []string{"check", "run"} {
		out, errs, err := sluice(t, command, "-c", path)
		if err == nil {
			t.Errorf("%s accepts the file: %s", command, out)
		}
		contains(t, command, errs, "http", "accounts.acme.address", "accounts.acme.binds", "accounts.acme.window.max",
			"accounts.acme.response_timeout")
		if strings.Contains(errs, "secret99") {
			t.Errorf("%s shows the password", command)
		}
	}
}

func TestCheckPrintsWhatIsInEffectWithoutSecrets(t *testing.T) {
	path := write(t, "good.yaml", "accounts: {acme: {address: \"smsc.example.net:2775\", system_id: sluice, password: secret99}}\n")
	out, errs, err := sluice(t, "check", "-c", path)
	if err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	contains(t, "check", out, "smsc.example.net:2775", "main:", "otp: strict", "expires_in: 24h")
	contains(t, "check's warnings", errs, "password")
	if strings.Contains(out+errs, "secret99") {
		t.Error("the password is shown")
	}
}

func TestCodesExplainsARule(t *testing.T) {
	out, errs, err := sluice(t, "codes", "0x58")
	if err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	contains(t, "codes 0x58", out, "ESME_RTHROTTLED", "throttle", "default table")

	path := write(t, "overrides.yaml", `
accounts:
  acme: {address: "smsc.example.net:2775", system_id: s, password: p, statuses: {"0x45": throttle}}
`)
	out, errs, err = sluice(t, "codes", "-c", path, "--account", "acme", "0x45")
	if err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	contains(t, "codes of an account", out, "ESME_RSUBMITFAIL", "throttle", "account override", "by default retry")

	if _, errs, err := sluice(t, "codes", "nonsense"); err == nil {
		t.Error("a code that is no number is accepted")
	} else {
		contains(t, "the error", errs, "nonsense", "0x58")
	}
}

func TestSendRefusesBadInputBeforeItPublishes(t *testing.T) {
	path := write(t, "messages.jsonl", `{"v":1,"to":"+15550100","text":"hello 4711"}
{"v":1,"to":"+15550100","txt":"hello"}
not json
{"v":1,"to":"","text":"hello 4711"}
`)
	_, errs, err := sluice(t, "send", "--file", path)
	if err == nil {
		t.Fatal("the file is accepted")
	}
	contains(t, "the error", errs, "line 2", "txt", "line 3", "line 4", "to", "nothing was published")
	if strings.Contains(errs, "4711") || strings.Contains(errs, "15550100") {
		t.Errorf("the error shows a text or a number:\n%s", errs)
	}
}

func TestUnknownCommandsAndFlagsAreNamed(t *testing.T) {
	for _, args := range [][]string{{"sendd"}, {"send", "--wat"}, {"events", "--type", "sent"}, {"run"}} {
		_, errs, err := sluice(t, args...)
		if err == nil {
			t.Errorf("sluice %v is accepted", args)
		}
		if errs == "" {
			t.Errorf("sluice %v says nothing", args)
		}
	}
}

// The operator's and the user's commands against a running gateway.
func TestCommandsAgainstARunningGateway(t *testing.T) {
	_, addr := fakeSMSC(t, testserver.Scenario{
		Errors: []testserver.ErrorRule{{Match: testserver.Match{Prefix: "999"}, Status: pdu.StatusInvDstAdr}},
	})
	d := newDaemon(t, addr, "", "")
	d.start(t)

	out, errs, err := sluice(t, "send", "--nats", d.url(), "--class", "otp", "--id", "one", "--to", "+15550100", "--text", "hello", "--wait")
	if err != nil {
		t.Fatalf("send: %v: %s", err, errs)
	}
	contains(t, "send --wait", out, "submitted", "one", "main/otp")

	_, errs, err = sluice(t, "send", "--nats", d.url(), "--class", "otp", "--id", "one", "--to", "+15550100", "--text", "hello", "--wait")
	if err != nil {
		t.Fatalf("send again: %v: %s", err, errs)
	}
	contains(t, "send of an id that is known", errs, "1 of 1 were published before")

	out, errs, err = sluice(t, "send", "--nats", d.url(), "--id", "two", "--to", "+99900", "--text", "hello", "--wait")
	if err == nil {
		t.Error("send --wait exits 0 for a message that failed")
	}
	contains(t, "send --wait of a bad recipient", out+errs, "failed", "ESME_RINVDSTADR", "not submitted")

	if _, errs, err = sluice(t, "send", "--nats", d.url(), "--route", "nowhere", "--to", "+15550100", "--text", "x"); err == nil {
		t.Error("a route that does not exist is accepted")
	}
	contains(t, "send to a wrong route", errs, "nowhere")

	out, errs, err = sluice(t, "binds", "--nats", d.url())
	if err != nil {
		t.Fatalf("binds: %v: %s", err, errs)
	}
	contains(t, "binds", out+errs, "acme/1", "crash-1", "bound", "1 of 1 instances answered")

	out, errs, err = sluice(t, "binds", "--nats", d.url(), "-o", "json")
	var binds []admin.Bind
	if err != nil || json.Unmarshal([]byte(out), &binds) != nil || len(binds) != 1 || binds[0].State != "bound" {
		t.Errorf("binds as JSON: %v: %s%s", err, out, errs)
	}

	out, errs, err = sluice(t, "bind", "show", "--nats", d.url(), "acme/1")
	if err != nil {
		t.Fatalf("bind show: %v: %s", err, errs)
	}
	contains(t, "bind show", out, "acme/1 on crash-1", "last decisions of the window", "nothing is known about the SMSC")

	out, errs, err = sluice(t, "events", "--nats", d.url(), "--type", "failed", "--output", "json")
	var e queue.Event
	if err != nil || json.Unmarshal([]byte(out), &e) != nil || e.ID != "two" || e.Type != queue.EventFailed {
		t.Errorf("events --type failed: %v: %s%s", err, out, errs)
	}
	if err := d.stop(); err != nil {
		t.Errorf("sluice run ended with %v", err)
	}
	if _, errs, err = sluice(t, "binds", "--nats", d.url()); err == nil || errs == "" {
		t.Errorf("binds without a server: %v: %s", err, errs)
	}
}

// A second gateway on the same store is refused with a clear error.
func TestStoreOfTheEmbeddedServerIsLocked(t *testing.T) {
	_, addr := fakeSMSC(t, testserver.Scenario{Latency: testserver.Exactly(time.Millisecond)})
	d := newDaemon(t, addr, "", "")
	d.start(t)
	text, err := os.ReadFile(d.config)
	if err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(filepath.Dir(d.config), "second.yaml")
	changed := strings.NewReplacer(d.nats, freeAddress(t), d.http, freeAddress(t)).Replace(string(text))
	if err := os.WriteFile(second, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, err := sluice(t, "run", "-c", second)
	if err == nil {
		t.Error("a second gateway runs on the same store")
	}
	contains(t, "the error", errs, "in use by another process")
}
