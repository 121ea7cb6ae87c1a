//go:build unix

package smpp

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// direct writes to the socket of a plain TCP connection without ever waiting.
type direct struct {
	raw   syscall.RawConn
	write func(fd uintptr) // made once: a closure for each write would be garbage
	batch []byte
	n     int
	err   error
}

// newDirect returns nil for a connection that has no socket of its own, such as
// TLS or a pipe.
func newDirect(conn net.Conn) *direct {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	d := &direct{raw: raw}
	d.write = func(fd uintptr) {
		for {
			d.n, d.err = syscall.Write(int(fd), d.batch)
			if !errors.Is(d.err, syscall.EINTR) {
				return
			}
		}
	}
	return d
}

// try writes as much of a batch as the kernel takes at once. What is left, which
// may be all of it, is no error.
func (d *direct) try(batch []byte) (n int, err error) {
	d.batch, d.n, d.err = batch, 0, nil
	err = d.raw.Control(d.write)
	d.batch = nil
	if err == nil {
		err = d.err
	}
	if errors.Is(err, syscall.EAGAIN) {
		return max(d.n, 0), nil
	}
	if err != nil {
		err = fmt.Errorf("smpp: write: %w", err)
	}
	return max(d.n, 0), err
}
