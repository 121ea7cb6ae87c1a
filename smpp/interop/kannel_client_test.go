//go:build interop

package interop

import (
	"testing"
	"time"

	"sluice/smpp/pdu"
	"sluice/smpp/receipt"
	"sluice/smpp/text"
	"sluice/testserver"
)

// unknownAhead is the destination whose response follows an unknown command.
const unknownAhead = "4915550103"

// TestKannelAsClient has Kannel talk to the fake SMSC over three connections. It
// cannot be made to send a command that does not exist; it is sent one instead,
// which it nacks with its own idea of a status and the sequence number 0.
func TestKannelAsClient(t *testing.T) {
	sc := standard()
	sc.Errors[0].Times = 1 // Kannel sends a throttled message again
	sc.Faults = []testserver.Fault{{
		Match: testserver.Match{To: unknownAhead}, Kind: testserver.FaultGarbage, Hex: "00000010000001ff000000007000f001",
	}}
	f := serve(t, sc, plain)
	capture := startCapture(t, f.port())
	t.Run("session", func(t *testing.T) { // Kannel ends with it
		c := &kannelClient{startKannel(t, f.port()), f}
		until(t, "three binds", func() bool { return f.Stats().Bound == 3 })
		c.converse(t)
		c.throttle(t)
		for _, text := range []string{gsmText, ucs2Text} {
			c.mo(t, systemID, "whole", text)
		}
		c.unknown(t)
		c.rebind(t)
		c.halves(t)
	})
	f.checkEnd(t, 5, 3, 0)
	capture.verify(t, f.all(), quirks{sentUnknown: true})
}

type kannelClient struct {
	*kannel
	smsc *fakeSMSC
}

// submitted waits for the nth submit and wants it to be m, as Kannel writes it.
func (c *kannelClient) submitted(t *testing.T, n int, m message) {
	t.Helper()
	until(t, "submit", func() bool { return c.smsc.Stats().Submits >= uint64(n) })
	m.ESMClass |= 0x03 // it asks for store and forward
	if m.RegisteredDelivery != 0 {
		m.RegisteredDelivery |= pdu.RegisteredInterim
	}
	_, got := c.smsc.submitted(t, n)
	if end, ok := pdu.ParseTime([]byte(got.ValidityPeriod)); !ok || end.Relative || end.Seconds < time.Now().Unix() {
		t.Errorf("submit %d is valid until %q", n, got.ValidityPeriod)
	}
	m.ValidityPeriod = got.ValidityPeriod
	c.smsc.checkLedger(t, n, m)
}

func (c *kannelClient) converse(t *testing.T) {
	t.Helper()
	for i, m := range outgoing(t)[:2] {
		c.submit(t, "whole", m)
		c.submitted(t, i+1, m)
		if m.RegisteredDelivery != 0 {
			c.receipt(t, i+1)
		}
	}
	m := base()
	m.Text = longText
	c.submit(t, "whole", m)
	until(t, "submits of three parts", func() bool { return c.smsc.Stats().Submits == 5 })
	m.ESMClass = pdu.ESMClassUDHI
	joined, reference := "", ""
	for n := 3; n <= 5; n++ {
		_, got := c.smsc.submitted(t, n)
		if len(got.UDH) != 12 || reference != "" && reference != got.UDH[6:8] {
			t.Fatalf("the part %d of %s has the header %s", n-2, reference, got.UDH)
		}
		reference = got.UDH[6:8]
		joined += got.Text
		m.UDH, m.Text = "050003"+reference+"030"+string(rune('0'+n-2)), got.Text
		c.submitted(t, n, m)
	}
	if joined != longText {
		t.Errorf("the parts make %q", joined)
	}
}

// receipt waits for what smsbox says of the nth submit: that it was accepted, and
// that it was delivered. On a busy machine Kannel says the second first.
func (c *kannelClient) receipt(t *testing.T, n int) {
	t.Helper()
	record, _ := c.smsc.submitted(t, n)
	accepted, q := c.called(t, "/dlr"), c.called(t, "/dlr")
	if accepted.Get("kind") == "1" {
		accepted, q = q, accepted
	}
	if accepted.Get("kind") != "8" || accepted.Get("id") != record.MessageID {
		t.Errorf("smsbox says %v, want that %s was accepted", accepted, record.MessageID)
	}
	r := receipt.Parse(receipt.Input{Text: []byte(q.Get("text"))}, receipt.Options{})
	if q.Get("kind") != "1" || q.Get("id") != record.MessageID || r.ID != record.MessageID || r.State != receipt.FromMessageState(2) {
		t.Errorf("smsbox says %v, want that %s was delivered", q, record.MessageID)
	}
}

