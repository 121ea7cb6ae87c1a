package testserver

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

// asking is a message that asks for a receipt.
func asking(to string, registered uint8) *pdu.SubmitSM {
	sm := message(to, "hello\nworld, this is a longer text")
	sm.RegisteredDelivery = registered
	return sm
}

// delivered waits for a deliver_sm and acknowledges it.
func (c *client) delivered(status pdu.Status) (reply, *pdu.DeliverSM) {
	c.t.Helper()
	r := c.want(pdu.IDDeliverSM, pdu.StatusOK)
	body, ok := r.body.(*pdu.DeliverSM)
	if !ok {
		c.t.Fatalf("body is %T", r.body)
	}
	c.acknowledge(r, status)
	return r, body
}

func (c *client) acknowledge(r reply, status pdu.Status) {
	c.t.Helper()
	c.write(append(pdu.Header{
		Length: pdu.HeaderLen + 1, ID: r.ID.Response(), Status: status, Sequence: r.Sequence,
	}.Append(nil), 0))
	synctest.Wait()
}

func TestReceiptAfterDelay(t *testing.T) {
	sc := Scenario{Receipts: Receipts{Receipt: Receipt{Delay: Exactly(3 * time.Second)}}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		begin := time.Now() // 2000-01-01 00:00:00 UTC in a bubble
		c.send(asking("4179", 1))
		id := c.want(pdu.IDSubmitSMResp, pdu.StatusOK).messageID()
		r, body := c.delivered(pdu.StatusOK)
		if r.at.Sub(begin) != 3*time.Second {
			t.Errorf("receipt after %v", r.at.Sub(begin))
		}
		want := "id:" + id + " sub:001 dlvrd:001 submit date:0001010000 done date:0001010000 stat:DELIVRD err:000 " +
			"text:hello.world, this is"
		if got := string(body.ShortMessage); got != want {
			t.Errorf("text is  %q\nwant is %q", got, want)
		}
		if body.ESMClass != 0x04 || string(body.Source.Addr) != "4179" || string(body.Dest.Addr) != "sender" {
			t.Errorf("receipt is %+v", body)
		}
		if value, _ := body.TLVs.Get(pdu.TagReceiptedMessageID); string(value) != id+"\x00" {
			t.Errorf("receipted_message_id is %q", value)
		}
		if state, _ := body.TLVs.Uint8(pdu.TagMessageState); state != 2 {
			t.Errorf("message_state is %d", state)
		}
		if stats := s.Stats(); stats.Deliveries != 1 || stats.Acknowledged != 1 {
			t.Errorf("stats are %+v", stats)
		}
	})
}

func TestReceiptOnlyWhereAskedFor(t *testing.T) {
	sc := Scenario{Receipts: Receipts{Rules: []ReceiptRule{
		{Match: Match{Suffix: "9"}, Receipt: Receipt{State: Undeliverable, Code: "021"}},
		{Match: Match{Suffix: "8"}, Receipt: Receipt{Never: true}},
	}}}
	tests := map[string]struct {
		to         string
		registered uint8
		receipt    bool
	}{
		"not asked":                      {"1", 0, false},
		"asked":                          {"1", 1, true},
		"asked for failure, success":     {"1", 2, false},
		"asked for failure, failure":     {"9", 2, true},
		"asked for success, failure":     {"9", 3, false},
		"asked, and the SMSC never does": {"8", 1, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, sc, func(t *testing.T, s *Server) {
				c := connect(t, s).bind()
				c.send(asking(tt.to, tt.registered))
				c.want(pdu.IDSubmitSMResp, pdu.StatusOK)
				if !tt.receipt {
					c.wantSilence(time.Hour)
					return
				}
				_, body := c.delivered(pdu.StatusOK)
				failed := strings.Contains(string(body.ShortMessage), "dlvrd:000") &&
					strings.Contains(string(body.ShortMessage), "stat:UNDELIV err:021")
				if failed != (tt.to == "9") {
					t.Errorf("text is %q", body.ShortMessage)
				}
			})
		})
	}
}

