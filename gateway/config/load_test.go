package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/classify"
)

const minimal = `
accounts:
  acme: {address: "smsc.example.net:2775", system_id: sluice, password: {env: ACME_PASSWORD}}
`

func mustLoad(t *testing.T, text string, environ ...string) *Config {
	t.Helper()
	c, err := load("sluice.yaml", ".", []byte(text), environ)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// faults is every fault of a text, one line each.
func faults(t *testing.T, text string, environ ...string) []string {
	t.Helper()
	c, err := load("sluice.yaml", ".", []byte(text), environ)
	if err == nil {
		t.Fatalf("accepted:\n%s", text)
	}
	if c != nil {
		t.Error("a configuration came with the error")
	}
	return strings.Split(err.Error(), "\n")
}

func TestMinimalConfigurationGetsEveryDefault(t *testing.T) {
	c := mustLoad(t, minimal, "ACME_PASSWORD=secret")
	a := c.Accounts["acme"]
	if a.Password.Value() != "secret" || a.SystemID != "sluice" || a.Address[0] != "smsc.example.net:2775" {
		t.Errorf("account is %+v", a)
	}
	if a.Bind != Transceiver || a.Binds != 1 || a.MaxBinds != 0 || a.InterfaceVersion != 0x34 || a.Mark != MarkAuto {
		t.Errorf("bind settings are %+v", a)
	}
	if a.ResponseTimeout != 30*time.Second || a.Noise.Max != 0.06 || a.Rate.ProbeBudget != 0.002 || a.Rate.Declared != 0 || a.Window.Max != 0 {
		t.Errorf("pace settings are %+v", a)
	}
	if a.Unknown != (Unknown{Policy: UnknownRetry, Max: 1, After: time.Minute}) {
		t.Errorf("unknown is %+v", a.Unknown)
	}
	main := c.Routes["main"]
	if len(c.Routes) != 1 || main == nil || len(main.Accounts) != 1 || main.Accounts[0] != "acme" {
		t.Fatalf("routes are %+v", c.Routes)
	}
	if main.Classes["otp"] != Strict || main.Classes["normal"] != 3 || main.Classes["bulk"] != 1 || len(main.Classes) != 3 {
		t.Errorf("classes are %v", main.Classes)
	}
	if main.Attempts != 8 || main.AttemptsPer != (Allowance{}) || main.ExpiresIn != 24*time.Hour {
		t.Errorf("route is %+v", main)
	}
	if c.NATS.URL != "" || c.NATS.Embedded != (Embedded{Dir: "data", Listen: "127.0.0.1:4222"}) {
		t.Errorf("nats is %+v", c.NATS)
	}
	s := c.Streams
	if s.Prefix != "sms" || s.Replicas != 1 || s.MaxBytes != 0 || s.Sync != Sync(time.Second) || s.AckWait != 2*time.Minute {
		t.Errorf("streams are %+v", s)
	}
	if !isName(c.Instance) {
		t.Errorf("instance %q is not a name", c.Instance)
	}
	if w := c.Warnings(); len(w) != 1 || !strings.Contains(w[0], "accounts.acme.tls: is off") {
		t.Errorf("warnings: %q", w)
	}
}

func TestFiveFaultsAreAllReported(t *testing.T) {
	got := faults(t, `accounts:
  acme:
    address: smsc.example.net
    system_id: sluice
    pasword: {env: ACME_PASSWORD}
    rate: {declared: fast}
    binds: 200
routes:
  main: {accounts: [acme], attempts_per: 3 in 10m}
`, "ACME_PASSWORD=secret")
	want := []string{
		`sluice.yaml:3:14: accounts.acme.address: "smsc.example.net" is not host:port; for example 127.0.0.1:2775; an IPv6 host goes in brackets`,
		`sluice.yaml:5:5: accounts.acme.pasword: is not a known key; did you mean password?`,
		`sluice.yaml:6:22: accounts.acme.rate.declared: "fast" is not a number; write it in digits, for example 100`,
		`sluice.yaml:7:5: accounts.acme.binds: "200" is out of range; use 1 to 100`,
		`sluice.yaml:9:42: routes.main.attempts_per: "3 in 10m" is not a count per time; write count/duration, for example 3/10m`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEachFaultIsAFault(t *testing.T) {
	_, err := load("sluice.yaml", ".", []byte("acounts: {}\nhttp: [1, 2]\n"), nil)
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%T does not hold several errors", err)
	}
	for _, e := range many.Unwrap() {
		f, ok := errors.AsType[*Fault](e)
		if !ok || f.Path == "" || f.Problem == "" || f.Pos == "" {
			t.Errorf("%#v is not a full fault", e)
		}
	}
}

func TestFaults(t *testing.T) {
	account := func(more string) string {
		return "accounts: {acme: {address: 'h:1', system_id: s, password: p" + more + "}}"
	}
	tests := []struct{ name, text, want string }{
		{"empty file", "", "accounts: has no account"},
		{"not YAML", "accounts: [", "is not YAML"},
		{"tab", "accounts:\n\tacme: {}", "is not YAML"},
		{"second document", minimal + "---\na: 1", "second YAML document"},
		{"not a mapping", "- a", "is a list; write a mapping with"},
		{"scalar", "hello", "is a single value; write a mapping with"},
		{"key twice", "http: off\nhttp: off\n" + minimal, "sluice.yaml:2:1: http: is there twice"},
		{"no value", "http:\n" + minimal, "http: has no value"},
		{"unknown alias", "http: *x\n" + minimal, `"*x" has no anchor above it`},
		{"account name", "accounts: {a.b: {address: 'h:1', system_id: s, password: p}}", `"a.b" is not a name`},
		{"route name", minimal + "routes: {'ma in': {accounts: acme}}", `"ma in" is not a name`},
		{"class name", minimal + "routes: {main: {accounts: acme, classes: {'o*p': 1}}}", `"o*p" is not a name`},
		{"weight", minimal + "routes: {main: {accounts: acme, classes: {otp: 101}}}", "use strict or a whole number from 1 to 100"},
		{"unknown account", minimal + "routes: {main: {accounts: acne}}", `"acne" is not an account; did you mean acme?`},
		{"two accounts in a route", account("") + "\nroutes: {main: {accounts: [acme, acme]}}", "routes.main.accounts: \"acme\" is named twice; name each account once"},
		{"no route", "accounts: {a: {address: 'h:1', system_id: s, password: p}, b: {address: 'h:1', system_id: s, password: p}}", "routes: has no route, and there are several accounts"},
		{"unrouted account", "accounts: {a: {address: 'h:1', system_id: s, password: p}, b: {address: 'h:1', system_id: s, password: p}}\nroutes: {main: {accounts: a}}", "accounts.b: is used by no route"},
		{"missing fields", "accounts: {acme: {}}", "accounts.acme.system_id: is missing"},
		{"port", "accounts: {acme: {address: 'h:0', system_id: s, password: p}}", `has the port "0"; use 1 to 65535`},
		{"system_id", "accounts: {acme: {address: 'h:1', system_id: '" + strings.Repeat("s", 1025) + "', password: p}}", "has 1025 octets; use at most 1024"},
		{"local_address", account(", local_address: eth0"), `accounts.acme.local_address: "eth0" is not an IP address; use one of this host`},
		{"bind_timeout", account(", bind_timeout: 6m"), `accounts.acme.bind_timeout: "6m" is out of range; use 1s to 5m`},
		{"system_type", account(", system_type: 'é'"), "has a character at octet 1 that is not printable ASCII"},
		{"a line too many", account(", system_type: \"a\\nb\""), "has a character at octet 2 that is not printable ASCII"},
		{"secret empty", "accounts: {acme: {address: 'h:1', system_id: s, password: {file: /dev/null}}}", `accounts.acme.password.file: "/dev/null" is empty; write the secret into it`},
		{"bind word", account(", bind: both"), `"both" is not known here; use transceiver, transmitter+receiver or transmitter`},
		{"max_binds", account(", binds: 4, max_binds: 3"), `"3" is less than binds`},
		{"receipt_id alone", account(", receipts: {receipt_id: hex}"), "accounts.acme.receipts.receipt_id: \"hex\" has no effect while response_id is opaque; set response_id to hex or decimal too"},
		{"response_id alone", account(", receipts: {response_id: decimal}"), "set receipt_id to hex or decimal too"},
		{"id form", account(", receipts: {response_id: octal}"), "use opaque, hex or decimal"},
		{"receipt zone", account(", receipts: {zone: Moscow}"), "accounts.acme.receipts.zone: \"Moscow\" is no time zone; use a name as Europe/Moscow, an offset as +03:00, or UTC"},
		{"receipt zone of the machine", account(", receipts: {zone: Local}"), "is no time zone"},
		{"receipt per", account(", receipts: {per: part}"), "use segment or message"},
		{"receipt state", account(", receipts: {states: {BLIST: refused}}"), "accounts.acme.receipts.states.BLIST: \"refused\" is not known here; use scheduled, enroute"},
		{"receipt state of two words", account(", receipts: {states: {\"NO ROUTE\": rejected}}"), "is no word that stands after stat:"},
		{"receipt state twice", account(", receipts: {states: {BLIST: rejected, blist: expired}}"), "names the same word as BLIST"},
		{"profile", account(", profile: infobop"), "is not a known profile; use one of"},
		{"status class", account(`, statuses: {"0x45": slow}`), `class "slow" is not known`},
		{"status key", account(`, statuses: {"x45": retry}`), "accounts.acme.statuses.x45: "},
		{"status hold", account(`, statuses: {"0x58": {class: throttle, hold: 25h}}`), "hold 25h0m0s is out of range"},
		{"same status twice", account(`, statuses: {"0x45": retry, "0x045": throttle}`), "the same status as"},
		{"noise", account(", noise: {max: 12%}"), `"12%" is out of range; use 0% to 6%`},
		{"noise without percent", account(", noise: {max: 0.06}"), "with a percent sign"},
		{"declared", account(", rate: {declared: -1}"), "leave it out to let the ceiling be learned"},
		{"not a number", account(", rate: {declared: .nan}"), "is not a number"},
		{"window", account(", window: {max: -5}"), "use 1 to 10000"},
		{"octet", account(", addr_ton: 256"), "write a number from 0 to 255"},
		{"switch", account(", text: {transliterate: yes}"), "write true or false"},
		{"mark", account(", mark: yes"), "use auto, true or false"},
		{"duration", account(", response_timeout: 30"), `"30" is not a duration`},
		{"days", account(", response_timeout: 3d5"), "is not a duration"},
		{"version", account(", interface_version: 3.3"), "use 3.4 or 5.0"},
		{"tls off", account(", tls: {server_name: x}"), "has settings but is not enabled"},
		{"tls pair", account(", tls: {enabled: true, cert: /dev/null}"), "has only one of cert and key"},
		{"tls file", account(", tls: {enabled: true, ca: /nowhere/ca.pem}"), `"/nowhere/ca.pem" cannot be read: no such file or directory`},
		{"id_tlv", account(", text: {id_tlv: '0x1300'}"), "use 0x1400 to 0x3FFF"},
		{"ack_wait", account("") + "\nstreams: {ack_wait: 20s}", "is not longer than accounts.acme.response_timeout"},
		{"size", minimal + "streams: {max_bytes: 1GB2}", "is not a size"},
		{"sync", minimal + "streams: {sync: never}", "write always or a duration"},
		{"replicas", minimal + "streams: {replicas: 3}", "needs a cluster"},
		{"prefix", minimal + "streams: {prefix: SMS}", "use sms"},
		{"nats url", minimal + "nats: {url: 'http://h'}", "is not the URL of a NATS server"},
		{"nats both", minimal + "nats: {url: 'nats://h', embedded: {dir: x}}", "is set together with nats.url"},
		{"nats two ways", minimal + "nats: {url: 'nats://h', credentials: {user: u, password: p, nkey: /dev/null}}", "names several ways"},
		{"embedded user", minimal + "nats: {embedded: {user: u}}", "has only one of user and password"},
		{"embedded password", minimal + "nats: {embedded: {password: p}}", "has only one of user and password"},
		{"inbox", minimal + "nats: {url: 'nats://h', credentials: {inbox_prefix: '_INBOX.>'}}", "is not a prefix of subjects"},
		{"embedded open", minimal + "nats: {embedded: {listen: '0.0.0.0:4222'}}", "is open to other hosts"},
		{"embedded credentials", minimal + "nats: {credentials: {user: u, password: p}}", "is for an external server"},
		{"http", minimal + "http: 9464", `"9464" is not host:port`},
		{"secret two ways", "accounts: {acme: {address: 'h:1', system_id: s, password: {env: A, file: B}}}", "names both env and file"},
		{"secret not set", "accounts: {acme: {address: 'h:1', system_id: s, password: {env: NOT_SET}}}", `"NOT_SET" is not set in the environment`},
		{"secret file", "accounts: {acme: {address: 'h:1', system_id: s, password: {file: /nowhere}}}", "cannot be read: no such file or directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := faults(t, tt.text, "ACME_PASSWORD=secret")
			if !strings.Contains(strings.Join(got, "\n"), tt.want) {
				t.Errorf("got:\n%s\nwant a line with: %s", strings.Join(got, "\n"), tt.want)
			}
		})
	}
}

func TestOneFaultIsReportedOnce(t *testing.T) {
	for _, text := range []string{
		"accounts: {acme: {address: 'h:1', system_id: s, password: {env: NOT_SET}}}",
		"accounts: {acme: {addresss: 'h:1', system_id: s, password: p}}",
		"accounts: {acme: {address: 'h:1', system_id: s, password: p, response_timeout: soon}}",
		minimal + "routes: {main: {accounts: acne}}",
		minimal + "nats: {url: 'nats://h', credentials: {password: {env: NOT_SET}, user: u}}",
	} {
		if got := faults(t, text, "ACME_PASSWORD=secret"); len(got) != 1 {
			t.Errorf("%s\n has the faults\n%s", text, strings.Join(got, "\n"))
		}
	}
}

func TestValuesAreReadAsWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pw"), []byte("from-fil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := load(filepath.Join(dir, "sluice.yaml"), dir, []byte(`
instance: gw-1
nats: {embedded: {dir: store, listen: "localhost:0"}}
streams: {sync: always, max_bytes: 1.5GiB, journal_age: 7d}
http: off
accounts:
  base: &base
    address: "h:1"
    system_id: 0012
    password: {file: pw}
    statuses: {"0x45": throttle, "0x58": {class: throttle, hold: 60s}}
    noise: {max: 12%, exclusive: true}
    interface_version: 5.0
    response_timeout: 90s
  other:
    <<: *base
    system_id: other
    unknown: {after: 200ms}
routes:
  main: {accounts: base}
  side: {accounts: [other], classes: {only: 7}}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	base, other := c.Accounts["base"], c.Accounts["other"]
	if base.SystemID != "0012" || other.SystemID != "other" || other.Address[0] != "h:1" {
		t.Errorf("system ids are %q and %q", base.SystemID, other.SystemID)
	}
	if base.Password.Value() != "from-fil" || other.Password.Value() != "from-fil" {
		t.Error("the password file was not read")
	}
	if base.Statuses["0x58"] != (Status{classify.Throttle, time.Minute}) || base.Statuses["0x45"].Class != classify.Throttle {
		t.Errorf("statuses are %+v", base.Statuses)
	}
	if base.InterfaceVersion != 0x50 || base.Noise.Max != 0.12 || c.HTTP != "" || c.Streams.Sync != SyncAlways {
		t.Errorf("values are %+v %+v", base, c.Streams)
	}
	if c.Streams.MaxBytes != 3<<29 || c.Streams.JournalAge != 7*24*time.Hour || c.Streams.AckWait != 5*time.Minute {
		t.Errorf("streams are %+v", c.Streams)
	}
	if base.Unknown.After != 3*time.Minute || other.Unknown.After != 200*time.Millisecond {
		t.Errorf("unknown.after is %s and %s", base.Unknown.After, other.Unknown.After)
	}
	if c.NATS.Embedded.Dir != filepath.Join(dir, "store") {
		t.Errorf("dir is %s", c.NATS.Embedded.Dir)
	}
	if side := c.Routes["side"]; len(side.Classes) != 1 || side.Classes["only"] != 7 {
		t.Errorf("classes are %v", side.Classes)
	}
}

func TestLoadNamesAMissingFile(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "none.yaml"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// The settings of receipts are taken as they are written, and printed so.
func TestReceiptSettings(t *testing.T) {
	for zone, offset := range map[string]int{"Europe/Moscow": 3 * 3600, "+03:00": 3 * 3600, "-0530": -(5*3600 + 1800), "+01": 3600, "UTC": 0} {
		c := mustLoad(t, strings.Replace(minimal, "system_id: sluice", "system_id: sluice, receipts: {states: {BLIST: rejected, 9: expired}, per: message, unmarked: true, zone: "+zone+"}", 1), "ACME_PASSWORD=secret")
		r := c.Accounts["acme"].Receipts
		if r.States["BLIST"] != "rejected" || r.States["9"] != "expired" || r.Per != PerMessage || !r.Unmarked {
			t.Errorf("receipts are %+v", r)
		}
		if _, got := time.Date(2026, 11, 30, 0, 0, 0, 0, r.Zone.Location()).Zone(); got != offset {
			t.Errorf("%s: %d s ahead of UTC, want %d", zone, got, offset)
		}
	}
	r := mustLoad(t, minimal, "ACME_PASSWORD=secret").Accounts["acme"].Receipts
	if r.Per != PerSegment || r.Zone.Location() != nil || r.Unmarked || len(r.States) != 0 {
		t.Errorf("defaults are %+v", r)
	}
}
