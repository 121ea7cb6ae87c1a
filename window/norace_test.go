//go:build !race

package window

// raced says that the race detector is on.
const raced = false
