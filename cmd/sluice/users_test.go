package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// secured is a NATS server with TLS and the users of docs/nats.md.
type secured struct {
	url string
	dir string // ca.pem, and a password file for each user
}

// certify writes a certificate for 127.0.0.1 that is its own authority.
func certify(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:  x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"server.pem": {Type: "CERTIFICATE", Bytes: der}, "ca.pem": {Type: "CERTIFICATE", Bytes: der}, "server.key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// startSecured runs the server that docs/nats.md shows.
func startSecured(t *testing.T) *secured {
	t.Helper()
	page, err := os.ReadFile("../../docs/nats.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```conf\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/nats.md shows no server")
	}
	s := &secured{dir: t.TempDir()}
	certify(t, s.dir)
	conf := string(block[1])
	for from, to := range map[string]string{
		"listen: 0.0.0.0:4222": "listen: 127.0.0.1:-1", "/var/lib/nats": filepath.Join(s.dir, "store"),
		"server.pem": filepath.Join(s.dir, "server.pem"), "server.key": filepath.Join(s.dir, "server.key"),
	} {
		if !strings.Contains(conf, from) {
			t.Fatalf("docs/nats.md lacks %q", from)
		}
		conf = strings.Replace(conf, from, fmt.Sprintf("%q", to), 1)
	}
	conf = strings.Replace(conf, `"listen: 127.0.0.1:-1"`, "listen: 127.0.0.1:-1", 1)
	for _, user := range []string{"gateway", "publisher", "events", "mo", "operator"} {
		conf = strings.Replace(conf, "$"+strings.ToUpper(user)+"_PASSWORD", `"pw-of-`+user+`"`, 1)
		if err := os.WriteFile(filepath.Join(s.dir, user+".pw"), []byte("pw-of-"+user+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(s.dir, "nats.conf")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	opts, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatalf("docs/nats.md: %v", err)
	}
	opts.NoLog, opts.NoSigs = true, true
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	s.url = strings.Replace(srv.ClientURL(), "nats://", "tls://", 1)
	return s
}

// as are the flags of a command for one of the users.
func (s *secured) as(user string, args ...string) []string {
	return append(args, "--nats", s.url, "--tls-ca", filepath.Join(s.dir, "ca.pem"), "--user", user,
		"--password-file", filepath.Join(s.dir, user+".pw"), "--inbox-prefix", "_INBOX_"+user)
}

// connect is a client as any program has it. denied tells of what the server does not permit.
func (s *secured) connect(t *testing.T, user string) (nc *nats.Conn, denied chan error) {
	t.Helper()
	authorities, err := os.ReadFile(filepath.Join(s.dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authorities)
	denied = make(chan error, 100)
	nc, err = nats.Connect(s.url, nats.UserInfo(user, "pw-of-"+user), nats.CustomInboxPrefix("_INBOX_"+user),
		nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, denied
}

// run runs a command as one of the users, and checks its exit status.
func (s *secured) run(t *testing.T, user string, status int, args ...string) string {
	t.Helper()
	out, errs, err := sluice(t, s.as(user, args...)...)
	if exitStatus(err) != status {
		t.Errorf("%s may not `sluice %s`: %v: %s%s", user, strings.Join(args, " "), err, out, errs)
	}
	return out
}

// startGateway runs the gateway as its own user.
func (s *secured) startGateway(t *testing.T, smsc string) *daemon {
	t.Helper()
	d := newDaemon(t, smsc, "unknown: {after: 1s}, response_timeout: 2s", "")
	yaml, err := os.ReadFile(d.config)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(yaml), "\n")
	for n, line := range lines {
		if strings.HasPrefix(line, "nats:") {
			lines[n] = fmt.Sprintf("nats: {url: %q, credentials: {user: gateway, password: {file: %q}, inbox_prefix: _INBOX_gateway, tls: {ca: %q}}}",
				s.url, filepath.Join(s.dir, "gateway.pw"), filepath.Join(s.dir, "ca.pem"))
		}
	}
	text := strings.Join(lines, "\n") + "routes: {main: {accounts: [acme], terminal_to_deferred: true}}\n"
	if err := os.WriteFile(d.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	return d
}

// Each of the users of docs/nats.md does its work on a server with TLS, and nothing else.
func TestEveryUserMayDoItsWorkAndNothingElse(t *testing.T) {
	t.Parallel()
	fake, smsc := fakeSMSC(t, testserver.Scenario{Errors: []testserver.ErrorRule{
		{Match: testserver.Match{Prefix: "1555019"}, Status: pdu.StatusInvDstAdr},
		{Match: testserver.Match{Prefix: "1555018"}, Status: pdu.StatusThrottled},
	}})
	s := startSecured(t)
	d := s.startGateway(t, smsc)

	s.run(t, "publisher", 0, "send", "--to", "+15550100", "--id", "fine", "--receipt", "--text", "hello")
	s.run(t, "publisher", 0, "send", "--to", "+15550190", "--id", "refused", "--text", "hello")
	s.run(t, "publisher", 0, "send", "--to", "+15550180", "--id", "later", "--text", "hello")
	until(t, func() error {
		out, errs, err := sluice(t, s.as("events", "events", "--output", "json")...)
		if err != nil {
			t.Fatalf("events may not read: %v: %s", err, errs)
		}
		for _, want := range []queue.EventType{queue.EventSubmitted, queue.EventReceipt, queue.EventFailed, queue.EventThrottled} {
			if !strings.Contains(out, `"type":"`+string(want)+`"`) {
				return fmt.Errorf("there is no %s yet", want)
			}
		}
		return nil
	})

	until(t, func() error { return fake.InjectMO(testserver.MO{From: "15550100", To: "1000", Text: "from a phone"}) })
	readMO(t, s)

	for _, command := range [][]string{
		{"binds"},
		{"bind", "show", "acme"},
		{"accounts"},
		{"queue"},
		{"waiting"},
		{"events"},
		{"message", "fine"},
		{"message", "later"},
		{"message", "--seq", "1"},
		{"deferred", "list"},
		{"deferred", "show", "refused", "--payload"},
		{"pause", "acme"},
		{"rate", "acme", "80"},
		{"window", "acme", "--max", "20"},
		{"cancel", "later"},
		{"deferred", "replay", "refused"},
		{"resume", "acme"},
		{"send", "--to", "+15550101", "--id", "operators", "--text", "hello", "--wait"},
	} {
		out := s.run(t, "operator", 0, command...)
		if slices.Contains([]string{"pause", "rate", "window", "resume"}, command[0]) && out != "acme: 1 of 1 applied\n" {
			t.Errorf("%v prints %q", command, out)
		}
	}
	until(t, func() error { // the replay comes back
		if out := s.run(t, "operator", 0, "deferred", "list"); !strings.Contains(out, "refused") {
			return errors.New("the replayed message is not deferred again")
		}
		return nil
	})
	s.run(t, "operator", 0, "deferred", "drop", "refused")
	if strings.Contains(d.log.String(), "ermissions") {
		t.Error("the gateway lacks a permission")
	}
	wantDenied(t, s)
	if err := d.stop(); err != nil {
		t.Errorf("sluice run ended with %v", err)
	}
}

// readMO reads what a phone has sent, with a consumer of its own.
func readMO(t *testing.T, s *secured) {
	t.Helper()
	nc, _ := s.connect(t, "mo")
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	consumer, err := js.CreateOrUpdateConsumer(ctx, "SMS_MO", jetstream.ConsumerConfig{Durable: "app", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatalf("mo may not read: %v", err)
	}
	m, err := consumer.Next(jetstream.FetchMaxWait(patience))
	if err != nil || !strings.Contains(string(m.Data()), "from a phone") {
		t.Fatalf("mo may not read: %v", err)
	}
	if err := m.DoubleAck(ctx); err != nil {
		t.Errorf("mo may not acknowledge: %v", err)
	}
}

// wantDenied tries for every user what belongs to the others.
func wantDenied(t *testing.T, s *secured) {
	t.Helper()
	const create = `{"stream_name":"%s","config":{"name":"spy","ack_policy":"none"}}`
	for user, subjects := range map[string][]string{
		"publisher": {
			"sms.mt.other.normal", "sms.evt.main.submitted.00", "sms.mo.acme", "sms.in.acme", "sms.deferred.main.attempts", "$KV.sluice_control.account.acme",
			"$JS.API.STREAM.INFO.SMS_MT", "$JS.API.STREAM.MSG.GET.SMS_MT", "$JS.API.DIRECT.GET.SMS_MT", "$JS.API.CONSUMER.CREATE.SMS_EVENTS.spy",
			"$JS.API.STREAM.PURGE.SMS_MT", "sluice.all.binds", "_INBOX_events.x",
		},
		"events": {
			"sms.mt.main.normal", "sms.evt.main.submitted.00", "$JS.API.CONSUMER.CREATE.SMS_MT.spy", "$JS.API.CONSUMER.CREATE.SMS_MO.spy",
			"$JS.API.STREAM.MSG.GET.SMS_MT", "$JS.API.STREAM.PURGE.SMS_EVENTS", "$JS.API.STREAM.DELETE.SMS_EVENTS", "$KV.sluice_control.account.acme",
			"sluice.all.cancel",
		},
		"mo": {
			"sms.mt.main.normal", "sms.mo.acme", "$JS.API.CONSUMER.CREATE.SMS_MT.spy", "$JS.API.CONSUMER.CREATE.SMS_EVENTS.spy",
			"$JS.API.STREAM.PURGE.SMS_MO", "$JS.API.STREAM.MSG.GET.SMS_MO", "sluice.all.binds",
		},
		"operator": {
			"$JS.API.STREAM.PURGE.SMS_MT", "$JS.API.STREAM.DELETE.SMS_EVENTS", "$JS.API.STREAM.UPDATE.SMS_MT", "$JS.API.STREAM.CREATE.other",
			"$JS.API.CONSUMER.DELETE.SMS_MT.main_normal", "$JS.API.CONSUMER.CREATE.SMS_MT.spy", "$KV.sluice_instances.instance.crash-1", "sms.mo.acme", "sms.in.acme",
		},
		"gateway": {"elsewhere", "$JS.API.STREAM.CREATE.other", "$JS.API.STREAM.DELETE.other", "$JS.API.STREAM.INFO.other", "$KV.other.key", "$JS.API.CONSUMER.CREATE.other.SMS_MT"},
	} {
		nc, denied := s.connect(t, user)
		for _, subject := range subjects {
			if err := nc.Publish(subject, fmt.Appendf(nil, create, "SMS_MT")); err != nil {
				t.Fatal(err)
			}
			wantDenial(t, user, "publish on", subject, nc, denied)
		}
		for _, subject := range []string{"_INBOX.>", "_INBOX_other.>", "sms.mt.>", "sms.in.>", "$JS.ACK.>", "$KV.>", ">"} {
			if _, err := nc.SubscribeSync(subject); err != nil {
				t.Fatal(err)
			}
			wantDenial(t, user, "subscribe to", subject, nc, denied)
		}
	}
}

func wantDenial(t *testing.T, user, what, subject string, nc *nats.Conn, denied chan error) {
	t.Helper()
	if err := nc.Flush(); err != nil { // the denial comes before the answer to it
		t.Fatal(err)
	}
	select {
	case err := <-denied:
		if !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s, to %s %s: %v", user, what, subject, err)
		}
	case <-time.After(5 * time.Second):
		t.Errorf("%s may %s %s", user, what, subject)
	}
}
