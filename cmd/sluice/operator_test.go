package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/urfave/cli/v2"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// call runs a command against a NATS server and checks its exit status.
func call(t *testing.T, url string, status int, args ...string) (out, errs string) {
	t.Helper()
	at := len(args)
	for i, a := range args {
		if strings.HasPrefix(a, "-") {
			at = i
			break
		}
	}
	args = append(append(append([]string{}, args[:at]...), "--nats", url), args[at:]...)
	out, errs, err := sluice(t, args...)
	if exitStatus(err) != status {
		t.Errorf("sluice %v: %v, want status %d:\n%s%s", args, err, status, out, errs)
	}
	return out, errs
}

// callJSON runs a command with --output json and decodes what it prints.
func callJSON[T any](t *testing.T, url string, status int, args ...string) (v T) {
	t.Helper()
	out, _ := call(t, url, status, append(args, "--output", "json")...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("sluice %v prints no JSON: %v\n%s", args, err, out)
	}
	return v
}

// publishRaw publishes a payload as it is, without an id for the stream.
func publishRaw(t *testing.T, url, subject string, payloads ...string) {
	t.Helper()
	client, err := queue.Connect(t.Context(), queue.ConnectConfig{URL: url, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, p := range payloads {
		reply, err := client.Conn().RequestMsg(&nats.Msg{Subject: subject, Data: []byte(p)}, patience)
		if err != nil || !strings.Contains(string(reply.Data), `"seq"`) {
			t.Fatalf("%v: %s", err, reply.Data)
		}
	}
}

// until repeats a look at something until it is as wanted.
func until(t *testing.T, look func() error) {
	t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := look()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatal(err)
		}
	}
}

func waitsFor(t *testing.T, url, id string, place queue.Place) {
	t.Helper()
	until(t, func() error {
		out, _, _ := sluice(t, "message", "--nats", url, "--output", "json", id)
		var trails []queue.Trail
		if err := json.Unmarshal([]byte(out), &trails); err != nil || len(trails) == 0 || trails[len(trails)-1].Place != place {
			return fmt.Errorf("%s is not %s: %s", id, place, out)
		}
		return nil
	})
}

// operatedDaemon runs a gateway whose SMSC treats numbers by their first digits.
func operatedDaemon(t *testing.T) (*testserver.Server, *daemon) {
	t.Helper()
	smsc, addr := fakeSMSC(t, testserver.Scenario{
		Errors: []testserver.ErrorRule{
			{Match: testserver.Match{Prefix: "222"}, Status: pdu.StatusSubmitFail},
			{Match: testserver.Match{Prefix: "444"}, Script: []pdu.Status{pdu.StatusInvDstAdr, pdu.StatusOK}},
		},
		Faults: []testserver.Fault{{Match: testserver.Match{Prefix: "333"}, Kind: testserver.FaultSwallow}},
	})
	d := newDaemon(t, addr, `response_timeout: 8s, statuses: {"0x45": {class: retry, hold: 10m}}`, "")
	text, err := os.ReadFile(d.config)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "routes: {main: {accounts: [acme], terminal_to_deferred: true}}\n"...)
	if err := os.WriteFile(d.config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	return smsc, d
}

