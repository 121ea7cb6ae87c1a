package sender

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"sluice/smpp/pdu"
	"sluice/testserver"
)

// An SMSC that takes two messages a second, and a sender that has five: the time of the test is virtual.
func TestSendWaitsForTheSMSC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		smsc := testserver.New(testserver.Scenario{
			Latency: testserver.Between(5*time.Millisecond, 20*time.Millisecond),
			Limits:  []testserver.Limit{{Kind: testserver.TokenBucket, Rate: testserver.PerSecond(2), Burst: 1}},
		})
		ours, theirs := net.Pipe()
		served := make(chan error, 1)
		go func() { served <- smsc.ServeConn(t.Context(), theirs) }()

		if err := Send(t.Context(), ours, "hello", "15550001", "15550002", "15550003", "15550004", "15550005"); err != nil {
			t.Fatal(err)
		}
		<-served

		ok, throttled := pdu.StatusOK, pdu.StatusThrottled
		accepted := smsc.Records(testserver.Query{Status: &ok})
		if len(accepted) != 5 {
			t.Errorf("%d messages were accepted, want 5", len(accepted))
		}
		if n := len(smsc.Records(testserver.Query{Status: &throttled})); n == 0 || n > 4 {
			t.Errorf("%d submits were throttled, want 1 to 4", n)
		}
		if n := len(smsc.Records(testserver.Query{Duplicate: true})); n != 0 {
			t.Errorf("%d messages were accepted twice", n)
		}
	})
}
