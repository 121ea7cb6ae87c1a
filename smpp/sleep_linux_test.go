package smpp

import (
	"syscall"
	"time"
)

// sleep keeps its thread: a timer of Go is up to 1 ms late on an idle machine, which would be counted against the
// client that waits for the answer.
func sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil)
}