func TestReceiptForms(t *testing.T) {
	tests := map[string]struct {
		receipt Receipt
		text    string // what the text contains; "" for no text
		tlvs    int
	}{
		"text only":     {Receipt{Form: TextForm}, "id:123456 ", 0},
		"TLVs only":     {Receipt{Form: TLVForm}, "", 2},
		"both":          {Receipt{}, "id:123456 ", 2},
		"hexadecimal":   {Receipt{ID: Hex}, "id:1e240 ", 2},
		"padded":        {Receipt{ID: Decimal, Width: 10}, "id:0000123456 ", 2},
		"error as TLV":  {Receipt{State: Expired, Code: "030"}, "stat:EXPIRED err:030", 3},
		"odd error":     {Receipt{State: Rejected, Code: "21b"}, "stat:REJECTD err:21b", 2},
		"default error": {Receipt{State: Rejected}, "err:001", 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sc := Scenario{MessageID: MessageID{First: 123456}, Receipts: Receipts{Receipt: tt.receipt}}
			bubble(t, sc, func(t *testing.T, s *Server) {
				c := connect(t, s).bind()
				c.send(asking("1", 1))
				c.want(pdu.IDSubmitSMResp, pdu.StatusOK)
				_, body := c.delivered(pdu.StatusOK)
				if !strings.Contains(string(body.ShortMessage), tt.text) || (tt.text == "") != (len(body.ShortMessage) == 0) {
					t.Errorf("text is %q", body.ShortMessage)
				}
				if len(body.TLVs) != tt.tlvs {
					t.Errorf("%d TLVs, want %d", len(body.TLVs), tt.tlvs)
				}
			})
		})
	}
}

func TestReceiptBeforeResponse(t *testing.T) {
	for name, latency := range map[string]time.Duration{"at once": 0, "later": time.Second} {
		t.Run(name, func(t *testing.T) {
			sc := Scenario{Latency: Exactly(latency), Receipts: Receipts{Receipt: Receipt{BeforeResponse: true}}}
			bubble(t, sc, func(t *testing.T, s *Server) {
				c := connect(t, s).bind()
				c.send(asking("1", 1))
				c.delivered(pdu.StatusOK)
				c.want(pdu.IDSubmitSMResp, pdu.StatusOK)
			})
		})
	}
}

func TestReceiptTwiceAndAsDataSM(t *testing.T) {
	sc := Scenario{Receipts: Receipts{Receipt: Receipt{Copies: 1, DataSM: true}}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		c := connect(t, s).bind()
		c.send(asking("1", 1))
		c.want(pdu.IDSubmitSMResp, pdu.StatusOK)
		for range 2 {
			r := c.want(pdu.IDDataSM, pdu.StatusOK)
			body := r.body.(*pdu.DataSM)
			if text, _ := body.TLVs.Get(pdu.TagMessagePayload); !strings.HasPrefix(string(text), "id:1 ") {
				t.Errorf("payload is %q", text)
			}
			c.acknowledge(r, pdu.StatusOK)
		}
		if stats := s.Stats(); stats.Acknowledged != 2 {
			t.Errorf("stats are %+v", stats)
		}
	})
}

func TestReceiptOnAnotherBind(t *testing.T) {
	sc := Scenario{Receipts: Receipts{Receipt: Receipt{OtherBind: true}}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		a := connect(t, s).bind()
		a.send(asking("1", 1))
		a.want(pdu.IDSubmitSMResp, pdu.StatusOK)
		a.delivered(pdu.StatusOK) // there is no other
		connect(t, s).bindAs(pdu.IDBindReceiver, "stranger", "")
		connect(t, s).bindAs(pdu.IDBindTransmitter, "sluice", "")
		b := connect(t, s).bind()
		a.send(asking("1", 1))
		a.want(pdu.IDSubmitSMResp, pdu.StatusOK)
		b.delivered(pdu.StatusOK)
	})
}

