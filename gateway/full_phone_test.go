package gateway

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
	"sluice/testserver/longtest"
)

// One phone in fifty is full for ever: the SMSC answers 0x14 to each message for it, at whatever pace. That is no load,
// and what comes back must not crowd out the others: they keep 88 % of the ceiling. Where each of these answers also
// counts against the ceiling, about eight tries at 2 % of the messages are lost to it, and no more.
func TestFullPhonesLeaveTheOthersTheCeiling(t *testing.T) {
	const ceiling = 100
	quarter, cases := 4*time.Minute, []struct {
		phones  int
		charged bool    // a refusal uses up a place below the ceiling
		least   float64 // share of the ceiling that the others keep
	}{
		{1000, false, .88}, {100_000, false, .88}, {100_000, true, .76},
	}
	whole := longtest.Whole(t, "one case of three, for 4 minutes instead of 16") && !raced
	if !whole {
		quarter, cases = time.Minute, cases[:1]
	}
	for _, tt := range cases {
		t.Run(fmt.Sprintf("%d phones, charged %v", tt.phones, tt.charged), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := startVirtual(t, testserver.Scenario{
					Limits:                   []testserver.Limit{{Kind: testserver.TokenBucket, Rate: testserver.PerSecond(ceiling), Burst: 10}},
					Latency:                  testserver.Between(20*time.Millisecond, 60*time.Millisecond),
					AnyOrder:                 true,
					ChargeRefusedDestination: tt.charged,
					Errors: []testserver.ErrorRule{
						{Match: testserver.Match{Suffix: "00"}, Status: pdu.StatusMsgQFull},
						{Match: testserver.Match{Suffix: "50"}, Status: pdu.StatusMsgQFull},
					},
				}, "")
				route := v.routes["main"]
				route.attempts = 5 // eight, the default, take longer than the test lasts
				v.routes["main"] = route
				full := func(to string) bool { return strings.HasSuffix(to, "00") || strings.HasSuffix(to, "50") }
				rnd := rand.New(rand.NewPCG(14, 0))
				dead := map[string]bool{}
				n := 0
				// The first quarter finds the ceiling, the others are looked at one by one.
				before := v.smsc.Stats()
				for q := range 4 {
					for begin := time.Now(); time.Since(begin) < quarter; time.Sleep(time.Second) {
						for range ceiling * 6 / 5 { // always more than can be sent
							to := fmt.Sprintf("+1555%07d", rnd.IntN(tt.phones))
							if v.publish(t, n, to); full(to) {
								dead[fmt.Sprintf("m-%d", n)] = true
							}
							n++
						}
					}
					now := v.smsc.Stats()
					share := float64(now.Accepted-before.Accepted) / (ceiling * quarter.Seconds())
					submits, refused := now.Submits-before.Submits, now.Throttled-before.Throttled
					t.Logf("quarter %d: the others have %.1f %% of the ceiling; %d of %d submits refused", q+1, 100*share, refused, submits)
					if q > 0 && (share < tt.least || 4*refused > submits) {
						t.Errorf("quarter %d: the others have %.1f %% of the ceiling, want %.0f %%; %d of %d submits refused, want at most a quarter", q+1, 100*share, 100*tt.least, refused, submits)
					}
					before = now
				}
				v.stop()
				tries, ended := map[string]int{}, 0
				for _, e := range v.source.Events(0) {
					switch {
					case e.Type.Final() && e.Type != queue.EventSubmitted:
						ended++
						if !dead[e.ID] || e.Type != queue.EventDeferred || e.Reason != reasonAttempts {
							t.Errorf("%s ends %s, %s", e.ID, e.Type, e.Reason)
						}
						fallthrough
					case dead[e.ID]:
						tries[e.ID]++
					}
				}
				most := 0
				for _, n := range tries {
					most = max(most, n)
				}
				t.Logf("%d of %d messages for full phones have ended, after at most %d tries", ended, len(dead), most)
				if most > 40 || whole && ended < len(dead)/5 {
					t.Errorf("%d of %d messages for full phones have ended, after at most %d tries", ended, len(dead), most)
				}
			})
		})
	}
}
