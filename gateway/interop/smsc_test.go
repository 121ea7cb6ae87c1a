//go:build interop

package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// The credentials that testdata/smsc/server.js takes.
const (
	smscSystemID = "interop"
	smscPassword = "foreign"
)

// smsc is a running server.js.
type smsc struct {
	addr   string
	ledger string // URL
}

// ledger is what the SMSC saw.
type ledger struct {
	Binds           int            `json:"binds"`
	RefusedBinds    int            `json:"refused_binds"`
	Unbinds         int            `json:"unbinds"`
	Submits         int            `json:"submits"`
	Accepted        int            `json:"accepted"`
	Refused         map[string]int `json:"refused"`
	Unmarked        int            `json:"unmarked"`
	WithoutValidity int            `json:"without_validity"`
	MostUnanswered  int            `json:"most_unanswered"`
	First           int64          `json:"first"`
	Last            int64          `json:"last"`
	BySecond        []int          `json:"by_second"`
	Messages        map[string]int `json:"messages"`
}

// span is the time from the first submit to the last.
func (l *ledger) span() time.Duration { return time.Duration(l.Last-l.First) * time.Millisecond }

// twice counts the messages that were accepted more than once.
func (l *ledger) twice() int {
	n := 0
	for _, times := range l.Messages {
		if times > 1 {
			n++
		}
	}
	return n
}

func (l *ledger) String() string {
	return fmt.Sprintf("%d submits, %d accepted, refused %v, %d messages, %d of them twice, %.1f s, at most %d unanswered, %d binds",
		l.Submits, l.Accepted, l.Refused, len(l.Messages), l.twice(), l.span().Seconds(), l.MostUnanswered, l.Binds)
}

// startSMSC runs server.js in one of its modes until the test ends.
func startSMSC(t *testing.T, mode string) *smsc {
	t.Helper()
	if _, err := os.Stat("testdata/smsc/node_modules/smpp"); err != nil {
		t.Fatal("the foreign SMSC is not installed: run make peers")
	}
	cmd := exec.CommandContext(t.Context(), "node", "server.js", "--mode", mode)
	cmd.Dir = "testdata/smsc"
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the foreign SMSC: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the foreign SMSC did not start: %v", err)
	}
	var ports struct{ SMPP, HTTP int }
	if err := json.Unmarshal(line, &ports); err != nil {
		t.Fatalf("the foreign SMSC said %q: %v", line, err)
	}
	return &smsc{
		addr:   fmt.Sprintf("127.0.0.1:%d", ports.SMPP),
		ledger: fmt.Sprintf("http://127.0.0.1:%d/", ports.HTTP),
	}
}

// read fetches the ledger.
func (s *smsc) read(t *testing.T) *ledger {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.ledger, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("read the ledger: %v", err)
	}
	defer resp.Body.Close()
	l := new(ledger)
	if err := json.NewDecoder(resp.Body).Decode(l); err != nil {
		t.Fatalf("read the ledger: %v", err)
	}
	return l
}