// throttle has one message refused once. Kannel sends it again, as it was.
func (c *kannelClient) throttle(t *testing.T) {
	t.Helper()
	m := base()
	m.Dest, m.Text, m.Reference = throttled, "again", 77
	c.submit(t, "whole", m)
	c.submitted(t, 7, m)
	refused, first := c.smsc.submitted(t, 6)
	_, second := c.smsc.submitted(t, 7)
	first.ValidityPeriod = second.ValidityPeriod // counted from when it is sent
	if refused.Status != pdu.StatusThrottled || refused.MessageID != "" || first != second {
		t.Errorf("the ledger has %+v: %+v", refused, first)
	}
}

// mo wants a message from a phone at the service of smsbox.
func (c *kannelClient) mo(t *testing.T, account, smsc, s string) {
	t.Helper()
	m, body := fromPhone(t, s)
	if err := c.smsc.Deliver(account, body); err != nil {
		t.Fatal(err)
	}
	q := c.called(t, "/mo")
	got := q.Get("text")
	if q.Get("charset") == "UTF-16BE" {
		got = decoded(t, text.DataCodingUCS2, []byte(got))
	}
	if got != s || q.Get("from") != "+"+m.Source || q.Get("to") != "+"+m.Dest || q.Get("smsc") != smsc {
		t.Errorf("smsbox was given %v, want %q", q, s)
	}
}

// unknown has the fake SMSC send a command that does not exist, and goes on.
func (c *kannelClient) unknown(t *testing.T) {
	t.Helper()
	m := base()
	m.Dest, m.Text = unknownAhead, "ahead of the answer"
	c.submit(t, "whole", m)
	c.submitted(t, 8, m)
	until(t, "generic_nack", func() bool { return c.heard(pdu.IDGenericNack) })
}

// heard reports whether any connection of Kannel's had such a PDU.
func (c *kannelClient) heard(id pdu.CommandID) bool {
	for _, tap := range c.smsc.all() {
		read, _ := tap.octets()
		packets, _ := cut(read)
		for _, p := range packets {
			if p.ID == id {
				return true
			}
		}
	}
	return false
}

// rebind unbinds the transceiver; Kannel comes back.
func (c *kannelClient) rebind(t *testing.T) {
	t.Helper()
	for _, b := range c.smsc.Binds() {
		if b.SystemID == systemID {
			c.smsc.Disconnect(b.Bind, testserver.Unbind)
		}
	}
	until(t, "fourth bind", func() bool { return c.smsc.Stats().Binds == 4 && c.smsc.Stats().Bound == 3 })
	until(t, "unbind_resp", func() bool { return c.heard(pdu.IDUnbindResp) })
}

// halves uses the transmitter and the receiver.
func (c *kannelClient) halves(t *testing.T) {
	t.Helper()
	m := base()
	m.Text, m.RegisteredDelivery = gsmText, pdu.RegisteredReceipt
	c.submit(t, "halves", m)
	until(t, "submit", func() bool { return c.smsc.Stats().Submits >= 9 })
	if r, got := c.smsc.submitted(t, 9); got.Text != m.Text || got.Dest != m.Dest || r.SystemID != halvesID || r.Status != pdu.StatusOK {
		t.Errorf("the ledger has %+v: %+v", r, got)
	}
	c.receipt(t, 9)
	c.mo(t, halvesID, "halves", gsmText)
	// Idle for a second, Kannel asks whether the SMSC is there; it was asked before.
	until(t, "enquire_link", func() bool { return c.heard(pdu.IDEnquireLink) })
	until(t, "enquire_link_resp", func() bool { return c.heard(pdu.IDEnquireLinkResp) })
	c.smsc.acknowledged(t, 5)
}
