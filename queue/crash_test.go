package queue

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The variables that make this test binary a NATS server.
const (
	envStore  = "QUEUE_TEST_STORE"
	envListen = "QUEUE_TEST_LISTEN"
)

// TestServerProcess is no test but the server that others kill: they start this
// binary once more, with the variables set. It ends when its input does.
func TestServerProcess(t *testing.T) {
	dir := os.Getenv(envStore)
	if dir == "" {
		return
	}
	server, err := StartEmbedded(EmbeddedConfig{Dir: dir, Listen: os.Getenv(envListen)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stdout.WriteString(server.URL() + "\n"); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	server.Shutdown()
}

// mortal is a bench whose server is a process of its own.
type mortal struct {
	*bench
	url     string
	process *exec.Cmd
	input   io.Closer
}

func newMortal(t *testing.T, ackWait time.Duration) *mortal {
	t.Helper()
	m := &mortal{bench: &bench{t: t, dir: t.TempDir(), listen: "127.0.0.1:-1", ackWait: ackWait}}
	m.start()
	t.Cleanup(m.kill)
	m.client = m.connect()
	if _, err := m.client.Ensure(t.Context(), Topology{Lanes: []Lane{testLane}, AckWait: ackWait}); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *mortal) start() {
	m.t.Helper()
	binary, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	m.process = exec.CommandContext(context.WithoutCancel(m.t.Context()), binary, "-test.run=^TestServerProcess$")
	m.process.Env = append(os.Environ(), envStore+"="+m.dir, envListen+"="+m.listen)
	m.process.Stderr = os.Stderr
	if m.input, err = m.process.StdinPipe(); err != nil {
		m.t.Fatal(err)
	}
	output, err := m.process.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := m.process.Start(); err != nil {
		m.t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "nats://") {
		m.t.Fatalf("the server process says %q, %v", line, err)
	}
	m.url = strings.TrimSpace(line)
	m.listen = strings.TrimPrefix(m.url, "nats://") // the next takes the same port
}

// kill is kill -9.
func (m *mortal) kill() {
	_ = m.process.Process.Kill() // it may be gone
	_ = m.process.Wait()
}

// stop lets the server end in order.
func (m *mortal) stop() {
	m.t.Helper()
	if err := m.input.Close(); err != nil {
		m.t.Fatal(err)
	}
	if err := m.process.Wait(); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mortal) connect() *Client {
	m.t.Helper()
	c, err := Connect(m.t.Context(), ConnectConfig{URL: m.url, Name: m.t.Name()})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(c.Close)
	return c
}

// gateway is one instance beside the bench's own client.
func (m *mortal) gateway() *holder {
	m.t.Helper()
	c := m.connect()
	j := m.openJournal(c)
	return &holder{bench: m.bench, client: c, journal: j, intake: m.intakeOn(c, j, IntakeConfig{})}
}

// killAll kills the server and the gateways in it at once, and starts the server
// again. The bench's client reconnects.
func (m *mortal) killAll(gateways ...*holder) {
	m.t.Helper()
	m.kill()
	for _, h := range gateways {
		h.die()
	}
	m.start()
	m.connected(m.client)
}

// connected waits until the client has found the server again.
func (m *mortal) connected(c *Client) {
	m.t.Helper()
	m.eventually(func() error {
		if !c.nc.IsConnected() {
			return errors.New("not connected")
		}
		return nil
	})
}

// leave stops a gateway in order.
func (m *mortal) leave(h *holder) {
	m.t.Helper()
	if err := errors.Join(h.intake.Close(m.t.Context()), h.journal.Close(m.t.Context())); err != nil {
		m.t.Fatal(err)
	}
	h.client.Close()
}

// storedMark is the mark in the bucket.
func (m *mortal) storedMark() mark {
	m.t.Helper()
	stored, _, err := m.client.readMark(m.t.Context(), testLane)
	if err != nil {
		m.t.Fatal(err)
	}
	return stored
}

// collect takes and finishes every message that is left, and returns the first
// job of each.
func (m *mortal) collect(h *holder) map[uint64]*delivery {
	m.t.Helper()
	first := make(map[uint64]*delivery)
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	jobs := make(chan *delivery)
	for range 64 {
		go func() {
			for {
				job, err := h.intake.Next(ctx)
				if err != nil {
					return
				}
				select {
				case jobs <- job.(*delivery):
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	patience := time.NewTimer(patience)
	defer patience.Stop()
	for {
		select {
		case d := <-jobs:
			if first[d.seq] == nil {
				first[d.seq] = d
			}
			m.settle(d, submitted("x"))
		case <-tick.C:
			if s, err := m.client.js.Stream(ctx, "SMS_MT"); err == nil && s.CachedInfo().State.Msgs == 0 {
				return first
			}
		case <-patience.C:
			m.t.Fatal("messages are left in the queue")
		}
	}
}

// oneFinalEach asserts that every message has exactly one final.
func (m *mortal) oneFinalEach(n int) {
	m.t.Helper()
	finals := make(map[uint64]int)
	for e, err := range m.client.Events(m.t.Context(), EventFilter{}) {
		if err != nil {
			m.t.Fatal(err)
		}
		if e.Type.Final() {
			finals[e.Seq]++
		}
	}
	for seq, times := range finals {
		if times != 1 {
			m.t.Errorf("message %d has %d finals", seq, times)
		}
	}
	if len(finals) != n {
		m.t.Errorf("%d messages have a final, want %d", len(finals), n)
	}
}

// TestKilledServerForgetsWhatItHandedOut kills server and gateway while some
// messages are settled, some handed out and the rest wait.
func TestKilledServerForgetsWhatItHandedOut(t *testing.T) {
	t.Parallel()
	const n, rounds, each = 1000, 3, 120
	m := newMortal(t, shortWait)
	m.publishMany(testLane, n)
	settled, held := make(map[uint64]bool), make(map[uint64]bool)
	for range rounds {
		h := m.gateway()
		for i := range each {
			d := h.hold()
			switch {
			case settled[d.seq]:
				t.Fatalf("message %d has a final and was handed out", d.seq)
			case held[d.seq] && !d.state.Unexplained:
				t.Fatalf("message %d was handed out before: state %+v", d.seq, d.state)
			case i%2 == 0:
				m.settle(d, submitted("x"))
				settled[d.seq] = true
				delete(held, d.seq)
			default:
				held[d.seq] = true
			}
		}
		m.killAll(h)
	}
	reserved := m.storedMark().Seq
	left := m.collect(m.gateway())
	forgotten, inVain := 0, 0
	for seq, d := range left {
		switch {
		case settled[seq]:
			t.Errorf("message %d has a final and was handed out", seq)
		case held[seq] && !d.state.Unexplained:
			t.Errorf("message %d was handed out before: server's count %d, state %+v", seq, d.count, d.state)
		case held[seq] && d.count == 1:
			forgotten++
		case !held[seq] && d.state.Unexplained:
			inVain++
			if seq > reserved {
				t.Errorf("message %d is above the mark %d and unexplained", seq, reserved)
			}
		}
	}
	for seq := range held {
		if left[seq] == nil {
			t.Errorf("message %d was handed out, not settled, and did not come back", seq)
		}
	}
	m.oneFinalEach(n)
	if inVain > rounds*blockMost {
		t.Errorf("%d messages are suspected in vain, want at most a block each time", inVain)
	}
	t.Logf("%d handed out were forgotten by the server, %d of %d suspected in vain", forgotten, inVain, n-rounds*each)
}

func TestKilledInTheSecondDelivery(t *testing.T) {
	t.Parallel()
	const n = 60
	m := newMortal(t, shortWait)
	m.publishMany(testLane, n)
	h := m.gateway()
	var firsts []*delivery
	for range n { // all of them before any comes back
		firsts = append(firsts, h.hold())
	}
	for _, d := range firsts {
		m.settle(d, throttled(d.State(), 0))
	}
	for range n {
		if d := h.hold(); d.state.Unexplained || d.state.Throttles != 1 || d.Deliveries() != 2 {
			t.Fatalf("second delivery %d: state %+v", d.Deliveries(), d.state)
		}
	}
	m.killAll(h)
	third := m.collect(m.gateway())
	forgotten := 0
	for seq, d := range third {
		if s := d.state; !s.Unexplained || s.Throttles != 1 || s.Ends != 1 || d.Deliveries() < 3 {
			t.Errorf("message %d, delivery %d: state %+v, want unexplained with its throttle", seq, d.Deliveries(), s)
		}
		if d.count < 3 {
			forgotten++
		}
	}
	if len(third) != n {
		t.Errorf("%d messages came back, want %d", len(third), n)
	}
	m.oneFinalEach(n)
	t.Logf("%d second deliveries were forgotten by the server", forgotten)
}

// TestAStopInOrderLeavesNoSuspects also kills the server right after the gateway
// has stopped: it then forgets what the gateway had settled and given back.
func TestAStopInOrderLeavesNoSuspects(t *testing.T) {
	for name, kill := range map[string]bool{"the server stops": false, "the server is killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 300
			m := newMortal(t, shortWait)
			m.publishMany(testLane, n)
			h := m.gateway()
			settled := make(map[uint64]bool)
			var throttles int
			for i := range 90 {
				d := h.hold()
				switch i % 3 {
				case 0:
					m.settle(d, submitted("x"))
					settled[d.seq] = true
					throttles -= d.state.Throttles // one that had come back already
				case 1:
					m.settle(d, throttled(d.State(), 0))
					throttles++
				default:
					if err := d.Release(t.Context(), time.Time{}); err != nil {
						t.Fatal(err)
					}
				}
			}
			m.leave(h)
			if kill {
				m.kill()
			} else {
				m.stop()
			}
			m.start()
			m.connected(m.client)
			for seq, d := range m.collect(m.gateway()) {
				if settled[seq] || d.state.Unexplained {
					t.Errorf("message %d (settled %v) came back with %+v", seq, settled[seq], d.state)
				}
				throttles -= d.state.Throttles
			}
			if throttles != 0 {
				t.Errorf("%d throttles are forgotten", throttles)
			}
			m.oneFinalEach(n)
		})
	}
}

func TestTwoInstancesOnALiveServerSuspectNothing(t *testing.T) {
	t.Parallel()
	const n = 400
	m := newMortal(t, time.Minute)
	m.publishMany(testLane, n)
	first := m.gateway()
	var jobs []*delivery
	for range 100 {
		jobs = append(jobs, first.hold())
	}
	second := m.gateway()
	for range 100 {
		jobs = append(jobs, second.hold(), first.hold())
	}
	for _, d := range jobs {
		m.settle(d, submitted("x"))
	}
	m.leave(first)
	third := m.gateway()
	for _, d := range m.collect(third) {
		jobs = append(jobs, d)
	}
	for _, d := range jobs {
		if d.state.Unexplained || d.count != 1 {
			t.Errorf("message %d, delivery %d: state %+v", d.seq, d.count, d.state)
		}
	}
	m.oneFinalEach(n)
}

// TestInstancesThatOutliveTheServer keeps both gateways alive: what one holds is
// handed to the other by a server that has forgotten it.
func TestInstancesThatOutliveTheServer(t *testing.T) {
	t.Parallel()
	const n, taken = 200, 40
	m := newMortal(t, time.Minute)
	m.publishMany(testLane, n)
	first, second := m.gateway(), m.gateway()
	held := make(map[uint64]*delivery)
	for range taken {
		d := first.hold()
		held[d.seq] = d
	}
	m.kill()
	m.start()
	m.connected(first.client)
	m.connected(second.client)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var again, clean int
	for again+clean < n-taken {
		job, err := second.intake.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		d := job.(*delivery)
		switch slow := held[d.seq]; {
		case slow == nil:
			clean++
			m.settle(d, submitted("second"))
		case !d.state.Unexplained:
			t.Fatalf("message %d is with the other instance: state %+v", d.seq, d.state)
		default:
			again++
			m.settle(d, unknown(d.State(), time.Hour))
			m.settle(slow, submitted("first")) // its answer was late
			delete(held, d.seq)
		}
	}
	for _, d := range held {
		m.settle(d, submitted("first"))
	}
	if again == 0 {
		t.Errorf("the server forgot none of %d: the test does not test", taken)
	}
	m.collect(second)
	m.oneFinalEach(n)
}