func TestReceiptGoesToTheReceiverOfAPair(t *testing.T) {
	bubble(t, Scenario{}, func(t *testing.T, s *Server) {
		tx := connect(t, s)
		tx.bindAs(pdu.IDBindTransmitter, "sluice", "")
		tx.send(asking("1", 1))
		tx.want(pdu.IDSubmitSMResp, pdu.StatusOK)
		synctest.Wait()
		if got := s.Stats().Waiting; got != 1 {
			t.Errorf("%d wait for a receiver, want 1", got)
		}
		rx := connect(t, s)
		rx.bindAs(pdu.IDBindReceiver, "sluice", "")
		rx.delivered(pdu.StatusOK)
	})
}

func TestReceiptOutlivesItsSession(t *testing.T) {
	sc := Scenario{Receipts: Receipts{Receipt: Receipt{Delay: Exactly(time.Minute)}}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		a, b := connect(t, s).bind(), connect(t, s).bind()
		begin := time.Now()
		a.send(asking("1", 1))
		a.want(pdu.IDSubmitSMResp, pdu.StatusOK)
		_ = a.conn.Close()
		if r, _ := b.delivered(pdu.StatusOK); r.at.Sub(begin) != time.Minute {
			t.Errorf("receipt after %v", r.at.Sub(begin))
		}
	})
}

func TestRefusedAndUnacknowledgedDeliveriesComeAgain(t *testing.T) {
	sc := Scenario{Receipts: Receipts{Redeliver: 5 * time.Second}}
	bubble(t, sc, func(t *testing.T, s *Server) {
		a := connect(t, s).bind()
		a.send(asking("1", 1))
		a.want(pdu.IDSubmitSMResp, pdu.StatusOK)
		begin := time.Now()
		a.delivered(pdu.StatusMsgQFull)
		if r := a.want(pdu.IDDeliverSM, pdu.StatusOK); r.at.Sub(begin) != 5*time.Second {
			t.Errorf("again after %v", r.at.Sub(begin))
		}
		_ = a.conn.Close() // without an answer
		synctest.Wait()
		connect(t, s).bind().delivered(pdu.StatusOK)
		if stats := s.Stats(); stats.Rejected != 1 || stats.Acknowledged != 1 || stats.Deliveries != 3 {
			t.Errorf("stats are %+v", stats)
		}
	})
}

func TestInjectMO(t *testing.T) {
	bubble(t, Scenario{}, func(t *testing.T, s *Server) {
		if err := s.InjectMO(MO{Text: "x"}); !errors.Is(err, ErrNoReceiver) {
			t.Errorf("without a session: %v", err)
		}
		c := connect(t, s).bind()
		if err := s.InjectMO(MO{SystemID: "other"}); !errors.Is(err, ErrNoReceiver) {
			t.Errorf("to another account: %v", err)
		}
		if err := s.InjectMO(MO{From: "41791234567", To: "info", Text: "id:77 stat:DELIVRD"}); err != nil {
			t.Fatal(err)
		}
		_, body := c.delivered(pdu.StatusOK)
		if body.ESMClass != 0 || body.Source.TON != 1 || body.Dest.TON != 5 || string(body.ShortMessage) != "id:77 stat:DELIVRD" {
			t.Errorf("MO is %+v", body)
		}
		long := strings.Repeat("x", 300)
		if err := s.InjectMO(MO{From: "1", To: "2", Text: long}); err != nil {
			t.Fatal(err)
		}
		_, body = c.delivered(pdu.StatusOK)
		if payload, _ := body.TLVs.Get(pdu.TagMessagePayload); string(payload) != long || len(body.ShortMessage) != 0 {
			t.Errorf("a long MO has %d octets of payload", len(payload))
		}
		if err := s.InjectMO(MO{From: "1", To: "2", Text: "x", DataSM: true}); err != nil {
			t.Fatal(err)
		}
		c.acknowledge(c.want(pdu.IDDataSM, pdu.StatusOK), pdu.StatusOK)
		if err := s.InjectMO(MO{From: strings.Repeat("1", 30)}); err == nil {
			t.Error("an address of 30 digits was taken")
		}
		if err := s.Deliver("", pdu.DeliverSM{ESMClass: 0x20}); err != nil {
			t.Fatal(err)
		}
		if _, body := c.delivered(pdu.StatusOK); body.ESMClass != 0x20 {
			t.Errorf("delivered %+v", body)
		}
	})
}
