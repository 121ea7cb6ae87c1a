package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"

	"sluice/gateway/admin"
	"sluice/queue"
)

// hostile is a value from outside with all that a terminal might act on: escapes in seven and eight bits, line breaks, a
// tab, a mark that turns the direction of writing, and a line of its own.
const hostile = "a\x1b[2J\x1b]0;owned\x07\u009b2J\r\nFAKE LINE\tb\u202e\u2028\u200b\x7f"

// hostileGateway is another client of NATS that answers as a gateway would, with hostile values wherever a text goes.
type hostileGateway struct{}

func (hostileGateway) Instance() string   { return "hostile" }
func (hostileGateway) Version() string    { return "1.0.0" }
func (hostileGateway) Cancel(uint64) bool { return false }

func (hostileGateway) Binds() []admin.Bind {
	return []admin.Bind{{
		Instance: hostile, Account: hostile, Number: 1, State: hostile, Since: time.Now(), Reason: hostile, Until: time.Now(),
		Mode: hostile, Alarm: hostile, LastStatus: hostile, InFlight: 1, Decisions: []string{hostile},
		Pending: []admin.Pending{{Sequence: 1, DeliveryID: hostile}},
	}, {Instance: hostile, Account: "acme", Number: 1, State: "config", Reason: hostile, Alarm: hostile, Decisions: []string{hostile}}}
}

func (hostileGateway) Accounts() []admin.Account {
	return []admin.Account{{Account: hostile, Instance: hostile, State: hostile, Reason: hostile, Mode: hostile, Applied: 1}}
}

// publishHostile fills every stream and bucket that a command reads.
func publishHostile(t *testing.T, client *queue.Client) {
	t.Helper()
	status := uint32(0x58)
	event := queue.Event{
		V: 1, Seq: 1, ID: hostile, EventID: "1.1.failed", Type: queue.EventFailed, At: time.Now(), Route: hostile, Class: hostile,
		Tenant: hostile, Account: hostile, Bind: hostile, CommandStatus: &status, StatusName: hostile, Reason: hostile, Detail: hostile,
		MessageIDs: []string{hostile}, Attempt: 1,
		Receipt: &queue.Receipt{MessageID: hostile, State: hostile, Error: hostile, MessageState: hostile},
	}
	asJSON := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	store := func(m *nats.Msg) {
		reply, err := client.Conn().RequestMsg(m, patience)
		if err != nil || !strings.Contains(string(reply.Data), `"seq"`) {
			t.Fatalf("%s: %v: %s", m.Subject, err, reply.Data)
		}
	}
	store(&nats.Msg{Subject: "sms.mt.main.normal", Data: []byte(`{"v":1,"id":"x","to":"+1","text":"x"}`)})
	for _, id := range []string{hostile, "x"} {
		event.ID = id
		store(&nats.Msg{Subject: "sms.evt.main.failed." + queue.Bucket(id), Data: asJSON(event), Header: nats.Header{"Nats-Msg-Id": {id}}})
	}
	state := queue.State{Attempts: 1, LastStatus: status, NextAttemptAt: time.Now().Add(time.Hour)}
	store(&nats.Msg{Subject: "$KV.sluice_waiting.1", Data: asJSON(queue.Waiting{
		Seq: 1, ID: hostile, Route: hostile, Class: hostile, Account: hostile, Reason: hostile, At: time.Now(), State: state,
	})})
	for seq, payload := range map[int]string{1: hostile, 2: fmt.Sprintf("{\n %q: \"\u009b2J\u202e\"}", "text")} {
		store(&nats.Msg{Subject: "sms.deferred.main.malformed", Data: []byte(payload), Header: nats.Header{
			queue.HeaderOriginalSeq: {strconv.Itoa(seq)}, queue.HeaderDeliveryID: {"d\x1b[2J\u009b\u202e"}, queue.HeaderEvent: {string(asJSON(event))},
			queue.HeaderDeferredReason: {"\x1b[2J"}, queue.HeaderOriginalSubject: {"sms.mt.\x1b[2J.\u202e"},
		}})
	}
	store(&nats.Msg{Subject: "$KV.sluice_instances.instance.hostile", Data: asJSON(queue.Lease{
		Nonce: "n", Parts: map[string]queue.Part{hostile: {Demand: 1}, "acme": {Demand: 1}},
	})})
}

