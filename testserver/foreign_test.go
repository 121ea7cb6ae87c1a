package testserver

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fiorix/go-smpp/smpp"
	foreign "github.com/fiorix/go-smpp/smpp/pdu"
	"github.com/fiorix/go-smpp/smpp/pdu/pdufield"
	"github.com/fiorix/go-smpp/smpp/pdu/pdutext"
	"go.uber.org/goleak"

	"sluice/smpp/pdu"
)

// listen serves on a loopback port until the test ends.
func listen(t testing.TB, s *Server) (address string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return listener.Addr().String()
}

func TestForeignTransceiver(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := New(Scenario{
		Bind:     BindRules{Accounts: map[string]string{"sluice": "secret"}},
		Errors:   []ErrorRule{{Match: Match{Prefix: "99"}, Status: pdu.StatusInvDstAdr}},
		Receipts: Receipts{Receipt: Receipt{Delay: Exactly(time.Millisecond)}},
	})
	t.Run("session", func(t *testing.T) {
		receipts := make(chan foreign.Body, 10)
		peer := &smpp.Transceiver{
			Addr: listen(t, s), User: "sluice", Passwd: "secret",
			Handler: func(p foreign.Body) {
				if p.Header().ID == foreign.DeliverSMID {
					receipts <- p
				}
			},
		}
		if status := <-peer.Bind(); status.Status() != smpp.Connected {
			t.Fatalf("bind: %v", status.Error())
		}
		defer func() {
			if err := peer.Close(); err != nil {
				t.Error(err)
			}
		}()
		sm, err := peer.Submit(&smpp.ShortMessage{
			Src: "sender", Dst: "41791234567", Text: pdutext.Raw("hello"), Register: pdufield.FinalDeliveryReceipt,
		})
		if err != nil {
			t.Fatal(err)
		}
		if sm.RespID() != "1" {
			t.Errorf("message id %q", sm.RespID())
		}
		select {
		case p := <-receipts:
			if text := p.Fields()[pdufield.ShortMessage].String(); !strings.HasPrefix(text, "id:1 sub:001") {
				t.Errorf("receipt is %q", text)
			}
		case <-time.After(time.Minute):
			t.Error("no receipt")
		}
		_, err = peer.Submit(&smpp.ShortMessage{Src: "sender", Dst: "990", Text: pdutext.Raw("hello")})
		if status := foreign.Status(0); !errors.As(err, &status) || status != 0x0B {
			t.Errorf("to a refused destination: %v", err)
		}
	})
	if stats := s.Stats(); stats.Accepted != 1 || stats.Refused != 1 || stats.Unbinds != 1 || stats.Bound != 0 {
		t.Errorf("stats are %+v", stats)
	}
}

func TestForeignTransceiverWithWrongPassword(t *testing.T) {
	s := New(Scenario{Bind: BindRules{Accounts: map[string]string{"sluice": "secret"}}})
	peer := &smpp.Transceiver{Addr: listen(t, s), User: "sluice", Passwd: "wrong"}
	status := <-peer.Bind()
	defer func() { _ = peer.Close() }()
	if status.Status() != smpp.BindFailed || s.Stats().BindsRefused["ESME_RINVPASWD"] != 1 {
		t.Errorf("bind: %v, %v", status.Status(), status.Error())
	}
}
