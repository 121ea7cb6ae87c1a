package smpp

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
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

// BenchmarkSession measures submits on one bind over loopback, ours beside
// go-smpp's Transceiver against the same server in the same run, and a raw
// client that refills its window with one write as the physical limit. The
// metrics of interest are x-go-smpp, the ratio of the two rates, and
// x-go-smpp-cpu, the same of the processor time of client and server together,
// which other load on the machine hardly touches.
func BenchmarkSession(b *testing.B) {
	for _, window := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) {
			srv := startFastServer(b)
			ours := benchOurs(b, srv.addr(), window)
			theirs := benchGoSMPP(b, srv.addr(), window)
			raw := benchRaw(b, srv.addr(), window)
			// One after the other in slices of b.N, so that all three see the
			// same noise of the machine.
			const rounds = 4
			n := max(b.N/rounds, window)
			var mine, other, limit, mineCPU, otherCPU time.Duration
			b.ResetTimer()
			for range rounds {
				cpu := cpuTime()
				mine += ours(n)
				mineCPU += cpuTime() - cpu
				b.StopTimer()
				cpu = cpuTime()
				other += theirs(max(n/8, window))
				otherCPU += cpuTime() - cpu
				limit += raw(n)
				b.StartTimer()
			}
			b.StopTimer()
			rate := float64(rounds*n) / mine.Seconds()
			otherRate := float64(rounds*max(n/8, window)) / other.Seconds()
			limitRate := float64(rounds*n) / limit.Seconds()
			b.ReportMetric(rate, "msg/s")
			b.ReportMetric(otherRate, "go-smpp-msg/s")
			b.ReportMetric(limitRate, "raw-msg/s")
			b.ReportMetric(rate/otherRate, "x-go-smpp")
			b.ReportMetric(100*rate/limitRate, "%-of-raw")
			perMine := float64(mineCPU) / float64(rounds*n)
			perOther := float64(otherCPU) / float64(rounds*max(n/8, window))
			b.ReportMetric(perMine, "cpu-ns/msg")
			b.ReportMetric(perOther/perMine, "x-go-smpp-cpu")
		})
	}
}

// cpuTime is the processor time of this process.
func cpuTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// inParallel runs n submits on as many goroutines as the window is wide.
func inParallel(window, n int, submit func()) time.Duration {
	var left atomic.Int64
	left.Store(int64(n))
	start := time.Now()
	var wg sync.WaitGroup
	for range window {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				submit()
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

func benchOurs(b *testing.B, addr string, window int) func(n int) time.Duration {
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
// comes: no session, no concurrency, in lock-step with the server.
func benchRaw(b *testing.B, addr string, window int) func(n int) time.Duration {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	in := make([]byte, 128<<10)
	sm := benchMessage()
	return func(n int) time.Duration {
		start := time.Now()
		seq, sent, got, have := uint32(0), 0, 0, 0
		var out []byte
		for got < n {
			out = out[:0]
			for sent-got < window && sent < n {
				seq++
				out, _ = pdu.Append(out, pdu.StatusOK, seq, sm)
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
