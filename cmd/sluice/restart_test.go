package main

import (
	"testing"
	"time"

	"sluice/cmd/sluice/course"
	"sluice/smpp/pdu"
	"sluice/testserver"
	"sluice/testserver/longtest"
)

// A restart begins at the learned ceiling, 100/s with a bucket of 10 and answers after 20 ms: 90 % of it is accepted in
// a second that begins within 2 s, and at most 10 messages are refused within 5 s. The SMSC's ledger judges.
func TestARestartBeginsAtTheLearnedCeiling(t *testing.T) {
	longtest.Only(t, "10 s at 100 a second, and two restarts or more of 6 s each")
	const rate = 100
	smsc, addr := fakeSMSC(t, testserver.Scenario{
		Latency: testserver.Exactly(20 * time.Millisecond),
		Limits:  []testserver.Limit{{Kind: testserver.TokenBucket, Rate: testserver.PerSecond(rate), Burst: 10}},
	})
	d := newDaemon(t, addr, crashAccount, crashStreams)
	d.start(t)
	if _, errs, err := sluice(t, "send", "--nats", d.url(), "--file", messagesFile(t, 10_000)); err != nil {
		t.Fatalf("send: %v: %s", err, errs)
	}
	awaitSubmits(t, smsc, 1000)
	for _, end := range []struct {
		name string
		stop func()
	}{
		{"in order", func() {
			if err := d.stop(); err != nil {
				t.Errorf("sluice run ended with %v", err)
			}
		}},
		{"kill -9 with the ceiling of some seconds ago", d.kill},
	} {
		// A busy machine may starve one start; a window that forgot would fail in all.
		met := false
		for try := 1; try <= 3 && !met; try++ {
			end.stop()
			before := smsc.Stats().Submits
			d.start(t)
			awaitSubmits(t, smsc, before+6*rate)
			after, refused := theStart(smsc.Ledger()[before:], rate)
			t.Logf("%s: 90 %% of the ceiling after %v, %d refused within 5 s", end.name, after, refused)
			met = after <= 2*time.Second && refused <= 10
		}
		if !met {
			t.Errorf("%s: no start reached 90 %% within 2 s with at most 10 refused within 5 s", end.name)
		}
	}
}

// theStart is when a second began in which 90 % of the rate was accepted, and how many were refused within 5 s, counted
// from the first submit.
func theStart(records []testserver.Record, rate float64) (reached time.Duration, refused int) {
	var c course.Course
	for _, r := range records {
		since := r.Time.Sub(records[0].Time)
		b := c.At(since)
		switch {
		case r.Status == pdu.StatusOK:
			b.Accepted++
		case since < 5*time.Second:
			b.Throttled++
			refused++
		default:
			b.Throttled++
		}
	}
	for i := range c {
		c[i].Capacity = rate
	}
	reached, ok := c.Reached(0)
	if !ok {
		reached = time.Hour
	}
	return reached, refused
}
