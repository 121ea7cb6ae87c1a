package window_test

import (
	"context"
	"fmt"

	"sluice/window"
)

// A message reserves a place, waits for its start just before it is written, and tells what came back.
func ExampleGate() {
	gate := window.NewGate(window.NewController(window.Config{Declared: 100}))
	gate.AddBind()

	permit, err := gate.Acquire(context.Background())
	if err != nil {
		return // the context is done
	}
	// Fetch the message here; with none, release the permit and be done.
	signal := window.Signal{Answer: window.Lost}
	if err := permit.Start(context.Background()); err == nil {
		signal.Answer = window.Accepted // submit to the session of permit.Bind() and look at the response
	}
	permit.Release(signal)

	s := gate.Snapshot()
	fmt.Printf("%s at %.0f/s, %d unanswered\n", s.Mode, s.Pace, s.Unanswered)
	// Output: cruise at 98/s, 0 unanswered
}
