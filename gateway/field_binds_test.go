package gateway

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/gateway/config"
	"sluice/queue"
	"sluice/smpp"
	"sluice/smpp/pdu"
)

// logged collects what a gateway logs.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// lines counts the lines of a level that contain all the words.
func (l *logged) lines(level slog.Level, words ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
next:
	for line := range strings.Lines(l.b.String()) {
		for _, word := range append(words, "level="+level.String()) {
			if !strings.Contains(line, word) {
				continue next
			}
		}
		n++
	}
	return n
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// startAgainst runs a gateway against a scripted SMSC, and collects its log. account is the whole YAML of the account
// but for its address.
func startAgainst(t *testing.T, s *scriptedSMSC, account string) (*rig, *logged, *config.Config) {
	t.Helper()
	cfg, err := config.Decode([]byte(`
instance: test-1
nats: {embedded: {dir: "` + t.TempDir() + `", listen: "127.0.0.1:0"}}
http: "127.0.0.1:0"
accounts:
  acme:
    address: "` + s.addr + `"
` + indent(account) + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	log := new(logged)
	return runGateway(t, cfg, Options{Logger: log.logger()}), log, cfg
}

const credentials = "system_id: sluice\npassword: secret\n"

// acceptingSMSC takes everything, each with an id of its own.
func acceptingSMSC(sm *pdu.SubmitSM) (string, bool) { return "id-" + string(sm.Dest.Addr), false }

// G30: what the operator has issued is sent as it is; the limits of the specification only earn a warning.
func TestG30LongCredentials(t *testing.T) {
	t.Parallel()
	s := startScripted(t, acceptingSMSC)
	const systemID, password, systemType = "a-system-id-of-26-octets-x", "sixteen-octets-x", "a-longer-type-yet"
	addressRange := strings.Repeat("1", 60)
	r, _, cfg := startAgainst(t, s, "system_id: "+systemID+"\npassword: "+password+"\nsystem_type: "+systemType+
		"\naddress_range: '"+addressRange+"'\n")
	r.publish(t, messages(1, "+1555")...)
	if e := r.await(t, 1, isFinal)[0]; e.Type != queue.EventSubmitted {
		t.Errorf("%s (%s)", e.Type, e.Reason)
	}
	s.mu.Lock()
	b := s.binds[0]
	s.mu.Unlock()
	if b.SystemID != systemID || b.Password != password || b.SystemType != systemType || b.AddressRange != addressRange {
		t.Errorf("bound with %d, %d, %d and %d octets", len(b.SystemID), len(b.Password), len(b.SystemType), len(b.AddressRange))
	}
	said := strings.Join(cfg.Warnings(), "\n")
	for _, want := range []string{
		"acme.system_id: has 26 octets, beyond the 15 of the specification", "acme.password: has 16 octets, beyond the 8",
		"acme.system_type: has 17 octets, beyond the 12", "acme.address_range: has 60 octets, beyond the 40",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the warnings do not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, password) {
		t.Error("a warning shows the password")
	}
}

// G31: a TLV of the specification with another width is sent as the message says; one line an hour tells of it.
func TestG31TLVOfAnotherWidth(t *testing.T) {
	t.Parallel()
	s := startScripted(t, acceptingSMSC)
	r, log, _ := startAgainst(t, s, credentials+"mark: false")
	list := messages(3, "+1555")
	for _, m := range list {
		m.TLVs = []queue.TLV{
			{Tag: "user_response_code", Value: []byte{0, 0, 1}},
			{Tag: "source_port", Value: []byte{7}},
			{Tag: "payload_type", Value: []byte{}},
			{Tag: "destination_port", Value: []byte{1, 2}},
		}
	}
	r.publish(t, list...)
	for _, e := range r.await(t, len(list), isFinal) {
		if e.Type != queue.EventSubmitted {
			t.Errorf("%s (%s): %s", e.Type, e.Reason, e.Detail)
		}
	}
	for _, sm := range s.seen() {
		for tag, want := range map[pdu.Tag]string{
			pdu.TagUserResponseCode: "\x00\x00\x01", pdu.TagSourcePort: "\x07", pdu.TagPayloadType: "", pdu.TagDestinationPort: "\x01\x02",
		} {
			if v, ok := sm.TLVs.Get(tag); !ok || string(v) != want {
				t.Errorf("%s is %x (%t), want %x", tag, v, ok, want)
			}
		}
	}
	for tag, want := range map[string]int{"user_response_code": 1, "source_port": 1, "payload_type": 1, "destination_port": 0} {
		if n := log.lines(slog.LevelWarn, "another width", "tag="+tag); n != want {
			t.Errorf("%d lines about %s, want %d", n, tag, want)
		}
	}
}

// slowBind answers the bind on conn after that time, and every enquire_link and unbind at once.
func slowBind(conn net.Conn, after time.Duration) {
	defer conn.Close()
	for {
		frame := make([]byte, 4)
		if _, err := io.ReadFull(conn, frame); err != nil {
			return
		}
		frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame)-4)...)
		if _, err := io.ReadFull(conn, frame[4:]); err != nil {
			return
		}
		h, body, err := pdu.Parse(frame)
		if err != nil {
			return
		}
		var reply pdu.Body = &pdu.EnquireLinkResp{}
		switch body.(type) {
		case *pdu.Bind:
			time.Sleep(after) // in a bubble
			reply = &pdu.BindResp{Command: h.ID.Response(), SystemID: "slow"}
		case *pdu.Unbind:
			reply = &pdu.UnbindResp{}
		}
		octets, err := pdu.Append(nil, pdu.StatusOK, h.Sequence, reply)
		if err != nil {
			panic(err) // the test's own PDU
		}
		if _, err := conn.Write(octets); err != nil {
			return
		}
	}
}

