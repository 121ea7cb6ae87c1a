//go:build interop

package interop

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// natsCLI runs the nats command as a stranger would: with a home of its own,
// so that no context of the machine takes part.
func natsCLI(t *testing.T, g *gateway, args ...string) *exec.Cmd {
	t.Helper()
	path, err := filepath.Abs("../../bin/nats")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal("the nats command is not built: run make bin/nats")
	}
	cmd := exec.CommandContext(t.Context(), path, append(args, "--server", g.nats)...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "NATS_URL=", "NATS_CONTEXT=")
	return cmd
}

func TestForeignNATSClientPublishesAndReads(t *testing.T) {
	s := startSMSC(t, "bucket")
	g := startGateway(t, s)

	sub := natsCLI(t, g, "sub", "--raw", "sms.evt.>")
	out, err := sub.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sub.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Process.Kill(); _ = sub.Wait() })
	seen := make(chan event)
	go readEvents(out, seen)

	// The subscriber prints nothing when it is ready, so messages go out until
	// it has seen one.
	deadline := time.After(30 * time.Second)
	for n := 1; ; n++ {
		id := "order-" + string(rune('a'+n%26))
		pub := natsCLI(t, g, "pub", "--jetstream", "sms.mt.main.normal", "--no-templates",
			"-H", "Nats-Msg-Id:main:"+id,
			`{"v":1,"id":"`+id+`","from":"ACME","to":"+15550100","text":"Your parcel left today."}`)
		if out, err := pub.CombinedOutput(); err != nil {
			t.Fatalf("nats pub: %v: %s", err, out)
		}
		select {
		case e := <-seen:
			if e.Type != "submitted" || !strings.HasPrefix(e.ID, "order-") {
				t.Errorf("the first event is %+v", e)
			}
			if l := s.read(t); l.Accepted == 0 || l.Accepted > n {
				t.Errorf("after %d messages: %s", n, l)
			}
			return
		case <-time.After(500 * time.Millisecond):
		case <-deadline:
			t.Fatal("no event came to sms.evt.> within 30 s")
		}
	}
}

// readEvents sends every line that is an event.
func readEvents(out interface{ Read([]byte) (int, error) }, seen chan<- event) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Type != "" {
			seen <- e
		}
	}
}

func TestWrongRouteIsRefusedAtThePublish(t *testing.T) {
	g := startGateway(t, startSMSC(t, "bucket"))
	out, err := natsCLI(t, g, "pub", "--jetstream", "sms.mt.nowhere.normal", "--no-templates",
		`{"v":1,"id":"lost","from":"ACME","to":"+15550100","text":"Nobody serves this."}`).CombinedOutput()
	if err == nil {
		t.Errorf("the publish to a wrong route was accepted: %s", out)
	}
	if _, err := run(t, 30*time.Second, binary(), "send", "--nats", g.nats, "--route", "nowhere", "--class", "normal",
		"--from", "ACME", "--to", "+15550100", "--text", "Nobody serves this."); err == nil {
		t.Error("sluice send to a wrong route was accepted")
	} else if !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("the error does not name the route: %v", err)
	}
}
