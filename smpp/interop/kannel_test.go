//go:build interop

package interop

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// halvesID is the account of Kannel's transmitter and receiver.
const halvesID = "halves"

// kannel is a running bearerbox with its smsbox.
type kannel struct {
	dir     string
	sendsms string // URL
	web     string // address of ours that smsbox calls
	calls   chan *url.URL
}

func startKannel(t *testing.T, smscPort int) *kannel {
	t.Helper()
	k := &kannel{dir: t.TempDir(), calls: make(chan *url.URL, 100)}
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { k.calls <- r.URL }))
	t.Cleanup(web.Close)
	k.web = strings.TrimPrefix(web.URL, "http://")
	ports := freePorts(t, 3)
	k.sendsms = "http://127.0.0.1:" + ports[2] + "/cgi-bin/sendsms"
	template, err := os.ReadFile("testdata/kannel.conf")
	if err != nil {
		t.Fatal(err)
	}
	config := strings.NewReplacer(
		"ADMIN_PORT", ports[0], "BOX_PORT", ports[1], "SEND_PORT", ports[2], "SMSC_PORT", strconv.Itoa(smscPort),
		"SYSTEM_ID", systemID, "HALVES_ID", halvesID, "PASSWORD", foreignPassword, "WEB", k.web,
	).Replace(string(template))
	if err := os.WriteFile(filepath.Join(k.dir, "kannel.conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	k.start(t, "bearerbox")
	until(t, "answer on bearerbox's port", func() bool { return listening(ports[1]) })
	k.start(t, "smsbox")
	until(t, "answer on smsbox's port", func() bool { return listening(ports[2]) })
	return k
}

// freePorts are loopback ports that nobody listened on a moment ago.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var ports []string
	for range n {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, strconv.Itoa(port(l.Addr())))
	}
	return ports
}

func listening(port string) bool {
	conn, err := net.DialTimeout("tcp", "127.0.0.1:"+port, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// start runs one of Kannel's programs until the test ends; a test that fails
// shows what it said.
func (k *kannel) start(t *testing.T, name string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path = need(t, "/usr/sbin/"+name, "kannel")
	}
	said, err := os.Create(filepath.Join(k.dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-v", "1", filepath.Join(k.dir, "kannel.conf"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = k.dir, said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Errorf("%s did not end within %s of SIGTERM", name, patience)
		}
		_ = said.Close()
		if t.Failed() {
			text, _ := os.ReadFile(said.Name())
			t.Logf("%s said:\n%s", name, text)
		}
	})
}

// submit has Kannel send m through one of its connections.
func (k *kannel) submit(t *testing.T, smsc string, m message) {
	t.Helper()
	q := url.Values{
		"username": {"test"}, "password": {"test"}, "smsc": {smsc}, "from": {m.Source}, "to": {m.Dest},
		"text": {m.Text}, "charset": {"UTF-8"}, "coding": {"0"}, "priority": {strconv.Itoa(int(m.PriorityFlag))},
	}
	if m.DataCoding == 8 {
		q.Set("coding", "2")
	}
	if m.Reference != 0 {
		q.Set("meta-data", "?smpp?user_message_reference="+strconv.Itoa(int(m.Reference)))
	}
	if m.RegisteredDelivery != 0 {
		q.Set("dlr-mask", "31") // every kind
		q.Set("dlr-url", "http://"+k.web+"/dlr?kind=%d&id=%F&text=%A")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.sendsms+"?"+q.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusAccepted {
		t.Fatalf("sendsms: %s: %s", resp.Status, body)
	}
}

// called waits for smsbox to call us with a path.
func (k *kannel) called(t *testing.T, path string) url.Values {
	t.Helper()
	for {
		select {
		case u := <-k.calls:
			if u.Path == path {
				return u.Query()
			}
			t.Errorf("smsbox called %s", u)
		case <-time.After(patience):
			t.Fatalf("smsbox did not call %s within %s", path, patience)
		}
	}
}
