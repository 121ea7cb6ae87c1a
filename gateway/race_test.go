//go:build race

package gateway

// raced says that the race detector is on, which makes an hour of traffic long.
const raced = true
