package gateway

import (
	"bytes"
	"testing"

	"sluice/gateway/config"
	"sluice/queue"
)

// onWire is the first submit_sm of a message as an account with the given settings writes it.
type onWire struct {
	dataCoding, registered uint8
	source, text           []byte
}

// written encodes a message that went through the contract, as a publisher's JSON does.
func written(t *testing.T, settings, message string) (onWire, *unsendable) {
	t.Helper()
	cfg, err := config.Decode([]byte("accounts:\n  acme:\n    address: \"127.0.0.1:1\"\n    system_id: x\n    password: y\n" + indent(settings) + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	a := &account{name: "acme", cfg: cfg.Accounts["acme"], log: discard()}
	m, err := queue.Decode([]byte(message))
	if err != nil {
		return onWire{}, &unsendable{reasonMalformed, err.Error()}
	}
	e, bad := a.encode(fakeJob{}, m, 0)
	if bad != nil {
		return onWire{}, bad
	}
	sm := e.parts[0]
	return onWire{sm.DataCoding, sm.RegisteredDelivery, sm.Source.Addr, sm.ShortMessage}, nil
}

type fakeJob struct{ queue.Job }

func (fakeJob) Seq() uint64 { return 1 }
func (fakeJob) ID() string  { return "x" }

// A flash message is shown at once and stored nowhere: message class 0, in the alphabet that its text needs.
func TestG36FlashMessage(t *testing.T) {
	for text, want := range map[string]uint8{"Your code is 1234": 0x10, "Код 1234": 0x18} {
		if got, bad := written(t, "", `{"v":1,"to":"+15550100","flash":true,"text":"`+text+`"}`); bad != nil || got.dataCoding != want {
			t.Errorf("%q: data_coding %#x (%v), want %#x", text, got.dataCoding, bad, want)
		}
	}
	if got, bad := written(t, "text: {default_alphabet: latin1}", `{"v":1,"to":"+15550100","flash":true,"text":"forêt"}`); bad != nil || got.dataCoding != 0x18 {
		t.Errorf("where data_coding 0 is Latin-1: %#x (%v), want 0x18", got.dataCoding, bad)
	}
	for _, message := range []string{
		`{"v":1,"to":"+15550100","flash":true,"data":"AAE=","data_coding":4}`,
		`{"v":1,"to":"+15550100","flash":true,"text":"x","encoding":"latin1"}`,
	} {
		if _, bad := written(t, "", message); bad == nil {
			t.Errorf("%s is taken", message)
		}
	}
}

// Receipts may be asked for failures alone, or for states on the way too.
func TestG37WhichReceipts(t *testing.T) {
	for word, want := range map[string]uint8{"true": 1, "false": 0, `"failure"`: 2, `"intermediate"`: 0x11} {
		if got, bad := written(t, "", `{"v":1,"to":"+15550100","text":"x","receipt":`+word+`}`); bad != nil || got.registered != want {
			t.Errorf("receipt %s: registered_delivery %#x (%v), want %#x", word, got.registered, bad, want)
		}
	}
	if _, bad := written(t, "", `{"v":1,"to":"+15550100","text":"x","receipt":"success"}`); bad == nil {
		t.Error("receipt success is taken")
	}
	m := &queue.Message{To: "1", Text: "x", Receipt: true, ReceiptFor: queue.ReceiptFailure}
	data, err := m.MarshalJSON()
	if err != nil || !bytes.Contains(data, []byte(`"receipt":"failure"`)) {
		t.Errorf("written as %s (%v)", data, err)
	}
}

// A sender may have the letters of GSM 7-bit, as the account's alphabet writes them.
func TestG38SenderWithAnUmlaut(t *testing.T) {
	const message = `{"v":1,"from":"Müller","to":"+15550100","text":"x"}`
	for settings, want := range map[string]string{
		"": "M\x7eller", "text: {default_alphabet: gsm7-packed}": "M\x7eller", "text: {default_alphabet: latin1}": "M\xfcller",
	} {
		if got, bad := written(t, settings, message); bad != nil || string(got.source) != want {
			t.Errorf("%q: source %q (%v), want %q", settings, got.source, bad, want)
		}
	}
	for _, from := range []string{"Mü@x", "Кириллица", "Müllermüllermüller", "M\\u0007ü"} {
		if _, bad := written(t, "", `{"v":1,"from":"`+from+`","to":"+15550100","text":"x"}`); bad == nil {
			t.Errorf("sender %q is taken", from)
		}
	}
}

// Where an SMSC converts Latin-1 and drops what GSM 7-bit lacks, such a text goes as UCS2.
func TestG39LettersThatTheSMSCDrops(t *testing.T) {
	const message = `{"v":1,"to":"+15550100","text":"forêt"}`
	for settings, want := range map[string]uint8{
		"text: {default_alphabet: latin1}":                     0,
		"text: {default_alphabet: latin1, avoid_latin1: true}": 8,
	} {
		if got, bad := written(t, settings, message); bad != nil || got.dataCoding != want {
			t.Errorf("%q: data_coding %d (%v), want %d", settings, got.dataCoding, bad, want)
		}
	}
	if got, bad := written(t, "text: {default_alphabet: latin1, avoid_latin1: true}", `{"v":1,"to":"+15550100","text":"für"}`); bad != nil || got.dataCoding != 0 {
		t.Errorf("a text that GSM 7-bit has: data_coding %d (%v), want 0", got.dataCoding, bad)
	}
}

// A byte order mark in front of a producer's text is no text.
func TestG40ByteOrderMark(t *testing.T) {
	got, bad := written(t, "", `{"v":1,"to":"+15550100","text":"\ufeffHello"}`)
	if bad != nil || got.dataCoding != 0 || string(got.text) != "Hello" {
		t.Errorf("data_coding %d, text %q (%v), want 0 and Hello", got.dataCoding, got.text, bad)
	}
}