// G32: a bind that is answered after 12 s is a bind; bind_timeout says how long to wait.
func TestG32SlowBindResponse(t *testing.T) {
	for _, c := range []struct {
		extra  string
		after  time.Duration
		bound  bool
		within time.Duration
	}{
		{"", 12 * time.Second, true, 12 * time.Second},
		{"", 29 * time.Second, true, 29 * time.Second},
		{"", 31 * time.Second, false, 30 * time.Second},
		{"bind_timeout: 5s", 12 * time.Second, false, 5 * time.Second},
		{"bind_timeout: 2m", 100 * time.Second, true, 100 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			cfg, err := config.Decode([]byte("accounts:\n  acme:\n    address: \"127.0.0.1:1\"\n" + indent(credentials+c.extra)))
			if err != nil {
				t.Fatal(err)
			}
			settings, err := smppConfig(cfg.Accounts["acme"])
			if err != nil {
				t.Fatal(err)
			}
			a := &account{dial: func(context.Context, smpp.Config) (net.Conn, error) {
				near, far := net.Pipe()
				go slowBind(far, c.after)
				return near, nil
			}}
			began := time.Now()
			session, err := a.connect(t.Context(), settings)
			if (err == nil) != c.bound || time.Since(began) != c.within {
				t.Errorf("%q, an answer after %v: %v after %v, want a bind: %t after %v", c.extra, c.after, err, time.Since(began), c.bound, c.within)
			}
			if session != nil {
				if err := session.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			synctest.Wait()
			time.Sleep(c.after) // in a bubble: the SMSC ends too
		})
	}
}

// G33: an account that may only transmit binds as transmitter, once, and submits.
func TestG33TransmitterOnly(t *testing.T) {
	t.Parallel()
	s := startScripted(t, acceptingSMSC)
	r, _, _ := startAgainst(t, s, credentials+"bind: transmitter")
	r.publish(t, messages(2, "+1555")...)
	for _, e := range r.await(t, 2, isFinal) {
		if e.Type != queue.EventSubmitted {
			t.Errorf("%s (%s)", e.Type, e.Reason)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.binds) != 1 || s.binds[0].Command != pdu.IDBindTransmitter {
		t.Errorf("bound with %+v, want one bind_transmitter", s.binds)
	}
}

// G34: the connection comes from the address that the SMSC allows.
func TestG34LocalAddress(t *testing.T) {
	t.Parallel()
	const local = "127.0.0.2"
	probe, err := net.Listen("tcp", local+":0")
	if err != nil {
		t.Skipf("this host has no %s: %v", local, err)
	}
	_ = probe.Close()
	s := startScripted(t, acceptingSMSC)
	r, _, _ := startAgainst(t, s, credentials+"local_address: "+local)
	r.publish(t, messages(1, "+1555")...)
	r.await(t, 1, isFinal)
	if from := s.seen()[0].conn.RemoteAddr().(*net.TCPAddr).IP.String(); from != local {
		t.Errorf("connected from %s, want %s", from, local)
	}
	// One that this host does not have is said in binds, and nothing is sent.
	s = startScripted(t, acceptingSMSC)
	r, _, _ = startAgainst(t, s, credentials+"local_address: 192.0.2.7")
	await(t, "the reason", func() bool { return strings.Contains(r.Binds()[0].Reason, "192.0.2.7") })
	if n := len(s.seen()); n != 0 {
		t.Errorf("%d submits", n)
	}
}
