//go:build interop

package interop

import (
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"

	foreign "github.com/fiorix/go-smpp/smpp/pdu"
	"github.com/fiorix/go-smpp/smpp/pdu/pdufield"
	"github.com/fiorix/go-smpp/smpp/pdu/pdutext"
	"github.com/fiorix/go-smpp/smpp/pdu/pdutlv"
	"github.com/fiorix/go-smpp/smpp/smpptest"

	"sluice/smpp"
	"sluice/smpp/pdu"
)

// goSMPP is go-smpp's smpptest as an SMSC. It answers binds before anyone sees
// them, closes without a word on wrong credentials, and gives its bind_resp a
// sequence number of its own.
type goSMPP struct {
	*journal
	*smpptest.Server

	mu      sync.Mutex
	conn    smpptest.Conn // the newest that spoke
	refusal foreign.Status
	submits int
}

func startGoSMPP(t *testing.T) *goSMPP {
	t.Helper()
	g := &goSMPP{journal: newJournal(), Server: smpptest.NewUnstartedServer()}
	g.User, g.Passwd, g.Handler = systemID, foreignPassword, g.handle
	g.Start()
	t.Cleanup(g.Close)
	return g
}

func (g *goSMPP) address() string { return g.Addr() }

func (g *goSMPP) handle(c smpptest.Conn, m foreign.Body) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conn = c
	head := m.Header()
	g.add(recordOf(m))
	var reply foreign.Body
	switch head.ID {
	case foreign.SubmitSMID:
		reply = g.accept()
	case foreign.EnquireLinkID:
		reply = foreign.NewEnquireLinkResp()
	case foreign.UnbindID:
		reply = foreign.NewUnbindResp()
	default: // it closes when the client has closed
		return
	}
	reply.Header().Seq = head.Seq
	if err := c.Write(reply); err != nil {
		g.add(record{Command: "error", message: message{Text: err.Error()}})
	}
}

// accept answers a submit.
func (g *goSMPP) accept() foreign.Body {
	reply := foreign.NewSubmitSMResp()
	reply.Header().Status = g.refusal
	if g.refusal == 0 {
		g.submits++
		_ = reply.Fields().Set(pdufield.MessageID, fmt.Sprintf("m-%d", g.submits))
	}
	g.refusal = 0
	return reply
}

func (g *goSMPP) refuse(_ *testing.T, status uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refusal = foreign.Status(status)
}

func (g *goSMPP) write(t *testing.T, p foreign.Body) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.conn.Write(p); err != nil {
		t.Fatal(err)
	}
}

func (g *goSMPP) send(t *testing.T, command string) {
	t.Helper()
	switch command {
	case "enquire_link":
		g.write(t, foreign.NewEnquireLink())
	case "unbind":
		g.write(t, foreign.NewUnbind())
	case "unknown":
		g.write(t, unknownCommand())
	default:
		t.Fatalf("go-smpp has no %s", command)
	}
}

// unknownCommand is a PDU of go-smpp with a command_id that does not exist.
func unknownCommand() foreign.Body {
	p := foreign.NewEnquireLink()
	p.Header().ID = 0x1FF
	return p
}

func (g *goSMPP) sendMessage(t *testing.T, _ string, m message) {
	t.Helper()
	d := deliverSM(m)
	// Without these two its encoder writes a NUL that sm_length does not count.
	_ = d.Fields().Set(pdufield.UDHLength, &pdufield.SM{})
	_ = d.Fields().Set(pdufield.GSMUserData, &pdufield.SM{})
	g.write(t, d)
}

func deliverSM(m message) foreign.Body {
	d := foreign.NewDeliverSM()
	f := d.Fields()
	var codec pdutext.Codec = pdutext.GSM7(m.Text)
	if m.DataCoding == uint8(pdutext.UCS2Type) {
		codec = pdutext.UCS2(m.Text)
	}
	for name, value := range map[pdufield.Name]any{
		pdufield.ShortMessage:  codec,
		pdufield.SourceAddrTON: m.SourceTON, pdufield.SourceAddrNPI: m.SourceNPI, pdufield.SourceAddr: m.Source,
		pdufield.DestAddrTON: m.DestTON, pdufield.DestAddrNPI: m.DestNPI, pdufield.DestinationAddr: m.Dest,
		pdufield.ESMClass: m.ESMClass, pdufield.PriorityFlag: m.PriorityFlag,
	} {
		_ = f.Set(name, value)
	}
	if m.ReceiptedID != "" {
		_ = d.TLVFields().Set(pdutlv.TagReceiptedMessageID, pdutlv.CString(m.ReceiptedID))
		_ = d.TLVFields().Set(pdutlv.TagMessageStateOption, m.State)
	}
	return d
}

