//go:build !unix

package smpp

import "net"

// direct is for systems whose sockets are file descriptors.
type direct struct{}

func newDirect(net.Conn) *direct { return nil }

func (*direct) try([]byte) (n int, err error) { return 0, nil }
