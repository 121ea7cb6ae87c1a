//go:build interop

package interop

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	gosmpp "github.com/fiorix/go-smpp/smpp"
	foreign "github.com/fiorix/go-smpp/smpp/pdu"
	"github.com/fiorix/go-smpp/smpp/pdu/pdufield"
	"github.com/fiorix/go-smpp/smpp/pdu/pdutext"
	"github.com/fiorix/go-smpp/smpp/pdu/pdutlv"

	"sluice/smpp/pdu"
	"sluice/testserver"
)

// TestGoSMPPAsClient drives the fake SMSC with go-smpp's three clients, and with
// its bare connection for what they cannot do: they ask the SMSC every 10 s at
// the soonest, send no unknown command and leave the SMSC's unbind unanswered.
func TestGoSMPPAsClient(t *testing.T) {
	f := serve(t, standard(), plain)
	c := startCapture(t, f.port())
	f.goTransceiver(t)
	f.goHalves(t)
	f.goConn(t)
	f.checkEnd(t, 4, 3, 1)
	c.verify(t, f.all(), quirks{})
}

// connected waits until one of go-smpp's clients is bound. The function that it
// returns closes it; go-smpp panics when that is done twice.
func connected(t *testing.T, c gosmpp.ClientConn) (unbind func() error) {
	t.Helper()
	unbind = sync.OnceValue(c.Close)
	t.Cleanup(func() { _ = unbind() })
	select {
	case status := <-c.Bind():
		if status.Status() != gosmpp.Connected {
			t.Fatalf("bind: %v", status.Error())
		}
	case <-time.After(patience):
		t.Fatalf("not bound within %s", patience)
	}
	return unbind
}

// shortMessage is m as go-smpp takes it.
func shortMessage(m message) *gosmpp.ShortMessage {
	sm := &gosmpp.ShortMessage{
		Src: m.Source, SourceAddrTON: m.SourceTON, SourceAddrNPI: m.SourceNPI,
		Dst: m.Dest, DestAddrTON: m.DestTON, DestAddrNPI: m.DestNPI,
		ServiceType: m.ServiceType, ESMClass: m.ESMClass, ProtocolID: m.ProtocolID, PriorityFlag: m.PriorityFlag,
		Register: pdufield.DeliverySetting(m.RegisteredDelivery), Text: pdutext.GSM7(m.Text),
	}
	if m.DataCoding == uint8(pdutext.UCS2Type) {
		sm.Text = pdutext.UCS2(m.Text)
	}
	if m.Reference != 0 {
		sm.TLVFields = pdutlv.Fields{pdutlv.TagUserMessageReference: []byte{byte(m.Reference >> 8), byte(m.Reference)}}
	}
	return sm
}

