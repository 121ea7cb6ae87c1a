package gateway

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/queue"
	"sluice/testserver"
)

// An SMSC that answers enquire_link and no submit on its first session, as one behind a proxy that lost it: the bind is
// renewed with one WARN, and new messages get out over the next.
func TestBindWhoseSubmitsAreNotAnsweredIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log syncLog
		v := startLogged(t, testserver.Scenario{Faults: []testserver.Fault{{Kind: testserver.FaultSwallow}}}, "", slog.New(slog.NewTextHandler(&log, nil)))
		defer v.stop()
		began := time.Now()
		for n := range 5 {
			v.publish(t, n, "+15550100")
		}
		for v.smsc.Stats().Binds < 2 && time.Since(began) < 10*time.Minute {
			time.Sleep(time.Second)
		}
		renewed := time.Since(began)
		if renewed < 90*time.Second || renewed > 200*time.Second {
			t.Fatalf("the bind was renewed after %v, want 90 s (response_timeout and unknown.after) to 200 s", renewed)
		}
		if n := strings.Count(log.String(), "level=WARN msg=\"the SMSC answers enquire_link and no submit_sm"); n != 1 {
			t.Errorf("%d lines in the log say so, want 1:\n%s", n, log.String())
		}
		if err := v.smsc.SetScenario(testserver.Scenario{}); err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			v.publish(t, 10+n, "+15550100")
		}
		time.Sleep(10 * time.Minute)
		if n := v.finals()[queue.EventSubmitted]; n < 3 {
			t.Errorf("%v, want what was published after the renewal submitted", v.finals())
		}
		if stats := v.smsc.Stats(); stats.Binds != 2 {
			t.Errorf("%d binds, want 2: a bind that answers is kept", stats.Binds)
		}
	})
}
