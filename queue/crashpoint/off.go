//go:build !crashpoints

package crashpoint

import "net"

// At does nothing.
func At(Point) {}

// Watch returns the connection as it is.
func Watch(conn net.Conn) net.Conn { return conn }
