package gateway

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// G41 is what was right when it was tried. Its parts, each from the payload that is published to the octets at the SMSC:
//
//	five submit_sm_resp for one submit      TestG41ResponseFiveTimes
//	validity_period: per part, form, off    TestG41ValidityPeriod
//	order of SAR parts                      TestG41OrderOfSARParts
//	67 emoji                                TestG41SixtySevenEmoji; other lengths and ways: TestF43_UCS2PartsJoinToTheText
//	£, @ and braces per alphabet            TestG41SpecialCharactersPerAlphabet
//	interface_version                       TestG41InterfaceVersion
//	senders with - and _                    TestG41SenderWithHyphens

// submitVirtually publishes one payload, waits until it has its outcome and returns the event and what the SMSC got.
func submitVirtually(t *testing.T, sc testserver.Scenario, settings, fields string) (final queue.Event, list []submitted) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sc.Ledger = keepsPDUs()
		v := startVirtual(t, sc, settings)
		defer v.stop()
		if _, _, err := v.source.PublishRaw("main", "normal", []byte(`{"v":1,"id":"m","to":"+15550100",`+fields+`}`), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		finals := slices.DeleteFunc(v.source.Events(0), func(e queue.Event) bool { return !e.Type.Final() })
		if len(finals) != 1 {
			t.Fatalf("%d final events, want 1", len(finals))
		}
		final, list = finals[0], submits(t, smsc{Server: v.smsc})
	})
	return final, list
}

// Each response after the first is for no submit that waits: it changes nothing, and the session goes on.
func TestG41ResponseFiveTimes(t *testing.T) {
	const copies = 4
	for name, by := range map[string]time.Duration{"at once": 0, "3 s apart": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := startVirtual(t, testserver.Scenario{
					Faults: []testserver.Fault{{Kind: testserver.FaultDuplicate, Copies: copies, By: testserver.Exactly(by)}},
				}, "")
				defer v.stop()
				const n = 3
				for i := range n {
					v.publish(t, i, fmt.Sprintf("+1555010%d", i))
					time.Sleep(4 * time.Second)
				}
				time.Sleep(time.Minute)
				if got := v.finals(); len(got) != 1 || got[queue.EventSubmitted] != n {
					t.Errorf("outcomes %v, want %d submitted", got, n)
				}
				ids := map[string]bool{}
				for _, e := range v.source.Events(0) {
					if len(e.MessageIDs) != 1 || e.PossibleDuplicate || ids[e.MessageIDs[0]] {
						t.Errorf("%s with the ids %v, possible duplicate %t; want an id of its own", e.ID, e.MessageIDs, e.PossibleDuplicate)
					}
					ids[strings.Join(e.MessageIDs, " ")] = true
				}
				if s := v.smsc.Stats(); s.Submits != n || s.Connections != 1 || s.Bound != 1 || s.Unknown != 0 || s.Malformed != 0 {
					t.Errorf("%d submits over %d connections, %d bound, %d PDUs that the SMSC does not know; want %d over 1 that stays", s.Submits, s.Connections, s.Bound, s.Unknown+s.Malformed, n)
				}
			})
		})
	}
}

// Every part carries what is left of the message's life, in the account's form. The bubble begins at 2000-01-01 UTC.
func TestG41ValidityPeriod(t *testing.T) {
	const brief, late = `"text":"x","expires_in":"15m"`, `"text":"x","expires_at":"2000-01-02T03:04:05Z"`
	long := `"expires_in":"15m","text":"` + long(3) + `"`
	for _, c := range []struct {
		settings, fields string
		parts            int
		want             string
	}{
		{"", brief, 1, "000000001500000R"},
		{"", long, 3, "000000001500000R"},
		{"", late, 1, "000001030405000R"},
		{"", `"text":"x"`, 1, "000001000000000R"}, // the route's expires_in, a day by default
		{"validity: {form: absolute}", brief, 1, "000101001500000+"},
		{"validity: {form: absolute}", long, 3, "000101001500000+"},
		{"validity: {form: absolute}", late, 1, "000102030405000+"},
		{"validity: {form: off}", brief, 1, ""},
		{"validity: {form: off}", long, 3, ""},
		{"validity: {min: 1h}", brief, 1, "000000010000000R"}, // for SMSCs that refuse less
	} {
		final, list := submitVirtually(t, testserver.Scenario{}, c.settings, c.fields)
		if final.Type != queue.EventSubmitted || len(list) != c.parts {
			t.Errorf("%q, %.40s: %s (%s) in %d parts, want %d", c.settings, c.fields, final.Type, final.Detail, len(list), c.parts)
		}
		for i, sm := range list {
			if string(sm.ValidityPeriod) != c.want {
				t.Errorf("%q, %.40s: part %d is valid for %q, want %q", c.settings, c.fields, i+1, sm.ValidityPeriod, c.want)
			}
		}
	}
	// What is sent again has less left: the SMSC must not deliver it after the deadline.
	_, list := submitVirtually(t, testserver.Scenario{
		Errors: []testserver.ErrorRule{{Script: []pdu.Status{pdu.StatusThrottled, 0}}}, Latency: testserver.Exactly(7 * time.Second),
	}, "", brief)
	if len(list) != 2 || string(list[0].ValidityPeriod) != "000000001500000R" || string(list[1].ValidityPeriod) >= "000000001453000R" {
		t.Errorf("%d submits, want a second one that is valid for 14m53s at most", len(list))
	}
}