// What an operator does about single messages, with the real binary.
func TestOperatorsCommands(t *testing.T) {
	t.Parallel()
	smsc, d := operatedDaemon(t)
	url := d.url()
	send := func(status int, id, to string, more ...string) {
		t.Helper()
		call(t, url, status, append([]string{"send", "--id", id, "--to", to, "--text", "Geheim " + id}, more...)...)
	}

	send(0, "fine", "+11100", "--wait")
	out, _ := call(t, url, 0, "message", "fine")
	contains(t, "message", out, "fine", "main/normal", "ended submitted", "message_id")
	trails := callJSON[[]queue.Trail](t, url, 0, "message", "fine")
	if len(trails) != 1 || trails[0].Place != queue.PlaceDone || len(trails[0].Events) != 1 || trails[0].Events[0].Type != queue.EventSubmitted {
		t.Errorf("message fine: %+v", trails)
	}
	if bySeq := callJSON[[]queue.Trail](t, url, 0, "message", "--seq", fmt.Sprint(trails[0].Seq)); len(bySeq) != 1 || bySeq[0].ID != "fine" {
		t.Errorf("message --seq: %+v", bySeq)
	}
	_, errs := call(t, url, 1, "message", "nobody")
	contains(t, "message of nobody", errs, `"nobody"`, "nothing is known")

	// Waiting, and cancelled while it waits.
	send(0, "later", "+22200")
	waitsFor(t, url, "later", queue.PlaceWaiting)
	out, _ = call(t, url, 0, "waiting", "--account", "acme", "--route", "main", "--status", "0x45")
	contains(t, "waiting", out, "later", "acme", "retry", "ESME_RSUBMITFAIL", " in ")
	if list := callJSON[[]queue.Waiting](t, url, 0, "waiting", "--status", "esme_rsubmitfail"); len(list) != 1 || list[0].State.Attempts != 1 || list[0].Deadline.IsZero() {
		t.Errorf("waiting as JSON: %+v", list)
	}
	for _, other := range [][]string{{"--account", "backup"}, {"--route", "other"}, {"--status", "0x58"}} {
		if list := callJSON[[]queue.Waiting](t, url, 0, append([]string{"waiting"}, other...)...); len(list) != 0 {
			t.Errorf("waiting %v: %+v", other, list)
		}
	}
	lanes := callJSON[[]queue.Backlog](t, url, 0, "queue")
	if i := 1; len(lanes) != 3 || lanes[i].Class != "normal" || lanes[i].Waiting != 1 || lanes[i].Queued+lanes[i].InFlight+lanes[i].Deferred != 0 || lanes[i].OldestMillis == 0 {
		t.Errorf("queue: %+v", lanes)
	}
	out, _ = call(t, url, 0, "message", "later")
	contains(t, "message", out, "waiting for its next attempt in ", "ESME_RSUBMITFAIL", "retry")
	out, _ = call(t, url, 0, "cancel", "later")
	contains(t, "cancel", out, "cancelled")
	waitsFor(t, url, "later", queue.PlaceDone)
	out, _ = call(t, url, 0, "message", "later")
	contains(t, "message", out, "ended cancelled")

	// In flight, too late, not known.
	send(0, "gone", "+33300")
	waitsFor(t, url, "gone", queue.PlaceInFlight)
	out, errs = call(t, url, exitInFlight, "cancel", "gone")
	contains(t, "cancel in flight", out+errs, "in_flight", "instead of being sent again")
	_, errs = call(t, url, exitTooLate, "cancel", "fine")
	contains(t, "cancel too late", errs, "has ended submitted")
	if r := callJSON[queue.Cancelling](t, url, exitTooLate, "cancel", "fine"); r.Result != queue.CancelTooLate || r.Final == nil {
		t.Errorf("cancel as JSON: %+v", r)
	}
	_, errs = call(t, url, exitNotFound, "cancel", "nobody")
	contains(t, "cancel of nobody", errs, `message "nobody" is not in the queue`)
	waitsFor(t, url, "gone", queue.PlaceDone) // its answer does not come, and it is not sent again
	final := callJSON[[]queue.Trail](t, url, 0, "message", "gone")[0].Events
	if e := final[len(final)-1]; e.Type != queue.EventCancelled || !e.PossibleDuplicate {
		t.Errorf("cancelled in flight: %+v", e)
	}

	// Deferred: listed, shown, replayed, dropped.
	send(1, "refused", "+44400", "--wait")
	out, _ = call(t, url, 0, "deferred", "list")
	contains(t, "deferred list", out, "refused", "terminal", "ESME_RINVDSTADR", "main/normal")
	if list := callJSON[[]queue.Deferred](t, url, 0, "deferred", "list", "--reason", "terminal", "--route", "main", "--limit", "5"); len(list) != 1 || list[0].ID != "refused" {
		t.Errorf("deferred list as JSON: %+v", list)
	}
	if list := callJSON[[]queue.Deferred](t, url, 0, "deferred", "list", "--reason", "poison"); len(list) != 0 {
		t.Errorf("deferred list of another reason: %+v", list)
	}
	out, _ = call(t, url, 0, "deferred", "show", "refused")
	contains(t, "deferred show", out, "ESME_RINVDSTADR", "terminal")
	if strings.Contains(out, "Geheim") || strings.Contains(out, "44400") {
		t.Errorf("show without --payload shows the message:\n%s", out)
	}
	out, _ = call(t, url, 0, "deferred", "show", "refused", "--payload")
	contains(t, "deferred show --payload", out, "Geheim refused", "+44400")
	shown := callJSON[map[string]any](t, url, 0, "deferred", "show", "refused", "--payload")
	if p, ok := shown["payload"].(map[string]any); !ok || p["to"] != "+44400" {
		t.Errorf("the payload as JSON: %v", shown["payload"])
	}
	out, _ = call(t, url, 0, "deferred", "replay", "--reason", "terminal", "--dry-run")
	contains(t, "replay --dry-run", out, "would be replayed")
	out, _ = call(t, url, 0, "deferred", "replay", "refused", "--expires-in", "2h")
	contains(t, "replay", out, "replayed", "refused", "in 2h0m0s")
	waitsFor(t, url, "refused", queue.PlaceDone)
	trails = callJSON[[]queue.Trail](t, url, 0, "message", "refused")
	if len(trails) != 2 || trails[1].ReplayOf != trails[0].Seq || trails[1].Events[0].Type != queue.EventSubmitted ||
		trails[0].Events[1].ReplayedAs != trails[1].Seq {
		t.Errorf("the trails of a replay: %+v", trails)
	}
	_, errs = call(t, url, 1, "deferred", "replay", "refused")
	contains(t, "replay of nothing", errs, "no such message is deferred")

	publishRaw(t, url, "sms.mt.main.bulk", `{"v":1,"id":"bad","to":"+11100","text":"x","receipt":"yes"}`)
	waitsFor(t, url, "bad", queue.PlaceDeferred)
	publishRaw(t, url, "sms.mt.main.bulk", `{"v":1,"id":"new","to":"+11100","text":"x","fancy":true}`)
	waitsFor(t, url, "new", queue.PlaceDeferred)
	out, errs = call(t, url, 1, "deferred", "replay", "--all")
	contains(t, "replay --all", out+errs, "receipt: want true, false", `unknown field "fancy"`, "--force", "2 of 2 messages stay deferred")
	_, errs = call(t, url, 2, "deferred", "drop")
	contains(t, "drop of nothing in particular", errs, "--all")
	out, _ = call(t, url, 0, "deferred", "drop", "bad", "--dry-run")
	contains(t, "drop --dry-run", out, "would be dropped")
	out, _ = call(t, url, 0, "deferred", "drop", "--all", "--limit", "1")
	contains(t, "drop", out, "dropped", "bad")
	if list := callJSON[[]queue.Deferred](t, url, 0, "deferred", "list"); len(list) != 1 || list[0].ID != "new" {
		t.Errorf("after the drop: %+v", list)
	}
	if n := len(smsc.Ledger()); n != 5 { // fine, later, gone, refused twice
		t.Errorf("the SMSC has seen %d submits, want 5", n)
	}
	if err := d.stop(); err != nil {
		t.Errorf("sluice run ended with %v", err)
	}
}

