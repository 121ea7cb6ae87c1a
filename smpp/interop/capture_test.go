//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// capture records the TCP traffic of one port on lo, with the program that
// tshark itself captures with.
type capture struct {
	file string
	port int
	cmd  *exec.Cmd
	done chan struct{} // closed when dumpcap has ended
	keys string        // of TLS, the file with its session keys
}

// startCapture returns once packets are recorded.
func startCapture(t *testing.T, port int) *capture {
	t.Helper()
	c := &capture{file: filepath.Join(t.TempDir(), "capture.pcap"), port: port, done: make(chan struct{})}
	c.cmd = exec.CommandContext(t.Context(), need(t, "dumpcap", "tshark"),
		"-q", "-P", "-i", "lo", "-f", fmt.Sprintf("tcp port %d", port), "-w", c.file)
	stderr, err := c.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() {
		defer close(c.done)
		var text strings.Builder
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			fmt.Fprintln(&text, lines.Text())
			if strings.HasPrefix(lines.Text(), "File:") {
				said <- ""
			}
		}
		select {
		case said <- text.String():
		default:
		}
		_ = c.cmd.Wait()
	}()
	select {
	case fault := <-said:
		if fault != "" {
			t.Fatalf("dumpcap cannot capture on lo; run as root, or give it cap_net_raw: %s", fault)
		}
	case <-time.After(patience):
		t.Fatalf("dumpcap did not start within %s", patience)
	}
	return c
}

// stream is one TCP connection, by direction.
type stream struct {
	fromClient, fromServer []byte
	clientEnd, serverEnd   bool // FIN was seen, or RST
}

// stop waits until the file has the ends of all connections and what passed the
// taps, and ends the capture. The octets of TLS are not those of the taps.
func (c *capture) stop(t *testing.T, taps []*tap) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		missing := c.missing(t, taps)
		if missing == "" {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the capture is not complete after %s: %s", patience, missing)
		}
	}
	_ = c.cmd.Process.Signal(syscall.SIGINT)
	<-c.done
}

// missing says what the file does not have of the taps.
func (c *capture) missing(t *testing.T, taps []*tap) string {
	t.Helper()
	streams := c.streams(t)
	for _, tap := range taps {
		s := streams[tap.client]
		if s == nil {
			return fmt.Sprintf("nothing from port %d", tap.client)
		}
		if !s.clientEnd || !s.serverEnd {
			return fmt.Sprintf("the connection from port %d has not ended", tap.client)
		}
		if c.keys != "" {
			continue
		}
		read, written := tap.octets()
		fromUs, toUs := s.fromServer, s.fromClient
		if tap.client == port(tap.LocalAddr()) {
			fromUs, toUs = toUs, fromUs
		}
		if !bytes.Equal(fromUs, written) || !bytes.Equal(toUs, read) {
			return fmt.Sprintf("from port %d: %d of %d octets that we wrote, %d of %d that we read",
				tap.client, len(fromUs), len(written), len(toUs), len(read))
		}
	}
	return ""
}

// Lengths of the headers in a pcap file of an Ethernet device.
const (
	fileHeader   = 24
	packetHeader = 16
	ethernet     = 14
)

// streams reads the file as far as it is written.
func (c *capture) streams(t *testing.T) map[int]*stream {
	t.Helper()
	data, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	streams := map[int]*stream{}
	if len(data) < fileHeader {
		return streams
	}
	first := map[[2]uint16]uint32{} // sequence number of the SYN by ports
	for data = data[fileHeader:]; len(data) > packetHeader; {
		length := binary.LittleEndian.Uint32(data[8:])
		data = data[packetHeader:]
		if uint64(length) > uint64(len(data)) {
			break
		}
		c.segment(data[ethernet:length], streams, first)
		data = data[length:]
	}
	return streams
}

// segment puts the payload of an IPv4 packet where it belongs.
func (c *capture) segment(ip []byte, streams map[int]*stream, first map[[2]uint16]uint32) {
	total := int(binary.BigEndian.Uint16(ip[2:]))
	tcp := ip[int(ip[0]&0x0F)*4 : total]
	ports := [2]uint16{binary.BigEndian.Uint16(tcp), binary.BigEndian.Uint16(tcp[2:])}
	sequence := binary.BigEndian.Uint32(tcp[4:])
	payload := tcp[int(tcp[12]>>4)*4:]
	const fin, syn, rst = 0x01, 0x02, 0x04
	flags := tcp[13]
	if flags&syn != 0 {
		first[ports] = sequence + 1
		return
	}
	client := int(ports[0])
	if client == c.port {
		client = int(ports[1])
	}
	s := streams[client]
	if s == nil {
		s = &stream{}
		streams[client] = s
	}
	into, end := &s.fromClient, &s.clientEnd
	if int(ports[0]) == c.port {
		into, end = &s.fromServer, &s.serverEnd
	}
	*end = *end || flags&fin != 0
	if flags&rst != 0 {
		s.clientEnd, s.serverEnd = true, true
	}
	if len(payload) == 0 {
		return
	}
	at := int(sequence - first[ports])
	if more := at + len(payload) - len(*into); more > 0 {
		*into = append(*into, make([]byte, more)...)
	}
	copy((*into)[at:], payload)
}
