package testserver

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/smpp/pdu"
)

// benchSMSC in the environment makes the test binary an SMSC with that one of the scenarios of the benchmark.
const benchSMSC = "SLUICE_TEST_SMSC"

func TestMain(m *testing.M) {
	name := os.Getenv(benchSMSC)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := serveBenchmark(name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// benchScenarios go from the fast path, which only counts, to all that a submit can pass through.
func benchScenarios() []struct {
	name string
	sc   Scenario
} {
	fast := LedgerConfig{Records: -1, Keys: -1}
	limit := []Limit{{Kind: TokenBucket, Rate: PerSecond(1e9), Burst: 1e9}}
	return []struct {
		name string
		sc   Scenario
	}{
		{"counts", Scenario{Ledger: fast}},
		{"limit", Scenario{Ledger: fast, Limits: limit}},
		{"ledger", Scenario{}},
		{"limit+ledger", Scenario{Limits: limit}},
		{"limit+ledger+latency", Scenario{Limits: limit, Latency: Exactly(time.Millisecond)}},
	}
}

// serveBenchmark serves until standard input ends, and then says how many submits came.
func serveBenchmark(name string) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	for _, bench := range benchScenarios() {
		if bench.name != name {
			continue
		}
		s := New(bench.sc)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, ln) }()
		fmt.Println(ln.Addr())
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Println(s.Stats().Submits)
		cancel()
		return <-ended
	}
	return fmt.Errorf("no scenario is named %q", name)
}

// BenchmarkSubmit measures submit_sm over loopback, answered by a server that is a process of its own. The client writes
// a window in one piece and reads its answers, so that it costs little itself. Beside msg/s, which other work on the
// machine lowers, server-msg/s says how many messages the server takes in a second of its processor time: what it does
// with a core to itself.
func BenchmarkSubmit(b *testing.B) {
	for _, bench := range benchScenarios() {
		for _, window := range []int{100, 1000} {
			b.Run(bench.name+"/window="+strconv.Itoa(window), func(b *testing.B) {
				s := startBenchmark(b, bench.name)
				conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", s.line(b))
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				exchange(b, conn, window)
				_ = s.in.Close()
				if got, err := strconv.Atoi(s.line(b)); err != nil || got < b.N {
					b.Errorf("%d submits (%v), want %d", got, err, b.N)
				}
				if err := s.cmd.Wait(); err != nil {
					b.Error(err)
				}
				used := s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
				b.ReportMetric(float64(b.N)/used.Seconds(), "server-msg/s")
			})
		}
	}
}

// benchServer is the process of a server.
type benchServer struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

func startBenchmark(b *testing.B, name string) *benchServer {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), benchSMSC+"="+name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return &benchServer{cmd: cmd, in: in, out: bufio.NewReader(out)}
}

// line reads what the server says.
func (s *benchServer) line(b *testing.B) string {
	b.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil {
		b.Fatalf("the server said nothing: %v", err)
	}
	return strings.TrimSpace(line)
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