// The parts of a text joined by SAR go in their order, with one reference, and no header in the text.
func TestG41OrderOfSARParts(t *testing.T) {
	final, list := submitVirtually(t, testserver.Scenario{}, "text: {long: sar}\nmark: false", `"text":"`+long(4)+`"`)
	if final.Type != queue.EventSubmitted || final.SegmentsAccepted != 4 || len(list) != 4 {
		t.Fatalf("%s with %d segments in %d submits, want 4", final.Type, final.SegmentsAccepted, len(list))
	}
	reference, _ := list[0].TLVs.Get(pdu.TagSarMsgRefNum)
	for i, sm := range list {
		var tlvs string
		for _, tlv := range sm.TLVs {
			tlvs += fmt.Sprintf("%04x %x,", uint16(tlv.Tag), tlv.Value)
		}
		if want := fmt.Sprintf("020c %x,020e 04,020f %02x,", reference, i+1); tlvs != want || len(reference) != 2 {
			t.Errorf("submit %d has the TLVs %s want %s", i+1, tlvs, want)
		}
		if sm.ESMClass != 0 || bytes.Trim(sm.ShortMessage, "a") != nil {
			t.Errorf("submit %d: esm_class %#x, text %q, want the text alone", i+1, sm.ESMClass, sm.ShortMessage)
		}
		if sm.MessageID != final.MessageIDs[i] {
			t.Errorf("id %d of the event is %s, want %s", i+1, final.MessageIDs[i], sm.MessageID)
		}
	}
}

// 67 characters beyond the basic plane are 134 units: no part ends within one of them.
func TestG41SixtySevenEmoji(t *testing.T) {
	final, list := submitVirtually(t, testserver.Scenario{}, "", `"text":"`+strings.Repeat("😀", 67)+`"`)
	if final.Type != queue.EventSubmitted || len(list) != 3 {
		t.Fatalf("%s in %d submits, want submitted in 3", final.Type, len(list))
	}
	for i, emoji := range []int{33, 33, 1} {
		want := fmt.Sprintf("050003%02x03%02x", list[0].ShortMessage[3], i+1) + strings.Repeat("d83dde00", emoji)
		if got := hex.EncodeToString(list[i].ShortMessage); got != want || list[i].DataCoding != 8 {
			t.Errorf("part %d: data_coding %d, %s, want %s", i+1, list[i].DataCoding, got, want)
		}
	}
}

// Characters that alphabets disagree about, as the account's alphabet has them; UCS2 where it lacks one.
func TestG41SpecialCharactersPerAlphabet(t *testing.T) {
	for _, c := range []struct {
		alphabet, text string
		coding         uint8
		want           string
	}{
		{"gsm7", "£@", 0, "\x01\x00"},
		{"gsm7", "{[~]}", 0, "\x1b\x28\x1b\x3c\x1b\x3d\x1b\x3e\x1b\x29"},
		{"gsm7", "$_", 0, "\x02\x11"},
		{"gsm7-packed", "£@", 0, "\x01\x00"},
		{"gsm7-packed", "{}", 0, "\x1b\xd4\x26\x05"},
		{"latin1", "£@", 0, "\xa3@"},
		{"latin1", "{[~]}", 0, "{[~]}"},
		{"ascii", "@{[~]}", 0, "@{[~]}"},
		{"ascii", "£@", 8, "\x00\xa3\x00@"},
	} {
		final, list := submitVirtually(t, testserver.Scenario{}, "text: {default_alphabet: "+c.alphabet+"}", `"text":"`+c.text+`"`)
		if final.Type != queue.EventSubmitted || len(list) != 1 {
			t.Errorf("%s, %q: %s in %d submits", c.alphabet, c.text, final.Type, len(list))
			continue
		}
		if list[0].DataCoding != c.coding || string(list[0].ShortMessage) != c.want {
			t.Errorf("%s, %q: data_coding %d, %q; want %d, %q", c.alphabet, c.text, list[0].DataCoding, list[0].ShortMessage, c.coding, c.want)
		}
	}
}

// A name goes as it is written, with type of number 5.
func TestG41SenderWithHyphens(t *testing.T) {
	for _, from := range []string{"My-Shop_1", "a-b", "_x_", "-1"} {
		final, list := submitVirtually(t, testserver.Scenario{}, "", `"text":"x","from":"`+from+`"`)
		if final.Type != queue.EventSubmitted || len(list) != 1 || shownSource(list[0].SubmitSM) != fmt.Sprintf("5/0 %q", from) {
			t.Errorf("%q: %s (%s) in %d submits, want one from that name, 5/0", from, final.Type, final.Detail, len(list))
		}
	}
}

// The bind says the version that the account speaks: 3.4 unless configured.
func TestG41InterfaceVersion(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]uint8{"": 0x34, "interface_version: 3.4": 0x34, "interface_version: 5.0": 0x50} {
		t.Run(settings, func(t *testing.T) {
			t.Parallel()
			s := startScripted(t, acceptingSMSC)
			r, _, _ := startAgainst(t, s, credentials+settings)
			r.publish(t, messages(1, "+1555")...)
			r.await(t, 1, isFinal)
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.binds) != 1 || s.binds[0].InterfaceVersion != want {
				t.Errorf("bound with %+v, want once, interface_version %#x", s.binds, want)
			}
		})
	}
}
