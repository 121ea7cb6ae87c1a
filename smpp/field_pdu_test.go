package smpp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
)

// The field reports of this file are about PDUs: numbers, lengths and contents.

// wantKept checks that the session still works: it answers an enquire_link.
func wantKept(t *testing.T, s *Session, p *script) {
	t.Helper()
	p.sendPDU(0, 4242, &pdu.EnquireLink{})
	p.expect(pdu.IDEnquireLinkResp, 0, 4242)
	if err := s.Err(); err != nil {
		t.Fatalf("the session ended with %v, want it kept", err)
	}
}

// collect is a handler that accepts and passes on what it is given.
func collect(c chan *Inbound) Handler {
	return handler{deliver: func(_ context.Context, m *Inbound) pdu.Status {
		c <- m
		return pdu.StatusOK
	}}
}

// F11: all parts of a long text shared one sequence number.
func TestF11EveryPDUHasItsOwnNumber(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		cs := submitInOrder(t.Context(), s, 3)
		seqs := p.submits(3)
		if fmt.Sprint(seqs) != "[2 3 4]" {
			t.Fatalf("sequence numbers %v, want [2 3 4]", seqs)
		}
		for i, c := range cs {
			p.answer(seqs[i], "A")
			<-c
		}
	})
}

// F14: an unknown PDU was not answered, or ended the session.
func TestF14UnknownPDUGetsGenericNack(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		p.sendHex("000000100000011f000000000000000d")
		p.expectHex("0000001080000000000000030000000d")
		wantKept(t, s, p)
	})
}

// A peer that answers our generic_nack with its own repeats a number of its own: it says nothing of our submit of that
// number. A second one does.
func TestEchoOfOurNackAnswersNoSubmit(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		c := submit(t.Context(), s, nil)
		seq := p.submits(1)[0]
		p.send(pdu.Header{Length: 16, ID: 0x11f, Sequence: seq}.Append(nil))
		p.expect(pdu.IDGenericNack, pdu.StatusInvCmdID, seq)
		p.sendPDU(pdu.StatusInvCmdID, seq, &pdu.GenericNack{})
		synctest.Wait()
		if st := s.Stats(); st.InFlight != 1 || st.Answered != 0 {
			t.Fatalf("the echo of our generic_nack answered the submit: %+v", st)
		}
		p.sendPDU(pdu.StatusInvCmdID, seq, &pdu.GenericNack{})
		if r := <-c; r.err != nil || !r.response.Nack {
			t.Fatalf("Submit returned %+v, %v", r.response, r.err)
		}
	})
}

func TestF14ForeignRequestsAndResponses(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		for _, id := range []pdu.CommandID{pdu.IDSubmitSM, pdu.IDQuerySM, pdu.IDBindTransceiver, pdu.IDBroadcastSM} {
			p.send(pdu.Header{Length: 16, ID: id, Sequence: 13}.Append(nil))
			p.expect(pdu.IDGenericNack, pdu.StatusInvCmdID, 13)
		}
		// Neither of these may be answered.
		for _, id := range []pdu.CommandID{0x8000011f, pdu.IDOutbind, pdu.IDAlertNotification, pdu.IDQuerySMResp} {
			p.send(pdu.Header{Length: 16, ID: id, Sequence: 13}.Append(nil))
		}
		wantKept(t, s, p)
	})
}

// F16: callers paired replies by their order.
func TestF16RepliesInAnyOrder(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		cs := submitInOrder(t.Context(), s, 3) // sequence 2, 3, 4
		p.submits(3)
		p.answer(4, "C")
		p.answer(2, "A")
		p.answer(3, "B")
		for i, id := range []string{"A", "B", "C"} {
			wantAccepted(t, <-cs[i], id)
		}
	})
}

// F22: a short TCP read was taken as a whole PDU.
func TestF22OneOctetAtATime(t *testing.T) {
	inbound := make(chan *Inbound, 1)
	cfg := testConfig()
	synctest.Test(t, func(t *testing.T) {
		inbound = make(chan *Inbound, 1)
		cfg.Handler = collect(inbound)
		s, p := bound(t, cfg)
		c := submit(t.Context(), s, nil)
		seq := p.submits(1)[0]
		stream := encode(t, 0, seq, &pdu.SubmitSMResp{MessageID: []byte("0042")})
		stream = append(stream, encode(t, 0, 5, &pdu.DeliverSM{ShortMessage: []byte("hello")})...)
		stream = append(stream, encode(t, 0, 6, &pdu.EnquireLink{})...)
		for i := range stream {
			time.Sleep(20 * time.Millisecond)
			p.send(stream[i : i+1])
		}
		wantAccepted(t, <-c, "0042")
		if m := <-inbound; string(m.Deliver.ShortMessage) != "hello" {
			t.Fatalf("deliver_sm with text %q", m.Deliver.ShortMessage)
		}
		p.expect(pdu.IDDeliverSMResp, 0, 5)
		p.expect(pdu.IDEnquireLinkResp, 0, 6)
	})
}