// Every command over hostile values, as a table and as JSON: no octet that a terminal acts on, and no line that is not the
// command's own.
func TestNothingFromOutsideReachesATerminalUnescaped(t *testing.T) {
	t.Parallel()
	server, err := queue.StartEmbedded(queue.EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	url := server.URL()
	client, err := queue.Connect(t.Context(), queue.ConnectConfig{URL: url, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if _, err := client.Ensure(t.Context(), queue.Topology{Lanes: []queue.Lane{{Route: "main", Class: "normal"}}}); err != nil {
		t.Fatal(err)
	}
	publishHostile(t, client)
	stop, err := admin.Serve(client, hostileGateway{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	refuses, err := client.Conn().Subscribe("sluice_refuses.all.*", func(m *nats.Msg) {
		_ = m.RespondMsg(&nats.Msg{Header: nats.Header{"Nats-Service-Error": {"\x1b[2J\u009b2J\u202e"}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = refuses.Unsubscribe() })

	for _, tc := range []struct {
		args  []string
		shows string // what of the hostile value the table must show, escaped; empty: the command may say little
	}{
		// The lease lives for some seconds.
		{[]string{"pause", "other"}, ""},
		{[]string{"rate", "acme", "80"}, ""},
		{[]string{"binds"}, `a\u001b[2J\u001b]0;owned\u0007\u009b2J\u000d\u000aFAKE LINE\u0009b\u202e\u2028\u200b\u007f`},
		{[]string{"bind", "show", hostile}, `\u001b[2J`},
		{[]string{"bind", "show", "acme"}, `\u001b[2J`},
		{[]string{"bind", "show", hostile + "x"}, `\x1b[2J`},
		{[]string{"binds", "--prefix", "refuses"}, `\u001b[2J`},
		{[]string{"accounts", "--prefix", "refuses"}, `\u001b[2J`},
		{[]string{"accounts"}, `\u001b[2J`},
		{[]string{"queue"}, `\u001b[2J`},
		{[]string{"waiting"}, `\u001b[2J`},
		{[]string{"events"}, `\u001b[2J`},
		{[]string{"message", "x"}, `\u001b[2J`},
		{[]string{"message", "--id", hostile}, `\u001b[2J`},
		{[]string{"message", "--seq", "1"}, ""},
		{[]string{"message", hostile + "y"}, `\x1b[2J`},
		{[]string{"deferred", "list"}, `\u001b[2J`},
		{[]string{"deferred", "show", "--seq", "1", "--payload"}, `\x1b[2J`},
		{[]string{"deferred", "show", "--seq", "2", "--payload"}, `\u009b2J`},
		{[]string{"deferred", "replay", "--all", "--dry-run"}, `\u001b[2J`},
		{[]string{"deferred", "drop", "--all", "--dry-run"}, `\u001b[2J`},
		{[]string{"deferred", "show", hostile}, `\x1b[2J`},
		{[]string{"cancel", hostile}, ""},
		{[]string{"cancel", "x"}, ""},
		{[]string{"pause", hostile}, `\x1b[2J`},
		{[]string{"rate", "acme", hostile}, `\x1b[2J`},
		{[]string{"window", "acme", "--max", hostile}, `\x1b[2J`},
		{[]string{"send", "--to", hostile, "--text", "x"}, ""},
		{[]string{"send", "--to", "+1", "--text", "x", "--route", hostile}, `\x1b[2J`},
		{[]string{"codes", hostile}, `\x1b[2J`},
		{[]string{hostile}, `\x1b[2J`},
	} {
		for _, output := range []string{"table", "json"} {
			args := slices.Clone(tc.args)
			if args[0] != "codes" && args[0] != hostile {
				args = append(args, "--nats", url)
			}
			out, errs, _ := sluice(t, append(args, "--output", output)...) // refusals are looked at too
			what := fmt.Sprintf("sluice %q as %s", tc.args, output)
			safe(t, what, out+errs)
			if output == "table" && !strings.Contains(out+errs, tc.shows) {
				t.Errorf("%s lacks %s:\n%s", what, tc.shows, out+errs)
			}
		}
	}
	binds := callJSON[[]admin.Bind](t, url, 0, "binds")
	if len(binds) != 2 || binds[0].Reason != hostile {
		t.Errorf("as JSON the binds are %+v, want the values as they are", binds)
	}
}

// safe checks that an output has nothing a terminal acts on, and that no value begins a line of its own.
func safe(t *testing.T, what, output string) {
	t.Helper()
	for line := range strings.Lines(output) {
		text := strings.TrimSuffix(line, "\n")
		if at := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }); at >= 0 {
			t.Errorf("%s prints %q", what, text[at:])
		}
		if strings.HasPrefix(line, "FAKE") {
			t.Errorf("%s prints a line that is not its own: %q", what, line)
		}
	}
}

// A configuration whose keys and values are hostile is refused without a trace of them on the terminal.
func TestCheckEscapesWhatAConfigurationHolds(t *testing.T) {
	evil := `"a\e[2J\e]0;owned\a\N\r\nFAKE LINE\tb\u202e\L"`
	for name, yaml := range map[string]string{
		"a key":           evil + ": 1\n",
		"an account":      "accounts: {" + evil + ": {address: \"h:1\", system_id: s, password: p}}\n",
		"a nested key":    "accounts: {acme: {address: \"h:1\", system_id: s, password: p, " + evil + ": 1}}\n",
		"a value":         "accounts: {acme: {address: " + evil + ", system_id: " + evil + ", password: p}}\n",
		"a status":        "accounts: {acme: {address: \"h:1\", system_id: s, password: p, statuses: {" + evil + ": throttle}}}\n",
		"a class":         "accounts: {acme: {address: \"h:1\", system_id: s, password: p, statuses: {\"0x45\": " + evil + "}}}\n",
		"a route":         "accounts: {acme: {address: \"h:1\", system_id: s, password: p}}\nroutes: {" + evil + ": {accounts: [" + evil + "]}}\n",
		"a file":          "accounts: {acme: {address: \"h:1\", system_id: s, password: {file: " + evil + "}}}\n",
		"an environment":  "accounts: {acme: {address: \"h:1\", system_id: s, password: {env: " + evil + "}}}\n",
		"a name":          "instance: " + evil + "\naccounts: {acme: {address: \"h:1\", system_id: s, password: p}}\n",
		"an anchor":       "accounts: *" + "\x1b[2J\n",
		"a tag":           "accounts: !" + "\x1b[2J x\n",
		"octets":          "accounts: \x9b2J\x1b[2J: : :\n",
		"a duplicate key": evil + ": 1\n" + evil + ": 2\n",
	} {
		out, errs, err := sluice(t, "check", "-c", write(t, "evil.yaml", yaml))
		if err == nil || errs == "" {
			t.Errorf("%s is taken: %q %q", name, out, errs)
		}
		safe(t, name, out+errs)
	}
	_, errs, _ := sluice(t, "check", "-c", "\x1b[2J\nFAKE LINE.yaml")
	safe(t, "the name of the file", errs)
}
