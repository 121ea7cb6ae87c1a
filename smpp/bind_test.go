package smpp

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

// bindWith binds against a peer that runs f, in virtual time.
func bindWith(t *testing.T, cfg Config, f func(p *script)) (*Session, error) {
	t.Helper()
	near, far := net.Pipe()
	p := newScript(t, far)
	played := make(chan struct{})
	go func() {
		defer close(played)
		f(p)
	}()
	s, err := Bind(t.Context(), near, cfg)
	t.Cleanup(func() {
		<-played
		_ = far.Close()
		if s != nil {
			<-s.Done()
		}
	})
	return s, err
}

func TestBindReadsWhatThePeerIs(t *testing.T) {
	for mode, id := range map[Mode]pdu.CommandID{
		Transceiver: pdu.IDBindTransceiver, Transmitter: pdu.IDBindTransmitter, Receiver: pdu.IDBindReceiver,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := testConfig()
				cfg.Mode = mode
				s, err := bindWith(t, cfg, func(p *script) {
					p.expect(id, 0, 1)
					p.sendPDU(0, 1, &pdu.BindResp{
						Command: id.Response(), SystemID: "smsc-7",
						TLVs: pdu.TLVs{{Tag: pdu.TagSCInterfaceVersion, Value: []byte{0x34}}},
					})
				})
				if err != nil {
					t.Fatal(err)
				}
				if st := s.Stats(); st.PeerSystemID != "smsc-7" || st.PeerVersion != 0x34 {
					t.Fatalf("stats %+v", st)
				}
			})
		})
	}
}

func TestBindTakesAForeignSequenceNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := bindWith(t, testConfig(), func(p *script) {
			p.expect(pdu.IDBindTransceiver, 0, 1)
			p.sendPDU(0, 990, &pdu.BindResp{Command: pdu.IDBindTransceiverResp})
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestBindKeepsWhatCameBehindTheResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inbound := make(chan *Inbound, 1)
		cfg := testConfig()
		cfg.Handler = collect(inbound)
		_, err := bindWith(t, cfg, func(p *script) {
			h := p.next()
			b := encode(p.t, 0, h.Sequence, &pdu.BindResp{Command: h.ID.Response()})
			p.send(append(b, encode(p.t, 0, 1, &pdu.DeliverSM{ShortMessage: []byte("early")})...))
			p.expect(pdu.IDDeliverSMResp, pdu.StatusOK, 1)
		})
		if err != nil {
			t.Fatal(err)
		}
		if m := <-inbound; string(m.Deliver.ShortMessage) != "early" {
			t.Fatalf("text %q", m.Deliver.ShortMessage)
		}
	})
}

func TestBindAnswersWhatIsAskedBeforeTheResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := bindWith(t, testConfig(), func(p *script) {
			h := p.next()
			p.sendPDU(0, 1, &pdu.EnquireLink{})
			p.expect(pdu.IDEnquireLinkResp, 0, 1)
			p.send(pdu.Header{Length: 16, ID: 0x11f, Sequence: 2}.Append(nil))
			p.expect(pdu.IDGenericNack, pdu.StatusInvCmdID, 2)
			p.send(pdu.Header{Length: 16, ID: pdu.IDOutbind, Sequence: 3}.Append(nil))
			p.sendPDU(0, h.Sequence, &pdu.BindResp{Command: h.ID.Response()})
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestBindRefused(t *testing.T) {
	refused := func(status pdu.Status, nack bool) func(error) bool {
		return func(err error) bool {
			be, ok := errors.AsType[*BindError](err)
			return ok && be.Status == status && be.Nack == nack
		}
	}
	for _, c := range []struct {
		name  string
		reply string
		want  func(error) bool
	}{
		{"already bound, no body", "00000010800000090000000500000001", refused(pdu.StatusAlreadyBound, false)},
		{"password, no body", "00000010800000090000000e00000001", refused(pdu.StatusInvPaswd, false)},
		{"system_id, with body", "00000014800000090000000f00000001" + "61626300", refused(pdu.StatusInvSysID, false)},
		{"generic_nack", "00000010800000000000000300000001", refused(pdu.StatusInvCmdID, true)},
		{"unbind", "00000010000000060000000000000001", func(err error) bool { return errors.Is(err, ErrUnbound) }},
		{"another kind of bind_resp", "00000010800000010000000000000001", func(err error) bool {
			return strings.Contains(err.Error(), "bind_receiver_resp")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var peer *script
				_, err := bindWith(t, testConfig(), func(p *script) {
					peer = p
					p.next()
					p.sendHex(c.reply)
				})
				if err == nil || !c.want(err) {
					t.Fatalf("Bind returned %v", err)
				}
				synctest.Wait()
				peer.expectClosed()
			})
		})
	}
}

