package gateway

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"sluice/queue"
	"sluice/smpp/pdu"
	"sluice/testserver"
)

// A few recipients get 0x58 at any pace, and nobody else was sent anything when they came: the account is silent but for
// tests, and these come back before what is new. The messages for everybody else go out with the next tests all the
// same, and not when those few have reached their deadlines.
func TestRecipientsThatAreAlwaysThrottledDoNotSilenceTheAccount(t *testing.T) {
	for _, refused := range []int{1, 2, 6, 150} {
		t.Run(fmt.Sprintf("%d of them", refused), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := startVirtual(t, testserver.Scenario{
					Latency: testserver.Between(5*time.Millisecond, 20*time.Millisecond),
					Errors:  []testserver.ErrorRule{{Match: testserver.Match{Suffix: "3"}, Status: pdu.StatusThrottled}},
				}, "")
				defer v.stop()
				for n := range refused {
					v.publish(t, n, fmt.Sprintf("+1555%06d3", n))
				}
				time.Sleep(3*time.Hour + time.Duration(refused)*5*time.Minute) // all of them are known to be refused
				const others = 50
				for n := range others {
					v.publish(t, refused+n, fmt.Sprintf("+1555%06d4", n))
				}
				time.Sleep(2 * time.Minute)
				if got := v.finals(); got[queue.EventSubmitted] != others || len(got) != 1 {
					t.Errorf("%v after two minutes, want %d submitted and nothing else", got, others)
				}
			})
		})
	}
}
