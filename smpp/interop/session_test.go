//go:build interop

package interop

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice/smpp"
	"sluice/smpp/pdu"
	"sluice/smpp/receipt"
)

// smsc is a foreign SMSC under remote control. It takes foreignPassword, gives
// the message ids m-1, m-2 and so on, and answers all requests.
type smsc interface {
	address() string
	take(t *testing.T, command string) record
	send(t *testing.T, command string)                   // a request without fields, or "unknown"
	sendMessage(t *testing.T, command string, m message) // deliver_sm
	refuse(t *testing.T, status uint32)                  // the next submit_sm
}

const systemID = "sluice"

// esme is our side: how it connects, and what came to it.
type esme struct {
	smsc    smsc
	name    string // what the SMSC calls itself
	quiet   bool   // the SMSC shows neither binds nor the ends of connections
	cfg     smpp.Config
	inbound chan *smpp.Inbound
	taps    []*tap
}

func newESME(s smsc) *esme {
	e := &esme{smsc: s, name: "foreign", inbound: make(chan *smpp.Inbound, 100)}
	e.cfg = smpp.Config{
		SystemID: systemID, Password: foreignPassword, Address: s.address(),
		// Short, so that the peer is asked as soon as the test waits.
		EnquireLinkInterval: 300 * time.Millisecond,
		Handler:             e,
	}
	return e
}

func (e *esme) Deliver(_ context.Context, m *smpp.Inbound) pdu.Status {
	e.inbound <- m
	return pdu.StatusOK
}

func (e *esme) Late(smpp.LateResponse) {}

// bind returns a session that is closed when the test ends, whatever happens.
func (e *esme) bind(t *testing.T, mode smpp.Mode) (*smpp.Session, error) {
	t.Helper()
	cfg := e.cfg
	cfg.Mode = mode
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := smpp.Dial(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	tapped := &tap{Conn: conn, client: port(conn.LocalAddr())}
	e.taps = append(e.taps, tapped)
	s, err := smpp.Bind(ctx, tapped, cfg)
	if err == nil {
		t.Cleanup(func() { _ = s.Close(context.Background()) })
	}
	return s, err
}

func (e *esme) mustBind(t *testing.T, mode smpp.Mode) *smpp.Session {
	t.Helper()
	s, err := e.bind(t, mode)
	if err != nil {
		t.Fatalf("bind as a %s: %v", mode, err)
	}
	if st := s.Stats(); st.PeerSystemID != e.name {
		t.Errorf("the SMSC calls itself %q", st.PeerSystemID)
	}
	if !e.quiet {
		r := e.smsc.take(t, "bind_"+mode.String())
		if r.SystemID != systemID || r.Password != foreignPassword || r.InterfaceVersion != 0x34 {
			t.Errorf("the SMSC read the bind %+v", r)
		}
	}
	return s
}

// next waits for a message from the SMSC.
func (e *esme) next(t *testing.T) *smpp.Inbound {
	t.Helper()
	select {
	case m := <-e.inbound:
		return m
	case <-time.After(patience):
		t.Fatalf("no deliver_sm within %s", patience)
		return nil
	}
}

func submit(t *testing.T, s *smpp.Session, m message) smpp.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := s.Submit(ctx, m.submitSM(t), nil)
	if err != nil {
		t.Fatalf("submit: %v", err)
	}
	return r
}

// unbind closes a session of ours in good order.
func (e *esme) unbind(t *testing.T, s *smpp.Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	e.smsc.take(t, "unbind")
	e.closed(t)
}

func (e *esme) closed(t *testing.T) {
	t.Helper()
	if !e.quiet {
		e.smsc.take(t, "closed")
	}
}

func TestSessionWithNodeSMPP(t *testing.T) { sessionWith(t, nodeSMPP) }

func TestSessionWithNetSMPP(t *testing.T) { sessionWith(t, netSMPP) }

func sessionWith(t *testing.T, start language) {
	p := start(t, "serve")
	c := startCapture(t, p.port)
	e := newESME(p)
	e.refusedBind(t)
	e.converse(t)
	e.unboundBySMSC(t)
	e.halves(t)
	c.verify(t, e.taps, quirks{})
	if rest := p.rest(); len(rest) > 0 {
		t.Errorf("the SMSC also read %q", rest)
	}
}

func (e *esme) refusedBind(t *testing.T) {
	t.Helper()
	right := e.cfg.Password
	e.cfg.Password = "wrong"
	_, err := e.bind(t, smpp.Transceiver)
	e.cfg.Password = right
	if refused := (*smpp.BindError)(nil); !errors.As(err, &refused) || refused.Status != pdu.StatusInvPaswd || refused.Nack {
		t.Errorf("bind with a wrong password: %v", err)
	}
	if r := e.smsc.take(t, "bind_transceiver"); r.Password != "wrong" {
		t.Errorf("the SMSC read the bind %+v", r)
	}
	e.smsc.take(t, "closed")
}

