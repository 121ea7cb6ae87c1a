package smpp

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	gosmpp "github.com/fiorix/go-smpp/smpp"
	"github.com/fiorix/go-smpp/smpp/pdu/pdufield"
	"github.com/fiorix/go-smpp/smpp/pdu/pdutext"

	"sluice/smpp/pdu"
)

const benchText = "Your one-time code is 123456. It expires in 10 minutes. Do not share this code.."

func benchMessage() *pdu.SubmitSM {
	return &pdu.SubmitSM{
		Source:             pdu.Address{TON: 1, NPI: 1, Addr: []byte("12345")},
		Dest:               pdu.Address{TON: 1, NPI: 1, Addr: []byte("447700900123")},
		RegisteredDelivery: 1,
		ShortMessage:       []byte(benchText),
	}
}

func benchSession(b *testing.B, addr string, window int) *Session {
	b.Helper()
	cfg := Config{SystemID: "user", Password: "pass", Address: addr, MaxInFlight: window}
	conn, err := Dial(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	s, err := Bind(b.Context(), conn, cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return s
}

// benchOurs submits on as many goroutines as the window is wide.
func benchOurs(b *testing.B, addr string, window int) func(n int) time.Duration {
	s := benchSession(b, addr, window)
	// As go-smpp has nothing like it, ours gets a context that cannot end.
	ctx := context.Background()
	sm := benchMessage() // Submit only reads it
	return func(n int) time.Duration {
		return inParallel(window, n, func() {
			if r, err := s.Submit(ctx, sm, nil); err != nil || r.Status != 0 {
				b.Errorf("Submit returned %+v, %v", r, err)
			}
		})
	}
}

// benchOursFunc keeps twice the window in hand, one half of it in flight: each
// callback submits the next message.
func benchOursFunc(b *testing.B, addr string, window int) func(n int) time.Duration {
	s := benchSession(b, addr, window)
	sm := benchMessage()
	return func(n int) time.Duration {
		ctx := context.Background()
		var all sync.WaitGroup
		all.Add(n)
		left := n // of the callbacks, which come one at a time, and before them of this goroutine
		var done func(ref any, r Response, err error)
		submit := func() {
			left--
			if err := s.SubmitFunc(ctx, sm, nil, done); err != nil {
				b.Errorf("SubmitFunc returned %v", err)
				all.Done()
			}
		}
		done = func(_ any, r Response, err error) {
			if err != nil || r.Status != 0 {
				b.Errorf("SubmitFunc was told %+v, %v", r, err)
			}
			if left > 0 {
				submit()
			}
			all.Done()
		}
		first := make(chan struct{})
		begin := func(_ any, r Response, err error) {
			<-first // until this goroutine no longer counts
			done(nil, r, err)
		}
		start := time.Now()
		for range min(n, 2*window) {
			left--
			if err := s.SubmitFunc(ctx, sm, nil, begin); err != nil {
				b.Errorf("SubmitFunc returned %v", err)
				all.Done()
			}
		}
		close(first)
		all.Wait()
		return time.Since(start)
	}
}

func benchGoSMPP(b *testing.B, addr string, window int) func(n int) time.Duration {
	tx := &gosmpp.Transceiver{Addr: addr, User: "user", Passwd: "pass", RespTimeout: 30 * time.Second}
	if st := <-tx.Bind(); st.Error() != nil {
		b.Fatal(st.Error())
	}
	b.Cleanup(func() { _ = tx.Close() })
	return func(n int) time.Duration {
		return inParallel(window, n, func() {
			_, err := tx.Submit(&gosmpp.ShortMessage{ // keeps its answer, so it cannot be shared
				Src: "12345", SourceAddrTON: 1, SourceAddrNPI: 1,
				Dst: "447700900123", DestAddrTON: 1, DestAddrNPI: 1,
				Text: pdutext.Raw(benchText), Register: pdufield.FinalDeliveryReceipt,
			})
			if err != nil {
				b.Errorf("go-smpp: %v", err)
			}
		})
	}
}

// benchRaw is one goroutine that fills its window with one write and reads what
// comes: encoded by hand, no session, no concurrency, in lock-step with the server.
func benchRaw(b *testing.B, addr string, window int) func(n int) time.Duration {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	if want := encode(b, 0, 7, benchMessage()); !bytes.Equal(appendRaw(nil, 7, "12345", "447700900123", benchText), want) {
		b.Fatalf("the raw submit_sm is not %x", want)
	}
	in := make([]byte, 128<<10)
	return func(n int) time.Duration {
		start := time.Now()
		seq, sent, got, have := uint32(0), 0, 0, 0
		var out []byte
		for got < n {
			out = out[:0]
			for sent-got < window && sent < n {
				seq++
				out = appendRaw(out, seq, "12345", "447700900123", benchText)
				sent++
			}
			if len(out) > 0 {
				if _, err := c.Write(out); err != nil {
					b.Error(err)
					return time.Since(start)
				}
			}
			r, err := c.Read(in[have:])
			if err != nil {
				b.Error(err)
				return time.Since(start)
			}
			have += r
			at := 0
			for have-at >= pdu.HeaderLen {
				l := int(binary.BigEndian.Uint32(in[at:]))
				if have-at < l {
					break
				}
				at += l
				got++
			}
			have = copy(in, in[at:have])
		}
		return time.Since(start)
	}
}

// appendRaw appends the submit_sm of benchMessage, octet for octet, without a
// codec.
func appendRaw(b []byte, sequence uint32, from, to, text string) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, sequence)
	b = append(b, 0, 1, 1)
	b = append(b, from...)
	b = append(b, 0, 1, 1)
	b = append(b, to...)
	b = append(b, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, byte(len(text)))
	b = append(b, text...)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start))
	return b
}
