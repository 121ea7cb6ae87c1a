package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fiorix/go-smpp/smpp"
	"github.com/fiorix/go-smpp/smpp/pdu/pdutext"

	"sluice/testserver"
)

// program builds the command once for a test.
func program(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "fakesmsc")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	return binary
}

func TestProgramServesAndEndsOnSIGTERM(t *testing.T) {
	command := exec.CommandContext(t.Context(), program(t), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
		"--scenario", "../../configs/scenarios/demo.yaml", "--rate", "1000", "--burst", "1", "--latency", "1ms-2ms",
		"--system-id", "sluice", "--password", "secret", "--seed", "7")
	var complaints bytes.Buffer
	command.Stderr = &complaints
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatalf("no line when listening: %v %s", err, complaints.Bytes())
	}
	ports := regexp.MustCompile(`^fakesmsc: smpp on (127\.0\.0\.1:\d+), http on (127\.0\.0\.1:\d+)\n$`).FindStringSubmatch(line)
	if ports == nil {
		t.Fatalf("listening line is %q", line)
	}

	peer := &smpp.Transceiver{Addr: ports[1], User: "sluice", Passwd: "secret", RespTimeout: 10 * time.Second}
	if status := <-peer.Bind(); status.Status() != smpp.Connected {
		t.Fatalf("bind: %v", status.Error())
	}
	sm, err := peer.Submit(&smpp.ShortMessage{Src: "sender", Dst: "41791234567", Text: pdutext.Raw("hello")})
	if err != nil || sm.RespID() != "1" {
		t.Errorf("submit: id %q, %v", sm.RespID(), err)
	}
	if _, err := peer.Submit(&smpp.ShortMessage{Src: "sender", Dst: "0001", Text: pdutext.Raw("hello")}); err == nil {
		t.Error("a recipient that the scenario refuses was accepted")
	}

	var stats testserver.Stats
	get(t, "http://"+ports[2]+"/stats", &stats)
	if stats.Scenario != "demo" || stats.Submits != 2 || stats.Accepted != 1 || stats.Refused != 1 || stats.Bound != 1 {
		t.Errorf("stats are %+v", stats)
	}
	var records []testserver.Record
	get(t, "http://"+ports[2]+"/ledger", &records)
	if len(records) != 2 || records[0].SystemID != "sluice" || records[0].Destination != "41791234567" {
		t.Errorf("ledger is %+v", records)
	}
	foreign, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+ports[2]+"/reset", nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign.Header.Set("Origin", "http://evil.example.com") // a web page that the tester has open beside it
	if response, err := http.DefaultClient.Do(foreign); err != nil || response.StatusCode != http.StatusForbidden || response.Body.Close() != nil {
		t.Errorf("a reset from another site: %+v, %v; want 403", response, err)
	}
	if get(t, "http://"+ports[2]+"/stats", &stats); stats.Submits != 2 {
		t.Errorf("%d submits after it, want what was counted", stats.Submits)
	}

	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	printed, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("%v %s", err, complaints.Bytes())
	}
	if err := json.Unmarshal(printed, &stats); err != nil || stats.Submits != 2 || stats.Bound != 0 {
		t.Errorf("printed %q: %v", printed, err)
	}
	_ = peer.Close()
}

