package gateway

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
	"sluice/testserver/limiter"
	"sluice/testserver/longtest"
)

// offer is one message of the hour.
type offer struct {
	at time.Duration
	to string
}

// hour is the traffic of a small account as it is: in bursts of 10 to 60 messages with a pause after each that keeps
// the average, and one in a hundred to a number that does not exist.
func hour(length time.Duration, rate func(at time.Duration) float64) (offers []offer, bad int) {
	rnd := rand.New(rand.NewPCG(14, 0))
	for at := time.Duration(0); at < length; {
		burst := 10 + rnd.IntN(51)
		for range burst {
			prefix := "+1555"
			if rnd.IntN(100) == 0 {
				prefix = "+1999"
				bad++
			}
			offers = append(offers, offer{at, fmt.Sprintf("%s%07d", prefix, len(offers))})
		}
		at += time.Duration(float64(burst) / rate(at) * float64(time.Second))
	}
	return offers, bad
}

// naive sends each message once, ten at a time, and takes whatever is not 0 for the end of it.
func naive(t *testing.T, sc testserver.Scenario, offers []offer) (s testserver.Stats, failed int) {
	t.Helper()
	v := startVirtual(t, sc, "")
	defer v.stop()
	session := v.keepers[0].session()
	next := make(chan offer, len(offers))
	var mu sync.Mutex
	var senders sync.WaitGroup
	for range 10 {
		senders.Go(func() {
			for o := range next {
				sm := &pdu.SubmitSM{Source: pdu.Address{Addr: []byte("1000")}, Dest: pdu.Address{Addr: []byte(o.to[1:])}, ShortMessage: []byte("hello")}
				resp, err := session.Submit(context.Background(), sm, nil)
				if err != nil {
					t.Errorf("submit: %v", err)
				}
				if resp.Status != pdu.StatusOK {
					mu.Lock()
					failed++
					mu.Unlock()
				}
			}
		})
	}
	begin := time.Now()
	for _, o := range offers {
		time.Sleep(o.at - time.Since(begin))
		next <- o
	}
	close(next)
	senders.Wait()
	return v.smsc.Stats(), failed
}

// 14 messages a second are offered in bursts, and for 11 minutes the ceiling is exceeded by 40 %: it falls, or more is
// offered. A sender that takes a throttle for a failure loses messages by the thousand. Sluice loses none: what fails
// are the numbers that do not exist, and it is told to slow down for fewer than one submit in two hundred.
func TestHourOfTraffic(t *testing.T) {
	const from, to = 20 * time.Minute, 31 * time.Minute
	length, most := time.Hour, .005
	if !longtest.Whole(t, "23 minutes of the hour") || raced { // what the start costs weighs more in less time
		length, most = from+3*time.Minute, .01
	}
	for _, tt := range []struct {
		name    string
		ceiling []limiter.Step
		spell   float64 // messages a second offered in the spell
	}{
		{"the ceiling falls", []limiter.Step{{At: 0, Rate: 20}, {At: from, Rate: 10}, {At: to, Rate: 20}}, 14},
		{"more is offered", []limiter.Step{{At: 0, Rate: 20}}, 28},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc := testserver.Scenario{
				Limits:                   []testserver.Limit{{Kind: testserver.TokenBucket, Rate: testserver.Steps(tt.ceiling...), Burst: 5}},
				Latency:                  testserver.Between(20*time.Millisecond, 60*time.Millisecond),
				AnyOrder:                 true,
				ChargeRefusedDestination: true,
				Errors:                   badRecipients("1999"),
			}
			calm := (14*time.Hour.Seconds() - tt.spell*(to-from).Seconds()) / (time.Hour - (to - from)).Seconds()
			offers, bad := hour(length, func(at time.Duration) float64 {
				if at >= from && at < to {
					return tt.spell
				}
				return calm
			})
			table := fmt.Sprintf("%d offered, %d of them to numbers that do not exist\n%8s %8s %10s %18s %9s\n", len(offers), bad, "", "submits", "throttled", "terminal failures", "accepted")
			row := func(who string, s testserver.Stats, failed int) {
				table += fmt.Sprintf("%8s %8d %10d %18d %9d\n", who, s.Submits, s.Throttled, failed, s.Accepted)
			}

			synctest.Test(t, func(t *testing.T) {
				s, failed := naive(t, sc, offers)
				row("naive", s, failed)
				if failed < 10*bad {
					t.Errorf("the naive sender fails %d: the test does not test", failed)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				v := startVirtual(t, sc, "")
				begin := time.Now()
				for n, o := range offers {
					time.Sleep(o.at - time.Since(begin))
					v.publish(t, n, o.to)
				}
				for v.source.Queued() > 0 && time.Since(begin) < length+time.Hour {
					time.Sleep(10 * time.Second)
				}
				v.stop()
				s, finals := v.smsc.Stats(), v.finals()
				row("sluice", s, finals[queue.EventFailed])
				if finals[queue.EventFailed] != bad || int(s.Accepted) != len(offers)-bad || finals[queue.EventSubmitted] != len(offers)-bad || len(finals) != 2 {
					t.Errorf("accepted %d, finals %v: want %d submitted, %d failed and nothing else", s.Accepted, finals, len(offers)-bad, bad)
				}
				if s.Duplicated != 0 {
					t.Errorf("%d came twice", s.Duplicated)
				}
				if share := float64(s.Throttled) / float64(s.Submits); share >= most {
					t.Errorf("%.2f %% of the submits throttled, want less than %.1f %%", 100*share, 100*most)
				}
			})
			t.Log(table)
		})
	}
}
