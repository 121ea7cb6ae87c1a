package main

import (
	"strings"
	"testing"
	"time"

	"sluice/gateway/config"
	"sluice/queue"
)

func TestReadMessages(t *testing.T) {
	const a, b = `{"v":1,"to":"+15550100","text":"a"}`, `{"v":1,"to":"+15550100","text":"b"}`
	long := `{"v":1,"to":"1","text":"` + strings.Repeat("x", longestLine) + `"}`
	for name, c := range map[string]struct {
		in   string
		n    int
		want string
	}{
		"two lines":             {a + "\n" + b, 2, ""},
		"a byte order mark":     {"\uFEFF" + a + "\n" + b + "\n", 2, ""},
		"only the mark":         {"\uFEFF\n", 0, "the file holds no message"},
		"a mark further down":   {a + "\n\uFEFF" + b, 0, "line 2: "},
		"blank lines":           {"\n" + a + "\n \t \r\n  \n" + b + "\r\n\n", 2, ""},
		"a line that is long":   {a + "\n\n" + long + "\n" + b, 0, "line 3: longer than 1048576 octets: write one message a line"},
		"a long one of blanks":  {strings.Repeat(" ", longestLine+1), 0, "line 1: longer than 1048576 octets"},
		"faults before it":      {"x\n" + long, 0, "line 1: "},
		"more than can be read": {strings.Repeat("x\n", 100), 0, "line 20: "},
	} {
		t.Run(name, func(t *testing.T) {
			messages, err := readMessages(strings.NewReader(c.in))
			if len(messages) != c.n || (err == nil) != (c.want == "") {
				t.Fatalf("%d messages, %v", len(messages), err)
			}
			if err == nil {
				return
			}
			contains(t, "the error", err.Error(), c.want)
			if strings.Contains(err.Error(), "bufio") || strings.Contains(err.Error(), "line 21") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDurationsOfFlagsKnowDays(t *testing.T) {
	for text, want := range map[string]time.Duration{"7d": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour, "15m": 15 * time.Minute} {
		var s span
		if err := s.Set(text); err != nil || time.Duration(s) != want {
			t.Errorf("%s: %v, %v", text, time.Duration(s), err)
		}
		if d, err := config.ParseDuration(s.String()); err != nil || d != want {
			t.Errorf("%s is printed as %q", text, s.String())
		}
	}
	for _, args := range [][]string{
		{"send", "--to", "1", "--text", "x", "--expires-in", "0s"},
		{"send", "--to", "1", "--text", "x", "--expires-in", "-5m"},
		{"send", "--to", "1", "--text", "x", "--expires-in", "soon"},
		{"events", "--since", "soon"},
	} {
		_, errs, err := sluice(t, args...)
		if exitStatus(err) != 2 {
			t.Errorf("sluice %v: %v", args, err)
		}
		contains(t, "the error", errs, args[len(args)-1], strings.TrimPrefix(args[len(args)-2], "--"))
	}
	// Eight days are read, and are too long for the contract.
	_, errs, err := sluice(t, "send", "--to", "1", "--text", "x", "--expires-in", "8d")
	if exitStatus(err) != 1 {
		t.Errorf("8d: %v", err)
	}
	contains(t, "the error", errs, "expires_in", "up to 168h")
	// Seven pass, up to the server that is not there.
	_, errs, err = sluice(t, "send", "--to", "1", "--text", "x", "--expires-in", "7d", "--nats", "nats://127.0.0.1:1")
	if exitStatus(err) != 1 {
		t.Errorf("7d: %v", err)
	}
	contains(t, "the error", errs, "nats://127.0.0.1:1")
}

func TestEventsPrintsNoHeaderBeforeItIsConnected(t *testing.T) {
	out, errs, err := sluice(t, "events", "--nats", "nats://127.0.0.1:1")
	if exitStatus(err) != 1 || out != "" || errs == "" {
		t.Errorf("events without a server: %v, prints %q", err, out)
	}
}

// The stream drops what comes under an id that it has seen: whoever guesses an id keeps another's message out. send says so.
func TestSendNoticesThatAnotherMessageHasItsID(t *testing.T) {
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
	defer client.Close()
	lanes := []queue.Lane{{Route: "main", Class: "normal"}, {Route: "main", Class: "otp"}}
	if _, err := client.Ensure(t.Context(), queue.Topology{Lanes: lanes}); err != nil {
		t.Fatal(err)
	}
	mine := []string{"send", "--to", "+15550100", "--id", "order-1", "--text", "mine"}
	call(t, url, 0, mine...)
	out, _ := call(t, url, 0, mine...)
	contains(t, "a repeat", out, "sequence 1 (it was in the queue already)")
	_, errs := call(t, url, 1, "send", "--to", "+15550100", "--id", "order-1", "--text", "another's secret")
	contains(t, "another text", errs, "1 of 1 messages are not in the queue", "id order-1", "message 1 has the id", "use ids that nobody guesses")
	if strings.Contains(errs, "secret") || strings.Contains(errs, "mine") {
		t.Errorf("a text is shown: %s", errs)
	}
	call(t, url, 1, append(mine, "--class", "otp")...) // not to where it was sent
	file := write(t, "messages.jsonl", `{"v":1,"id":"order-2","to":"+15550100","text":"new"}`+"\n"+`{"v":1,"id":"order-1","to":"+15550100","text":"other"}`+"\n")
	_, errs = call(t, url, 1, "send", "--file", file)
	contains(t, "a file", errs, "1 of 2 messages are not in the queue", "message 2 (id order-1)")
	lanesNow := callJSON[[]queue.Backlog](t, url, 0, "queue")
	queued := uint64(0)
	for _, l := range lanesNow {
		queued += l.Queued
	}
	if queued != 2 {
		t.Errorf("%d messages are queued, want order-1 and order-2", queued)
	}
}
