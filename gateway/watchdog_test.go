package gateway

import (
	"errors"
	"testing"
)

type countingServer struct{ restarts int }

func (s *countingServer) Restart() error {
	s.restarts++
	return nil
}

func TestWatchdogRestartsAServerWhoseJournalStaysFailed(t *testing.T) {
	failing := errors.New("no space left on the device")
	var failure error
	server := &countingServer{}
	w := watchdog{failure: func() error { return failure }, server: server}
	for _, c := range []struct {
		at       float64
		failure  error
		restarts int
	}{
		{0, nil, 0},
		{1, failing, 0},
		{30, failing, 0},
		{31, failing, 1},
		{60, failing, 1},
		{61, failing, 2},
		{62, nil, 2},
		{63, failing, 2},
		{92, failing, 2},
		{93, failing, 3},
	} {
		failure = c.failure
		if _, err := w.look(at(c.at)); err != nil {
			t.Fatal(err)
		}
		if server.restarts != c.restarts {
			t.Errorf("at %v s: %d restarts, want %d", c.at, server.restarts, c.restarts)
		}
	}
}