// The delivery id is for people: messages that share one are all sent, and their trails are kept apart, between tenants
// too.
func TestMessagesWithTheSameIDAreAllSent(t *testing.T) {
	t.Parallel()
	smsc, addr := fakeSMSC(t, testserver.Scenario{})
	d := newDaemon(t, addr, "", "")
	d.start(t)
	var payloads []string
	for _, tenant := range []string{"one", "two"} {
		for n := range 2 {
			payloads = append(payloads, fmt.Sprintf(`{"v":1,"id":"same","to":"+1555010%d","text":"x","tenant":%q,"meta":{"n":"%d"}}`, n, tenant, n))
		}
	}
	publishRaw(t, d.url(), "sms.mt.main.normal", payloads...)
	d.events(t, len(payloads))
	if n := len(smsc.Ledger()); n != len(payloads) {
		t.Errorf("%d submits, want %d", n, len(payloads))
	}
	trails := callJSON[[]queue.Trail](t, d.url(), 0, "message", "same")
	if len(trails) != len(payloads) {
		t.Fatalf("%d trails, want %d", len(trails), len(payloads))
	}
	ids := map[string]bool{}
	for n, tr := range trails {
		if len(tr.Events) != 1 {
			t.Fatalf("trail %d: %+v", n, tr)
		}
		e := tr.Events[0]
		if want := []string{"one", "one", "two", "two"}[n]; e.Type != queue.EventSubmitted || tr.Tenant != want || e.Tenant != want || e.Seq != tr.Seq || e.Meta["n"] != fmt.Sprint(n%2) {
			t.Errorf("trail %d: %+v", n, tr)
		}
		ids[e.MessageIDs[0]] = true
	}
	if len(ids) != len(payloads) {
		t.Errorf("the message ids are %v", ids)
	}
	out, _ := call(t, d.url(), 0, "message", "same")
	if n := strings.Count(out, "delivery id"); n != len(payloads) {
		t.Errorf("%d trails are printed:\n%s", n, out)
	}
	_, errs := call(t, d.url(), exitTooLate, "cancel", "same")
	contains(t, "cancel", errs, "has ended submitted")
}