func (f *fakeSMSC) goTransceiver(t *testing.T) {
	t.Helper()
	got := newJournal()
	tx := &gosmpp.Transceiver{
		Addr: f.Addr().String(), User: systemID, Passwd: foreignPassword, RespTimeout: patience,
		Handler: func(p foreign.Body) { got.add(recordOf(p)) },
	}
	unbind := connected(t, tx)
	for i, m := range outgoing(t)[:2] {
		m.ValidityPeriod = "" // it knows only times from now
		sm, err := tx.Submit(shortMessage(m))
		if err != nil {
			t.Fatalf("submit: %v", err)
		}
		if r := f.checkLedger(t, i+1, m); r.MessageID != sm.RespID() {
			t.Errorf("the client read the id %q, the ledger has %q", sm.RespID(), r.MessageID)
		}
		if m.RegisteredDelivery != 0 {
			r := got.take(t, "deliver_sm")
			if r.ESMClass != pdu.ESMClassReceipt || r.ReceiptedID != sm.RespID() || r.State != 2 || r.Source != m.Dest {
				t.Errorf("the receipt was read as %+v", r)
			}
		}
	}
	f.goLong(t, tx)
	m := base()
	m.Dest = throttled
	if _, err := tx.Submit(shortMessage(m)); !errors.Is(err, foreign.Status(pdu.StatusThrottled)) {
		t.Errorf("a throttled submit returned %v", err)
	}
	for _, text := range []string{gsmText, ucs2Text} {
		want, body := fromPhone(t, text)
		if err := f.Deliver(systemID, body); err != nil {
			t.Fatal(err)
		}
		if r := got.take(t, "deliver_sm"); r.message != want {
			t.Errorf("the client read\n%+v, want\n%+v", r.message, want)
		}
	}
	f.acknowledged(t, 3) // it calls the handler first
	if err := unbind(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// goLong lets go-smpp cut the long text, which it does at other places than we.
func (f *fakeSMSC) goLong(t *testing.T, tx *gosmpp.Transceiver) {
	t.Helper()
	m := base()
	m.Text = longText
	parts, err := tx.SubmitLongMsg(shortMessage(m))
	if err != nil || len(parts) != 3 {
		t.Fatalf("%d parts: %v", len(parts), err)
	}
	m.ValidityPeriod, m.ESMClass = "", pdu.ESMClassUDHI
	joined, header := "", ""
	for i := range parts {
		_, got := f.submitted(t, 3+i)
		joined += got.Text
		m.Text, m.UDH = got.Text, got.UDH
		f.checkLedger(t, 3+i, m)
		// 06 08 04, a reference of two octets, total and number.
		if want := "03" + string([]byte{'0', byte('1' + i)}); len(got.UDH) != 14 || got.UDH[:6] != "060804" || got.UDH[10:] != want {
			t.Errorf("part %d has the header %s", i+1, got.UDH)
		}
		if header == "" {
			header = got.UDH[:12]
		} else if got.UDH[:12] != header {
			t.Errorf("the headers begin with %s and %s", header, got.UDH)
		}
	}
	if joined != longText {
		t.Errorf("the parts make %q", joined)
	}
}

// goHalves binds go-smpp's transmitter and receiver together.
func (f *fakeSMSC) goHalves(t *testing.T) {
	t.Helper()
	got := newJournal()
	rx := &gosmpp.Receiver{
		Addr: f.Addr().String(), User: systemID, Passwd: foreignPassword,
		Handler: func(p foreign.Body) { got.add(recordOf(p)) },
	}
	unbindReceiver := connected(t, rx)
	tx := &gosmpp.Transmitter{Addr: f.Addr().String(), User: systemID, Passwd: foreignPassword, RespTimeout: patience}
	unbindTransmitter := connected(t, tx)
	m := base()
	m.ValidityPeriod, m.RegisteredDelivery = "", pdu.RegisteredReceipt
	sm, err := tx.Submit(shortMessage(m))
	if err != nil {
		t.Fatalf("submit: %v", err)
	}
	f.checkLedger(t, 7, m)
	if r := got.take(t, "deliver_sm"); r.ReceiptedID != sm.RespID() {
		t.Errorf("the receiver read %+v, want the receipt of %s", r, sm.RespID())
	}
	for _, unbind := range []func() error{unbindTransmitter, unbindReceiver} {
		if err := unbind(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// goConn speaks through go-smpp's codec alone.
func (f *fakeSMSC) goConn(t *testing.T) {
	t.Helper()
	conn, err := gosmpp.Dial(f.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	bind := foreign.NewBindTransceiver()
	_ = bind.Fields().Set(pdufield.SystemID, systemID)
	_ = bind.Fields().Set(pdufield.Password, foreignPassword)
	_ = bind.Fields().Set(pdufield.InterfaceVersion, uint8(0x34))
	for _, exchange := range []struct {
		request foreign.Body
		want    record
	}{
		{bind, record{Command: "bind_transceiver_resp"}},
		{foreign.NewEnquireLink(), record{Command: "enquire_link_resp"}},
		{unknownCommand(), record{Command: "generic_nack", Status: uint32(pdu.StatusInvCmdID)}},
	} {
		if err := conn.Write(exchange.request); err != nil {
			t.Fatal(err)
		}
		exchange.want.Sequence = exchange.request.Header().Seq
		if got := readAnswering(t, conn, exchange.want.Command); got != exchange.want {
			t.Errorf("read %+v, want %+v", got, exchange.want)
		}
	}
	f.Disconnect(0, testserver.Unbind)
	readAnswering(t, conn, "unbind")
	if p, err := conn.Read(); err == nil {
		t.Errorf("after unbind_resp came %+v", p.Header())
	}
}

// readAnswering reads until a PDU of that name, and answers what the SMSC asks.
func readAnswering(t *testing.T, conn gosmpp.Conn, command string) record {
	t.Helper()
	for {
		p, err := conn.Read()
		if err != nil {
			t.Fatalf("waiting for %s: %v", command, err)
		}
		var reply foreign.Body
		if p.Header().ID == foreign.EnquireLinkID {
			reply = foreign.NewEnquireLinkResp()
		} else if p.Header().ID == foreign.UnbindID {
			reply = foreign.NewUnbindResp()
		}
		if reply != nil {
			reply.Header().Seq = p.Header().Seq
			if err := conn.Write(reply); err != nil {
				t.Fatal(err)
			}
		}
		if r := recordOf(p); r.Command == command {
			return r
		}
	}
}
