//go:build interop

package interop

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/smpp/pdu"
	"sluice/smpp/receipt"
	"sluice/testserver"
)

func TestNodeSMPPAsClient(t *testing.T) { clientWith(t, nodeSMPP) }

func TestNetSMPPAsClient(t *testing.T) { clientWith(t, netSMPP) }

// client is a foreign client and the fake SMSC that it talks to.
type client struct {
	*program
	smsc *fakeSMSC
}

func clientWith(t *testing.T, start language) {
	f := serve(t, standard(), plain)
	capture := startCapture(t, f.port())
	c := &client{start(t, "connect", strconv.Itoa(f.port())), f}
	c.refusedBind(t)
	c.converse(t)
	c.unboundBySMSC(t)
	c.halves(t)
	f.checkEnd(t, 4, 4, 1)
	capture.verify(t, f.all(), quirks{})
	rest := slices.DeleteFunc(c.rest(), func(s string) bool { return s == "enquire_link " })
	if len(rest) > 0 {
		t.Errorf("the client also read %q", rest)
	}
}

func (c *client) refusedBind(t *testing.T) {
	t.Helper()
	c.bind(t, "bind_transceiver", systemID, "wrong")
	if r := c.take(t, "bind_transceiver_resp"); r.Status != uint32(pdu.StatusInvPaswd) {
		t.Errorf("bind with a wrong password: %+v", r)
	}
	c.unbind(t)
}

func (c *client) bound(t *testing.T, command string) {
	t.Helper()
	c.bind(t, command, systemID, foreignPassword)
	if r := c.take(t, command+"_resp"); r.Status != 0 || r.SystemID != testserver.DefaultSystemID {
		t.Fatalf("%s: %+v", command, r)
	}
}

func (c *client) unbind(t *testing.T) {
	t.Helper()
	c.send(t, "unbind")
	if r := c.take(t, "unbind_resp"); r.Status != 0 {
		t.Errorf("unbind: %+v", r)
	}
	c.take(t, "closed")
}

// submit returns the message id.
func (c *client) submit(t *testing.T, m message) string {
	t.Helper()
	c.sendMessage(t, "submit_sm", m)
	r := c.take(t, "submit_sm_resp")
	if r.Status != 0 || r.MessageID == "" {
		t.Errorf("submit: %+v", r)
	}
	return r.MessageID
}

// converse is a session as a transceiver from bind to unbind.
func (c *client) converse(t *testing.T) {
	t.Helper()
	c.bound(t, "bind_transceiver")
	c.send(t, "enquire_link")
	if r := c.take(t, "enquire_link_resp"); r.Status != 0 {
		t.Errorf("enquire_link: %+v", r)
	}
	for i, m := range outgoing(t) {
		id := c.submit(t, m)
		if r := c.smsc.checkLedger(t, i+1, m); r.MessageID != id {
			t.Errorf("the client read the id %q, the ledger has %q", id, r.MessageID)
		}
		if m.RegisteredDelivery != 0 {
			c.receipt(t, m, id)
		}
	}
	m := base()
	m.Dest = throttled
	c.sendMessage(t, "submit_sm", m)
	if r := c.take(t, "submit_sm_resp"); r.Status != uint32(pdu.StatusThrottled) {
		t.Errorf("a throttled submit: %+v", r)
	}
	if r, got := c.smsc.submitted(t, 6); r.Status != pdu.StatusThrottled || got != m {
		t.Errorf("the ledger has %+v of the throttled submit", r)
	}
	for _, text := range []string{gsmText, ucs2Text} {
		c.mo(t, text)
	}
	c.send(t, "unknown")
	if r := c.take(t, "generic_nack"); r.Status != uint32(pdu.StatusInvCmdID) {
		t.Errorf("an unknown command: %+v", r)
	}
	c.take(t, "enquire_link")
	c.unbind(t)
}

func (c *client) receipt(t *testing.T, about message, id string) {
	t.Helper()
	r := c.take(t, "deliver_sm")
	read := receipt.Parse(receipt.Input{Text: []byte(r.Text)}, receipt.Options{})
	if r.ESMClass != pdu.ESMClassReceipt || r.ReceiptedID != id || r.State != 2 || read.ID != id ||
		read.State != receipt.FromMessageState(2) || !strings.HasPrefix(r.Text, "id:"+id+" ") ||
		r.Source != about.Dest || r.Dest != about.Source {
		t.Errorf("the receipt of %s: %+v", id, r)
	}
}

func (c *client) mo(t *testing.T, text string) {
	t.Helper()
	want, body := fromPhone(t, text)
	if err := c.smsc.Deliver(systemID, body); err != nil {
		t.Fatal(err)
	}
	if got := c.take(t, "deliver_sm").message; got != want {
		t.Errorf("the client read\n%+v, want\n%+v", got, want)
	}
}

func (c *client) unboundBySMSC(t *testing.T) {
	t.Helper()
	c.bound(t, "bind_transceiver")
	if n := c.smsc.Disconnect(0, testserver.Unbind); n != 1 {
		t.Errorf("unbound %d sessions", n)
	}
	c.take(t, "unbind")
	c.take(t, "closed")
}

// halves binds as a transmitter, then as a receiver, which may not submit.
func (c *client) halves(t *testing.T) {
	t.Helper()
	c.bound(t, "bind_transmitter")
	c.submit(t, base())
	c.smsc.checkLedger(t, 7, base())
	c.unbind(t)
	c.bound(t, "bind_receiver")
	c.mo(t, gsmText)
	c.sendMessage(t, "submit_sm", base())
	if r := c.take(t, "submit_sm_resp"); r.Status != uint32(pdu.StatusInvBndSts) {
		t.Errorf("a receiver's submit: %+v", r)
	}
	c.unbind(t)
}
