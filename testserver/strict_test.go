package testserver

import (
	"bytes"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

// A bind whose sequence number no response can echo was answered by a nack, and bound all the same.
func TestBindWithASequenceNumberOutOfRangeIsNotBound(t *testing.T) {
	for _, sequence := range []uint32{0, pdu.MaxSequence + 1, 0xFFFFFFFF} {
		bubble(t, Scenario{}, func(t *testing.T, s *Server) {
			c := connect(t, s)
			octets, err := pdu.Append(nil, pdu.StatusOK, 1, &pdu.Bind{Command: pdu.IDBindTransceiver, SystemID: "sluice"})
			if err != nil {
				t.Fatal(err)
			}
			h, err := pdu.ParseHeader(octets)
			if err != nil {
				t.Fatal(err)
			}
			h.Sequence = sequence
			c.write(append(h.Append(nil), octets[pdu.HeaderLen:]...))
			if r := c.want(pdu.IDGenericNack, pdu.StatusUnknownErr); r.Sequence != 0 {
				t.Errorf("nack with sequence %d, want 0", r.Sequence)
			}
			if stats := s.Stats(); stats.Bound != 0 || stats.Binds != 0 || stats.Malformed != 1 || stats.BindsRefused["ESME_RUNKNOWNERR"] != 1 {
				t.Errorf("sequence %d: %+v, want nothing bound and one refusal", sequence, stats)
			}
			c.bind() // the session goes on
			c.submit("1")
		})
	}
}

// A generic_nack is no acknowledgement, whatever its status says.
func TestNackWithStatusZeroDoesNotAcknowledge(t *testing.T) {
	sc := Scenario{Receipts: Receipts{Redeliver: time.Minute}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		if err := s.InjectMO(MO{From: "4179", To: "info", Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		first := c.next()
		c.write(pdu.Header{Length: pdu.HeaderLen, ID: pdu.IDGenericNack, Sequence: first.Sequence}.Append(nil))
		synctest.Wait()
		if stats := s.Stats(); stats.Acknowledged != 0 || stats.Rejected != 1 {
			t.Errorf("%d acknowledged and %d rejected, want 0 and 1", stats.Acknowledged, stats.Rejected)
		}
		again := c.next()
		if again.ID != pdu.IDDeliverSM || again.at.Sub(first.at) != time.Minute {
			t.Errorf("%v after %v, want it delivered again after a minute", again.ID, again.at.Sub(first.at))
		}
		c.write(pdu.Header{Length: pdu.HeaderLen + 1, ID: pdu.IDDeliverSMResp, Sequence: again.Sequence}.Append(nil))
		c.write([]byte{0})
		synctest.Wait()
		if stats := s.Stats(); stats.Acknowledged != 1 || stats.Rejected != 1 {
			t.Errorf("%d acknowledged and %d rejected, want 1 and 1", stats.Acknowledged, stats.Rejected)
		}
	})
}

// Submits that come in one read wait together, although each is answered at once: 20 at a time were shown as 1.
func TestMaxOutstandingCountsWhatOneReadBrought(t *testing.T) {
	for _, faults := range [][]Fault{nil, {{Kind: FaultSwallow, Match: Match{To: "never"}}}} {
		bubble(t, Scenario{Faults: faults}, func(t *testing.T, s *Server) {
			c, other := connect(t, s).bind(), connect(t, s).bind()
			for range 5 { // one after the other
				c.submit("1")
			}
			if stats := s.Stats(); stats.MaxOutstanding != 1 || stats.MaxOutstandingBind != 1 {
				t.Errorf("one at a time: %d and %d outstanding, want 1", stats.MaxOutstanding, stats.MaxOutstandingBind)
			}
			for _, n := range []int{20, 3} {
				var batch []byte
				for range n {
					c.seq++
					octets, err := pdu.Append(batch, pdu.StatusOK, c.seq, &pdu.SubmitSM{Dest: pdu.Address{Addr: []byte("1")}})
					if err != nil {
						t.Fatal(err)
					}
					batch = octets
				}
				c.write(batch)
				for range n {
					c.want(pdu.IDSubmitSMResp, pdu.StatusOK)
				}
			}
			other.submit("1")
			synctest.Wait()
			if stats := s.Stats(); stats.MaxOutstanding != 20 || stats.MaxOutstandingBind != 20 || stats.Accounts["sluice"].MaxOutstanding != 20 {
				t.Errorf("in one read: %d, %d by bind, %d by account; want 20", stats.MaxOutstanding, stats.MaxOutstandingBind,
					stats.Accounts["sluice"].MaxOutstanding)
			}
			for _, b := range s.Binds() {
				if b.Outstanding != 0 {
					t.Errorf("bind %d: %d outstanding after all was answered", b.Bind, b.Outstanding)
				}
			}
		})
	}
}

// POST /mo takes a text in UTF-8 and sends it under its data_coding, or octets as they are.
func TestHTTPSendsTextUnderItsDataCoding(t *testing.T) {
	bubble(t, Scenario{}, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		for body, want := range map[string][]byte{
			`{"to": "info", "text": "Grüße @ 5 €"}`:                                           {'G', 'r', 0x7E, 0x1E, 'e', ' ', 0, ' ', '5', ' ', 0x1B, 0x65},
			`{"to": "info", "text": "Grüße", "data_coding": 3}`:                               {'G', 'r', 0xFC, 0xDF, 'e'},
			`{"to": "info", "text": "plain", "data_coding": 1}`:                               []byte("plain"),
			`{"to": "info", "text": "ü🙂", "data_coding": 8}`:                                  {0, 0xFC, 0xD8, 0x3D, 0xDE, 0x42},
			`{"to": "info", "hex": "00ff1b80", "data_coding": 4}`:                             {0, 0xFF, 0x1B, 0x80},
			`{"to": "info", "hex": "050003070201C3", "esm_class": 64}`:                        {5, 0, 3, 7, 2, 1, 0xC3},
			`{"to": "info", "hex": "E4", "data_coding": 0, "from": "4179", "payload": false}`: {0xE4},
		} {
			var answer map[string]any
			if code := ask(t, s, "POST", "/mo", body, &answer); code != http.StatusOK {
				t.Fatalf("%s: %d %v", body, code, answer)
			}
			r := c.next()
			sm, ok := r.body.(*pdu.DeliverSM)
			if !ok || !bytes.Equal(sm.ShortMessage, want) {
				t.Errorf("%s sends % x, want % x", body, sm.ShortMessage, want)
			}
		}
	})
	s := New(Scenario{})
	for body, want := range map[string]string{
		`{"text": "世界"}`:                  "GSM 7-bit lacks: use data_coding 8",
		`{"text": "€", "data_coding": 3}`: "data_coding 3 lacks",
		`{"text": "ü", "data_coding": 1}`: "data_coding 1 lacks",
		`{"text": "x", "data_coding": 4}`: "data_coding 0x04 has no alphabet",
		`{"hex": "0"}`:                    "even number of hexadecimal digits",
		`{"hex": "xy"}`:                   "hexadecimal digits",
		`{"hex": "00", "text": "x"}`:      "give one of the two",
	} {
		var answer map[string]string
		if code := ask(t, s, "POST", "/mo", body, &answer); code != http.StatusBadRequest || !bytes.Contains([]byte(answer["error"]), []byte(want)) {
			t.Errorf("%s: %d %v, want 400 with %q", body, code, answer, want)
		}
	}
}
