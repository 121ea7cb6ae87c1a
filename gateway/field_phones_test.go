package gateway

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/smpp/text"
)

// startPhones is a gateway bound to an SMSC that sends what the test gives it. extra is YAML under the account.
func startPhones(t *testing.T, extra string) *receiptsRig {
	t.Helper()
	s := startScripted(t, silentSMSC)
	r := &receiptsRig{rig: runGateway(t, testConfig(t, t.TempDir(), smsc{addr: s.addr}, extra, ""), Options{}), scriptedSMSC: s}
	s.bound(t, 1)
	return r
}

// deliverHex sends whole PDUs, given in hexadecimal, and waits for the answers.
func (r *receiptsRig) deliverHex(t *testing.T, pdus ...string) {
	t.Helper()
	for _, h := range pdus {
		octets, err := hex.DecodeString(h)
		if err != nil {
			t.Fatal(err)
		}
		r.mu.Lock()
		conn := r.conns[len(r.conns)-1]
		r.mu.Unlock()
		if _, err := conn.Write(octets); err != nil {
			t.Fatal(err)
		}
		if ack := r.acked(t, 1)[0]; ack.Status != pdu.StatusOK {
			t.Fatalf("answered with %s", ack.Status)
		}
	}
}

// phone is a message from a phone, without a header.
func phone(coding byte, octets string) *pdu.DeliverSM {
	return &pdu.DeliverSM{
		Source: pdu.Address{TON: 1, NPI: 1, Addr: []byte("15550100")}, Dest: pdu.Address{Addr: []byte("2000")},
		DataCoding: coding, ShortMessage: []byte(octets),
	}
}

// coded is a part of a long message in a coding of its own.
func codedPart(reference, total, n, coding byte, octets string) *pdu.DeliverSM {
	m := part(reference, total, n, octets)
	m.DataCoding = coding
	return m
}