// converse is a session as a transceiver from bind to unbind.
func (e *esme) converse(t *testing.T) {
	t.Helper()
	s := e.mustBind(t, smpp.Transceiver)
	joined := ""
	for i, m := range outgoing(t) {
		r := submit(t, s, m)
		if want := "m-" + string(rune('1'+i)); r.Status != pdu.StatusOK || r.MessageID != want || r.Nack {
			t.Errorf("submit %d returned %+v, want the id %s", i, r, want)
		}
		if got := e.smsc.take(t, "submit_sm").message; got != m {
			t.Errorf("the SMSC read\n%+v, want\n%+v", got, m)
		}
		if m.UDH != "" {
			joined += m.Text
		}
		if m.RegisteredDelivery != 0 {
			e.receipt(t, m, r.MessageID)
		}
	}
	if joined != longText {
		t.Errorf("the parts make %q", joined)
	}
	e.smsc.refuse(t, uint32(pdu.StatusThrottled))
	if r := submit(t, s, base()); r.Status != pdu.StatusThrottled || r.Nack || r.MessageID != "" {
		t.Errorf("a throttled submit returned %+v", r)
	}
	e.smsc.take(t, "submit_sm")
	for _, text := range []string{gsmText, ucs2Text} {
		e.mo(t, text)
	}
	e.smsc.send(t, "enquire_link")
	if r := e.smsc.take(t, "enquire_link_resp"); r.Status != 0 {
		t.Errorf("our enquire_link_resp was read as %+v", r)
	}
	e.smsc.send(t, "unknown")
	if r := e.smsc.take(t, "generic_nack"); r.Status != uint32(pdu.StatusInvCmdID) {
		t.Errorf("our generic_nack was read as %+v", r)
	}
	e.probed(t, s)
	e.unbind(t, s)
	if st := s.Stats(); st.Submitted != 6 || st.Answered != 6 || st.Unmatched != 0 || st.Refused != 0 || st.Inbound != 3 {
		t.Errorf("stats %+v", st)
	}
}

// probed waits for an enquire_link of ours and a submit behind it.
func (e *esme) probed(t *testing.T, s *smpp.Session) {
	t.Helper()
	e.smsc.take(t, "enquire_link")
	select {
	case <-s.Done():
		t.Fatalf("the session ended: %v", s.Err())
	default:
	}
}

// receipt has the SMSC tell what became of a message.
func (e *esme) receipt(t *testing.T, about message, id string) {
	t.Helper()
	m := message{
		Source: about.Dest, SourceTON: 1, SourceNPI: 1, Dest: "1000", ESMClass: pdu.ESMClassReceipt,
		Text:        "id:" + id + " sub:001 dlvrd:001 submit date:2401020304 done date:2401020305 stat:DELIVRD err:000 text:Total",
		ReceiptedID: id, State: 2,
	}
	e.smsc.sendMessage(t, "deliver_sm", m)
	in := e.next(t)
	if got := messageOf(t, (*pdu.SubmitSM)(&in.Deliver)); got != m {
		t.Errorf("the receipt was read as\n%+v, want\n%+v", got, m)
	}
	r := receipt.Parse(receipt.InputOf(&in.Deliver), receipt.Options{})
	if r.ID != id || r.State != receipt.FromMessageState(2) || r.IDConflict || r.StateConflict || r.Err != "000" {
		t.Errorf("the receipt says %+v", r)
	}
	e.acknowledged(t, in)
}

// mo has the SMSC send a message from a phone.
func (e *esme) mo(t *testing.T, text string) {
	t.Helper()
	m := split(t, text)[0]
	m.ServiceType, m.ValidityPeriod, m.Source, m.SourceTON, m.SourceNPI, m.Dest = "", "", "4915550123", 1, 1, "1000"
	e.smsc.sendMessage(t, "deliver_sm", m)
	in := e.next(t)
	if got := messageOf(t, (*pdu.SubmitSM)(&in.Deliver)); got != m || in.Command != pdu.IDDeliverSM {
		t.Errorf("the message was read as\n%+v, want\n%+v", got, m)
	}
	e.acknowledged(t, in)
}

// acknowledged wants our deliver_sm_resp at the SMSC.
func (e *esme) acknowledged(t *testing.T, in *smpp.Inbound) {
	t.Helper()
	if r := e.smsc.take(t, "deliver_sm_resp"); r.Status != 0 || r.Sequence != in.Sequence || r.MessageID != "" {
		t.Errorf("our deliver_sm_resp was read as %+v, want the sequence number %d", r, in.Sequence)
	}
}

func (e *esme) unboundBySMSC(t *testing.T) {
	t.Helper()
	e.endBySMSC(t, e.mustBind(t, smpp.Transceiver))
}

func (e *esme) endBySMSC(t *testing.T, s *smpp.Session) {
	t.Helper()
	e.smsc.send(t, "unbind")
	if r := e.smsc.take(t, "unbind_resp"); r.Status != 0 {
		t.Errorf("our unbind_resp was read as %+v", r)
	}
	e.closed(t)
	select {
	case <-s.Done():
	case <-time.After(patience):
		t.Fatal("the session outlives the SMSC's unbind")
	}
	if !errors.Is(s.Err(), smpp.ErrUnbound) {
		t.Errorf("the session ended with %v", s.Err())
	}
}

// halves binds as a transmitter, then as a receiver.
func (e *esme) halves(t *testing.T) {
	t.Helper()
	tx := e.mustBind(t, smpp.Transmitter)
	if r := submit(t, tx, base()); r.Status != pdu.StatusOK || r.MessageID != "m-6" {
		t.Errorf("a transmitter's submit returned %+v", r)
	}
	e.smsc.take(t, "submit_sm")
	e.unbind(t, tx)
	rx := e.mustBind(t, smpp.Receiver)
	e.mo(t, gsmText)
	e.unbind(t, rx)
}
