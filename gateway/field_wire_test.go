package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// wireRig is a gateway and a fake SMSC that keeps the octets of every submit_sm.
type wireRig struct {
	*rig
	smsc smsc
}

// startWire runs them; settings is YAML under the account.
func startWire(t *testing.T, sc testserver.Scenario, settings string) *wireRig {
	t.Helper()
	sc.Ledger = keepsPDUs()
	s := startSMSC(t, sc)
	return &wireRig{startGateway(t, t.TempDir(), s, settings, ""), s}
}

// publishJSON publishes payloads as a producer in any language does.
func (r *rig) publishJSON(t *testing.T, payloads ...string) {
	t.Helper()
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range payloads {
		if _, err := js.Publish(t.Context(), "sms.mt.main.normal", []byte(payload)); err != nil {
			t.Fatal(err)
		}
	}
}

// outcome is the final event of a message.
func (r *rig) outcome(t *testing.T, id string) queue.Event {
	t.Helper()
	return r.await(t, 1, func(e queue.Event) bool { return e.ID == id && e.Type.Final() })[0]
}

// received returns the submit_sm of one destination as the SMSC got them, in that order.
func received(t *testing.T, s smsc, destination string) (list []submitted) {
	t.Helper()
	for _, sm := range submits(t, s) {
		if sm.Destination == destination {
			list = append(list, sm)
		}
	}
	return list
}

// wireCase is a message and what its only submit_sm must be; empty words of want mean that it ends failed, malformed.
type wireCase struct {
	name    string
	fields  string // JSON behind v, id and to
	want    string // as shown writes it
	refused string // a word of the event's detail
}

// send publishes the cases, each to a number of its own, and compares what came out of the other end.
func (r *wireRig) send(t *testing.T, shown func(sm *pdu.SubmitSM) string, cases ...wireCase) {
	t.Helper()
	for i, c := range cases {
		r.publishJSON(t, fmt.Sprintf(`{"v":1,"id":%q,"to":"+1555010%02d",%s}`, c.name, i, c.fields))
	}
	for i, c := range cases {
		e := r.outcome(t, c.name)
		got := received(t, r.smsc, fmt.Sprintf("1555010%02d", i))
		switch {
		case c.refused != "":
			if e.Type != queue.EventFailed || e.Reason != reasonMalformed || !strings.Contains(e.Detail, c.refused) || len(got) != 0 {
				t.Errorf("%s: %s (%s, %q) after %d submits, want failed, malformed, with %q", c.name, e.Type, e.Reason, e.Detail, len(got), c.refused)
			}
		case e.Type != queue.EventSubmitted || len(got) != 1:
			t.Errorf("%s: %s (%s, %q) after %d submits, want submitted by one", c.name, e.Type, e.Reason, e.Detail, len(got))
		case shown(got[0].SubmitSM) != c.want:
			t.Errorf("%s: the SMSC got %s, want %s", c.name, shown(got[0].SubmitSM), c.want)
		}
	}
}

func shownText(sm *pdu.SubmitSM) string {
	return fmt.Sprintf("%#02x %q", sm.DataCoding, sm.ShortMessage)
}

func shownSource(sm *pdu.SubmitSM) string {
	return fmt.Sprintf("%d/%d %q", sm.Source.TON, sm.Source.NPI, sm.Source.Addr)
}

// G36 at the SMSC: message class 0 in the alphabet that the text needs, every part of a long one too.
func TestG36FlashMessageOnTheWire(t *testing.T) {
	t.Parallel()
	r := startWire(t, testserver.Scenario{}, "")
	r.send(t, shownText,
		wireCase{name: "gsm", fields: `"flash":true,"text":"Your code is 1234"`, want: `0x10 "Your code is 1234"`},
		wireCase{name: "ucs2", fields: `"flash":true,"text":"Код"`, want: `0x18 "\x04\x1a\x04>\x044"`},
		wireCase{name: "no flash", fields: `"flash":false,"text":"hello"`, want: `0x00 "hello"`},
		wireCase{name: "data", fields: `"flash":true,"data":"AAE=","data_coding":4`, refused: "text: want text with flash"},
		wireCase{name: "latin1", fields: `"flash":true,"encoding":"latin1","text":"x"`, refused: "flash: only texts"},
	)
	r.publishJSON(t, `{"v":1,"id":"long","to":"+15550199","flash":true,"text":"`+strings.Repeat("a", 161)+`"}`)
	if e := r.outcome(t, "long"); e.Type != queue.EventSubmitted {
		t.Errorf("the long one: %s (%s)", e.Type, e.Reason)
	}
	parts := received(t, r.smsc, "15550199")
	for i := range parts {
		if parts[i].DataCoding != 0x10 || parts[i].ESMClass != pdu.ESMClassUDHI {
			t.Errorf("part %d: data_coding %#x, esm_class %#x, want 0x10 and 0x40", i+1, parts[i].DataCoding, parts[i].ESMClass)
		}
	}
	if len(parts) != 2 {
		t.Errorf("%d parts, want 2", len(parts))
	}
	r = startWire(t, testserver.Scenario{}, "text: {default_alphabet: latin1}") // where data_coding 0 has letters that class 0 lacks
	r.send(t, shownText,
		wireCase{name: "ascii", fields: `"flash":true,"text":"code"`, want: `0x10 "code"`},
		wireCase{name: "umlaut", fields: `"flash":true,"text":"für"`, want: `0x18 "\x00f\x00\xfc\x00r"`},
	)
}

