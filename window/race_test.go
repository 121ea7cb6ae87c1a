//go:build race

package window

// raced says that the race detector is on. Simulations have one goroutine, so it only makes them slow.
const raced = true
