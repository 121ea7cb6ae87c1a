//go:build !race

package gateway

// raced says that the race detector is on.
const raced = false