// G37 at the SMSC: registered_delivery says which receipts are wanted, and those that come reach their message.
func TestG37WhichReceiptsOnTheWire(t *testing.T) {
	t.Parallel()
	undelivered := testserver.ReceiptRule{Match: testserver.Match{Prefix: "1555666"}}
	undelivered.State = testserver.Undeliverable
	r := startWire(t, testserver.Scenario{Receipts: testserver.Receipts{Rules: []testserver.ReceiptRule{undelivered}}}, "")
	r.send(t, func(sm *pdu.SubmitSM) string { return fmt.Sprintf("%#02x", sm.RegisteredDelivery) },
		wireCase{name: "absent", fields: `"text":"x"`, want: "0x00"},
		wireCase{name: "false", fields: `"text":"x","receipt":false`, want: "0x00"},
		wireCase{name: "failure", fields: `"text":"x","receipt":"failure"`, want: "0x02"},
		wireCase{name: "intermediate", fields: `"text":"x","receipt":"intermediate"`, want: "0x11"},
		wireCase{name: "true", fields: `"text":"x","receipt":true`, want: "0x01"},
		wireCase{name: "another word", fields: `"text":"x","receipt":"success"`, refused: "receipt: "},
	)
	r.publishJSON(t, `{"v":1,"id":"undelivered","to":"+15556660001","text":"x","receipt":"failure"}`)
	for _, e := range r.await(t, 3, func(e queue.Event) bool { return e.Type == queue.EventReceipt }) {
		want := map[string]string{"true": "delivered", "intermediate": "delivered", "undelivered": "undeliverable"}[e.ID]
		if want == "" || e.Receipt.State != want {
			t.Errorf("a receipt of %q: %s, want %q", e.ID, e.Receipt.State, want)
		}
	}
	if n := r.smsc.Stats().Deliveries; n != 3 {
		t.Errorf("the SMSC sent %d receipts, want 3", n)
	}
}

// G38 at the SMSC: a sender's letters as the account's alphabet has them, type of number 5.
func TestG38SenderWithAnUmlautOnTheWire(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{"": `5/0 "M~ller"`, "text: {default_alphabet: latin1}": `5/0 "M\xfcller"`} {
		t.Run(settings, func(t *testing.T) {
			t.Parallel()
			startWire(t, testserver.Scenario{}, settings).send(t, shownSource,
				wireCase{name: "umlaut", fields: `"text":"x","from":"Müller"`, want: want},
				wireCase{name: "another alphabet", fields: `"text":"x","from":"Кириллица"`, refused: "from: "},
				wireCase{name: "too long", fields: `"text":"x","from":"Müllermüllermüller"`, refused: "from: want at most 11"},
			)
		})
	}
}

// G39 at the SMSC: with avoid_latin1 no letter goes in data_coding 0 that GSM 7-bit lacks.
func TestG39LettersThatTheSMSCDropsOnTheWire(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		"text: {default_alphabet: latin1}":                     `0x00 "for\xeat"`,
		"text: {default_alphabet: latin1, avoid_latin1: true}": `0x08 "\x00f\x00o\x00r\x00\xea\x00t"`,
	} {
		t.Run(settings, func(t *testing.T) {
			t.Parallel()
			startWire(t, testserver.Scenario{}, settings).send(t, shownText,
				wireCase{name: "lacking", fields: `"text":"forêt"`, want: want},
				wireCase{name: "in both", fields: `"text":"für"`, want: `0x00 "f\xfcr"`},
				wireCase{name: "asked for", fields: `"text":"forêt","encoding":"latin1"`, want: `0x00 "for\xeat"`},
			)
		})
	}
}

// G40 at the SMSC: a byte order mark is no text; one inside the text is the producer's.
func TestG40ByteOrderMarkOnTheWire(t *testing.T) {
	t.Parallel()
	startWire(t, testserver.Scenario{}, "").send(t, shownText,
		wireCase{name: "escaped", fields: `"text":"\ufeffHello"`, want: `0x00 "Hello"`},
		wireCase{name: "as octets", fields: "\"text\":\"\uFEFFHello\"", want: `0x00 "Hello"`},
		wireCase{name: "ucs2", fields: `"text":"\ufeffда"`, want: `0x08 "\x044\x040"`},
		wireCase{name: "within", fields: `"text":"a\ufeffb"`, want: `0x08 "\x00a\xfe\xff\x00b"`},
	)
}
