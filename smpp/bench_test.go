package smpp

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// BenchmarkSession measures submits on one bind over loopback, against a fast
// SMSC that is a process of its own: ours with a goroutine for each place of the
// window (Submit) and with callbacks (SubmitFunc), go-smpp's Transceiver, and a
// raw client that refills its window with one write as the physical limit. They
// take turns, so that all see the same noise of the machine. An operation is 1,000
// messages. The metrics of interest are ratios:
//
//   - x-go-smpp: Submit beside go-smpp's Submit, both with a goroutine for each
//     place; x-go-smpp-func: SubmitFunc beside it
//   - %-of-raw, func-%-of-raw: share of the physical limit
//   - cpu-s/M, func-cpu-s/M, go-smpp-cpu-s/M, raw-cpu-s/M: processor seconds of
//     this process, which is the client, for a million messages
func BenchmarkSession(b *testing.B) {
	for _, window := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) {
			addr := startFastProcess(b, 0)
			raw := contender{name: "raw", run: benchRaw(b, addr, window)}
			theirs := contender{name: "go-smpp", run: benchGoSMPP(b, addr, window)}
			ours := contender{name: "Submit", run: benchOurs(b, addr, window)}
			async := contender{name: "SubmitFunc", run: benchOursFunc(b, addr, window)}
			const rounds, operation = 4, 1000
			n := max(b.N*operation/rounds, window)
			for _, c := range []contender{ours, async, theirs, raw} {
				c.run(window) // stacks, buffers and the socket grow once
			}
			b.ResetTimer()
			for range rounds {
				ours.turn(n)
				b.StopTimer()
				async.turn(n)
				theirs.turn(max(n/8, window))
				raw.turn(n)
				b.StartTimer()
			}
			b.StopTimer()
			b.ReportMetric(ours.rate(), "msg/s")
			b.ReportMetric(async.rate(), "func-msg/s")
			b.ReportMetric(theirs.rate(), "go-smpp-msg/s")
			b.ReportMetric(raw.rate(), "raw-msg/s")
			b.ReportMetric(ours.rate()/theirs.rate(), "x-go-smpp")
			b.ReportMetric(async.rate()/theirs.rate(), "x-go-smpp-func")
			b.ReportMetric(100*ours.rate()/raw.rate(), "%-of-raw")
			b.ReportMetric(100*async.rate()/raw.rate(), "func-%-of-raw")
			b.ReportMetric(ours.cpuPerMillion(), "cpu-s/M")
			b.ReportMetric(async.cpuPerMillion(), "func-cpu-s/M")
			b.ReportMetric(theirs.cpuPerMillion(), "go-smpp-cpu-s/M")
			b.ReportMetric(raw.cpuPerMillion(), "raw-cpu-s/M")
		})
	}
}

// BenchmarkSessionDelay has each answer leave a fixed time after its submit was
// read. Then the window alone decides: the metrics are shares of window/delay, in
// percent. An operation is one window.
func BenchmarkSessionDelay(b *testing.B) {
	for _, delay := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond} {
		for _, window := range []int{1, 10, 100, 1000} {
			b.Run(fmt.Sprintf("delay=%v/window=%d", delay, window), func(b *testing.B) {
				addr := startFastProcess(b, delay)
				ours := contender{name: "Submit", run: benchOurs(b, addr, window)}
				async := contender{name: "SubmitFunc", run: benchOursFunc(b, addr, window)}
				theirs := contender{name: "go-smpp", run: benchGoSMPP(b, addr, window)}
				raw := contender{name: "raw", run: benchRaw(b, addr, window)}
				b.ResetTimer()
				ours.turn(b.N * window)
				b.StopTimer()
				async.turn(b.N * window)
				theirs.turn(b.N * window)
				raw.turn(b.N * window)
				limit := float64(window) / delay.Seconds()
				b.ReportMetric(ours.rate(), "msg/s")
				b.ReportMetric(100*ours.rate()/limit, "%")
				b.ReportMetric(100*async.rate()/limit, "func-%")
				b.ReportMetric(100*theirs.rate()/limit, "go-smpp-%")
				b.ReportMetric(100*raw.rate()/limit, "raw-%")
				b.ReportMetric(ours.cpuPerMillion(), "cpu-s/M")
				b.ReportMetric(async.cpuPerMillion(), "func-cpu-s/M")
				b.ReportMetric(theirs.cpuPerMillion(), "go-smpp-cpu-s/M")
			})
		}
	}
}

// BenchmarkSessionMemory sends b.N messages on one bind at a window of 100 and
// compares the heap after the first tenth with the heap at the end, each after a
// collection: -benchtime 10000000x compares 1 million messages with 10 million.
func BenchmarkSessionMemory(b *testing.B) {
	const window = 100
	const tolerated = 512 << 10
	addr := startFastProcess(b, 0)
	for _, way := range []struct {
		name string
		open func(b *testing.B, addr string, window int) func(n int) time.Duration
	}{{"Submit", benchOurs}, {"SubmitFunc", benchOursFunc}} {
		b.Run(way.name, func(b *testing.B) {
			run := way.open(b, addr, window)
			tenth := max(b.N/10, window)
			b.ResetTimer()
			run(tenth)
			first := heapInUse()
			run(max(b.N-tenth, window))
			b.StopTimer()
			last := heapInUse()
			b.ReportMetric(float64(first)/1024, "KiB-at-a-tenth")
			b.ReportMetric(float64(last)/1024, "KiB-at-the-end")
			if b.N >= 1_000_000 && last > first+tolerated {
				b.Errorf("%d octets of heap are in use after %d messages, %d after %d", last, b.N, first, tenth)
			}
		})
	}
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // what pools kept through the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// contender is a client with what it has used so far.
type contender struct {
	name      string
	run       func(n int) time.Duration
	n         int
	took, cpu time.Duration
}

// turn has the client submit n messages. The garbage of the others is not its own.
func (c *contender) turn(n int) {
	runtime.GC()
	cpu := cpuTime()
	c.took += c.run(n)
	c.cpu += cpuTime() - cpu
	c.n += n
}

func (c *contender) rate() float64 { return float64(c.n) / c.took.Seconds() }

func (c *contender) cpuPerMillion() float64 { return c.cpu.Seconds() / float64(c.n) * 1e6 }

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
