//go:build !linux

package smpp

import "time"

func sleep(d time.Duration) { time.Sleep(d) }
