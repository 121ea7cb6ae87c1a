//go:build crashpoints

package crashpoint

import (
	"encoding/binary"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Variable names the environment variable that says where to die: point:n, for the nth time that it is reached.
const Variable = "SLUICE_CRASH_AT"

//nolint:gochecknoglobals // the process dies as a whole
var (
	plan    = sync.OnceValues(read)
	mu      sync.Mutex
	reached int
)

func read() (at Point, nth int) {
	point, count, _ := strings.Cut(os.Getenv(Variable), ":")
	nth, _ = strconv.Atoi(count)
	return Point(point), nth
}

// At kills the process, as kill -9 does, when this is the place where it is to die.
func At(p Point) {
	at, nth := plan()
	if p != at {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	if reached++; reached != nth {
		return
	}
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {} // nothing more happens here
}

// Watch has the connection reach AfterWrite with every submit_sm that it has written.
func Watch(conn net.Conn) net.Conn { return &watched{Conn: conn} }

type watched struct{ net.Conn }

// The header of a PDU, SMPP 3.4 section 3.2: four integers, of which the first is the length and the second the id.
const (
	headerLength = 16
	submitSM     = 0x00000004
)

func (w *watched) Write(octets []byte) (int, error) {
	n, err := w.Conn.Write(octets)
	for rest := octets[:n]; len(rest) >= headerLength; {
		length := binary.BigEndian.Uint32(rest)
		if binary.BigEndian.Uint32(rest[4:]) == submitSM {
			At(AfterWrite)
		}
		if length < headerLength || int(length) > len(rest) {
			break
		}
		rest = rest[length:]
	}
	return n, err
}
