//go:build interop

package interop

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// nodeModules is where `make peers` installs npm smpp.
const nodeModules = "../../gateway/interop/testdata/smsc/node_modules"

// foreignPassword is what the SMSCs in testdata take.
const foreignPassword = "foreign"

// program is a foreign peer's process under remote control; see testdata/peer.js.
type program struct {
	*journal
	port  int // of an SMSC
	stdin io.Writer
}

// language starts peer.js or peer.pl.
type language func(t *testing.T, args ...string) *program

// nodeSMPP runs the peer on npm smpp.
func nodeSMPP(t *testing.T, args ...string) *program {
	t.Helper()
	if _, err := os.Stat(filepath.Join(nodeModules, "smpp")); err != nil {
		t.Fatal("npm smpp is not installed: run make peers")
	}
	modules, err := filepath.Abs(nodeModules)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), need(t, "node", "nodejs"), append([]string{"testdata/peer.js"}, args...)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	return start(t, cmd)
}

// netSMPP runs the peer on Perl's Net::SMPP.
func netSMPP(t *testing.T, args ...string) *program {
	t.Helper()
	perl := need(t, "perl", "perl")
	if out, err := exec.CommandContext(t.Context(), perl, "-MNet::SMPP", "-e1").CombinedOutput(); err != nil {
		t.Fatalf("Net::SMPP is not installed: run make peers, or apt-get install libnet-smpp-perl: %v: %s", err, out)
	}
	return start(t, exec.CommandContext(t.Context(), perl, append([]string{"testdata/peer.pl"}, args...)...))
}

// need finds a command or fails with the Debian package that has it.
func need(t *testing.T, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not installed: run make peers, or apt-get install %s", name, debian)
	}
	return path
}

// start runs a peer until the test ends.
func start(t *testing.T, cmd *exec.Cmd) *program {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{journal: newJournal(), stdin: stdin}
	lines := bufio.NewScanner(stdout)
	if cmd.Args[2] == "serve" {
		var ready struct{ Port int }
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &ready) != nil {
			t.Fatalf("%s did not start: %q", cmd, lines.Bytes())
		}
		p.port = ready.Port
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.read(lines)
	}()
	t.Cleanup(func() { // the test's context has ended it
		<-read
		_ = cmd.Wait()
	})
	return p
}

func (p *program) read(lines *bufio.Scanner) {
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			r = record{Command: "error", message: message{Text: err.Error() + ": " + lines.Text()}}
		}
		p.add(r)
	}
	p.end(errors.New("the peer's process ended"))
}

func (p *program) order(t *testing.T, what any) {
	t.Helper()
	line, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.stdin.Write(append(line, '\n')); err != nil {
		t.Fatalf("give the peer an order: %v", err)
	}
}

func (p *program) address() string { return "127.0.0.1:" + strconv.Itoa(p.port) }

func (p *program) send(t *testing.T, command string) {
	t.Helper()
	p.order(t, map[string]any{"send": command})
}

func (p *program) sendMessage(t *testing.T, command string, m message) {
	t.Helper()
	p.order(t, map[string]any{"send": command, "message": m})
}

func (p *program) bind(t *testing.T, command, systemID, password string) {
	t.Helper()
	p.order(t, map[string]any{"send": command, "system_id": systemID, "password": password})
}

func (p *program) refuse(t *testing.T, status uint32) {
	t.Helper()
	p.order(t, map[string]any{"refuse": status})
	p.take(t, "refusing")
}