// recordOf is what go-smpp read of a PDU.
func recordOf(p foreign.Body) record {
	head, f := p.Header(), p.Fields()
	r := record{Command: pdu.CommandID(head.ID).String(), Status: uint32(head.Status), Sequence: head.Seq}
	text := func(name pdufield.Name) string {
		if f[name] == nil {
			return ""
		}
		return f[name].String()
	}
	number := func(name pdufield.Name) uint8 {
		n, _ := fieldOf(f, name).Raw().(uint8)
		return n
	}
	r.MessageID = text(pdufield.MessageID)
	r.message = message{
		ServiceType: text(pdufield.ServiceType),
		SourceTON:   number(pdufield.SourceAddrTON), SourceNPI: number(pdufield.SourceAddrNPI), Source: text(pdufield.SourceAddr),
		DestTON: number(pdufield.DestAddrTON), DestNPI: number(pdufield.DestAddrNPI), Dest: text(pdufield.DestinationAddr),
		ESMClass: number(pdufield.ESMClass), ProtocolID: number(pdufield.ProtocolID), PriorityFlag: number(pdufield.PriorityFlag),
		ValidityPeriod: text(pdufield.ValidityPeriod), RegisteredDelivery: number(pdufield.RegisteredDelivery),
		DataCoding: number(pdufield.DataCoding),
	}
	if sm := f[pdufield.ShortMessage]; sm != nil {
		octets := sm.Bytes()
		if r.ESMClass&pdu.ESMClassUDHI != 0 && len(octets) > int(octets[0]) {
			r.UDH = hex.EncodeToString(octets[:1+octets[0]])
			octets = octets[1+octets[0]:]
		}
		var codec pdutext.Codec = pdutext.GSM7(octets)
		if r.DataCoding == uint8(pdutext.UCS2Type) {
			codec = pdutext.UCS2(octets)
		}
		r.Text = string(codec.Decode())
	}
	if b := p.TLVFields()[pdutlv.TagUserMessageReference]; b != nil && len(b.Bytes()) == 2 {
		r.Reference = uint16(b.Bytes()[0])<<8 | uint16(b.Bytes()[1])
	}
	if b := p.TLVFields()[pdutlv.TagReceiptedMessageID]; b != nil {
		r.ReceiptedID = strings.TrimSuffix(string(b.Bytes()), "\x00")
	}
	if b := p.TLVFields()[pdutlv.TagMessageStateOption]; b != nil && len(b.Bytes()) == 1 {
		r.State = b.Bytes()[0]
	}
	return r
}

func fieldOf(f pdufield.Map, name pdufield.Name) pdufield.Body {
	if f[name] == nil {
		return &pdufield.Fixed{}
	}
	return f[name]
}

func TestSessionWithGoSMPP(t *testing.T) {
	g := startGoSMPP(t)
	e := newESME(g)
	e.name, e.quiet = smpptest.DefaultSystemID, true
	c := startCapture(t, portOf(t, g.Addr()))
	e.converse(t)
	e.strayNUL(t, g)
	c.verify(t, e.taps, quirks{bindSequence: true, strayNUL: true})
	if rest := g.rest(); len(rest) > 0 {
		t.Errorf("the SMSC also read %q", rest)
	}
}

// strayNUL has go-smpp send a deliver_sm as it does unless it is kept from it:
// the text has lost its last character, so we answer with an error and go on.
// The SMSC then unbinds.
func (e *esme) strayNUL(t *testing.T, g *goSMPP) {
	t.Helper()
	s := e.mustBind(t, smpp.Transceiver)
	submit(t, s, base())
	g.take(t, "submit_sm")
	m, _ := fromPhone(t, gsmText)
	d := deliverSM(m)
	g.write(t, d)
	if r := g.take(t, "deliver_sm_resp"); r.Status != uint32(pdu.StatusInvCmdLen) || r.Sequence != d.Header().Seq {
		t.Errorf("a deliver_sm with a stray NUL was answered with %+v", r)
	}
	e.endBySMSC(t, s)
}