// Without a gateway, messages can be looked at and cancelled.
func TestCancelWithoutAGateway(t *testing.T) {
	t.Parallel()
	server, err := queue.StartEmbedded(queue.EmbeddedConfig{Dir: t.TempDir(), Listen: "127.0.0.1:-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	url := server.URL()
	for _, args := range [][]string{{"queue"}, {"waiting"}, {"message", "x"}, {"cancel", "x"}, {"deferred", "list"}, {"deferred", "drop", "--all"}} {
		_, errs := call(t, url, 1, args...)
		contains(t, strings.Join(args, " "), errs, "has a gateway been started")
	}
	client, err := queue.Connect(t.Context(), queue.ConnectConfig{URL: url, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Ensure(t.Context(), queue.Topology{Lanes: []queue.Lane{{Route: "main", Class: "normal"}}}); err != nil {
		t.Fatal(err)
	}
	publishRaw(t, url, "sms.mt.main.normal", `{"v":1,"id":"a","to":"+1","text":"x"}`, `{"v":1,"id":"17","to":"+1","text":"x"}`,
		`{"v":1,"id":"a","to":"+1","text":"x"}`)
	_, errs := call(t, url, 2, "cancel", "a")
	contains(t, "cancel of two", errs, "2 messages that can be cancelled", "--seq", "1 (main/normal", "3 (main/normal")
	out, _ := call(t, url, 0, "cancel", "--seq", "3")
	contains(t, "cancel --seq", out, "cancelled")
	call(t, url, 0, "cancel", "17")
	lanes := callJSON[[]queue.Backlog](t, url, 0, "queue")
	if len(lanes) != 1 || lanes[0].Queued != 1 || lanes[0].InFlight != 0 {
		t.Errorf("queue: %+v", lanes)
	}
	for id, want := range map[string]queue.Place{"a": queue.PlaceDone, "17": queue.PlaceDone} {
		trails := callJSON[[]queue.Trail](t, url, 0, "message", id)
		if last := trails[len(trails)-1]; last.Place != want || last.Events[0].Type != queue.EventCancelled {
			t.Errorf("%s: %+v", id, last)
		}
	}
}

// Every command explains itself with an example, and what prints something does so as a table or as JSON.
func TestEveryCommandHasAnExample(t *testing.T) {
	noOutput := map[string]bool{"run": true, "check": true, "demo": true, "compare": true, "simulate": true, "help": true}
	var check func(parents string, commands []*cli.Command)
	check = func(parents string, commands []*cli.Command) {
		for _, cmd := range commands {
			name := parents + cmd.Name
			if len(cmd.Subcommands) > 0 {
				check(name+" ", cmd.Subcommands)
				continue
			}
			if cmd.Name == "help" {
				continue
			}
			if cmd.Usage == "" || !strings.Contains(cmd.UsageText, "sluice "+name) {
				t.Errorf("sluice %s: no example: %q", name, cmd.UsageText)
			}
			has := func(flag string) bool {
				for _, f := range cmd.Flags {
					if slices.Contains(f.Names(), flag) {
						return true
					}
				}
				return false
			}
			if !noOutput[cmd.Name] && !has("output") {
				t.Errorf("sluice %s: no --output", name)
			}
		}
	}
	check("", app(nil, nil).Commands)
	for _, args := range [][]string{{"cancel"}, {"message"}, {"waiting"}, {"queue"}, {"deferred", "replay"}, {"deferred"}} {
		out, errs, err := sluice(t, append(args, "--help")...)
		if err != nil {
			t.Errorf("sluice %v --help: %v: %s", args, err, errs)
		}
		contains(t, strings.Join(args, " "), out, "sluice "+strings.Join(args, " "))
	}
}

func TestMessageArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"needs a message":            {"message"},
		"name one message":           {"message", "x", "--seq", "3"},
		"--status \"nope\"":          {"waiting", "--status", "nope"},
		"--reason \"nope\"":          {"deferred", "list", "--reason", "nope"},
		"--limit -1":                 {"deferred", "list", "--limit=-1"},
		"--output \"xml\"":           {"queue", "--output", "xml"},
		"choose messages":            {"deferred", "replay"},
		"route \"a.b\"":              {"deferred", "list", "--route", "a.b"},
		"deferred has no subcommand": {"deferred", "nope"},
		// A variable that is not set must not mean everything, or another server.
		"--route is empty":               {"deferred", "drop", "--all", "--route", ""},
		"--reason is empty":              {"deferred", "drop", "--all", "--reason="},
		"--id is empty":                  {"events", "--id", ""},
		"--account is empty":             {"waiting", "--account", ""},
		"--nats or SLUICE_NATS is empty": {"queue", "--nats", ""},
		"--seq 0":                        {"events", "--seq", "0"},
		"want a whole number":            {"events", "--seq", "abc"},
		"-limit: want a whole number":    {"deferred", "drop", "--all", "--limit", "99999999999999999999"},
		"-receipt: want true or false":   {"send", "--receipt=maybe"},
		"-declared: want a number":       {"simulate", "-f", "x", "--declared", "many"},
		"-duration: want a duration":     {"simulate", "-f", "x", "--duration", "1 d"},
	} {
		_, errs, err := sluice(t, args...)
		if exitStatus(err) != 2 {
			t.Errorf("sluice %v: %v", args, err)
		}
		contains(t, strings.Join(args, " "), errs, want)
	}
	if _, errs, err := sluice(t, "queue", "--nats", "nats://127.0.0.1:1"); exitStatus(err) != 1 || errs == "" {
		t.Errorf("queue without a server: %v %s", errors.Unwrap(err), errs)
	}
}

// Digits may be a sequence or somebody's delivery id: what is destroyed must not be a guess.
func TestDigitsThatAreASequenceAndAnIDAreNotGuessedAt(t *testing.T) {
	t.Parallel()
	five := which{id: "5", seq: 5}
	for name, tt := range map[string]struct {
		w      which
		trails []queue.Trail
		many   bool
	}{
		"one message by its sequence":     {five, []queue.Trail{{Seq: 5, ID: "a"}}, false},
		"one message by its id":           {five, []queue.Trail{{Seq: 9, ID: "5"}}, false},
		"two with that id":                {five, []queue.Trail{{Seq: 8, ID: "5"}, {Seq: 9, ID: "5"}}, false},
		"one whose sequence is its id":    {five, []queue.Trail{{Seq: 5, ID: "5"}}, false},
		"the sequence of one, another's":  {five, []queue.Trail{{Seq: 5, ID: "a"}, {Seq: 9, ID: "5"}}, true},
		"by --seq beside one of that id":  {which{seq: 5}, []queue.Trail{{Seq: 5, ID: "a"}}, false},
		"by an id that is no number":      {which{id: "a"}, []queue.Trail{{Seq: 5, ID: "a"}}, false},
		"its sequence is its id, another": {five, []queue.Trail{{Seq: 5, ID: "5"}, {Seq: 9, ID: "5"}}, true},
	} {
		list := tt.w.ambiguous(tt.trails)
		if (list != nil) != tt.many {
			t.Errorf("%s: %q", name, list)
		}
		if tt.many {
			contains(t, name, strings.Join(list, "; "), "5 (id ", "9 (id 5")
		}
	}
}
