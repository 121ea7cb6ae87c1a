//go:build interop

package interop

import (
	"errors"
	"net"
	"sync"
	"testing"

	"sluice/smpp/pdu"
)

// tap is our end of a connection and keeps all octets that pass. Over TLS it
// sits above the encryption.
type tap struct {
	net.Conn
	client int // port of the side that connected

	mu            sync.Mutex
	read, written []byte
}

func (c *tap) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = append(c.read, p[:n]...)
	return n, err
}

func (c *tap) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written = append(c.written, p[:n]...)
	return n, err
}

// CloseWrite is for the fake SMSC, which ends connections with FIN.
func (c *tap) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.New("the connection cannot be closed by half")
}

// octets are those that we read and wrote.
func (c *tap) octets() (read, written []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read, c.written
}

// tapListener taps every connection that it accepts.
type tapListener struct {
	net.Listener

	mu   sync.Mutex
	taps []*tap
}

func (l *tapListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &tap{Conn: conn, client: port(conn.RemoteAddr())}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taps = append(l.taps, c)
	return c, nil
}

func (l *tapListener) all() []*tap {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taps
}

func port(a net.Addr) int {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return a.Port
}

// packet is one PDU of a stream.
type packet struct {
	pdu.Header
	octets []byte
}

// cut cuts a stream into PDUs, and returns what is behind the last whole one.
func cut(octets []byte) (all []packet, rest []byte) {
	for {
		head, err := pdu.ParseHeader(octets)
		if err != nil || int64(head.Length) > int64(len(octets)) {
			return all, octets
		}
		all = append(all, packet{head, octets[:head.Length]})
		octets = octets[head.Length:]
	}
}