// F23: several PDUs in one read: only the first was handled.
func TestF23SeveralPDUsInOneRead(t *testing.T) {
	inbound := make(chan *Inbound, 2)
	cfg := testConfig()
	synctest.Test(t, func(t *testing.T) {
		inbound = make(chan *Inbound, 2)
		cfg.Handler = collect(inbound)
		_, p := bound(t, cfg)
		p.sendHex("00000032000000050000000000000005000101313535353030303100010131353535303030320000000000000000000001610000003200000005000000000000000600010131353535303030310001013135353530303032000000000000000000000162")
		p.expectHex("0000001180000005000000000000000500")
		p.expectHex("0000001180000005000000000000000600")
		a, b := <-inbound, <-inbound
		if string(a.Deliver.ShortMessage) != "a" || string(b.Deliver.ShortMessage) != "b" {
			t.Fatalf("texts %q and %q, want a and b", a.Deliver.ShortMessage, b.Deliver.ShortMessage)
		}
	})
}

// F24: a wrong service answered; its octets were read as a length.
func TestF24OctetsOfAnotherProtocol(t *testing.T) {
	for _, c := range []struct{ name, stream, guess string }{
		{"HTTP", "485454502f312e3120343030", "HTTP"},
		{"AMQP", "414d515000000901", "AMQP"},
		{"RDP", "0300002f2ae0", "RDP"},
		{"TLS", "15030300020228", "TLS"},
	} {
		t.Run(c.name+" instead of bind_resp", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				newScript(t, far).sendHex(c.stream)
				_, err := Bind(t.Context(), near, testConfig())
				wantGuess(t, err, c.guess)
			})
		})
		t.Run(c.name+" in a session", func(t *testing.T) {
			bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
				w := submit(t.Context(), s, nil)
				p.submits(1)
				p.sendHex(c.stream)
				wantError(t, <-w, ErrNoResponse)
				<-s.Done()
				wantGuess(t, s.Err(), c.guess)
			})
		})
	}
}

func wantGuess(t *testing.T, err error, guess string) {
	t.Helper()
	le, ok := errors.AsType[*pdu.LengthError](err)
	if !ok || !strings.Contains(le.Guess, guess) || !strings.Contains(err.Error(), guess) {
		t.Fatalf("got %v, want a *pdu.LengthError that names %s", err, guess)
	}
}

// F25: an impossible length, after which the reader guessed where the next PDU
// starts.
func TestF25ImpossibleLengthEndsTheSession(t *testing.T) {
	for _, stream := range []string{
		"800000090000000000000001",
		"0000000f000000150000000000000001",
		"00000000",
		"00000004",
		"00010001", // one above the limit of 64 KiB
		"7fffffff",
		"ffffffff",
	} {
		t.Run(stream, func(t *testing.T) {
			bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
				// What came before the broken octets still counts.
				c := submit(t.Context(), s, nil)
				seq := p.submits(1)[0]
				p.send(append(encode(t, 0, seq, &pdu.SubmitSMResp{MessageID: []byte("A")}), octets(t, stream)...))
				wantAccepted(t, <-c, "A")
				p.expectClosed()
				<-s.Done()
				if _, ok := errors.AsType[*pdu.LengthError](s.Err()); !ok {
					t.Fatalf("the session ended with %v, want a *pdu.LengthError", s.Err())
				}
			})
		})
	}
}

func TestF25LongestPDU(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		b := make([]byte, pdu.DefaultMaxLen)
		copy(b, octets(t, "000100000000011f000000000000000d"))
		p.send(b)
		p.expect(pdu.IDGenericNack, pdu.StatusInvCmdID, 13)
		wantKept(t, s, p)
	})
}

// F27: a cut-off TLV raised; the receipt was lost and sent again for days.
func TestF27CutOffTLVKeepsTheMandatoryPart(t *testing.T) {
	cfg := testConfig()
	synctest.Test(t, func(t *testing.T) {
		inbound := make(chan *Inbound, 1)
		cfg.Handler = collect(inbound)
		s, p := bound(t, cfg)
		p.sendHex("0000005000000005000000000000000b00010131353535303030310001013135353530303032000400000000000000001a69643a373720737461743a44454c49565244206572723a303030001e000337")
		p.expect(pdu.IDDeliverSMResp, pdu.StatusOK, 11)
		if m := <-inbound; string(m.Deliver.ShortMessage) != "id:77 stat:DELIVRD err:000" {
			t.Fatalf("text %q", m.Deliver.ShortMessage)
		}
		wantKept(t, s, p)
	})
}