func TestBindErrorNamesTheStatus(t *testing.T) {
	for _, c := range []struct {
		err  BindError
		want string
	}{
		{BindError{Status: pdu.StatusInvPaswd}, "smpp: the SMSC refused the bind: ESME_RINVPASWD"},
		{BindError{Status: pdu.StatusInvCmdID, Nack: true}, "smpp: the SMSC refused the bind with generic_nack: ESME_RINVCMDID"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestBindEnds(t *testing.T) {
	t.Run("when the peer hangs up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, err := bindWith(t, testConfig(), func(p *script) {
				p.next()
				_ = p.conn.Close()
			})
			if !errors.Is(err, ErrHungUp) {
				t.Fatalf("Bind returned %v, want ErrHungUp", err)
			}
		})
	})
	t.Run("when the peer says nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, err := bindWith(t, testConfig(), func(*script) {})
			if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != 10*time.Second {
				t.Fatalf("Bind returned %v after %v, want its deadline after 10s", err, time.Since(start))
			}
		})
	})
	t.Run("when the peer does not read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer func() { _ = far.Close() }()
			_, err := Bind(t.Context(), near, testConfig())
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("Bind returned %v, want its deadline", err)
			}
		})
	})
	t.Run("when the peer drips nonsense for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, err := bindWith(t, testConfig(), func(p *script) {
				for range 100 {
					p.send(pdu.Header{Length: 16, ID: pdu.IDAlertNotification}.Append(nil))
					time.Sleep(time.Second)
				}
			})
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("Bind returned %v, want its deadline", err)
			}
		})
	})
	t.Run("with its context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			newScript(t, far)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			_, err := Bind(ctx, near, testConfig())
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
				t.Fatalf("Bind returned %v after %v, want the context's end after 1s", err, time.Since(start))
			}
		})
	})
}

func TestConfigNamesFieldValueAndRemedy(t *testing.T) {
	good := Config{SystemID: "sluice", Password: "12345678", Mode: Receiver, InterfaceVersion: 0x50}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	bad := Config{
		SystemID: strings.Repeat("s", 1025), Password: strings.Repeat("hunter2", 200), SystemType: "a\x00b",
		AddressRange: strings.Repeat("7", 1025), LocalAddress: "eth0", Mode: 9, InterfaceVersion: 0x35,
		BindTimeout: -time.Second, MaxInFlight: -1, MaxPDU: 16, InboundQueue: 2 << 20,
	}
	err := bad.Validate()
	if err == nil {
		t.Fatal("Validate found no fault")
	}
	text := err.Error()
	for _, want := range []string{
		"SystemID is 1025 octets long: at most 1024 are sent",
		"Password is 1400 octets long: at most 1024 are sent",
		`LocalAddress "eth0" is not an IP address: use one of this host, without a port`,
		"SystemType contains a NUL octet: remove it",
		"AddressRange", "Mode 9 is not known", "InterfaceVersion 0x35",
		"BindTimeout -1s is negative: use a positive duration, or 0 for the default",
		"MaxInFlight -1 is out of range: use 1 to 1048576", "MaxPDU 16", "InboundQueue 2097152",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the error does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "hunter2") {
		t.Errorf("the error shows the password:\n%s", text)
	}
	near, far := net.Pipe()
	if _, err := Bind(t.Context(), near, bad); err == nil {
		t.Error("Bind took a bad configuration")
	}
	if _, err := far.Read(make([]byte, 1)); err == nil {
		t.Error("Bind left the connection open")
	}
	if _, err := Dial(t.Context(), bad); err == nil {
		t.Error("Dial took a bad configuration")
	}
}

func TestZeroConfigMeansTheDocumentedDefaults(t *testing.T) {
	c := Config{}.withDefaults()
	want := Config{
		InterfaceVersion: 0x34, ConnectTimeout: 10 * time.Second, BindTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, ResponseTimeout: 30 * time.Second, UnbindTimeout: 5 * time.Second,
		EnquireLinkInterval: 30 * time.Second, EnquireLinkTimeout: 10 * time.Second, Tombstones: 10 * time.Minute,
		MaxInFlight: 1024, MaxPDU: 64 << 10, InboundQueue: 1000, InboundOctets: 4 << 20, firstSequence: 1,
	}
	if c != want {
		t.Fatalf("defaults %+v, want %+v", c, want)
	}
}
