package testserver

import (
	"bufio"
	"encoding/binary"
	"net"
	"strconv"
	"testing"
	"time"

	"sluice/smpp/pdu"
)

// BenchmarkSubmit measures submit_sm over loopback at a window of 100: the client writes a window in one piece and
// reads its answers, so that it costs little itself.
func BenchmarkSubmit(b *testing.B) {
	fast := LedgerConfig{Records: -1, Keys: -1}
	limit := []Limit{{Kind: TokenBucket, Rate: PerSecond(1e9), Burst: 1e9}}
	for _, bench := range []struct {
		name string
		sc   Scenario
	}{
		{"counts", Scenario{Ledger: fast}},
		{"limit", Scenario{Ledger: fast, Limits: limit}},
		{"ledger", Scenario{}},
		{"limit+ledger", Scenario{Limits: limit}},
		{"limit+ledger+latency", Scenario{Limits: limit, Latency: Exactly(time.Millisecond)}},
	} {
		for _, window := range []int{100, 1000} {
			b.Run(bench.name+"/window="+strconv.Itoa(window), func(b *testing.B) {
				s := New(bench.sc)
				conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", listen(b, s))
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				exchange(b, conn, window)
				if got := s.Stats().Submits; got < uint64(b.N) {
					b.Errorf("%d submits, want %d", got, b.N)
				}
			})
		}
	}
}

// exchange binds, then sends b.N submits of 130 octets in windows.
func exchange(b *testing.B, conn net.Conn, window int) {
	b.Helper()
	bind, err := pdu.Append(nil, 0, 1, &pdu.Bind{SystemID: "sluice"})
	if err != nil {
		b.Fatal(err)
	}
	in := bufio.NewReaderSize(conn, 1<<16)
	answered := func() {
		head, err := in.Peek(4)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := in.Discard(int(binary.BigEndian.Uint32(head))); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := conn.Write(bind); err != nil {
		b.Fatal(err)
	}
	answered()
	var flight []byte
	var at []int // of each PDU
	for range window {
		at = append(at, len(flight))
		sm := message("417912345678", string(make([]byte, 80)))
		sm.TLVs = pdu.TLVs{{Tag: pdu.TagUserMessageReference, Value: []byte{0, 0}}}
		if flight, err = pdu.Append(flight, 0, 2, sm); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	sequence := uint32(1)
	for sent := 0; sent < b.N; sent += window {
		for _, offset := range at {
			sequence++
			binary.BigEndian.PutUint32(flight[offset+12:], sequence)
			binary.BigEndian.PutUint32(flight[offset+textOffset:], sequence) // each message is another one
		}
		if _, err := conn.Write(flight); err != nil {
			b.Fatal(err)
		}
		for range window {
			answered()
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}

// textOffset is where the short_message of the benchmark's submit begins.
const textOffset = 60