// answerHex submits until the sequence number in a response is in flight, sends
// the response and returns what it brought.
func answerHex(t *testing.T, stream string) Response {
	t.Helper()
	cfg := testConfig()
	cfg.firstSequence = pdu.MaxSequence // the first submit is number 1
	b := octets(t, stream)
	seq := binary.BigEndian.Uint32(b[12:])
	var r result
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		cs := submitInOrder(t.Context(), s, int(seq))
		p.submits(int(seq))
		p.send(b)
		r = <-cs[seq-1]
		if r.err != nil {
			t.Fatalf("Submit returned %v", r.err)
		}
		wantKept(t, s, p)
		_ = p.conn.Close()
	})
	return r.response
}

// F28: an unknown TLV in a reply stopped the client.
func TestF28TLVsInAReply(t *testing.T) {
	r := answerHex(t, "00000018800000040000000000000001373700042800015f")
	if r.Status != 0 || r.MessageID != "77" || r.Congestion != 95 {
		t.Fatalf("got %+v, want id 77 and congestion 95", r)
	}
	r = answerHex(t, "0000001e8000000400000000000000013737001400000378797a14010000")
	if r.Status != 0 || r.MessageID != "77" || r.Congestion != -1 {
		t.Fatalf("got %+v, want id 77 and no congestion", r)
	}
}

// F29: a non-zero submit_sm_resp with a body killed one parser, one without a
// body another.
func TestF29ErrorResponsesWithAndWithoutBody(t *testing.T) {
	for stream, want := range map[string]Response{
		"00000021800000040000000b000000023041303030303030413344333233413100": {Status: 0x0b, MessageID: "0A000000A3D323A1"},
		"0000001180000004000000450000000700":                                 {Status: 0x45},
		"00000010800000040000005800000003":                                   {Status: 0x58},
		"00000010800000040000000000000003":                                   {},                // no body although accepted
		"00000012800000040000000000000003" + "3737":                          {MessageID: "77"}, // no NUL
	} {
		want.Congestion = -1
		if r := answerHex(t, stream); r != want {
			t.Errorf("%s: got %+v, want %+v", stream, r, want)
		}
	}
}

// F33: deliver_sm with its text only in message_payload.
func TestF33MessagePayload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inbound := make(chan *Inbound, 1)
		cfg := testConfig()
		cfg.Handler = collect(inbound)
		_, p := bound(t, cfg)
		p.sendHex("0000004f0000000500000000000000090001013135353530303031000101313535353030303200040000000000000000000424001a69643a373720737461743a44454c49565244206572723a303030")
		p.expect(pdu.IDDeliverSMResp, pdu.StatusOK, 9)
		m := <-inbound
		if text, _ := m.Deliver.TLVs.Get(pdu.TagMessagePayload); string(text) != "id:77 stat:DELIVRD err:000" {
			t.Fatalf("message_payload %q", text)
		}
	})
}

// F34: receipts came as data_sm.
func TestF34DataSM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inbound := make(chan *Inbound, 1)
		cfg := testConfig()
		cfg.Handler = collect(inbound)
		_, p := bound(t, cfg)
		p.sendHex("0000003600000103000000000000000c0001013135353530303031000101313535353030303200040000001e00033737000427000102")
		p.expectHex("0000001180000103000000000000000c00")
		m := <-inbound
		if !m.Data || m.Command != pdu.IDDataSM || m.Sequence != 12 || m.Deliver.ESMClass != 4 ||
			string(m.Deliver.Source.Addr) != "15550001" || string(m.Deliver.Dest.Addr) != "15550002" {
			t.Fatalf("data_sm came as %+v", m)
		}
		if st, ok := m.Deliver.TLVs.Uint8(pdu.TagMessageState); !ok || st != 2 {
			t.Fatalf("message_state %d, %v", st, ok)
		}
	})
}

// F35: what could not be stored was acknowledged as if it had been.
func TestF35HandlerDecidesTheAnswer(t *testing.T) {
	cfg := testConfig()
	cfg.Handler = handler{deliver: func(context.Context, *Inbound) pdu.Status { return pdu.StatusSysErr }}
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		p.sendPDU(0, 21, &pdu.DeliverSM{})
		p.expect(pdu.IDDeliverSMResp, pdu.StatusSysErr, 21)
		wantKept(t, s, p)
	})
}