// bodies reads n published messages as a subscriber gets them.
func (r *rig) bodies(t *testing.T, n int) (bodies []map[string]any) {
	t.Helper()
	js, err := jetstream.New(r.client.Conn())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	consumer, err := js.OrderedConsumer(ctx, "SMS_MO", jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		msg, err := consumer.Next(jetstream.FetchContext(ctx))
		if err != nil {
			t.Fatalf("after %d of %d: %v", len(bodies), n, err)
		}
		var body map[string]any
		if err := json.Unmarshal(msg.Data(), &body); err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// said is one case: what the SMSC sends, and what a subscriber gets. nil means that the field is not there.
type said struct {
	name       string
	send       []*pdu.DeliverSM
	text, data any
}

// checkSaid sends each case and compares what is published.
func (r *receiptsRig) checkSaid(t *testing.T, cases []said) {
	t.Helper()
	for _, c := range cases {
		for _, m := range c.send {
			r.deliver(t, m)
			r.acked(t, 1)
		}
		r.inboundEmpty(t)
	}
	for i, body := range r.bodies(t, len(cases)) {
		if c := cases[i]; body["text"] != c.text || body["data"] != c.data {
			t.Errorf("%s: text %q and data %v, want %q and %v", c.name, body["text"], body["data"], c.text, c.data)
		}
	}
}

func base64Of(octets string) string {
	quoted, err := json.Marshal([]byte(octets))
	if err != nil {
		panic(err) // octets always have a form
	}
	return strings.Trim(string(quoted), `"`)
}

// G20: each part of a text is read by its own data_coding, in whatever order the parts come.
func TestG20PartsOfDifferentCoding(t *testing.T) {
	t.Parallel()
	r := startPhones(t, "")
	const want = "Hello \u043c\u0438\u0440"
	one := "0000003c000000050000000000000008000101313535353033393930303300000032303230004000000000000000000c05000307020148656c6c6f20"
	two := "0000003c000000050000000000000009000101313535353033393930303300000032303230004000000000000008000c050003070202043c04380440"
	r.deliverHex(t, one, two)
	if body := r.bodies(t, 1)[0]; body["text"] != want || body["data"] != nil || body["segments"] != 2.0 {
		t.Errorf("published %v, want %q of 2 segments", body, want)
	}
	r = startPhones(t, "")
	r.checkSaid(t, []said{
		{"the last part first", []*pdu.DeliverSM{codedPart(8, 2, 2, 8, "\x04\x3c\x04\x38\x04\x40"), codedPart(8, 2, 1, 0, "Hello ")}, want, nil},
		{"back and forth", []*pdu.DeliverSM{
			codedPart(9, 3, 1, 8, "\x04\x3c"), codedPart(9, 3, 2, 0, "\x1b\x65"), codedPart(9, 3, 3, 3, "\xfc"),
		}, "\u043c\u20ac\u00fc", nil},
		{"a pair cut in two", []*pdu.DeliverSM{
			codedPart(10, 3, 1, 0, "a"), codedPart(10, 3, 2, 8, "\xd8\x3d"), codedPart(10, 3, 3, 0x18, "\xde\x00"),
		}, "a\U0001F600", nil},
		{"a part that is no text", []*pdu.DeliverSM{codedPart(11, 2, 1, 0, "a"), codedPart(11, 2, 2, 4, "\x01\xff")}, nil, base64Of("a\x01\xff")},
		{"a part with half a character", []*pdu.DeliverSM{codedPart(12, 2, 1, 0, "a"), codedPart(12, 2, 2, 8, "\x04")}, nil, base64Of("a\x04")},
	})
}

// G21: characters that cannot be read leave their octets beside the text, and an account may say what data_coding 0 is.
func TestG21OctetsOfDefaultCoding(t *testing.T) {
	t.Parallel()
	send := func(coding byte, octets string) []*pdu.DeliverSM { return []*pdu.DeliverSM{phone(coding, octets)} }
	for extra, cases := range map[string][]said{
		"": {
			{"Latin-1 octets", send(0, "Gr\xfc\xdfe"), "Gr\ufffd\ufffde", base64Of("Gr\xfc\xdfe")},
			{"plain", send(0, "Gr\x7e\x1ee"), "Gr\u00fc\u00dfe", nil},
			{"a class", send(0xF0, "\xfc"), "\ufffd", base64Of("\xfc")},
			{"half a surrogate pair", send(8, "\xd8\x3d\x00a"), "\ufffda", base64Of("\xd8\x3d\x00a")},
			{"in two parts", []*pdu.DeliverSM{codedPart(7, 2, 2, 0, "\xdfe"), codedPart(7, 2, 1, 0, "Gr\x7e")}, "Gr\u00fc\ufffde", base64Of("Gr\x7e\xdfe")},
		},
		"text: {inbound_alphabet: latin1}": {
			{"Latin-1", send(0, "Gr\xfc\xdfe"), "Gr\u00fc\u00dfe", nil},
			{"Latin-1 with a class", send(0x10, "\xfc"), "\u00fc", nil},
			{"another coding", send(8, "\x04\x34"), "\u0434", nil},
		},
		"text: {default_alphabet: latin1}":                         {{"as outbound", send(0, "Gr\xfc\xdfe"), "Gr\u00fc\u00dfe", nil}},
		"text: {default_alphabet: latin1, inbound_alphabet: gsm7}": {{"not as outbound", send(0, "Gr\x7e\x1ee"), "Gr\u00fc\u00dfe", nil}},
		"text: {inbound_alphabet: utf8}": {
			{"UTF-8", send(0, "Gr\u00fc\u00dfe \u043c"), "Gr\u00fc\u00dfe \u043c", nil},
			{"UTF-8 with a mark", send(0, "\ufeffGr\u00fc"), "Gr\u00fc", nil},
			{"no UTF-8", send(0, "Gr\xfce"), "Gr\ufffde", base64Of("Gr\xfce")},
			{"a character cut in two", []*pdu.DeliverSM{codedPart(7, 2, 1, 0, "Gr\xc3"), codedPart(7, 2, 2, 0, "\xbc")}, "Gr\u00fc", nil},
		},
		"text: {inbound_alphabet: ucs2}": {
			{"UCS2", send(0, "\x04\x34\x04\x30"), "\u0434\u0430", nil},
			{"odd", send(0, "\x04\x34\x04"), nil, base64Of("\x04\x34\x04")},
		},
	} {
		t.Run(extra, func(t *testing.T) {
			t.Parallel()
			startPhones(t, extra).checkSaid(t, cases)
		})
	}
}

// G22: a byte order mark is no part of the text, and turns it where it says so.
func TestG22ByteOrderMark(t *testing.T) {
	t.Parallel()
	r := startPhones(t, "")
	r.deliverHex(t, "000000360000000500000000000000070001013135353530333030303036000000323032300000000000000000080006fffe34043004")
	if body := r.bodies(t, 1)[0]; body["text"] != "\u0434\u0430" || body["data"] != nil {
		t.Errorf("published %v", body)
	}
	r = startPhones(t, "")
	r.checkSaid(t, []said{
		{"big-endian", []*pdu.DeliverSM{phone(8, "\xfe\xff\x04\x34\x04\x30")}, "\u0434\u0430", nil},
		{"within", []*pdu.DeliverSM{phone(8, "\x04\x34\xfe\xff\x04\x30")}, "\u0434\ufeff\u0430", nil},
		{"the first part rules", []*pdu.DeliverSM{codedPart(7, 2, 2, 8, "\x30\x04"), codedPart(7, 2, 1, 8, "\xff\xfe\x34\x04")}, "\u0434\u0430", nil},
		{"over a part in another coding", []*pdu.DeliverSM{
			codedPart(8, 3, 1, 8, "\xff\xfe\x34\x04"), codedPart(8, 3, 2, 0, "-"), codedPart(8, 3, 3, 8, "\x30\x04"),
		}, "\u0434-\u0430", nil},
		{"a mark in each part", []*pdu.DeliverSM{codedPart(9, 2, 1, 8, "\xff\xfe\x34\x04"), codedPart(9, 2, 2, 8, "\xff\xfe\x30\x04")}, "\u0434\u0430", nil},
		{"nothing else", []*pdu.DeliverSM{phone(8, "\xfe\xff")}, "", nil},
		{"in message_payload", []*pdu.DeliverSM{{
			Source: pdu.Address{Addr: []byte("1555")}, Dest: pdu.Address{Addr: []byte("2000")}, DataCoding: 8,
			TLVs: pdu.TLVs{{Tag: pdu.TagMessagePayload, Value: []byte("\xff\xfe\x34\x04")}},
		}}, "\u0434", nil},
	})
}

// G23: a message of no octets has an empty text.
func TestG23EmptyMessage(t *testing.T) {
	t.Parallel()
	header := part(7, 2, 1, "")
	header.ShortMessage = []byte{3, 0x24, 1, 1} // a single shift, and no text behind it
	startPhones(t, "").checkSaid(t, []said{
		{"GSM 7-bit", []*pdu.DeliverSM{phone(0, "")}, "", nil},
		{"UCS2", []*pdu.DeliverSM{phone(8, "")}, "", nil},
		{"binary", []*pdu.DeliverSM{phone(4, "")}, "", nil},
		{"a header alone", []*pdu.DeliverSM{header}, "", nil},
		{"empty parts", []*pdu.DeliverSM{part(8, 2, 1, ""), part(8, 2, 2, "")}, "", nil},
	})
}

// G25: a reference of 0, codings with a message class, and a burst of 4,000.
func TestG25WhatIsRight(t *testing.T) {
	t.Parallel()
	startPhones(t, "").checkSaid(t, []said{
		{"reference 0", []*pdu.DeliverSM{part(0, 2, 2, "two"), part(0, 2, 1, "one ")}, "one two", nil},
		{"class 0", []*pdu.DeliverSM{phone(0x10, "a\x00")}, "a@", nil},
		{"class 1 in UCS2", []*pdu.DeliverSM{phone(0x19, "\x04\x34")}, "\u0434", nil},
		{"class 0, the other group", []*pdu.DeliverSM{phone(0xF0, "b")}, "b", nil},
		{"class 1, octets", []*pdu.DeliverSM{phone(0xF5, "\xff")}, nil, base64Of("\xff")},
	})
}

// The SMSC sends 4,000 without waiting, and sends again what it is asked to keep: each is published once.
func TestG25BurstOf4000(t *testing.T) {
	t.Parallel()
	const burst = 4000
	r := startPhones(t, "")
	bodies := map[uint32]*pdu.DeliverSM{}
	sending := make(chan *pdu.DeliverSM, burst)
	for n := range burst {
		sending <- phone(0, fmt.Sprintf("burst %d", n))
	}
	var mu sync.Mutex
	go func() { // beside the reading of the answers
		for m := range sending {
			mu.Lock()
			bodies[r.deliver(t, m)] = m
			mu.Unlock()
		}
	}()
	for taken := 0; taken < burst; {
		switch ack := r.acked(t, 1)[0]; ack.Status {
		case pdu.StatusOK:
			taken++
		case pdu.StatusMsgQFull, pdu.StatusSysErr:
			mu.Lock()
			m := bodies[ack.Sequence]
			mu.Unlock()
			sending <- m
		default:
			t.Fatalf("answered with %s", ack.Status)
		}
	}
	close(sending)
	got := map[any]int{}
	for _, body := range r.bodies(t, burst) {
		got[body["text"]]++
	}
	r.inboundEmpty(t)
	if n := r.streamMessages(t, "SMS_MO"); n != burst || len(got) != burst {
		t.Errorf("%d published, %d of them different, want %d", n, len(got), burst)
	}
}

// A long message is given to a plain NATS subscriber once, though two parts complete it at one moment, at one instance
// or at two.
func TestJoinedMOReachesAPlainSubscriberOnce(t *testing.T) {
	t.Parallel()
	s := startScripted(t, silentSMSC)
	first := startMO(t, s, t.TempDir(), "")
	second := startMO(t, s, t.TempDir(), first.NATSURL())
	plain, err := first.client.Conn().SubscribeSync("sms.mo.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.client.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	const count = 20
	for n := range count {
		joinAtOnce(t, byte(n), first.account("acme"), second.account("acme"))
	}
	if err := first.client.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for range first.streamMessages(t, "SMS_MO") {
		msg, err := plain.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		var mo queue.MO
		if err := json.Unmarshal(msg.Data, &mo); err != nil {
			t.Fatal(err)
		}
		got[mo.Text]++
	}
	if extra, _, _ := plain.Pending(); extra != 0 || len(got) != count {
		t.Errorf("%d texts and %d more, want %d and none: %v", len(got), extra, count, got)
	}
}

// joinAtOnce lets both instances see both parts, and then each complete the message.
func joinAtOnce(t *testing.T, reference byte, a, b *account) {
	t.Helper()
	one, two := part(reference, 2, 1, fmt.Sprintf("%d, ", reference)), part(reference, 2, 2, "joined")
	at := time.Now()
	join := func(a *account, m *pdu.DeliverSM, record uint64) {
		in := queue.InboundRecord{Account: "acme", ReceivedAt: at, Seq: record}
		for deliveries := 1; ; deliveries++ {
			wait, err := a.joinMO(t.Context(), in, m, deliveries)
			if err != nil {
				t.Error(err)
			}
			if wait == 0 || deliveries > 100 {
				return
			}
		}
	}
	record := uint64(reference)*10 + 1000
	if wait, err := a.joinMO(t.Context(), queue.InboundRecord{ReceivedAt: at, Seq: record}, one, 1); err != nil || wait == 0 {
		t.Fatalf("the first part: wait %v, %v", wait, err)
	}
	if wait, err := b.joinMO(t.Context(), queue.InboundRecord{ReceivedAt: at, Seq: record + 1}, two, 1); err != nil || wait == 0 {
		t.Fatalf("the second part: wait %v, %v", wait, err)
	}
	var both sync.WaitGroup
	both.Go(func() { join(a, two, record+1) })
	both.Go(func() { join(b, one, record) })
	both.Go(func() { join(a, two, record+2) }) // the SMSC sent it twice
	both.Wait()
}

// A part whose handler died behind its claim is published by the same stored part when that comes back.
func TestClaimOfAPartOutlivesItsHandler(t *testing.T) {
	t.Parallel()
	r := startPhones(t, "")
	publish := queue.JoinedMO{Sums: map[byte]uint64{1: 11, 2: 22}, At: time.Now().UTC()}
	claim := func(record uint64) bool {
		t.Helper()
		mine, err := r.client.ClaimJoined(t.Context(), "acme", "message", publish, record)
		if err != nil {
			t.Fatal(err)
		}
		return mine
	}
	if !claim(1) || claim(2) || !claim(1) {
		t.Error("want the claim for the first, and for the first again, and not for the second")
	}
	if err := r.client.NoteJoined(t.Context(), "acme", "message", publish); err != nil {
		t.Fatal(err)
	}
	if claim(1) || claim(2) {
		t.Error("what was published is claimed again")
	}
}

// The alphabets that are for phones cannot be sent in.
func TestInboundAlphabetsAreNotForSending(t *testing.T) {
	for _, a := range []text.Alphabet{text.AlphabetUTF8, text.AlphabetUCS2} {
		if _, err := text.Encode("x", text.Options{Alphabet: a}); err == nil || !strings.Contains(err.Error(), a.String()) {
			t.Errorf("%s: %v", a, err)
		}
		if _, err := text.EncodeBinary([]byte("x"), 0, text.Options{Alphabet: a}); err == nil {
			t.Errorf("%s takes data", a)
		}
	}
	if s, err := text.DecodeMixed([]text.Part{{Data: []byte("a")}, {DataCoding: 4, Data: []byte{1}}}, text.AlphabetGSM7); !errors.Is(err, text.ErrBinary) || s != "" {
		t.Errorf("decoded %q, %v", s, err)
	}
}
