package gateway

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/queue"
	"sluice/testserver"
)

// Messages on a route that nobody serves any more are flagged, counted and said, and end at their deadline; with the
// consumer that the route has left behind, and without it.
func TestARouteThatNobodyServes(t *testing.T) {
	t.Parallel()
	for _, consumer := range []bool{true, false} {
		t.Run(fmt.Sprintf("consumer %v", consumer), func(t *testing.T) {
			t.Parallel()
			s, dir := startSMSC(t, testserver.Scenario{}), t.TempDir()
			both := startGateway(t, dir, s, "", "routes:\n  main: {accounts: [acme]}\n  old: {accounts: [acme]}\n")
			both.stop()
			log := new(logged)
			r := runGateway(t, testConfig(t, dir, s, "", "routes:\n  main: {accounts: [acme]}\n"), Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
			if !consumer {
				js, err := jetstream.New(r.client.Conn())
				if err != nil {
					t.Fatal(err)
				}
				if err := js.DeleteConsumer(t.Context(), "SMS_MT", "old_normal"); err != nil {
					t.Fatal(err)
				}
			}
			for id, life := range map[string]time.Duration{"short": 3 * time.Second, "long": time.Hour} {
				if _, _, err := r.client.Publish(t.Context(), "old", "normal", &queue.Message{ID: id, To: "+15550100", Text: "x", ExpiresIn: life}); err != nil {
					t.Fatal(err)
				}
			}
			await(t, "the lane to be flagged", func() bool {
				stats, err := r.client.LaneStats(t.Context())
				for _, l := range stats {
					if l.Route == "old" && l.Class == "normal" {
						return err == nil && l.Orphan
					}
				}
				return false
			})
			ended := r.await(t, 1, isFinal)[0]
			if ended.ID != "short" || ended.Type != queue.EventExpired || ended.MissedByMillis < 0 {
				t.Errorf("ended: %+v, want the short one expired", ended)
			}
			await(t, "the other to be counted", func() bool { return r.sum(t, "sluice_unserved_messages") == 1 })
			if n := log.lines(slog.LevelWarn, "no running gateway serves these messages", "sms.mt.old.normal"); n != 1 {
				t.Errorf("%d lines say so, want 1", n)
			}
		})
	}
}
