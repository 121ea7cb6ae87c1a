package smpp

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/smpp/pdu"
)

// fastSMSC in the environment makes the test binary a fast SMSC, whose answers to
// submits leave after that delay.
const fastSMSC = "SLUICE_TEST_FAST_SMSC"

func TestMain(m *testing.M) {
	delay := os.Getenv(fastSMSC)
	if delay == "" {
		os.Exit(m.Run())
	}
	if err := runFastSMSC(delay); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runFastSMSC serves until its standard input ends.
func runFastSMSC(delay string) error {
	d, err := time.ParseDuration(delay)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go serveFast(c, d)
		}
	}()
	fmt.Println(ln.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startFastProcess runs a fast SMSC as a process of its own, so that the
// processor time of this one is the client's, and returns its address.
func startFastProcess(b *testing.B, delay time.Duration) (addr string) {
	b.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(b.Context()), os.Args[0]) // until the clients are closed
	cmd.Env = append(os.Environ(), fastSMSC+"="+delay.String())
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
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatalf("the fast SMSC did not start: %v", err)
	}
	return strings.TrimSpace(line)
}

// serveFast answers binds, submits, enquire_link and unbind by hand, as fast as
// loopback allows: all whole PDUs of one read with one write, after a delay if
// there is one. What is measured against it is the client.
func serveFast(c net.Conn, delay time.Duration) {
	defer func() { _ = c.Close() }()
	write := func(b []byte) error { _, err := c.Write(b); return err }
	if delay > 0 {
		l := newDelayLine(c, delay)
		defer l.join()
		write = l.write
	}
	in := make([]byte, 64<<10)
	var out []byte
	start, end := 0, 0
	for {
		n, err := c.Read(in[end:])
		if err != nil {
			return
		}
		end += n
		out = out[:0]
		for end-start >= pdu.HeaderLen {
			p := in[start:end]
			n := int(binary.BigEndian.Uint32(p))
			if len(p) < n {
				break
			}
			out = appendFastReply(out, p)
			start += n
		}
		if start == end {
			start, end = 0, 0
		} else if len(in)-end < 1024 {
			end = copy(in, in[start:end])
			start = 0
		}
		if write(out) != nil {
			return
		}
	}
}

// delayLine writes what it is given a fixed time later.
type delayLine struct {
	delay   time.Duration
	pending chan delayed
	writing sync.WaitGroup
}

type delayed struct {
	due time.Time
	b   []byte
}

func newDelayLine(c net.Conn, delay time.Duration) *delayLine {
	l := &delayLine{delay: delay, pending: make(chan delayed, 1<<16)}
	l.writing.Go(func() {
		runtime.LockOSThread()
		for d := range l.pending {
			sleep(time.Until(d.due))
			_, _ = c.Write(d.b) // the reader learns of the end
		}
	})
	return l
}

func (l *delayLine) write(b []byte) error {
	l.pending <- delayed{time.Now().Add(l.delay), append([]byte(nil), b...)}
	return nil
}

func (l *delayLine) join() {
	close(l.pending)
	l.writing.Wait()
}

func appendFastReply(out, p []byte) []byte {
	id := binary.BigEndian.Uint32(p[4:])
	body := ""
	switch pdu.CommandID(id) {
	case pdu.IDSubmitSM:
		body = "00000000deadbeef\x00"
	case pdu.IDBindTransceiver, pdu.IDBindReceiver, pdu.IDBindTransmitter:
		body = "fast\x00"
	default:
	}
	out = binary.BigEndian.AppendUint32(out, uint32(pdu.HeaderLen+len(body)))
	out = binary.BigEndian.AppendUint32(out, id|0x80000000)
	out = append(out, 0, 0, 0, 0)
	out = append(out, p[12:16]...)
	return append(out, body...)
}
