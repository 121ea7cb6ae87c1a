package pdu_test

import (
	"bytes"
	"testing"

	gopdu "github.com/fiorix/go-smpp/smpp/pdu"
	"github.com/fiorix/go-smpp/smpp/pdu/pdufield"
	"github.com/fiorix/go-smpp/smpp/pdu/pdutlv"

	"sluice/smpp/pdu"
)

// benchText is a text of 80 octets, as in the reference measurements.
const benchText = "The quick brown fox jumps over the lazy dog, and nobody in the yard was amused.."

// benchSubmit is the message all encoders write: 130 octets on the wire.
func benchSubmit() *pdu.SubmitSM {
	return &pdu.SubmitSM{
		Source:             pdu.Address{Addr: []byte("10001")},
		Dest:               pdu.Address{TON: 1, NPI: 1, Addr: []byte("155500000001")},
		RegisteredDelivery: 1,
		ShortMessage:       []byte(benchText),
	}
}

func goSMPPSubmit() gopdu.Body {
	p := gopdu.NewSubmitSM(make(pdutlv.Fields))
	f := p.Fields()
	for name, value := range map[pdufield.Name]any{
		pdufield.SourceAddr:         "10001",
		pdufield.DestAddrTON:        1,
		pdufield.DestAddrNPI:        1,
		pdufield.DestinationAddr:    "155500000001",
		pdufield.RegisteredDelivery: 1,
		pdufield.ShortMessage:       benchText,
	} {
		_ = f.Set(name, value)
	}
	return p
}

func benchWire(tb testing.TB) (submit, resp []byte) {
	tb.Helper()
	submit = mustAppend(tb, pdu.StatusOK, 1, benchSubmit())
	resp = mustAppend(tb, pdu.StatusOK, 1, &pdu.SubmitSMResp{MessageID: []byte("0123456789abcdef")})
	return submit, resp
}

// TestBenchmarksWriteTheSame keeps the comparison below fair.
func TestBenchmarksWriteTheSame(t *testing.T) {
	submit, resp := benchWire(t)
	p := goSMPPSubmit()
	p.Header().Seq = 1
	var buf bytes.Buffer
	if err := p.SerializeTo(&buf); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(buf.Bytes(), submit) {
		t.Errorf("go-smpp writes %x, we write %x", buf.Bytes(), submit)
	}
	if len(submit) != 130 || len(resp) != 33 {
		t.Errorf("submit_sm has %d octets and its response %d, want 130 and 33", len(submit), len(resp))
	}
}

func BenchmarkSubmitSMEncode(b *testing.B) {
	b.Run("sluice", func(b *testing.B) {
		b.ReportAllocs()
		sm := benchSubmit()
		buf := make([]byte, 0, 256)
		var seq uint32
		for b.Loop() {
			seq++
			out, err := pdu.Append(buf, pdu.StatusOK, seq, sm)
			if err != nil || len(out) != 130 {
				b.Fatal(err)
			}
		}
	})
	b.Run("go-smpp", func(b *testing.B) { // a new object each, as its Submit does
		b.ReportAllocs()
		var buf bytes.Buffer
		for b.Loop() {
			buf.Reset()
			if err := goSMPPSubmit().SerializeTo(&buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSubmitSMDecode(b *testing.B) {
	submit, _ := benchWire(b)
	b.Run("sluice", func(b *testing.B) {
		b.ReportAllocs()
		var sm pdu.SubmitSM
		for b.Loop() {
			h, err := pdu.ParseHeader(submit)
			if err != nil || h.ID != pdu.IDSubmitSM {
				b.Fatal(err)
			}
			if err := sm.ParseBody(submit[pdu.HeaderLen:]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("go-smpp", func(b *testing.B) { benchGoSMPPDecode(b, submit) })
}

func BenchmarkSubmitSMRespDecode(b *testing.B) {
	_, resp := benchWire(b)
	b.Run("sluice", func(b *testing.B) {
		b.ReportAllocs()
		var p pdu.SubmitSMResp
		for b.Loop() {
			h, err := pdu.ParseHeader(resp)
			if err != nil || h.ID != pdu.IDSubmitSMResp {
				b.Fatal(err)
			}
			if err := p.ParseBody(resp[pdu.HeaderLen:]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("go-smpp", func(b *testing.B) { benchGoSMPPDecode(b, resp) })
}

func BenchmarkSubmitSMRespEncode(b *testing.B) {
	b.Run("sluice", func(b *testing.B) {
		b.ReportAllocs()
		p := &pdu.SubmitSMResp{MessageID: []byte("0123456789abcdef")}
		buf := make([]byte, 0, 64)
		for b.Loop() {
			if _, err := pdu.Append(buf, pdu.StatusOK, 1, p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("go-smpp", func(b *testing.B) {
		b.ReportAllocs()
		var buf bytes.Buffer
		for b.Loop() {
			buf.Reset()
			p := gopdu.NewSubmitSMResp()
			_ = p.Fields().Set(pdufield.MessageID, "0123456789abcdef")
			if err := p.SerializeTo(&buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchGoSMPPDecode(b *testing.B, wire []byte) {
	b.ReportAllocs()
	r := bytes.NewReader(wire)
	for b.Loop() {
		r.Reset(wire)
		if _, err := gopdu.Decode(r); err != nil {
			b.Fatal(err)
		}
	}
}
