package gateway

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/testserver"
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

func TestClockWatchTellsASetClockFromALateLook(t *testing.T) {
	var c clockWatch
	wall := at(0)
	for _, step := range []struct {
		wall, elapsed float64 // seconds since the last look
		jump          float64
	}{
		{1, 1, 0},
		{20, 20, 0}, // the machine was busy
		{1.5, 1, 0}, // drift
		{3601, 1, 3600},
		{1, 1, 0},
		{-3599, 1, -3600},
		{1, 1, 0},
		{600, 1, 599}, // it slept
	} {
		wall = wall.Add(seconds(step.wall))
		jump := c.look(wall, c.elapsed+seconds(step.elapsed))
		if jump != seconds(step.jump) {
			t.Errorf("after %v s by the wall and %v s passed: set by %v, want %v s", step.wall, step.elapsed, jump, step.jump)
		}
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// How far back the journal reaches is on /metrics without anybody asking for events.
func TestJournalAgeIsAMetric(t *testing.T) {
	t.Parallel()
	r := startGateway(t, t.TempDir(), startSMSC(t, testserver.Scenario{}), "", "")
	r.publish(t, messages(1, "+1555")...)
	r.await(t, 1, isFinal)
	await(t, "the age of the oldest event", func() bool {
		_, body := r.get(t, "/metrics")
		_, after, found := strings.Cut(body, "\nsluice_journal_oldest_age_seconds ")
		value, _, _ := strings.Cut(after, "\n")
		age, err := strconv.ParseFloat(value, 64)
		return found && err == nil && age > 0
	})
}
