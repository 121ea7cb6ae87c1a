package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// What is looked for: each number and text in the forms that programs write them in.
const (
	secretPassword = "pwTulp7"
	secretText     = "Kirschbaum blossom"
	secretNumber   = "4179770" // every number begins with it
	phoneNumber    = "4917655512"
	phoneText      = "Antwort vom Telefon"
)

// forms are the ways in which a secret might be written.
func forms(secret string) []string {
	utf16 := make([]byte, 0, 2*len(secret))
	for _, r := range secret {
		utf16 = append(utf16, byte(r>>8), byte(r))
	}
	// Three offsets of base64, without the digits that the neighbours change.
	all := []string{secret, hex.EncodeToString([]byte(secret)), hex.EncodeToString(utf16), fmt.Sprintf("%d", []byte(secret))}
	for skip := range 3 {
		coded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", skip) + secret))
		all = append(all, strings.TrimRight(coded, "=")[skip+1:len(strings.TrimRight(coded, "="))-2])
	}
	return all
}

// A full run with everything that goes wrong: none of the texts, numbers and passwords is in a log, a metric, an event or
// the output of a command.
func TestNothingPrivateIsShown(t *testing.T) {
	t.Parallel()
	smsc, addr := fakeSMSC(t, testserver.Scenario{
		Bind: testserver.BindRules{Accounts: map[string]string{"sluice": secretPassword}},
		Errors: []testserver.ErrorRule{
			{Match: testserver.Match{Prefix: secretNumber + "2"}, Status: pdu.StatusSubmitFail},
			{Match: testserver.Match{Prefix: secretNumber + "3"}, Status: pdu.StatusInvDstAdr},
			{Match: testserver.Match{Prefix: secretNumber + "4"}, Script: []pdu.Status{pdu.StatusThrottled, pdu.StatusOK}},
			{Match: testserver.Match{Prefix: secretNumber + "6"}, Status: pdu.Status(0x0499)},
		},
		Faults: []testserver.Fault{{Match: testserver.Match{Prefix: secretNumber + "5"}, Kind: testserver.FaultSwallow}},
	})
	d := newDaemon(t, addr, `response_timeout: 2s, unknown: {after: 1s}, statuses: {"0x45": {class: retry, hold: 10m}}`, "")
	text, err := os.ReadFile(d.config)
	if err != nil {
		t.Fatal(err)
	}
	config := strings.Replace(string(text), "password: secret", "password: "+secretPassword, 1) +
		"  wrong: {address: \"" + addr + "\", system_id: sluice, password: " + secretPassword + "x}\n" +
		"routes: {main: {accounts: [acme], terminal_to_deferred: true}, wrong: {accounts: [wrong]}}\n"
	if err := os.WriteFile(d.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	d.arguments = []string{"--log-level", "debug"}
	d.start(t)
	url := d.url()
	shown := map[string]string{}
	command := func(args ...string) {
		t.Helper()
		for _, output := range []string{"table", "json"} {
			all := append(append([]string{}, args...), "--nats", url, "--output", output)
			out, errs, _ := sluice(t, all...) // refusals are looked at too
			shown["sluice "+strings.Join(args, " ")+" as "+output] = out + errs
		}
	}

	// One message of each fate.
	for n, id := range []string{"fine", "later", "refused", "throttled", "swallowed", "strange", "long"} {
		body := secretText
		if id == "long" {
			body = strings.Repeat(secretText+" ", 20)
		}
		publishRaw(t, url, "sms.mt.main.normal", fmt.Sprintf(
			`{"v":1,"id":%q,"from":"+%s99","to":"+%s%d00","text":%q,"receipt":true,"expires_in":"1h"}`, id, secretNumber, secretNumber, n+1, body))
	}
	// What nobody can read, with numbers and texts where they do not belong.
	number := secretNumber + "123"
	for n, payload := range []string{
		`{"v":1,"to":%q,"text":%q,"expires_in":%[1]q}`, `{"v":1,"to":%q,"text":%q,%[1]q:%[2]q}`, `{"v":1,"to":%[2]q,"text":%[1]q}`,
		`{"v":%q,"to":%[1]q,"text":%q}`, `{"v":1,"to":%q,"text":[%q]}`, `{"v":1,"to":%q,"text":%q,"encoding":%[2]q}`,
		`{"v":1,"to":%q,"text":%q,"tenant":%[2]q}`, `{"v":1,"to":%q,"text":%q,"service_type":%[1]q}`,
		`{"v":1,"to":%q,"text":%q,"tlvs":[{"tag":%[1]q,"hex":"01"}]}`, `{"v":1,"to":%q,"text":%q,"udh":%[1]q}`,
		`{"v":1,"to":%q,"text":%q,"if_unknown":%[1]q}`, `{"v":1,"to":%q,"text":%q,"meta":%[1]q}`, `%s %s`, `[%q,%q]`,
		`{"v":1,"to":%q,"text":%q,"from":%[2]q}`, `{"v":1,"to":%q,"text":%q,"expires_at":%[1]q}`, `{"v":1,"to":%q,"data":%q,"data_coding":0}`,
		`{"v":1,"to":%q,"text":%q,"priority_flag":%[1]s}`,
	} {
		for _, to := range []string{number, "+" + number, "00" + number} {
			publishRaw(t, url, "sms.mt.main.bulk", fmt.Sprintf(payload, to, fmt.Sprintf("%s %d", secretText, n)))
		}
	}
	until(t, func() error { // there may be no bind yet
		return smsc.InjectMO(testserver.MO{From: "+" + phoneNumber + "34", To: "+" + secretNumber + "99", Text: phoneText})
	})
	until(t, func() error {
		out, _, _ := sluice(t, "events", "--nats", url, "--output", "json")
		for _, want := range []queue.EventType{
			queue.EventReceipt, queue.EventUnknownOutcome, queue.EventThrottled, queue.EventRetry, queue.EventFailed, queue.EventDeferred,
		} {
			if !strings.Contains(out, `"type":"`+string(want)+`"`) {
				return fmt.Errorf("there is no %s yet", want)
			}
		}
		return nil
	})
	waitsFor(t, url, "fine", queue.PlaceDone)

	for _, args := range [][]string{
		{"send", "--to", "+" + secretNumber + "100", "--from", "+" + secretNumber + "99", "--text", secretText, "--wait"},
		{"send", "--to", secretNumber + " 100", "--text", secretText},
		{"binds"},
		{"bind", "show", "acme"},
		{"accounts"},
		{"queue"},
		{"waiting"},
		{"events"},
		{"message", "fine"},
		{"message", "later"},
		{"message", "refused"},
		{"message", "swallowed"},
		{"message", "long"},
		{"deferred", "list"},
		{"deferred", "show", "refused"},
		{"deferred", "replay", "--all", "--dry-run"},
		{"deferred", "replay", "--reason", "malformed"},
		{"deferred", "replay", "refused"},
		{"deferred", "drop", "--reason", "unknown_field"},
		{"cancel", "later"},
		{"cancel", "fine"},
		{"pause", "acme"},
		{"resume", "acme"},
	} {
		command(args...)
	}
	for _, path := range []string{"/metrics", "/readyz", "/healthz", "/status"} {
		shown[path] = get(t, "http://"+d.http+path)
	}
	shown["sluice check"], _, _ = sluice(t, "check", "-c", d.config)
	if err := d.stop(); err != nil {
		t.Errorf("sluice run ended with %v", err)
	}
	shown["the log"] = d.log.String()
	if !strings.Contains(shown["the log"], "level=DEBUG") {
		t.Error("the log has no debug lines")
	}
	for _, name := range []string{"sluice events as json", "/metrics", "sluice message fine as table", "sluice deferred list as table"} {
		if len(shown[name]) < 100 {
			t.Errorf("%s is hardly anything: %q", name, shown[name])
		}
	}
	for what, output := range shown {
		for _, secret := range []string{secretPassword, secretText, secretNumber, phoneNumber, phoneText} {
			for _, form := range forms(secret) {
				if at := strings.Index(output, form); at >= 0 {
					t.Errorf("%s shows %q: …%s…", what, secret, output[max(0, at-120):min(len(output), at+80)])
					break
				}
			}
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