// F41: submit_multi_resp without a body crashed the client, and its one id stood for many receipts. It answers nothing
// that a session sends: not even a submit_sm with its number, for a response matches by number and kind. Its body, where
// there is one, tells each recipient that failed.
func TestF41SubmitMultiResponses(t *testing.T) {
	const headerOnly, oneFailed = "00000010800000210000000000000003", "000000238000002100000000000000033737000101013135353530303033000000000b"
	cfg := testConfig()
	cfg.firstSequence = 2
	bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
		c := submit(t.Context(), s, nil)
		if seq := p.submits(1)[0]; seq != 3 {
			t.Fatalf("the submit has number %d, want that of the responses, 3", seq)
		}
		p.sendHex(headerOnly)
		p.sendHex(oneFailed)
		wantKept(t, s, p)
		if n := s.Stats().InFlight; n != 1 {
			t.Errorf("%d in flight, want the submit to wait on", n)
		}
		p.answer(3, "A")
		wantAccepted(t, <-c, "A")
	})
	for stream, want := range map[string]pdu.SubmitMultiResp{
		headerOnly: {},
		oneFailed: {MessageID: []byte("77"), Unsuccess: []pdu.Unsuccess{
			{Address: pdu.Address{TON: 1, NPI: 1, Addr: []byte("15550003")}, Status: pdu.StatusInvDstAdr},
		}},
	} {
		_, body, err := pdu.Parse(octets(t, stream))
		got, ok := body.(*pdu.SubmitMultiResp)
		if err != nil || !ok || string(got.MessageID) != string(want.MessageID) || !reflect.DeepEqual(got.Unsuccess, want.Unsuccess) {
			t.Errorf("%s was read as %+v, %v, want %+v", stream, body, err, want)
		}
	}
}

// F42: sm_length 255 overflowed fixed buffers, before the bind.
func TestF42LengthBeyondThePDU(t *testing.T) {
	short := encode(t, 0, 3, &pdu.DeliverSM{ShortMessage: make([]byte, 10)})
	short[len(short)-11] = 0xff
	t.Run("in a session", func(t *testing.T) {
		cfg := testConfig()
		cfg.Handler = handler{}
		bubble(t, cfg, func(t *testing.T, s *Session, p *script) {
			p.send(short)
			p.expect(pdu.IDDeliverSMResp, pdu.StatusInvCmdLen, 3)
			wantKept(t, s, p)
		})
	})
	t.Run("before the bind", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			p := newScript(t, far)
			go func() {
				h := p.next()
				p.send(short)
				p.expect(pdu.IDDeliverSMResp, pdu.StatusInvBndSts, 3)
				p.sendPDU(0, h.Sequence, &pdu.BindResp{Command: h.ID.Response()})
			}()
			s, err := Bind(t.Context(), near, testConfig())
			if err != nil {
				t.Fatal(err)
			}
			wantKept(t, s, p)
			_ = far.Close()
			<-s.Done()
		})
	})
	t.Run("255 octets", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			inbound := make(chan *Inbound, 1)
			cfg := testConfig()
			cfg.Handler = collect(inbound)
			_, p := bound(t, cfg)
			long := encode(t, 0, 3, &pdu.DeliverSM{ShortMessage: make([]byte, 10)})
			long[len(long)-11] = 0xff
			long = append(long, make([]byte, 245)...)
			binary.BigEndian.PutUint32(long, uint32(len(long)))
			p.send(long)
			p.expect(pdu.IDDeliverSMResp, pdu.StatusOK, 3)
			if m := <-inbound; len(m.Deliver.ShortMessage) != 255 {
				t.Fatalf("%d octets of text, want 255", len(m.Deliver.ShortMessage))
			}
		})
	})
}

// F45: a working account suddenly answers 0x03 to submit_sm. On the wire that
// is an answer like any other.
func TestF45InvalidCommandIsAnAnswer(t *testing.T) {
	bubble(t, testConfig(), func(t *testing.T, s *Session, p *script) {
		c := submit(t.Context(), s, nil)
		p.submits(1)
		p.sendHex("0000001180000004000000030000000200")
		if r := <-c; r.err != nil || r.response.Status != pdu.StatusInvCmdID || r.response.Nack {
			t.Fatalf("Submit returned %+v, %v, want status 0x03", r.response, r.err)
		}
		p.expectNothing(time.Second)
		wantKept(t, s, p)
	})
}
