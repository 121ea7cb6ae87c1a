package queue

// Metrics are the numbers of this package.
type Metrics struct{}