// What the ledger's file holds when a submit is answered outlives kill -9, and the next process appends to it.
func TestLedgerFileOutlivesKill9(t *testing.T) {
	binary, file := program(t), filepath.Join(t.TempDir(), "ledger.jsonl")
	for _, to := range []string{"41790000001", "41790000002"} {
		command := exec.CommandContext(t.Context(), binary, "--listen", "127.0.0.1:0", "--http", "off", "--ledger", file)
		stdout, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		address := strings.TrimSpace(strings.TrimPrefix(line, "fakesmsc: smpp on "))
		peer := &smpp.Transceiver{Addr: address, User: "any", Passwd: "any", RespTimeout: 10 * time.Second}
		if status := <-peer.Bind(); status.Status() != smpp.Connected {
			t.Fatalf("bind: %v", status.Error())
		}
		if _, err := peer.Submit(&smpp.ShortMessage{Src: "sender", Dst: to, Text: pdutext.Raw("hello")}); err != nil {
			t.Fatal(err)
		}
		if err := command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = command.Wait() // it was killed
		_ = peer.Close()
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2 {
		t.Fatalf("the ledger has %d lines, want 2: %s", len(lines), text)
	}
	for i, line := range lines {
		var e testserver.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if want := "4179000000" + string(rune('1'+i)); e.Destination != want || e.MessageID != "1" || e.Key == "" || e.Swallowed {
			t.Errorf("line %d is %+v, want destination %s, accepted, not swallowed", i+1, e, want)
		}
	}
}

func get(t *testing.T, url string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

func TestHelpHasAnExample(t *testing.T) {
	var out bytes.Buffer
	if err := newApp(&out).RunContext(t.Context(), []string{"fakesmsc", "--help"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fakesmsc --rate 100 --burst 10 --latency 5ms-20ms", "/stats", "POST http://127.0.0.1:8090/scenario", "--scenario FILE"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help does not contain %q:\n%s", want, out.String())
		}
	}
}

// Every request of the help's examples is one that the server carries out.
func TestExamplesOfTheHelp(t *testing.T) {
	server := testserver.New(testserver.Scenario{})
	control := httptest.NewServer(server.Handler())
	defer control.Close()
	example := regexp.MustCompile(`(?m)^ *curl -s (-X POST )?'?http://127\.0\.0\.1:8090([^ '\n]+)'?(?: -d '(.*)'| --data-binary @(\S+))?$`)
	tried := map[string]int{}
	for _, m := range example.FindAllStringSubmatch(description, -1) {
		method, path, body := http.MethodGet, m[2], m[3]
		if m[1] != "" {
			method = http.MethodPost
		}
		if file := m[4]; file != "" {
			octets, err := os.ReadFile(filepath.Join("..", "..", file))
			if err != nil {
				t.Fatal(err)
			}
			body = string(octets)
		}
		request, err := http.NewRequestWithContext(t.Context(), method, control.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		nobody := path == "/mo" && response.StatusCode == http.StatusConflict && bytes.Contains(answer, []byte("is bound")) // it was understood
		if response.Body.Close() != nil || err != nil || response.StatusCode != http.StatusOK && !nobody {
			t.Errorf("%s: %s %s, %v", m[0], response.Status, answer, err)
		}
		tried[method+" "+path]++
	}
	if n := strings.Count(description, "curl "); len(tried) < 6 || tried["POST /scenario"] != 3 || n != 9 {
		t.Errorf("of %d examples were tried: %v", n, tried)
	}
	if got := server.Stats().Scenario; got != "penalty" { // the last one
		t.Errorf("the scenario is %q, want that of the file", got)
	}
}

func TestFlagsThatAreWrong(t *testing.T) {
	tests := map[string]struct {
		args []string
		want []string
	}{
		"no such file":            {[]string{"--scenario", "none.yaml"}, []string{"none.yaml"}},
		"negative rate":           {[]string{"--rate", "-1"}, []string{"--rate", "-1", "above 0"}},
		"burst without rate":      {[]string{"--burst", "5"}, []string{"--burst", "5", "--rate"}},
		"burst below one":         {[]string{"--rate", "5", "--burst", "0.5"}, []string{"--burst", "0.5", "1 or more"}},
		"latency":                 {[]string{"--latency", "soon"}, []string{"--latency", "soon", "5ms-20ms"}},
		"password of nobody":      {[]string{"--password", "x"}, []string{"--password", "--system-id"}},
		"address":                 {[]string{"--listen", "nowhere"}, []string{"--listen", "nowhere"}},
		"control address":         {[]string{"--listen", "127.0.0.1:0", "--http", "nowhere"}, []string{"--http", "nowhere"}},
		"ledger":                  {[]string{"--ledger", "none/ledger.jsonl"}, []string{"--ledger", "none/ledger.jsonl"}},
		"argument without a flag": {[]string{"demo.yaml"}, []string{"demo.yaml", "--help"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := newApp(io.Discard).RunContext(t.Context(), append([]string{"fakesmsc"}, tt.args...))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not contain %q", err, want)
				}
			}
		})
	}
}
